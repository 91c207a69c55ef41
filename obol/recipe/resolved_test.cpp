#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/recipe/recipe.h"
#include "obol/recipe/testing.h"
#include "obol/recipe/toml.h"

namespace obol::recipe {
namespace {

using testing::Everything;
using testing::OneNumber;
using testing::OneText;

TEST(Resolved, ListsEveryFieldInForceAndNoAbsentOne) {
  auto recipe = Recipe::parse("[data]\nepsilon = 3\nnote = 'a'\n", "a.toml", {"title=T"});
  recipe.read<Everything>("data");
  recipe.read<Heading>("");
  EXPECT_EQ(recipe.resolved(),
            "title = \"T\"\n"
            "\n"
            "[data]\n"
            "shuffle = true\n"
            "size = 64\n"
            "rate = 0.5\n"
            "epsilon = 3.0\n"
            "name = \"mnist\"\n"
            "note = \"a\"\n");
}

TEST(Resolved, LeavesOutSectionsWithoutValuesAndKeysThatNobodyRead) {
  auto recipe = Recipe::parse("[a]\nvalue = 1\n[b]\n[c]\nvalue = 1\n", "a.toml");
  recipe.read<OneNumber>("a");
  recipe.read<OneNumber>("b");
  EXPECT_EQ(recipe.resolved(), "[a]\nvalue = 1.0\n");
  EXPECT_EQ(Recipe::parse("", "a.toml").resolved(), "");
}

TEST(Resolved, WritesASectionOnceThatWasReadTwice) {
  struct Other {
    std::optional<std::int64_t> count;
    void describe(Fields& fields) { fields.integer("count", count, any_number(), ""); }
  };
  auto recipe = Recipe::parse("title = 'T'\n[a]\nvalue = 1\ncount = 2\n", "a.toml");
  for (int i = 0; i < 2; ++i) {
    recipe.read<Heading>("");
    recipe.read<OneNumber>("a");
    recipe.read<Other>("a");
  }
  EXPECT_NO_THROW(recipe.finish());
  EXPECT_EQ(recipe.resolved(), "title = \"T\"\n\n[a]\nvalue = 1.0\ncount = 2\n");
}

TEST(Resolved, GivesTheSameWhenReadAgain) {
  const std::vector<std::string> recipes = {
      "", "title = 'a'\nsummary = \"b\\nc\"\n[data]\nrate = '1/3'\nseed = 9223372036854775807",
      "[data]\nepsilon = 1\nname = 'cifar10'\nnote = \"\"\n[data.deep]\nvalue = 1e-5"};
  for (const std::string& text : recipes) {
    const auto resolve = [](const std::string& from) {
      auto recipe = Recipe::parse(from, "a.toml");
      recipe.read<Everything>("data");
      recipe.read<OneNumber>("data.deep");
      recipe.read<Heading>("");
      recipe.finish();
      return recipe.resolved();
    };
    const std::string once = resolve(text);
    EXPECT_EQ(resolve(once), once);
  }
}

void expect_number_survives(double value) {
  auto recipe = Recipe::parse("", "a.toml");
  recipe.read<OneNumber>("", OneNumber{value});
  auto again = Recipe::parse(recipe.resolved(), "b.toml");
  const auto read = again.read<OneNumber>("").value;
  ASSERT_TRUE(read) << recipe.resolved();
  // Bit by bit, since 0.0 == -0.0.
  EXPECT_EQ(std::bit_cast<std::uint64_t>(*read), std::bit_cast<std::uint64_t>(value))
      << recipe.resolved();
  EXPECT_EQ(again.resolved(), recipe.resolved());
}

TEST(Resolved, KeepsAwkwardNumbers) {
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.1,
                             1e-5,
                             1.0 / 3.0,
                             1e15,
                             1e16,
                             1e17,
                             1e22,
                             1e23,
                             1e300,
                             -1e300,
                             123456789012345678.0,
                             9007199254740993.0,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::min(),
                             std::numeric_limits<double>::denorm_min(),
                             std::nextafter(1.0, 2.0),
                             std::nextafter(1e22, 0.0)})
    expect_number_survives(value);
}

TEST(Resolved, KeepsRandomNumbers) {
  SeededBits bits(1);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t word = bits();
    double value = 0;
    std::memcpy(&value, &word, sizeof value);
    if (std::isfinite(value)) expect_number_survives(value);
  }
}

void expect_text_survives(const std::string& text) {
  auto recipe = Recipe::parse("", "a.toml");
  recipe.read<OneText>("", OneText{text});
  auto again = Recipe::parse(recipe.resolved(), "b.toml");
  EXPECT_EQ(again.read<OneText>("").value, text) << recipe.resolved();
  EXPECT_EQ(again.resolved(), recipe.resolved());
  EXPECT_NO_THROW(again.finish()) << recipe.resolved();
}

TEST(Resolved, KeepsAwkwardText) {
  for (const std::string& text : std::vector<std::string>{"",
                                                          " ",
                                                          "plain",
                                                          "it's",
                                                          "\"quoted\"",
                                                          "'''",
                                                          "\"\"\"",
                                                          "''' and \"\"\"",
                                                          "\\",
                                                          "a\\",
                                                          "\\n",
                                                          "\\u0041",
                                                          "a\nb",
                                                          "\nfirst",
                                                          "last\n",
                                                          "\n",
                                                          "\r",
                                                          "\r\n",
                                                          "a\rb",
                                                          "\t",
                                                          "a\tb",
                                                          "# no comment",
                                                          "[section]",
                                                          "a = 1",
                                                          "true",
                                                          "1.5",
                                                          "1979-05-27",
                                                          "nan",
                                                          "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                                          "\xc2\x85",
                                                          "\xe2\x80\xa8",
                                                          "\xef\xbb\xbf",
                                                          std::string("a\0b", 3),
                                                          "\x01\x1f\x7f\b\f\x1b",
                                                          std::string(100'000, 'x')})
    expect_text_survives(text);
}

TEST(Resolved, KeepsRandomText) {
  const std::vector<std::string> pieces = {
      "\"",   "'",    "\\",   "\n",       "\r",           "\t",       "a",  " ",
      "#",    "\"\"", "'''",  "\xc3\xa9", "\xe2\x80\xa8", "\xc2\x85", "\\", "u0041",
      "\x01", "\x7f", "{a}]", "=",        "x = 1"};
  SeededBits bits(2);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::uint64_t count = bits.below(8); count > 0; --count)
      text += pieces[bits.below(pieces.size())];
    expect_text_survives(text);
  }
}

TEST(WriteNumber, WritesTheShortestTextThatIsNotAWholeNumber) {
  EXPECT_EQ(write_number(1), "1.0");
  EXPECT_EQ(write_number(-0.0), "-0.0");
  EXPECT_EQ(write_number(0.1), "0.1");
  EXPECT_EQ(write_number(1e-5), "1e-05");
}

}  // namespace
}  // namespace obol::recipe
