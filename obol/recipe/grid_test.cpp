#include "obol/recipe/grid.h"

#include <set>

#include <gtest/gtest.h>

#include "obol/recipe/testing.h"

namespace obol::recipe {
namespace {

using testing::refusal_of;

std::string refusal_of_grid(const std::vector<std::string>& texts) {
  return refusal_of([&] { static_cast<void>(Grid(texts).points()); });
}

TEST(Grid, HasEveryCombinationWithTheLastKeyChangingFastest) {
  const Grid grid({"method.self_weight=0.5, 1", "privacy.epsilon = 1,10,1e2"});
  std::vector<std::string> names;
  for (const GridPoint& point : grid.points()) names.push_back(point.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"self_weight=0.5,epsilon=1", "self_weight=0.5,epsilon=10",
                                      "self_weight=0.5,epsilon=1e2", "self_weight=1,epsilon=1",
                                      "self_weight=1,epsilon=10", "self_weight=1,epsilon=1e2"}));
  EXPECT_EQ(grid.points()[4].overrides,
            (std::vector<std::string>{"method.self_weight=1", "privacy.epsilon=10"}));
  EXPECT_EQ(grid.points()[4].values, (std::vector<std::string>{"1", "10"}));
}

TEST(Grid, SetsWhatTheRecipeReads) {
  for (const GridPoint& point : Grid({"data.rate=1/4", "data.name=mnist,cifar10"}).points()) {
    const testing::Everything read = testing::read_data("", point.overrides);
    EXPECT_EQ(read.rate, 0.25);
    EXPECT_EQ(read.name, point.values[1]);
  }
}

TEST(Grid, NamesAreOfOneFolderEachWhateverTheValuesAre) {
  std::set<std::string> names;
  const std::vector<GridPoint> points =
      Grid({"a.x=1/3,1_3,1%2F3,..,a b,\\,*,mixture:1,\xc3\xa9"}).points();
  for (const GridPoint& point : points) {
    names.insert(point.name);
    EXPECT_EQ(point.name.find_first_of("/\\* '\"$\xc3"), std::string::npos) << point.name;
  }
  EXPECT_EQ(names.size(), points.size());
  EXPECT_EQ(points[0].name, "x=1%2F3");
}

TEST(Grid, KeysThatEndInTheSameAreNamedInFull) {
  EXPECT_EQ(Grid({"a.rate=1", "b.rate=2", "b.size=3"}).points()[0].name,
            "a.rate=1,b.rate=2,size=3");
}

TEST(Grid, KnowsWhichKeysAreNumbers) {
  const Grid grid({"a.x=1,1/4,1e-3", "a.y=1,none"});
  EXPECT_EQ(grid.keys()[0].numbers(), (std::vector<double>{1, 0.25, 1e-3}));
  EXPECT_FALSE(grid.keys()[1].numbers());
}

TEST(Grid, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(refusal_of_grid({}), "--grid must be given, but is missing");
  for (const std::string text : {"a.x", "=1", "a.x=", "a.x=1,,2", "a.x=1,"})
    EXPECT_EQ(refusal_of_grid({text}),
              "--grid must be section.key=value,value,..., but is " + text);
  EXPECT_EQ(refusal_of_grid({"a.x=1,2,1"}),
            "a value of --grid a.x must be given once, but is given twice: 1");
  EXPECT_EQ(refusal_of_grid({"a.x=1", "a.x=2"}),
            "a key of --grid must be given once, but is given twice: a.x");
  std::string many = "=0";
  for (int i = 1; i <= 100; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(refusal_of_grid({"a" + many, "b" + many}),
            "a grid must be of at most 10000 points, but is larger");
  EXPECT_NE(refusal_of_grid({"a.x=" + std::string(300, 'y')}).find("at most 200 letters"),
            std::string::npos);
}

}  // namespace
}  // namespace obol::recipe
