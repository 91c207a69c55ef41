// What a training of GS-WGAN releases, and how its paper counts that.
#include <cmath>

#include "obol/barrier/purposes.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/method/gs_wgan/options.h"
#include "obol/method/training_plan.h"
#include "obol/privacy/turns.h"

namespace obol::method::gs_wgan {
namespace {

constexpr const char* kPaper = "GS-WGAN (Chen, Orekondy and Fritz 2020)";
constexpr const char* kNotCovered =
    "it relies on which part of the data was drawn staying secret, but the critics remember when "
    "they were drawn, and the argument does not cover that";
// What shards that are drawn would cost if their being drawn hid who was, which has not been
// proved.
constexpr const char* kAssumption = "if being drawn were a secret, which critics do not keep";

// One record meets the turns of its own shard only, and who has which turn is public.
std::int64_t uses_of(const PrivacyOptions& options, std::int64_t steps) {
  return privacy::most_uses(options.schedule.value_or("cyclic"), needed(options.shards, "shards"),
                            steps);
}

std::vector<privacy::Release> releases_of(const PrivacyOptions& options, std::int64_t steps) {
  std::vector<privacy::Release> releases = validations(options);
  releases.push_back(
      {barrier::kTraining,
       privacy::Gaussian{.noise_multiplier = 1,
                         .count = uses_of(options, steps + options.spare_steps.value_or(0))},
       static_cast<double>(outputs_per_step(options))});
  return releases;
}

// The paper counts every step, the ledger the turns of one shard.
privacy::PublishedCount published_count(const PrivacyOptions& options, const privacy::Plan& plan) {
  const std::int64_t rows = outputs_per_step(options);
  const double shards = static_cast<double>(needed(options.shards, "shards"));
  const double outputs = static_cast<double>(rows) * static_cast<double>(plan.steps);
  const auto uses = static_cast<double>(uses_of(options, plan.steps));
  return {.paper = kPaper,
          .purpose = barrier::kTraining,
          .per_release = privacy::FixedBatchGaussian{1 / shards, plan.noise_multiplier,
                                                     std::llround(outputs / uses)},
          .outputs_per_step = rows,
          .holds = false,
          .reason = rows > 1 ? why_outputs_share(rows) : kNotCovered};
}

void check_keys(const PrivacyOptions& options) {
  if (options.histogram_noise)
    throw InvalidArgument(
        "privacy.histogram_noise must not be given with privacy.shards: a class histogram has "
        "another sensitivity where a record is replaced, and no method releases one");
  if (options.schedule == "uniform") static_cast<void>(needed(options.steps, "steps"));
}

}  // namespace

std::optional<privacy::Plan> plan(const PricedSections& sections, const privacy::Accounting& how) {
  const PrivacyOptions& options = sections.privacy;
  if (needed(options.barrier, "barrier") == Barrier::kNone) return std::nullopt;
  // The answer of a shard is clipped as a whole, and its noise covers its replacement.
  privacy::PlanRequest request = request_of(options, privacy::Neighbours::kReplaceOne);
  static_cast<void>(needed(options.shards, "shards"));
  check_keys(options);
  request.releases = [&](std::int64_t steps) { return releases_of(options, steps); };
  privacy::Plan plan = privacy::make_plan(request, how);
  if (follows(options, kName)) plan.published = published_count(options, plan);
  if (options.schedule == "uniform")
    plan.supposed = {
        .assumption = kAssumption,
        .event = privacy::ShardGaussian{
            1 / static_cast<double>(needed(options.shards, "shards")),
            privacy::joint(plan.noise_multiplier, static_cast<double>(outputs_per_step(options))),
            plan.steps}};
  return plan;
}

MethodInfo Entry::info() {
  return {.name = kName,
          .data = DataKind::kPrivateImages,
          .paper = kPaper,
          .read = read_method<MethodOptions>,
          .plan = plan};
}

}  // namespace obol::method::gs_wgan
