#include "obol/base/text.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/random.h"

namespace obol {
namespace {

using Words = std::vector<std::string>;

const Words& datasets() {
  static const Words kNames = {"mnist", "fashion-mnist", "cifar10"};
  return kNames;
}

TEST(Nearest, FindsAMisspeltName) {
  EXPECT_EQ(nearest("fashon-mnist", datasets()), "fashion-mnist");
  EXPECT_EQ(nearest("mnsit", datasets()), "mnist");
  EXPECT_EQ(nearest("cifar", datasets()), "cifar10");
}

TEST(Nearest, PrefersTheCandidateWithFewerEdits) {
  EXPECT_EQ(nearest("bath", {"bathes", "batch", "path_of"}), "batch");
  EXPECT_EQ(nearest("batch", {"batches", "batch"}), "batch");
}

TEST(Nearest, TakesTheFirstOfEquallyNearOnes) { EXPECT_EQ(nearest("aX", {"ab", "ac"}), "ab"); }

TEST(Nearest, CountsInsertionDeletionAndSubstitutionAsOneEachAndAllowsHalfTheWord) {
  EXPECT_EQ(nearest("abcdef", {"abcxyz"}), "abcxyz");
  EXPECT_EQ(nearest("abcdef", {"abwxyz"}), std::nullopt);
  EXPECT_EQ(nearest("abcdef", {"abcdefghi"}), "abcdefghi");
  EXPECT_EQ(nearest("abcdef", {"abcdefghij"}), std::nullopt);
  EXPECT_EQ(nearest("abcdef", {"abcd"}), "abcd");
}

TEST(Nearest, LooksPastCase) { EXPECT_EQ(nearest("MNIST", datasets()), "mnist"); }

TEST(Nearest, KeepsTheCaseOfTheCandidate) { EXPECT_EQ(nearest("adam", {"Adam"}), "Adam"); }

TEST(Nearest, FindsNothingForAnUnrelatedWord) {
  EXPECT_EQ(nearest("temperature", datasets()), std::nullopt);
}

TEST(Nearest, DoesNotOfferACandidateThatSharesNothingWithAShortWord) {
  EXPECT_EQ(nearest("x", {"lr"}), std::nullopt);
  EXPECT_EQ(nearest("", {"lr", ""}), std::nullopt);
}

TEST(Nearest, FindsNothingAmongNothing) { EXPECT_EQ(nearest("mnist", {}), std::nullopt); }

TEST(Nearest, GivesUpOnAWordThatNobodyTyped) {
  const std::string longest(200, 'a');
  EXPECT_EQ(nearest(longest, {longest}), longest);
  const std::string too_long(201, 'a');
  EXPECT_EQ(nearest(too_long, {too_long}), std::nullopt);
}

TEST(DidYouMean, EndsASentenceWithTheNearest) {
  EXPECT_EQ(did_you_mean("mnit", datasets()), ". Did you mean mnist?");
}

TEST(DidYouMean, IsSilentWithoutOne) { EXPECT_EQ(did_you_mean("temperature", datasets()), ""); }

TEST(ParseNumber, ReadsDecimalsAndExponents) {
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("1e-5"), 1e-5);
  EXPECT_EQ(parse_number("-3"), -3.0);
  EXPECT_EQ(parse_number("1E3"), 1000.0);
  EXPECT_EQ(parse_number(".5"), 0.5);
}

TEST(ParseNumber, ReadsFractions) {
  EXPECT_EQ(parse_number("1/1200"), 1.0 / 1200.0);
  EXPECT_EQ(parse_number("-1/4"), -0.25);
  EXPECT_EQ(parse_number("1.5/1e1"), 0.15);
  EXPECT_EQ(parse_number("0/7"), 0.0);
}

TEST(ParseNumber, RefusesWhatIsNotFinite) {
  for (const char* text : {"nan", "NaN", "-nan", "inf", "-inf", "infinity", "1e400", "nan/1",
                           "1/nan", "inf/1", "1/inf", "1e300/1e-300"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(ParseNumber, RefusesDivisionByZero) {
  for (const char* text : {"1/0", "0/0", "1/-0", "1/0.0"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(ParseNumber, RefusesEverythingElse) {
  for (const char* text : {"", " ", " 1", "1 ", "1 /2", "1/ 2", "1/2/3", "/", "1/", "/2", "+1",
                           "0x10", "1,5", "1e", "e5", "--1", "one", "1%", "1_000"})
    EXPECT_EQ(parse_number(text), std::nullopt) << "'" << text << "'";
  EXPECT_EQ(parse_number(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseInteger, ReadsTheWholeRange) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-17"), -17);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
}

TEST(ParseInteger, RefusesEverythingElse) {
  for (const char* text : {"", " 1", "1 ", "1.0", "1e3", "+1", "0x1", "9223372036854775808",
                           "-9223372036854775809", "-", "a"})
    EXPECT_EQ(parse_integer(text), std::nullopt) << "'" << text << "'";
}

TEST(HumanBytes, CountsSingleBytesExactly) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
}

TEST(HumanBytes, ChangesUnitAtPowersOfTen) {
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(1024), "1.0 kB");
  EXPECT_EQ(human_bytes(47'000'000), "47.0 MB");
  EXPECT_EQ(human_bytes(1'000'000'000), "1.0 GB");
  EXPECT_EQ(human_bytes(1'000'000'000'000), "1.0 TB");
  EXPECT_EQ(human_bytes(1'000'000'000'000'000), "1.0 PB");
}

TEST(HumanBytes, NeverRoundsUpToAThousandOfAUnit) {
  EXPECT_EQ(human_bytes(999'949), "999.9 kB");
  EXPECT_EQ(human_bytes(999'950), "1.0 MB");
  EXPECT_EQ(human_bytes(999'949'999), "999.9 MB");
  EXPECT_EQ(human_bytes(999'950'000), "1.0 GB");
}

TEST(HumanBytes, StaysWithTheLargestUnit) {
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "18446.7 PB");
}

TEST(HumanSeconds, ShowsTenthsBelowAMinute) {
  EXPECT_EQ(human_seconds(0), "0.0 s");
  EXPECT_EQ(human_seconds(1.24), "1.2 s");
  EXPECT_EQ(human_seconds(59.94), "59.9 s");
}

TEST(HumanSeconds, NeverShowsSixtySecondsOrSixtyMinutes) {
  EXPECT_EQ(human_seconds(59.96), "1 min 0 s");
  EXPECT_EQ(human_seconds(60), "1 min 0 s");
  EXPECT_EQ(human_seconds(119.6), "2 min 0 s");
  EXPECT_EQ(human_seconds(3599.4), "59 min 59 s");
  EXPECT_EQ(human_seconds(3599.6), "1 h 0 min");
}

TEST(HumanSeconds, ShowsMinutesThenHours) {
  EXPECT_EQ(human_seconds(250), "4 min 10 s");
  EXPECT_EQ(human_seconds(3 * 3600 + 5 * 60 + 59), "3 h 5 min");
  EXPECT_EQ(human_seconds(1000 * 3600.0), "1000 h 0 min");
}

TEST(HumanSeconds, DoesNotPretendToKnow) {
  EXPECT_EQ(human_seconds(-1), "?");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(human_seconds(1e19), "?");
  EXPECT_EQ(human_seconds(1e300), "?");
}

TEST(ToLower, ChangesOnlyLatinLetters) {
  EXPECT_EQ(to_lower("AbZ019_-@[`{ \xc3\x84"), "abz019_-@[`{ \xc3\x84");
  EXPECT_EQ(to_lower(""), "");
}

TEST(Trim, RemovesSpaceAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t\r\na b\n "), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a.b.c", '.'), (Words{"a", "b", "c"}));
  EXPECT_EQ(split(".a..b.", '.'), (Words{"", "a", "", "b", ""}));
  EXPECT_EQ(split("", '.'), (Words{""}));
  EXPECT_EQ(split("abc", '.'), (Words{"abc"}));
}

TEST(Join, PutsTheSeparatorBetweenParts) {
  EXPECT_EQ(join({"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Join, UndoesSplit) {
  for (const char* text : {"", ".", "a", "a.b", "..", ".a."})
    EXPECT_EQ(join(split(text, '.'), "."), text);
}

TEST(RoundedUp, NeverSaysLessThanItIs) {
  EXPECT_EQ(rounded_up(844.3086), "844.309");
  EXPECT_EQ(rounded_up(379.4171), "379.418");
  EXPECT_EQ(rounded_up(10), "10");
  EXPECT_EQ(rounded_up(0), "0");
  EXPECT_EQ(rounded_up(9.9999991), "10");
  EXPECT_EQ(rounded_up(0.0367775221), "0.0367776");
  for (double value = 1e-9; value < 1e12; value *= 1.7)
    EXPECT_GE(std::stod(rounded_up(value)), value * (1 - 1e-15));
}

TEST(RoundedUp, HasAsManyDigitsAsAreAskedFor) {
  EXPECT_EQ(rounded_up(9.8116, 3), "9.82");
  EXPECT_EQ(rounded_up(9.996, 3), "10");
  EXPECT_EQ(rounded_up(0.00123401, 4), "0.001235");
  EXPECT_EQ(rounded_up(1e-5, 3), "1e-05");
  EXPECT_EQ(rounded_up(1.0000000000001e-5), "1.00001e-05");
  EXPECT_EQ(rounded_up(-2.00001, 3), "-2");
  EXPECT_EQ(rounded_up(3.3e300, 1), "4e+300");
  EXPECT_EQ(rounded_up(std::numeric_limits<double>::infinity()), "inf");
  SeededBits bits(1);
  for (int i = 0; i < 100'000; ++i) {
    const int digits = 1 + i % 12;
    const double exponent = static_cast<double>(bits.below(600)) - 300;
    double value = (1 + static_cast<double>(bits.below(1000)) / 100) * std::pow(10.0, exponent);
    for (std::uint64_t k = bits.below(4); k > 0; --k)  // just above a round number, or on it
      value = std::nextafter(value, std::numeric_limits<double>::infinity());
    EXPECT_GE(std::stod(rounded_up(value, digits)), value) << digits;
    EXPECT_LE(std::stod(rounded_down(value, digits)), value) << digits;
    EXPECT_LE(std::stod(rounded_up(value, digits)),
              value * (1 + std::pow(10.0, 1 - digits) * 1.01));
  }
}

TEST(RoundedDown, NeverSaysMoreThanItIs) {
  EXPECT_EQ(rounded_down(0.02652338), "0.0265233");
  EXPECT_EQ(rounded_down(9.9999999), "9.99999");
  EXPECT_EQ(rounded_down(0), "0");
  for (double value = 1e-9; value < 1e12; value *= 1.7)
    EXPECT_LE(std::stod(rounded_down(value)), value * (1 + 1e-15));
}

TEST(Printable, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain, café, 数字, 🙂"), "plain, café, 数字, 🙂");
  EXPECT_EQ(printable("\033]0;owned\a\033[31m"), "\\u001b]0;owned\\u0007\\u001b[31m");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\u000ab\\u0009c\\u000dd");
  EXPECT_EQ(printable("a\nb\tc\rd", Lines::kMany), "a\nb\tc\\u000dd");
  EXPECT_EQ(printable(std::string("\0\x7f", 2)), "\\u0000\\u007f");
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m") << "an escape sequence in one character";
  EXPECT_EQ(printable("gpj.\u202egnp"), "gpj.\\u202egnp") << "writes from right to left";
  EXPECT_EQ(printable("\u2066x\u2069\u200f\u2028"), "\\u2066x\\u2069\\u200f\\u2028");
}

TEST(Printable, SpellsOutBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "longer than need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Markdown, IsTextAndNothingElse) {
  EXPECT_EQ(markdown("Digits, 10 (ten) classes - 1e-5!"), "Digits, 10 (ten) classes - 1e-5!");
  EXPECT_EQ(markdown("<script>"), "\\<script\\>");
  EXPECT_EQ(markdown("[l](javascript:x)"), "\\[l\\](javascript:x)");
  EXPECT_EQ(markdown("a|b `c` *d* _e_ &lt; \\"), "a\\|b \\`c\\` \\*d\\* \\_e\\_ \\&lt; \\\\");
  EXPECT_EQ(markdown("a\n# b\033"), "a # b\\u001b");
}

TEST(Wrapped, BreaksAtSpacesAndKeepsLongWordsWhole) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("incomprehensible", 3), "incomprehensible");
  EXPECT_EQ(wrapped("", 3), "");
}

}  // namespace
TEST(WithThousands, SeparatesGroupsOfThree) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(160000), "160,000");
  EXPECT_EQ(with_thousands(8000000), "8,000,000");
}

}  // namespace obol
