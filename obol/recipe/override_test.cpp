#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/recipe/recipe.h"
#include "obol/recipe/testing.h"

namespace obol::recipe {
namespace {

using testing::OneNumber;
using testing::read_data;
using testing::refusal_of_data;

TEST(Override, ReplacesAValue) {
  const std::string text = "[data]\nsize = 2\nname = 'mnist'\n";
  EXPECT_EQ(read_data(text, {"data.size=7"}).size, 7);
  EXPECT_EQ(read_data(text, {"data.size = 7 "}).size, 7);
  EXPECT_EQ(read_data(text, {"data.name=cifar10"}).name, "cifar10");
  EXPECT_EQ(read_data(text, {"data.name=\"cifar10\""}).name, "cifar10");
  EXPECT_EQ(read_data(text, {"data.name='cifar10'"}).name, "cifar10");
  EXPECT_FALSE(read_data(text, {"data.shuffle=false"}).shuffle);
}

TEST(Override, ReadsNumbersAsInAFile) {
  EXPECT_EQ(read_data("", {"data.epsilon=1e-5"}).epsilon, 1e-5);
  EXPECT_EQ(read_data("", {"data.epsilon=8"}).epsilon, 8.0);
  EXPECT_EQ(read_data("", {"data.rate=1/1200"}).rate, 1.0 / 1200.0);
  EXPECT_EQ(read_data("", {"data.seed=-3"}).seed, -3);
}

TEST(Override, TakesTextWithoutQuotes) {
  for (const std::string& text : std::vector<std::string>{
           "14x14", "a b", "two = three", "[a, b", "it's", "a\nsize = 3", "a = 1\nb = 2", "{",
           "\"open", "1.2.3", "....................................", "a # b"})
    EXPECT_EQ(read_data("", {"data.note=" + text}).note, text);
  EXPECT_EQ(read_data("", {"data.note="}).note, "");
  EXPECT_EQ(read_data("", {"data.note=\xc3\xa9"}).note, "\xc3\xa9");
}

TEST(Override, DoesNotLetAValueBringInOtherKeys) {
  EXPECT_EQ(refusal_of_data("", {"data.size=3\nvalue2 = 4"}),
            "data.size must be a whole number, at least 1, but is \"3\\nvalue2 = 4\" (--set "
            "data.size)");
}

TEST(Override, MakesSectionsThatAreNotThere) {
  auto recipe = Recipe::parse("", "a.toml", {"a.b.c.value=2.5", "a.value=1.5"});
  EXPECT_EQ(recipe.read<OneNumber>("a.b.c").value, 2.5);
  EXPECT_EQ(recipe.read<OneNumber>("a").value, 1.5);
  EXPECT_NO_THROW(recipe.finish());
}

TEST(Override, ReachesTheTopOfTheFile) {
  auto recipe = Recipe::parse("title = 'old'", "a.toml", {"title=new"});
  EXPECT_EQ(recipe.read<Heading>("").title, "new");
}

TEST(Override, LaterOnesWin) { EXPECT_EQ(read_data("", {"data.size=7", "data.size=8"}).size, 8); }

TEST(Override, GivesAWholeSection) {
  EXPECT_EQ(read_data("[data]\nsize = 2", {"data={size = 9, note = 'n'}"}).size, 9);
}

TEST(Override, IsNamedInMessages) {
  EXPECT_EQ(refusal_of_data("[data]\nsize = 2", {"data.size=none"}),
            "data.size must be a whole number, at least 1, but is \"none\" (--set data.size)");
  EXPECT_EQ(refusal_of_data("", {"data.sise=1"}),
            "data.sise must be a key that this recipe can have, but is not (--set data.sise). Did "
            "you mean size?");
  EXPECT_EQ(refusal_of_data("", {"dta.size=1"}),
            "dta must be a key that this recipe can have, but is not (--set dta.size). Did you "
            "mean data?");
  EXPECT_EQ(refusal_of_data("", {"data={size = 0}"}),
            "data.size must be a whole number, at least 1, but is 0 (--set data)");
  EXPECT_EQ(refusal_of_data("", {"data.note=1979-05-27"}),
            "a value must be text, a number, true or false, a list or a section, but is a date or "
            "time (--set data.note)");
}

TEST(Override, RefusesToGoIntoAValue) {
  EXPECT_EQ(refusal_of_data("[data]\nsize = 2", {"data.size.x=1"}),
            "size must be a section, but is a whole number (a.toml:2)");
  EXPECT_EQ(refusal_of_data("", {"data=3"}), "data must be a section, but is 3 (--set data)");
}

TEST(Override, RefusesWhatIsNotAKeyAndAValue) {
  for (const char* text : {"data.size", "", "=3", " = 3"})
    EXPECT_EQ(refusal_of_data("", {text}),
              fmt::format("--set must be section.key=value, but is {}", text));
  EXPECT_NE(refusal_of_data("", {"data..size=1"}), "accepted");
  EXPECT_NE(refusal_of_data("", {".=1"}), "accepted");
}

TEST(Override, RefusesBytesThatAreNotText) {
  EXPECT_EQ(refusal_of_data("", {"data.note=\xff"}), "--set data.note must be UTF-8, but is not");
}

}  // namespace
}  // namespace obol::recipe
