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
  EXPECT_FALSE(meter.last());
  ledger.reserve("training", kEvent);
  EXPECT_EQ(meter.read(), exact());
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(meter.read(), exact());
  EXPECT_EQ(looks, 2) << "nothing has changed: nothing to compute";
  const double before = exact();
  ledger.reserve("training", kEvent);
  EXPECT_FALSE(meter.read()) << "out of date, and too early";
  EXPECT_EQ(meter.last(), before);
  now += 50;
  EXPECT_EQ(meter.read(), exact());
  EXPECT_GT(*meter.last(), before);
}

}  // namespace
}  // namespace obol::run
