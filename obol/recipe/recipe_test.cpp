#include "obol/recipe/recipe.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/recipe/testing.h"
#include "obol/recipe/toml.h"

namespace obol::recipe {
namespace {

using testing::Everything;
using testing::OneNumber;
using testing::read_data;
using testing::refusal_of;
using testing::refusal_of_data;
using testing::repeated;

TEST(Recipe, ReadsEveryKindOfField) {
  const Everything read = read_data(R"([data]
shuffle = false
size = 128
seed = -9223372036854775808
rate = 0.25
epsilon = 1e-5
name = "cifar10"
note = "a note"
)");
  EXPECT_FALSE(read.shuffle);
  EXPECT_EQ(read.size, 128);
  EXPECT_EQ(read.seed, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read.rate, 0.25);
  EXPECT_EQ(read.epsilon, 1e-5);
  EXPECT_EQ(read.name, "cifar10");
  EXPECT_EQ(read.note, "a note");
}

TEST(Recipe, KeepsDefaultsOfWhatItDoesNotName) {
  for (const char* text : {"", "[data]\n"}) {
    const Everything read = read_data(text);
    EXPECT_TRUE(read.shuffle);
    EXPECT_EQ(read.size, 64);
    EXPECT_EQ(read.seed, std::nullopt);
    EXPECT_EQ(read.rate, 0.5);
    EXPECT_EQ(read.epsilon, std::nullopt);
    EXPECT_EQ(read.name, "mnist");
    EXPECT_EQ(read.note, std::nullopt);
  }
}

TEST(Recipe, KeepsDefaultsThatTheCallerGives) {
  auto recipe = Recipe::parse("[data]\nsize = 2", "a.toml");
  Everything defaults;
  defaults.name = "cifar10";
  defaults.seed = 5;
  const auto read = recipe.read<Everything>("data", defaults);
  EXPECT_EQ(read.size, 2);
  EXPECT_EQ(read.name, "cifar10");
  EXPECT_EQ(read.seed, 5);
}

TEST(Recipe, ReadsTheTopOfTheFileAndNestedSections) {
  auto recipe = Recipe::parse(
      "title = 'T'\n[method]\nvalue = 1.5\n[method.generator]\nvalue = 2.5\n", "a.toml");
  EXPECT_EQ(recipe.read<Heading>("").title, "T");
  EXPECT_EQ(recipe.read<OneNumber>("method").value, 1.5);
  EXPECT_EQ(recipe.read<OneNumber>("method.generator").value, 2.5);
  EXPECT_NO_THROW(recipe.finish());
}

TEST(Recipe, ReadsSectionsWrittenAsInlineTablesAndDottedKeys) {
  EXPECT_EQ(read_data("data = { size = 3 }").size, 3);
  EXPECT_EQ(read_data("data.size = 3").size, 3);
}

TEST(Recipe, TakesWholeNumbersAndFractionsForNumbers) {
  EXPECT_EQ(read_data("data.epsilon = 3").epsilon, 3.0);
  EXPECT_EQ(read_data("data.rate = '1/1200'").rate, 1.0 / 1200.0);
  EXPECT_EQ(read_data("data.rate = '0.125'").rate, 0.125);
}

TEST(Recipe, NamesFileLineAndValueOfAWrongType) {
  EXPECT_EQ(refusal_of_data("\n[data]\n\nshuffle = 1"),
            "data.shuffle must be true or false, but is 1 (a.toml:4)");
  EXPECT_EQ(refusal_of_data("[data]\nsize = 1.0"),
            "data.size must be a whole number, at least 1, but is 1.0 (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\nsize = '3'"),
            "data.size must be a whole number, at least 1, but is \"3\" (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\nrate = true"),
            "data.rate must be between 0 and 1, but is true (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\nrate = 'half'"),
            "data.rate must be between 0 and 1, but is \"half\" (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\nrate = '1/0'"),
            "data.rate must be between 0 and 1, but is \"1/0\" (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\nnote = 3"), "data.note must be text, but is 3 (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\nnote = ['a']"),
            "data.note must be text, but is a list (a.toml:2)");
  EXPECT_EQ(refusal_of_data("[data]\n[data.note]"),
            "data.note must be text, but is a section (a.toml:2)");
}

