// Ledgers that were damaged, by accident or by hand: refused, or counted in full.
#include <functional>

#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/ledger_line.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

const Event kTenSteps =
    SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 10};

// Lines: 0 open, 1 and 2 reserve, 3 settles 1, 4 recovered, 5 reserve, 6 settles 5.
std::string make_ledger() {
  const TemporaryFolder folder;
  const Path path = folder.path() / "ledger.jsonl";
  {
    Ledger ledger = Ledger::create(path, some_header());
    Reservation paid = ledger.reserve("training", kTenSteps);
    ledger.reserve("class histogram", Gaussian{.noise_multiplier = 20, .count = 1});
    paid.take(4);
    paid.settle();
  }
  write_file(path, read_text(path, kMaxLedgerBytes) + "{\"ki");
  {
    Ledger ledger = Ledger::open(path);
    Reservation paid = ledger.reserve("training", with_count(kTenSteps, 30));
    paid.take(29);
    paid.settle();
  }
  return read_text(path, kMaxLedgerBytes);
}

const std::string& some_ledger() {
  static const std::string kLedger = make_ledger();
  return kLedger;
}

std::string damage_refusal(std::string_view text) {
  try {
    read_ledger_text(text, "x.jsonl");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

// The message about a ledger in which `from` on a line became `to`, with hashes to match.
std::string refusal_of_change(std::size_t line, const std::string& from, const std::string& to) {
  std::vector<std::string> lines = lines_of(some_ledger());
  const std::size_t at = lines.at(line).find(from);
  if (at == std::string::npos) return "the line has no " + from;
  lines[line].replace(at, from.size(), to);
  return damage_refusal(chained(lines));
}

TEST(LedgerDamage, NoneInTheLedgerThatIsDamagedHere) {
  EXPECT_EQ(damage_refusal(some_ledger()), "accepted");
  EXPECT_EQ(damage_refusal(chained(lines_of(some_ledger()))), "accepted");
  EXPECT_EQ(lines_of(some_ledger()).size(), 7U);
}

TEST(LedgerDamage, FlippedBitIsFoundWhereverItIs) {
  const std::string& whole = some_ledger();
  const std::size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t at = 0; at + 1 < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1);
    const std::string message = damage_refusal(text);
    EXPECT_NE(message, "accepted") << at;
    const bool names_it = message.find("(x.jsonl:7)") != std::string::npos;
    EXPECT_TRUE(at < last_line || names_it) << message;
  }
}

TEST(LedgerDamage, NamesTheFileTheLineAndWhatMustHold) {
  std::vector<std::string> lines = lines_of(some_ledger());
  lines[2].replace(lines[2].find("20"), 2, "21");
  std::string text;
  for (const std::string& line : lines) text += line;
  EXPECT_EQ(damage_refusal(text),
            "the hash must be that of the hash before and of this line, but is another "
            "(x.jsonl:3)");
}

TEST(LedgerDamage, LinesReorderedRemovedRepeatedOrInsertedAreFound) {
  const std::vector<std::string> lines = lines_of(some_ledger());
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += part;
    return text;
  };
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    std::swap(changed[i], changed[i + 1]);
    EXPECT_NE(damage_refusal(joined(changed)), "accepted");
    EXPECT_NE(damage_refusal(chained(changed)), "accepted");
    changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(damage_refusal(joined(changed)), "accepted");
    EXPECT_NE(damage_refusal(chained(changed)), "accepted");
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    EXPECT_NE(damage_refusal(joined(changed)), "accepted");
    EXPECT_NE(damage_refusal(chained(changed)), "accepted");
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), "\n");
    EXPECT_NE(damage_refusal(joined(changed)), "accepted");
  }
}

// From here on the chain is rebuilt, so that each rule is seen on its own.
TEST(LedgerDamage, WrongSequenceNumberIsFound) {
  EXPECT_EQ(refusal_of_change(2, R"("sequence":2)", R"("sequence":3)"),
            "sequence must be 2, but is 3 (x.jsonl:3)");
}

TEST(LedgerDamage, UnknownFormatOrVersionIsFound) {
  EXPECT_EQ(refusal_of_change(0, "obol-ledger", "other"),
            "format must be obol-ledger, but is \"other\" (x.jsonl:1)");
  EXPECT_EQ(refusal_of_change(0, R"("version":1)", R"("version":2)"),
            "version must be 1, but is 2 (x.jsonl:1)");
}

