#include "obol/run/meter.h"

#include <gtest/gtest.h>

#include "obol/privacy/ledger_testing.h"

namespace obol::run {
namespace {

const privacy::Event kEvent = privacy::Gaussian{.noise_multiplier = 10, .count = 1};

TEST(EpsilonMeter, IsExactOrSilentAndTakesABoundedShareOfTheTime) {
  const TemporaryFolder folder;
  privacy::Ledger ledger =
      privacy::Ledger::create(folder.path() / "ledger.jsonl", privacy::some_header());
  double now = 0;
  int looks = 0;
  // Each look at the clock takes a second: so does, then, each computation.
  EpsilonMeter meter(ledger, Delta{1e-5}, {}, [&] {
    ++looks;
    return now += 1;
  });
  const auto exact = [&] { return privacy::account(ledger.spent(), Delta{1e-5}).epsilon; };
  ledger.reserve("training", kEvent);
  EXPECT_EQ(meter.read(), exact());
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(meter.read(), exact());
  EXPECT_EQ(looks, 2) << "nothing has changed: nothing to compute";
  const double before = exact();
  ledger.reserve("training", kEvent);
  EXPECT_FALSE(meter.read()) << "out of date, and too early";
  EXPECT_GE(meter.bound(), exact()) << "what is shown in between is never too small";
  now += 50;
  EXPECT_EQ(meter.read(), exact());
  EXPECT_EQ(meter.bound(), exact());
  EXPECT_GT(exact(), before);
}

TEST(EpsilonMeter, HasABoundForEveryStateOfTheLedger) {
  const TemporaryFolder folder;
  privacy::Ledger ledger =
      privacy::Ledger::create(folder.path() / "ledger.jsonl", privacy::some_header());
  double now = 0;
  EpsilonMeter meter(ledger, Delta{1e-5}, {}, [&] { return now += 1; });
  int computed = 0;
  double before = 0;
  for (int i = 0; i < 200; ++i) {
    ledger.reserve(i % 50 == 7 ? "validation" : "training",
                   i % 50 == 7 ? privacy::Event(privacy::Gaussian{20, 1}) : kEvent);
    now -= 2;  // never time for another exact one after the first
    const double bound = meter.bound();
    const double exact = privacy::account(ledger.spent(), Delta{1e-5}).epsilon;
    EXPECT_GE(bound, exact) << i;
    EXPECT_LE(bound, (i > 20 ? 1.1 : 2) * exact) << i;
    computed += bound != before ? 1 : 0;
    before = bound;
  }
  EXPECT_LT(computed, 80) << "and not for every one of them anew";
}

}  // namespace
}  // namespace obol::run