TEST(Recipe, RefusesValuesOutOfRange) {
  EXPECT_EQ(refusal_of_data("data.size = 0"),
            "data.size must be a whole number, at least 1, but is 0 (a.toml:1)");
  EXPECT_EQ(refusal_of_data("data.rate = 1.5"),
            "data.rate must be between 0 and 1, but is 1.5 (a.toml:1)");
  EXPECT_EQ(refusal_of_data("data.epsilon = 0"),
            "data.epsilon must be finite and positive, but is 0 (a.toml:1)");
  EXPECT_EQ(refusal_of_data("data.epsilon = inf"),
            "data.epsilon must be finite and positive, but is inf (a.toml:1)");
  EXPECT_EQ(refusal_of_data("data.epsilon = nan"),
            "data.epsilon must be finite and positive, but is nan (a.toml:1)");
}

TEST(Recipe, TakesTheEndsOfARange) {
  EXPECT_EQ(read_data("data.size = 1").size, 1);
  EXPECT_EQ(read_data("data.rate = 0").rate, 0.0);
  EXPECT_EQ(read_data("data.rate = 1").rate, 1.0);
}

TEST(Recipe, NamesTheChoicesAndTheNearest) {
  EXPECT_EQ(refusal_of_data("data.name = 'fashon-mnist'"),
            "data.name must be one of mnist, fashion-mnist, cifar10, but is \"fashon-mnist\" "
            "(a.toml:1). Did you mean fashion-mnist?");
  EXPECT_EQ(refusal_of_data("data.name = 'imagenet-22k'"),
            "data.name must be one of mnist, fashion-mnist, cifar10, but is \"imagenet-22k\" "
            "(a.toml:1)");
}

TEST(Recipe, NamesFileAndLineOfAnUnknownKeyAndTheNearest) {
  EXPECT_EQ(refusal_of_data("[data]\nsize = 2\nshufle = true"),
            "data.shufle must be a key that this recipe can have, but is not (a.toml:3). Did you "
            "mean shuffle?");
  EXPECT_EQ(refusal_of_data("[data]\ntemperature = 2"),
            "data.temperature must be a key that this recipe can have, but is not (a.toml:2)");
}

TEST(Recipe, NamesFileAndLineOfAnUnknownSectionAndTheNearest) {
  EXPECT_EQ(
      refusal_of_data("[data]\n\n[dta]\nsize = 2"),
      "dta must be a key that this recipe can have, but is not (a.toml:3). Did you mean data?");
  EXPECT_EQ(refusal_of_data("[data.optimizer]\nsize = 2"),
            "data.optimizer must be a key that this recipe can have, but is not (a.toml:1)");
}

TEST(Recipe, RefusesAKeyOfAnotherSection) {
  auto recipe = Recipe::parse("size = 3\n[data]\n", "a.toml");
  recipe.read<Heading>("");
  recipe.read<Everything>("data");
  EXPECT_EQ(refusal_of([&] { recipe.finish(); }),
            "size must be a key that this recipe can have, but is not (a.toml:1)");
}

TEST(Recipe, RefusesAKeyBesideANestedSection) {
  auto recipe = Recipe::parse("[method]\nextra = 1\n[method.generator]\nvalue = 1.0", "a.toml");
  recipe.read<OneNumber>("method.generator");
  EXPECT_EQ(refusal_of([&] { recipe.finish(); }),
            "method.extra must be a key that this recipe can have, but is not (a.toml:2)");
}