TEST(LedgerDamage, HeaderThatCannotBeMeantIsFound) {
  EXPECT_EQ(refusal_of_change(0, "add-remove", "as-stated"),
            "neighbours must be add-remove, replace-one or person, but is as-stated (x.jsonl:1)");
  EXPECT_NE(refusal_of_change(0, "add-remove", "friends"), "accepted");
  EXPECT_EQ(refusal_of_change(0, "60000", "0"), "records must be positive, but is 0 (x.jsonl:1)");
  EXPECT_NE(refusal_of_change(0, "hmac-sha256:0123", ""), "accepted");
}

TEST(LedgerDamage, UnknownExtraAndMissingKeysAreFound) {
  EXPECT_EQ(refusal_of_change(1, R"("kind":"reserve")", R"("kind":"refund")"),
            "kind must be open, plan, reserve, settle, recovered or turns, but is \"refund\" "
            "(x.jsonl:2)");
  EXPECT_EQ(refusal_of_change(1, "SampledGaussian", "Magic"),
            "the mechanism must be one of the known events, but is \"Magic\" (x.jsonl:2)");
  EXPECT_EQ(refusal_of_change(3, R"("used":4)", R"("used":4,"why":1)"),
            "a line must have no key but kind, reservation, sequence, time, used, but has \"why\" "
            "(x.jsonl:4)");
  EXPECT_EQ(refusal_of_change(3, R"(,"used":4)", ""),
            "a line must have the key used, but has not (x.jsonl:4)");
}

TEST(LedgerDamage, WhatCouldBeReadInTwoWaysIsFound) {
  const std::string message =
      "a line must be in the one form that is written, but is in another (x.jsonl:2)";
  EXPECT_EQ(refusal_of_change(1, R"("count":10)", R"("count":1,"count":10)"), message);
  EXPECT_EQ(refusal_of_change(1, R"("count":10)", R"("count": 10)"), message);
  EXPECT_EQ(refusal_of_change(1, "0.01", "0.010"), message);
  EXPECT_EQ(refusal_of_change(1, "0.01", "0.01000000000000000000001"), message);
  EXPECT_EQ(refusal_of_change(1, R"("training")", R"("\u0074raining")"), message);
}

TEST(LedgerDamage, NumbersThatCannotBeMeantAreFound) {
  EXPECT_EQ(refusal_of_change(1, "0.01", "1.5"),
            "sampling_rate must be above 0 and at most 1, but is 1.5 (x.jsonl:2)");
  for (const char* number : {"NaN", "Infinity", "1e999", "0x1", "-0.8", "0", "\"0.8\"", "null"})
    EXPECT_NE(refusal_of_change(1, "0.8", number), "accepted") << number;
  for (const char* count : {"0", "-10", "1.0", "1e1", "1000000000001", "99999999999999999999"})
    EXPECT_NE(refusal_of_change(1, R"("count":10)", std::string(R"("count":)") + count), "accepted")
        << count;
}

TEST(LedgerDamage, EventWithOtherNeighboursIsFound) {
  EXPECT_NE(refusal_of_change(1, "SampledGaussian", "ShardGaussian").find("same neighbours"),
            std::string::npos);
}

TEST(LedgerDamage, SettlementThatDoesNotFitIsFound) {
  EXPECT_EQ(refusal_of_change(3, R"("reservation":1)", R"("reservation":9)"),
            "what is settled must be an earlier reservation, but is 9 (x.jsonl:4)");
  EXPECT_EQ(refusal_of_change(6, R"("reservation":5)", R"("reservation":4)"),
            "what is settled must be an earlier reservation, but is 4 (x.jsonl:7)");
  EXPECT_EQ(refusal_of_change(6, R"("reservation":5)", R"("reservation":1)"),
            "a reservation must be settled once, but 1 was settled before (x.jsonl:7)");
  EXPECT_EQ(refusal_of_change(3, R"("used":4)", R"("used":11)"),
            "used must be 0 to 10, as reserved, but is 11 (x.jsonl:4)");
  EXPECT_NE(refusal_of_change(3, R"("used":4)", R"("used":-1)"), "accepted");
}

