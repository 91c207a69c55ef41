#include "obol/local/published.h"

#include <gtest/gtest.h>

#include "obol/privacy/ledger_testing.h"

namespace obol::local {
namespace {

using privacy::Ledger;
using privacy::LocalGaussian;
using privacy::Neighbours;

TEST(PublishedLocally, TakesTheRadius) {
  const TemporaryFolder folder;
  const Path local = folder.path() / "local.jsonl";
  Ledger records = Ledger::create(local, privacy::some_header(Neighbours::kPerson));
  records.reserve("records", LocalGaussian{3, 1});
  const auto counts = published_counts(folder.path(), records.record());
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_TRUE(privacy::same_mechanism(counts[0].per_release, LocalGaussian{6, 1}));
  EXPECT_FALSE(counts[0].holds || counts[1].holds);
  EXPECT_TRUE(is_same_count(counts[0], published_locally(LocalGaussian{3, 1}, 2 * (1 + 1e-9))));
  EXPECT_FALSE(is_same_count(counts[0], counts[1]));
}

TEST(PublishedLocally, IsNothingWhereRecordsWereNotPrivatised) {
  const TemporaryFolder folder;
  const Ledger ledger = Ledger::create(folder.path() / "ledger.jsonl", privacy::some_header());
  EXPECT_TRUE(published_counts(folder.path(), ledger.record()).empty());
}

}  // namespace
}  // namespace obol::local