TEST(Recipe, RefusesAValueWhereASectionIsWanted) {
  auto scalar = Recipe::parse("\ndata = 3", "a.toml");
  EXPECT_EQ(refusal_of([&] { scalar.read<Everything>("data"); }),
            "data must be a section, but is 3 (a.toml:2)");
  auto list = Recipe::parse("[[data]]\nsize = 3", "a.toml");
  EXPECT_EQ(refusal_of([&] { list.read<Everything>("data"); }),
            "data must be a section, but is a list (a.toml:1)");
}

TEST(Recipe, FinishesOneSectionWithoutTheOthers) {
  auto recipe =
      Recipe::parse("other = 1\n[data]\nsize = 2\n[more]\nx = 1\n[data.in]\nvalue = 1", "a.toml");
  recipe.read<Everything>("data");
  EXPECT_EQ(refusal_of([&] { recipe.finish("data"); }),
            "data.in must be a key that this recipe can have, but is not (a.toml:6)");
  recipe.read<OneNumber>("data.in");
  EXPECT_NO_THROW(recipe.finish("data"));
  EXPECT_NO_THROW(recipe.finish("data.in"));
  EXPECT_NO_THROW(recipe.finish("none"));
  EXPECT_THROW(recipe.finish("more"), InvalidArgument);
  EXPECT_THROW(recipe.finish(), InvalidArgument);
}

TEST(Recipe, NamesTheLineOfASyntaxError) {
  const std::string refusal = refusal_of_data("[data]\nsize = 3\nrate == 2\n");
  EXPECT_EQ(refusal.find("a recipe must be TOML, but is not: "), 0U) << refusal;
  EXPECT_NE(refusal.find("(a.toml:3)"), std::string::npos) << refusal;
}

TEST(Recipe, RefusesAKeyThatIsGivenTwice) {
  EXPECT_NE(refusal_of_data("[data]\nsize = 3\nsize = 4\n").find("(a.toml:3)"), std::string::npos);
}

TEST(Recipe, RefusesBrokenText) {
  for (const char* text : {"[data", "a = ", "= 1", "a = \"", "a = '''", "a = \"\xff\"",
                           "a = \"\xc3\"", "a = 99999999999999999999", "a = 1e400"})
    EXPECT_EQ(refusal_of_data(text).find("a recipe must be TOML, but is not: "), 0U) << text;
}

TEST(Recipe, RefusesDatesAndTimes) {
  for (const char* date : {"1979-05-27", "07:32:00", "1979-05-27T07:32:00Z"})
    EXPECT_EQ(refusal_of_data(std::string("\ndata.note = ") + date),
              "a value must be text, a number, true or false, a list or a section, but is a date "
              "or time (a.toml:2)");
}

TEST(Recipe, RefusesIncludesInText) {
  EXPECT_EQ(refusal_of_data("include = 'b.toml'"),
            "include must be in a file, but is in text (a.toml)");
}

// The TOML library alone has undefined behaviour on some of these, which a sanitizer shows.
TEST(Recipe, RefusesLettersOutsideOfQuotesThatAreNotAscii) {
  for (const char* text :
       {"\n\xc3\xa9 = 1", "\na\xc3\xa9 = 1", "\n[\xc3\xa9]", "\na = \xc3\xa9", "\na = 1\xc3\xa9",
        "\na = 1 \xc3\xa9", "\na = [1,\xc3\xa9]", "\na = ''\xd0\x96", "\na =\xc2\xa0 1",
        "\na = ''''''' \xc3\xa9", "\na = -'''\xd0\x96", "\na = 1.'\xc3\xa9'",
        "\na = \"\"\"\\\xc3\xa9\"\"\""}) {
    const std::string refusal = refusal_of_data(text);
    EXPECT_EQ(refusal.find("a recipe must be TOML, but is not: "), 0U) << text;
    EXPECT_NE(refusal.find("(a.toml:2)"), std::string::npos) << text;
  }
}