TEST(LedgerDamage, BadTimesAndTextsAreFound) {
  EXPECT_NE(refusal_of_change(1, R"("time":"2)", R"("time":"x)"), "accepted");
  EXPECT_NE(refusal_of_change(1, R"(Z",)", R"(",)"), "accepted");
  EXPECT_NE(refusal_of_change(1, "training", ""), "accepted");
  EXPECT_NE(refusal_of_change(1, "training", "tr\\u0000aining"), "accepted");
  EXPECT_NE(refusal_of_change(1, "training", "tr\xc3ining"), "accepted") << "not UTF-8";
  EXPECT_EQ(refusal_of_change(1, "training", std::string("a\0b", 3)),
            "a line must hold no NUL, but does (x.jsonl:2)");
  EXPECT_EQ(refusal_of_change(1, "training", std::string(kMaxLineBytes, 'x')).substr(0, 42),
            "a line must be at most 4096 bytes long, bu");
  EXPECT_NE(refusal_of_change(1, "training", std::string(kMaxTextBytes + 1, 'x')), "accepted");
}

TEST(LedgerDamage, FileThatIsTooLargeIsNotRead) {
  class Huge final : public Bytes {
   public:
    [[nodiscard]] const std::string& name() const override { return name_; }
    [[nodiscard]] std::uint64_t size() const override { return kMaxLedgerBytes + 1; }
    std::size_t read_at(std::uint64_t /*offset*/, std::span<std::byte> /*out*/) const override {
      throw std::logic_error("read");
    }

   private:
    std::string name_ = "huge";
  };
  EXPECT_THROW(read_ledger(Huge()), DataError);
}

TEST(LedgerDamage, OpenedByAWholeLineOrRefused) {
  const std::string first = lines_of(some_ledger())[0];
  for (std::size_t size = 0; size < first.size(); ++size)
    EXPECT_NE(damage_refusal(first.substr(0, size)), "accepted");
  EXPECT_NE(damage_refusal(std::string(100, '\0')), "accepted");
  EXPECT_EQ(damage_refusal(first), "accepted");
}

TEST(LedgerDamage, CompleteLastLineWithABadHashIsNotTorn) {
  std::string text = some_ledger();
  text[text.size() - 5] = text[text.size() - 5] == '0' ? '1' : '0';
  EXPECT_NE(damage_refusal(text), "accepted");
  EXPECT_NE(damage_refusal(some_ledger() + "{\"kind\":\n"), "accepted");
  EXPECT_NE(damage_refusal(some_ledger() + "\n"), "accepted");
}

TEST(LedgerDamage, TailOfMoreThanOneLineIsNotTorn) {
  const std::vector<std::string> lines = lines_of(some_ledger());
  const std::string two = lines[1].substr(0, lines[1].size() - 1) + lines[2].substr(0, 100);
  EXPECT_NE(damage_refusal(lines[0] + two), "accepted");
  EXPECT_NE(damage_refusal(lines[0] + std::string(kMaxLineBytes + 1, 'x')), "accepted");
  EXPECT_EQ(damage_refusal(lines[0] + std::string(kMaxLineBytes + 1, '\0')), "accepted");
}

// Wherever the end is cut off, what is left whole counts in full.
TEST(LedgerDamage, CutAnywhereCountsAtLeastTheWholeLines) {
  const std::string& whole = some_ledger();
  const LedgerRecord original = read_ledger_text(whole);
  for (std::size_t size = lines_of(whole)[0].size(); size <= whole.size(); ++size) {
    const LedgerRecord cut = read_ledger_text(whole.substr(0, size));
    EXPECT_TRUE(original.extends(cut.head()));
    const std::size_t end = whole.rfind('\n', size - 1) + 1;
    EXPECT_EQ(cut.torn.has_value(), end != size);
    EXPECT_TRUE(covers(cut.spent(), read_ledger_text(whole.substr(0, end)).spent()));
  }
}

TEST(LedgerDamage, MissingLastNewlineLosesNothing) {
  const std::vector<std::string> lines = lines_of(some_ledger());
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    if (text == lines[0]) continue;
    const LedgerRecord torn = read_ledger_text(text.substr(0, text.size() - 1));
    EXPECT_TRUE(covers(torn.spent(), read_ledger_text(text).spent()));
  }
}

class Damager {
 public:
  explicit Damager(std::uint64_t seed) : bits_(seed) {}

