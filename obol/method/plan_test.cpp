#include "obol/privacy/plan.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/method/dp_sinkhorn/entry.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/privacy/turns.h"

namespace obol::method {
namespace {

using privacy::account;
using privacy::account_as_published;
using privacy::count_of;
using privacy::Gaussian;
using privacy::most_uses;
using privacy::Neighbours;
using privacy::Plan;
using privacy::PlannedEvent;
using privacy::with_count;

// GS-WGAN has shards, DP-Sinkhorn a sampling rate.
Plan plan_of(const PrivacyOptions& options) {
  const PricedSections sections{.privacy = options, .method = {}};
  return *(options.shards ? gs_wgan::plan(sections) : dp_sinkhorn::plan(sections));
}

PrivacyOptions paper_options() {
  PrivacyOptions options;
  options.barrier = Barrier::kRow;
  options.sampling_rate = 1 / 1200.0;
  options.noise_multiplier = 1.5;
  options.steps = 160000;
  options.generated_batch = 50;
  options.delta = 1e-5;
  options.follows = "dp-sinkhorn";
  return options;
}

double price(const Plan& plan) { return account(plan.events(), plan.delta).epsilon; }

TEST(Plan, OfDpSinkhornsPaperHasBothNumbers) {
  const Plan plan = plan_of(paper_options());
  EXPECT_NEAR(price(plan), 844.31, 0.01);
  EXPECT_NEAR(account_as_published(*plan.published, plan.releases, plan.delta).epsilon,
              10.02096748430208, 1e-9);
}

TEST(Plan, OfGsWgansPaperHasBothNumbers) {
  PrivacyOptions options = paper_options();
  options.sampling_rate.reset();
  options.shards = 1000;
  options.noise_multiplier = 1.07;
  options.steps = 20000;
  options.generated_batch = 32;
  options.follows = "gs-wgan";
  const Plan plan = plan_of(options);
  EXPECT_EQ(plan.neighbours, Neighbours::kReplaceOne);
  EXPECT_NEAR(price(plan), 379.42, 0.01);
  EXPECT_NEAR(account_as_published(*plan.published, plan.releases, plan.delta).epsilon,
              9.992623570832228, 1e-9);
}

// Drawn shards are not used equally often; the most used one is what counts.
TEST(Plan, OfDrawnShardsHasThreeNumbers) {
  PrivacyOptions options = paper_options();
  options.sampling_rate.reset();
  options.shards = 1000;
  options.schedule = "uniform";
  options.noise_multiplier = 1.07;
  options.steps = 20000;
  options.generated_batch = 32;
  options.follows = "gs-wgan";
  const Plan plan = plan_of(options);
  EXPECT_EQ(plan.releases, most_uses("uniform", 1000, 20000));
  EXPECT_GT(plan.releases, 30);
  EXPECT_GT(price(plan), 379.42);
  EXPECT_NEAR(account({plan.supposed->event}, plan.delta).epsilon, 346.66, 0.01);
  EXPECT_NEAR(account_as_published(*plan.published, plan.releases, plan.delta).epsilon, 9.9926,
              2e-4);
}

TEST(Plan, AJointClipIsOneOutputAStep) {
  PrivacyOptions options = paper_options();
  options.barrier = Barrier::kBatch;
  const Plan plan = plan_of(options);
  EXPECT_EQ(plan.published->outputs_per_step, 1);
  EXPECT_TRUE(plan.published->holds);
  EXPECT_LT(price(plan), account_as_published(*plan.published, plan.releases, plan.delta).epsilon);
}

TEST(Plan, AnAmplificationThatIsNotProvedIsNoGuaranteeHoweverRowsAreClipped) {
  PrivacyOptions options = paper_options();
  options.barrier = Barrier::kBatch;
  options.sampling_rate.reset();
  options.shards = 1000;
  options.follows = "gs-wgan";
  const Plan plan = plan_of(options);
  EXPECT_FALSE(plan.published->holds);
  const auto published = account_as_published(*plan.published, plan.releases, plan.delta);
  EXPECT_LT(published.epsilon, price(plan));
  EXPECT_NE(in_words(published, price(plan)).find("not a guarantee"), std::string::npos);
}

TEST(Plan, FindsWhatTheRecipeLeavesOpen) {
  PrivacyOptions options = paper_options();
  options.barrier = Barrier::kRecord;
  options.follows.reset();
  options.epsilon = 10;
  options.histogram_noise = 50;
  options.noise_multiplier.reset();
  Plan plan = plan_of(options);
  EXPECT_LE(price(plan), 10);
  EXPECT_GT(price(plan), 9.999);
  ASSERT_TRUE(plan.calibrated);
  options.noise_multiplier = 1;
  options.steps.reset();
  plan = plan_of(options);
  EXPECT_LE(price(plan), 10);
  EXPECT_EQ(count_of(plan.planned.at(1).event), plan.steps);
  options.noise_multiplier = 0.05;
  EXPECT_THROW(plan_of(options), BudgetExceeded);
}

TEST(Plan, SaysWhichKeyIsMissingOrTooMany) {
  const auto message = [](const PrivacyOptions& options) -> std::string {
    try {
      plan_of(options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  PrivacyOptions options = paper_options();
  options.delta.reset();
  EXPECT_EQ(message(options), "privacy.delta must be given, but is missing");
  options = paper_options();
  options.generated_batch.reset();
  EXPECT_EQ(message(options), "privacy.generated_batch must be given, but is missing");
  options = paper_options();
  options.steps.reset();
  EXPECT_EQ(message(options), "privacy.epsilon must be given, but is missing");
  options = paper_options();
  options.shards = 10;
  EXPECT_NE(message(options).find("must not both be given"), std::string::npos);
  options.sampling_rate.reset();
  options.follows.reset();
  EXPECT_EQ(message(options), "");
  options.histogram_noise = 50;  // has twice the squared sensitivity where a record is replaced
  EXPECT_NE(message(options).find("privacy.histogram_noise must not be given with privacy.shards"),
            std::string::npos);
  EXPECT_EQ(message({}), "privacy.barrier must be given, but is missing");
}

TEST(Plan, HasTheValidationsThatTheRecipePlans) {
  PrivacyOptions options{.barrier = Barrier::kRecord,
                         .sampling_rate = 0.01,
                         .noise_multiplier = 1,
                         .steps = 100,
                         .delta = 1e-5,
                         .validation_releases = 20,
                         .validation_noise = 50};
  const Plan plan = plan_of(options);
  ASSERT_EQ(plan.planned.size(), 2U);
  EXPECT_EQ(plan.planned[0].purpose, "validation accuracy");
  EXPECT_TRUE(same_mechanism(plan.planned[0].event, Gaussian{50, 1}));
  EXPECT_EQ(count_of(plan.planned[0].event), 20);
  EXPECT_EQ(plan.releases, 100);
  options.validation_noise.reset();
  EXPECT_THROW(plan_of(options), InvalidArgument);
  options.validation_noise = 50;
  options.validation_releases.reset();
  EXPECT_THROW(plan_of(options), InvalidArgument);
}

TEST(Plan, HasSpareStepsForThoseThatAreRepeated) {
  PrivacyOptions options{.barrier = Barrier::kRecord,
                         .sampling_rate = 0.01,
                         .noise_multiplier = 1,
                         .steps = 100,
                         .spare_steps = 30,
                         .delta = 1e-5};
  EXPECT_EQ(plan_of(options).steps, 100);
  EXPECT_EQ(plan_of(options).releases, 130);
  options.sampling_rate.reset();
  options.shards = 10;
  EXPECT_EQ(plan_of(options).releases, 13);
}

TEST(Plan, BeyondTheBudgetEndsTrainingEarlier) {
  PrivacyOptions options{.barrier = Barrier::kRecord,
                         .sampling_rate = 0.01,
                         .noise_multiplier = 1,
                         .steps = 100'000,
                         .epsilon = 1,
                         .delta = 1e-5,
                         .histogram_noise = 50};
  const Plan plan = plan_of(options);
  const std::vector<PlannedEvent> planned = within_budget(plan);
  ASSERT_EQ(planned.size(), 2U);
  const std::int64_t most = count_of(planned[1].event);
  EXPECT_GT(most, 10);
  EXPECT_LE(account({planned[0].event, planned[1].event}, plan.delta).epsilon, 1);
  EXPECT_GT(account({planned[0].event, with_count(planned[1].event, most + 1)}, plan.delta).epsilon,
            1);
  options.steps = most;
  EXPECT_EQ(count_of(within_budget(plan_of(options))[1].event), most);
  options.noise_multiplier = 0.01;
  EXPECT_THROW(within_budget(plan_of(options)), BudgetExceeded);
}

TEST(Plan, FollowsThePaperOfItsOwnMethodOnly) {
  PrivacyOptions options = paper_options();
  options.follows = "gs-wgan";
  EXPECT_THROW(plan_of(options), InvalidArgument);
}

TEST(Plan, IsNoneWhereTheBarrierIsNone) {
  PrivacyOptions options = paper_options();
  options.barrier = Barrier::kNone;
  EXPECT_FALSE(dp_sinkhorn::plan({.privacy = options, .method = {}}));
}

}  // namespace
}  // namespace obol::method