TEST(Recipe, ReadsLettersOfAllLanguagesInTextAndComments) {
  const std::string letters = "\xc3\xa9\xd0\x96\xe3\x81\x82\xf0\x9f\x98\x80";
  const std::string byte_order_mark = "\xef\xbb\xbf";
  for (const std::string& text :
       {"\"" + letters + "\"", "'" + letters + "'", "\"\"\"\n" + letters + "\"\"\"",
        "'''" + letters + "''' # " + letters, "\"\"\"\\\n  \\u00e9" + letters.substr(2) + "\"\"\"",
        "\"\"\"\\ \n \n  " + letters + "\"\"\""})
    EXPECT_EQ(read_data(byte_order_mark + "data.note = " + text).note, letters) << text;
  EXPECT_EQ(read_data("data.note = '''\\\n" + letters + "'''").note, "\\\n" + letters);
  EXPECT_EQ(read_data("data.note = \"\"\"\\\\" + letters + "\"\"\"").note, "\\" + letters);
  EXPECT_EQ(read_data("data.note = \"\"\"\\\"" + letters + "\"\"\"\"\"").note,
            "\"" + letters + "\"\"");
  auto recipe = Recipe::parse("a.'" + letters + "'.value = 1", "a.toml");
  EXPECT_EQ(recipe.read<OneNumber>("a." + letters).value, 1.0);
}

// Its assertions fail on these, where they are checked.
TEST(Recipe, RefusesTextWithoutNamesOrValues) {
  for (const char* text :
       {"\n[.]", "\n[=", "\n[#", "\n[[.]]", "\n[ {", "\n[[ =", "\n[+]", "\na = ]", "\na = ,",
        "\na = }", "\na = #", "\na = [,]", "\na = {a = }", "\na = {a = ,}"}) {
    const std::string refusal = refusal_of_data(text);
    EXPECT_EQ(refusal.find("a recipe must be TOML, but is not: "), 0U) << text;
    EXPECT_NE(refusal.find("(a.toml:2)"), std::string::npos) << text << refusal;
  }
}

// Shows nothing by itself but that nothing else is thrown; with sanitizers, that the library was
// kept from what it cannot bear.
TEST(Recipe, ReadsOrRefusesWhateverItIsGiven) {
  const std::vector<std::string> pieces = {
      "\"",       "'",    "\"\"\"", "'''", "\\",   "\n", "\xc3\xa9", "\xd0\x96", "\xe3\x81\x82",
      "\xc2\xa0", "#",    "=",      "a",   ".",    "[",  "]",        "{",        "}",
      ",",        "1",    " ",      "\t",  "\r\n", "-",  "e5",       "b",        "a = ",
      "\xff",     "\"\"", "\x01",   "\\u", "\\\n"};
  SeededBits bits(3);
  for (int i = 0; i < 10'000; ++i) {
    std::string text;
    for (std::uint64_t count = bits.below(20); count > 0; --count)
      text += pieces[bits.below(pieces.size())];
    EXPECT_NO_THROW(refusal_of_data("data.note = " + text)) << text;
    EXPECT_NO_THROW(refusal_of_data(text)) << text;
    EXPECT_NO_THROW(refusal_of_data("", {"data.note=" + text})) << text;
  }
}

TEST(Limits, AllowWhatTheySay) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_TRUE(positive().allow(tiny));
  EXPECT_FALSE(positive().allow(0));
  EXPECT_TRUE(at_least(2).allow(2));
  EXPECT_FALSE(at_least(2).allow(std::nextafter(2.0, 0.0)));
  EXPECT_TRUE(between(-1, 1).allow(-1));
  EXPECT_TRUE(between(-1, 1).allow(1));
  EXPECT_FALSE(between(-1, 1).allow(std::nextafter(1.0, 2.0)));
  EXPECT_FALSE(between(-1, 1).allow(std::nextafter(-1.0, -2.0)));
  const Limits open{.low = 0, .high = 1, .low_is_open = true, .high_is_open = true};
  EXPECT_FALSE(open.allow(0));
  EXPECT_FALSE(open.allow(1));
  EXPECT_TRUE(open.allow(0.5));
  for (const Limits& limits : {any_number(), positive(), at_least(2), between(-1, 1)})
    for (const double value : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()})
      EXPECT_FALSE(limits.allow(value)) << limits.words;
}