  std::string damaged(std::string text) {
    for (std::uint64_t times = 1 + bits_.below(3); times > 0 && !text.empty(); --times)
      text = bits_.below(2) == 0 ? with_lines_changed(text) : with_bytes_changed(text);
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(bits_.below(bound)); }

  std::string with_bytes_changed(std::string text) {
    const std::size_t at = below(text.size());
    switch (bits_.below(4)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << bits_.below(8)));
        return text;
      case 1:
        return text.substr(0, at);
      case 2:
        return text.substr(0, at) + std::string(1 + below(40), '\0');
      default:
        return text.erase(at, 1 + below(40));
    }
  }

  std::string with_lines_changed(const std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    const std::size_t from = below(lines.size());
    const std::size_t to = below(lines.size());
    switch (bits_.below(3)) {
      case 0:
        std::swap(lines[from], lines[to]);
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(to), std::string(lines[from]));
        break;
      default:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(from));
    }
    std::string joined;
    for (const std::string& line : lines) joined += line;
    return joined;
  }

  SeededBits bits_;
};

// Refused, or a beginning of the original with at most a torn line after it: nothing of that
// beginning counts less, and whoever kept the original's head sees what is missing.
TEST(LedgerDamage, NeverMakesTheLedgerCountLess) {
  const std::string& whole = some_ledger();
  const LedgerRecord original = read_ledger_text(whole);
  const std::vector<std::string> lines = lines_of(whole);
  std::vector<std::vector<Event>> spent_by;  // the first n lines, less one
  std::string beginning;
  for (const std::string& line : lines)
    spent_by.push_back(read_ledger_text(beginning += line).spent());
  Damager damager(1);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = damager.damaged(whole);
    try {
      const LedgerRecord record = read_ledger_text(text);
      ++accepted;
      ASSERT_TRUE(original.extends(record.head()));
      const auto kept = static_cast<std::size_t>(record.head().entries);
      ASSERT_TRUE(covers(record.spent(), spent_by[kept - 1]));
      ASSERT_EQ(record.extends(original.head()), kept == lines.size());
    } catch (const DataError&) {  // as it should be
    }
  }
  EXPECT_GT(accepted, 500) << "some are only cut at the end";
  EXPECT_LT(accepted, 15'000);
}

// Lines: 0 open, 1 plan, 2 reserve.
std::string planned_ledger() {
  const TemporaryFolder folder;
  const Path path = folder.path() / "ledger.jsonl";
  Ledger ledger = Ledger::create(path, some_header());
  ledger.plan({{"training", with_count(kTenSteps, 30)}});
  ledger.reserve("training", kTenSteps);
  return read_text(path, kMaxLedgerBytes);
}

TEST(LedgerDamage, APlanThatDoesNotCoverWhatFollowsIsFound) {
  const std::vector<std::string> lines = lines_of(planned_ledger());
  ASSERT_EQ(damage_refusal(planned_ledger()), "accepted");
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::vector<std::string> changed = lines;
    changed[1].replace(changed[1].find(from), from.size(), to);
    return damage_refusal(chained(changed));
  };
  EXPECT_EQ(refusal(R"("count":30)", R"("count":9)"),
            "what is reserved for training must be at most 9, as planned and left, but is 10 "
            "(x.jsonl:3)");
  EXPECT_NE(refusal("training", "other"), "accepted");
  EXPECT_NE(refusal("0.01", "0.02"), "accepted");
  EXPECT_NE(refusal(R"("count":30)", R"("count":0)"), "accepted");
  EXPECT_NE(refusal(R"("purpose":"training",)", ""), "accepted");
  EXPECT_NE(refusal(R"("releases":[)", R"("releases":[ )"), "accepted");
  EXPECT_NE(refusal(R"([{"purpose")", R"([3,{"purpose")"), "accepted");
  EXPECT_NE(damage_refusal(chained({lines[0], lines[2], lines[1]})), "accepted");
}

TEST(LedgerDamage, AFlippedBitInAPlanIsFoundWhereverItIs) {
  const std::string whole = planned_ledger();
  for (std::size_t at = 0; at + 1 < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1);
    EXPECT_NE(damage_refusal(text), "accepted") << at;
  }
}

}  // namespace
}  // namespace obol::privacy
