#include "obol/privacy/accountant.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

TEST(Account, IsTightByDefault) {
  const Guarantee guarantee = account({SampledGaussian{0.01, 0.8, 2000}}, Delta{1e-5});
  EXPECT_EQ(guarantee.accountant, AccountantKind::kPld);
  EXPECT_GE(guarantee.epsilon, 4.293436288);
  EXPECT_NEAR(guarantee.epsilon, 4.293436288, 1e-5);
  EXPECT_LE(guarantee.epsilon_lower, 4.293436289);
  EXPECT_EQ(guarantee.neighbours, Neighbours::kAddRemove);
  EXPECT_FALSE(guarantee.order);
}

TEST(Account, FallsBackToRenyiForFixedBatchesUnlessToldOtherwise) {
  const std::vector<Event> events = {FixedBatchGaussian{0.001, 1.07, 640000}};
  const Accounting classic{.kind = AccountantKind::kTightest, .conversion = Conversion::kClassic};
  const Guarantee guarantee = account(events, Delta{1e-5}, classic);
  EXPECT_EQ(guarantee.accountant, AccountantKind::kRdp);
  EXPECT_NEAR(guarantee.epsilon, 9.992623570832228, 1e-9);
  EXPECT_EQ(guarantee.neighbours, Neighbours::kReplaceOne);
  EXPECT_THROW(account(events, Delta{1e-5}, {.kind = AccountantKind::kPld}), UnsupportedEvent);
}

TEST(Account, GroupsCostMoreAndNeedTheTightAccountant) {
  const std::vector<Event> events = {SampledGaussian{0.01, 2, 1000}};
  const double one = account(events, Delta{1e-5}).epsilon;
  const double four = account(events, Delta{1e-5}, {.group_size = 4}).epsilon;
  EXPECT_GT(four, 3 * one);
  EXPECT_THROW(account(events, Delta{1e-5}, {.kind = AccountantKind::kRdp, .group_size = 2}),
               UnsupportedEvent);
}

TEST(Account, OfSeveralLedgersIsThatOfTheirEventsTogether) {
  const double split =
      account({SampledGaussian{0.01, 1, 400}, Gaussian{20, 1}, SampledGaussian{0.01, 1, 600}},
              Delta{1e-6})
          .epsilon;
  const double whole =
      account({Gaussian{20, 1}, SampledGaussian{0.01, 1, 1000}}, Delta{1e-6}).epsilon;
  EXPECT_NEAR(split, whole, 1e-9 * whole);
}

TEST(Account, RefusesMixedNeighboursWhoeverAccounts) {
  const std::vector<Event> mixed = {SampledGaussian{0.01, 1, 1}, ShardGaussian{0.01, 1, 1}};
  for (const auto kind : {AccountantKind::kPld, AccountantKind::kRdp})
    EXPECT_THROW(account(mixed, Delta{1e-5}, {.kind = kind}), UnsupportedEvent);
}

TEST(Account, RenyiIsNeverBelowTheTruth) {
  for (const Event& event :
       {Event(SampledGaussian{0.02, 1, 500}), Event(ShardGaussian{0.01, 0.7, 500}),
        Event(SampledLaplace{0.1, 2, 100}), Event(Laplace{3, 50}), Event(Gaussian{4, 20}),
        Event(LocalGaussian{1, 1}), Event(LocalLaplace{2, 1}),
        Event(LocalRandomizedResponse{1.5, 10, 1}), Event(LocalRandomizedResponse{0.1, 2, 40})}) {
    const Guarantee tight = account({event}, Delta{1e-6});
    const Guarantee renyi = account({event}, Delta{1e-6}, {.kind = AccountantKind::kRdp});
    EXPECT_GE(renyi.epsilon, tight.epsilon_lower) << describe(event);
    EXPECT_LE(tight.epsilon, renyi.epsilon * (1 + 1e-9)) << describe(event);
  }
}

TEST(Account, HasNamesThatLeadBack) {
  for (const auto kind : {AccountantKind::kTightest, AccountantKind::kPld, AccountantKind::kRdp})
    EXPECT_EQ(accountant_from(name_of(kind)), kind);
  EXPECT_THROW(accountant_from("moments"), InvalidArgument);
}

}  // namespace
}  // namespace obol::privacy
