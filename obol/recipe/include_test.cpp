#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/recipe/place.h"
#include "obol/recipe/recipe.h"
#include "obol/recipe/testing.h"
#include "obol/recipe/toml.h"

namespace obol::recipe {
namespace {

namespace fs = std::filesystem;

using testing::Everything;
using testing::OneNumber;
using testing::refusal_of;

class Include : public ::testing::Test {
 protected:
  [[nodiscard]] Path in(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(in(name).parent_path());
    write_file(in(name), text);
  }
  [[nodiscard]] Everything load(const std::string& name,
                                const std::vector<std::string>& overrides = {}) const {
    auto recipe = Recipe::load(in(name), overrides);
    auto options = recipe.read<Everything>("data");
    recipe.finish();
    return options;
  }
  [[nodiscard]] std::string refusal(const std::string& name) const {
    return refusal_of([&] { static_cast<void>(load(name)); });
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Include, IsNotNeeded) {
  write("a.toml", "[data]\nsize = 3");
  EXPECT_EQ(load("a.toml").size, 3);
  EXPECT_EQ(load("a.toml", {"data.size=4"}).size, 4);
}

TEST_F(Include, OfOneFileIsReadFirst) {
  write("base.toml", "[data]\nsize = 2\nname = 'cifar10'");
  write("a.toml", "include = 'base.toml'\n[data]\nsize = 3");
  EXPECT_EQ(load("a.toml").size, 3);
  EXPECT_EQ(load("a.toml").name, "cifar10");
  EXPECT_EQ(load("a.toml", {"data.name=mnist"}).name, "mnist");
}

TEST_F(Include, OfSeveralFilesLetsTheLaterWin) {
  write("one.toml", "[data]\nsize = 1\nseed = 1\nnote = 'one'");
  write("two.toml", "[data]\nsize = 2\nseed = 2");
  write("a.toml", "include = ['one.toml', 'two.toml']\n[data]\nsize = 3");
  const Everything read = load("a.toml");
  EXPECT_EQ(read.size, 3);
  EXPECT_EQ(read.seed, 2);
  EXPECT_EQ(read.note, "one");
}

TEST_F(Include, MayBeNestedAndIsRelativeToItsFile) {
  write("shared/deep/c.toml", "[data]\nsize = 1\nseed = 1\nnote = 'c'");
  write("shared/b.toml", "include = 'deep/c.toml'\n[data]\nsize = 2\nseed = 2");
  write("a.toml", "include = 'shared/b.toml'\n[data]\nsize = 3");
  const Everything read = load("a.toml");
  EXPECT_EQ(read.size, 3);
  EXPECT_EQ(read.seed, 2);
  EXPECT_EQ(read.note, "c");
}

TEST_F(Include, MergesNestedSectionsAndReplacesOtherValues) {
  write("base.toml", "[x.y]\nvalue = 1\n[x]\nkept = 1\n[data]\nsize = 1");
  write("a.toml", "include = 'base.toml'\n[x.y]\nvalue = 2");
  auto recipe = Recipe::load(in("a.toml"));
  EXPECT_EQ(recipe.read<OneNumber>("x.y").value, 2.0);
  EXPECT_EQ(refusal_of([&] { recipe.finish("x"); }),
            fmt::format("x.kept must be a key that this recipe can have, but is not ({}:4)",
                        in("base.toml").string()));
  write("b.toml", "include = 'base.toml'\nx = 1");
  auto replaced = Recipe::load(in("b.toml"));
  EXPECT_EQ(refusal_of([&] { replaced.read<OneNumber>("x"); }),
            fmt::format("x must be a section, but is 1 ({}:2)", in("b.toml").string()));
}

TEST_F(Include, GivesPlacesForWhatIsCheckedLater) {
  write("base.toml", "\n[data]\nsize = 1\n[x]\nvalue = 1");
  write("a.toml", "include = 'base.toml'\n[data]\nseed = 3");
  const auto recipe = Recipe::load(in("a.toml"), {"x.value=2"});
  const Places places = [&](const std::string& key) { return recipe.where(key); };
  EXPECT_EQ(places("data.size"), in("base.toml").string() + ":3");
  EXPECT_EQ(places("data.seed"), in("a.toml").string() + ":3");
  EXPECT_EQ(places("x.value"), "--set x.value");
  EXPECT_EQ(places("data.name"), in("base.toml").string() + ":2") << "its section";
  EXPECT_EQ(places("run.name"), in("a.toml").string()) << "nothing of it";
  EXPECT_EQ(places("data.size.of"), in("base.toml").string() + ":3");
  const auto refuse = []() -> int { throw InvalidArgument("two must be 2, but is 3"); };
  EXPECT_EQ(refusal_of([&] { located(places, "x.value", refuse); }),
            "two must be 2, but is 3 (--set x.value)");
  EXPECT_EQ(refusal_of([&] { located({}, "x.value", refuse); }), "two must be 2, but is 3");
  EXPECT_EQ(located(places, "x.value", [] { return 2; }), 2);
}

TEST_F(Include, KeepsTheFileAndLineOfEachValue) {
  write("base.toml", "\n\n[data]\nsize = 0");
  write("a.toml", "include = 'base.toml'\n[data]\nseed = 3");
  EXPECT_EQ(refusal("a.toml"),
            fmt::format("data.size must be a whole number, at least 1, but is 0 ({}:4)",
                        in("base.toml").string()));
}

TEST_F(Include, MayReachOneFileTwiceWithoutACycle) {
  write("d.toml", "[data]\nnote = 'd'");
  write("b.toml", "include = 'd.toml'");
  write("c.toml", "include = 'd.toml'");
  write("a.toml", "include = ['b.toml', 'c.toml']");
  EXPECT_EQ(load("a.toml").note, "d");
}

TEST_F(Include, RefusesACycle) {
  write("a.toml", "include = 'b.toml'");
  write("b.toml", "include = 'sub/../a.toml'");
  fs::create_directory(in("sub"));
  EXPECT_EQ(refusal("a.toml"),
            fmt::format("include must not lead back to the same file, but {} does",
                        in("sub/../a.toml").string()));
  write("self.toml", "include = 'self.toml'");
  EXPECT_EQ(refusal("self.toml"),
            fmt::format("include must not lead back to the same file, but {} does",
                        in("self.toml").string()));
}

TEST_F(Include, RefusesACycleThroughALink) {
  write("a.toml", "include = 'b.toml'");
  fs::create_symlink("a.toml", in("b.toml"));
  EXPECT_NE(refusal("a.toml").find("must not lead back"), std::string::npos);
}

TEST_F(Include, NamesAMissingFileAndWhoWantsIt) {
  write("a.toml", "\ninclude = 'none.toml'");
  EXPECT_EQ(refusal("a.toml"), fmt::format("include must be an existing file, but is {} ({}:2)",
                                           in("none.toml").string(), in("a.toml").string()));
}

TEST_F(Include, RefusesANameThatNoFileCanHave) {
  write("a.toml", "include = '" + std::string(5000, 'x') + "'");
  EXPECT_EQ(refusal("a.toml").find("include must be an existing file, but is "), 0U);
}

TEST_F(Include, RefusesWhatIsNotAName) {
  write("a.toml", "include = 3");
  EXPECT_EQ(refusal("a.toml"),
            fmt::format("include must be a file name or a list of them, but is a whole number "
                        "({}:1)",
                        in("a.toml").string()));
  write("b.toml", "include = ['a.toml', true]");
  EXPECT_NE(refusal("b.toml"), "accepted");
  write("c.toml", "include = [['a.toml']]");
  EXPECT_EQ(refusal("c.toml"),
            fmt::format("include must be a file name or a list of them, but is a list ({}:1)",
                        in("c.toml").string()));
}

TEST_F(Include, MayBeEightDeepAndNoMore) {
  write("8.toml", "[data]\nsize = 8");
  for (int i = 1; i < 8; ++i)
    write(fmt::format("{}.toml", i), fmt::format("include = '{}.toml'", i + 1));
  EXPECT_EQ(load("1.toml").size, 8);
  write("0.toml", "include = '1.toml'");
  EXPECT_EQ(refusal("0.toml"), fmt::format("include must be at most 8 deep, but is deeper ({})",
                                           in("8.toml").string()));
}

TEST_F(Include, NamesTheIncludedFileInASyntaxError) {
  write("base.toml", "\n\n[broken");
  write("a.toml", "include = 'base.toml'");
  EXPECT_NE(refusal("a.toml").find(in("base.toml").string() + ":3"), std::string::npos);
}

TEST_F(Include, OfATooLargeFileIsRefused) {
  write("a.toml", "#" + std::string(kLargestRecipe, 'x'));
  EXPECT_THROW(static_cast<void>(load("a.toml")), DataError);
}

TEST_F(Include, OfAFileThatIsNotThereOrNotAFileIsADataError) {
  EXPECT_THROW(static_cast<void>(load("none.toml")), DataError);
  EXPECT_THROW(static_cast<void>(load("")), DataError);
  fs::create_symlink("loop.toml", in("loop.toml"));
  EXPECT_THROW(static_cast<void>(load("loop.toml")), DataError);
}

TEST_F(Include, OfASavedResolvedRecipeGivesTheSame) {
  write("base.toml", "[data]\nsize = 2\nnote = \"\"\"\nlines\n'''\"\"\"");
  write("a.toml", "include = 'base.toml'\n[data]\nrate = '1/3'");
  auto recipe = Recipe::load(in("a.toml"), {"data.epsilon=2"});
  recipe.read<Everything>("data");
  write("saved.toml", recipe.resolved());
  auto again = Recipe::load(in("saved.toml"));
  const auto read = again.read<Everything>("data");
  EXPECT_EQ(again.resolved(), recipe.resolved());
  EXPECT_EQ(read.size, 2);
  EXPECT_EQ(read.rate, 1.0 / 3.0);
  EXPECT_EQ(read.epsilon, 2.0);
  EXPECT_EQ(read.note, "lines\n'''");
}

}  // namespace
}  // namespace obol::recipe