TEST(LargeRecipe, OfNestedListsIsRefusedNotACrash) {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{a=", "}")}) {
    const std::string deep = repeated(open, 100'000) + "1" + repeated(close, 100'000);
    EXPECT_NE(refusal_of_data("note = " + deep), "accepted");
    EXPECT_NE(refusal_of_data("note = " + repeated(open, 100'000)), "accepted");
    EXPECT_EQ(read_data("", {"data.note=" + deep}).note, deep);
  }
}

TEST(LargeRecipe, OfDeepKeysIsRefusedNotACrash) {
  const std::string deep = repeated("a.", 300'000) + "a";
  const std::string refusal = "a key must be at most 16 parts long, but is longer (a.toml:2)";
  for (const std::string& text :
       {"\n" + deep + " = 1", "\n[" + deep + "]", "\n[[" + deep + "]]", "\nx = {" + deep + " = 1}",
        "\n" + deep + " = 1\nbroken", "\n" + repeated("'a' . ", 20'000) + "a = 1",
        "\n[" + repeated("\"a\".", 20'000) + "a]", "\nx = [1, {" + deep + " = 1}]",
        // Strings after which the scan must find its way back.
        "\nx = [\"\\\"\", '\\', '''a'''', \"\"\"\"\"\", \"\", {" + deep + " = 1}]",
        "# it's\n" + deep + " = 1"})
    EXPECT_EQ(refusal_of_data(text), refusal) << text.substr(0, 60);
  EXPECT_EQ(refusal_of_data("", {deep + "=1"}),
            "a key of --set must be at most 16 parts long, but is longer");
  EXPECT_EQ(read_data("", {"data.note={" + deep + "=1}"}).note, "{" + deep + "=1}");
}

TEST(LargeRecipe, OfTheDeepestKeysIsRead) {
  const std::string section = repeated("a.", 15) + "a";
  auto recipe = Recipe::parse("[" + section + "]\nvalue = 1", "a.toml");
  EXPECT_EQ(recipe.read<OneNumber>(section).value, 1.0);
  const std::string key = repeated("a.", 15) + "value";
  auto overridden = Recipe::parse("", "a.toml", {key + "=2"});
  EXPECT_EQ(overridden.read<OneNumber>(repeated("a.", 14) + "a").value, 2.0);
}

TEST(LargeRecipe, MayHaveAnyNumberOfDotsThatAreNotInAKey) {
  const std::string dots(1000, '.');
  for (const std::string& text :
       {"data.note = \"" + dots + "\"", "data.note = '" + dots + "'",
        "data.note = \"\"\"\n" + dots + "\"\"\"", "data.note = '''\n" + dots + "'''",
        "data.note = \"\"\"\n\"\" " + dots + "\\\"\"\"\" # " + dots,
        "data.note = \"" + dots + "\\\"" + dots + "\"", "# " + dots + "\ndata.size = 1"})
    EXPECT_EQ(refusal_of_data(text), "accepted") << text.substr(0, 40);
  EXPECT_EQ(refusal_of_data("data.note = [" + repeated("1.5, ", 1000) + "]"),
            "data.note must be text, but is a list (a.toml:1)");
}

TEST(LargeRecipe, OfManyKeysIsRead) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("key{} = {}\n", i, i);
  auto recipe = Recipe::parse(text + "value = 1\n", "a.toml");
  EXPECT_EQ(recipe.read<OneNumber>("").value, 1.0);
  EXPECT_THROW(recipe.finish(), InvalidArgument);
}

// Recipes in files.

}  // namespace
}  // namespace obol::recipe
