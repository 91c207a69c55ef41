#include "obol/recipe/recipe.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/recipe/toml.h"

namespace obol::recipe {
namespace {

namespace fs = std::filesystem;

// One field of every kind, with a default and without.
struct Everything {
  bool shuffle = true;
  std::int64_t size = 64;
  std::optional<std::int64_t> seed;
  double rate = 0.5;
  std::optional<double> epsilon;
  std::string name = "mnist";
  std::optional<std::string> note;

  void describe(Fields& fields) {
    fields.flag("shuffle", shuffle, "");
    fields.integer("size", size, at_least(1), "");
    fields.integer("seed", seed, any_number(), "");
    fields.number("rate", rate, between(0, 1), "");
    fields.number("epsilon", epsilon, positive(), "");
    fields.text("name", name, {"mnist", "fashion-mnist", "cifar10"}, "");
    fields.text("note", note, {}, "");
  }
};

struct OneNumber {
  std::optional<double> value;
  void describe(Fields& fields) { fields.number("value", value, any_number(), ""); }
};

struct OneText {
  std::optional<std::string> value;
  void describe(Fields& fields) { fields.text("value", value, {}, ""); }
};

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

Everything read_data(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto recipe = Recipe::parse(text, "a.toml", overrides);
  auto options = recipe.read<Everything>("data");
  recipe.finish();
  return options;
}

std::string refusal_of_data(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
  return refusal_of([&] { read_data(text, overrides); });
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

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
class Include : public testing::Test {
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
