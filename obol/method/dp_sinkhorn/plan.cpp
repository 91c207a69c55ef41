// What a training of DP-Sinkhorn releases, and how its paper counts that.
#include "obol/barrier/purposes.h"
#include "obol/method/dp_sinkhorn/entry.h"
#include "obol/method/dp_sinkhorn/options.h"
#include "obol/method/training_plan.h"

namespace obol::method::dp_sinkhorn {
namespace {

constexpr const char* kPaper = "DP-Sinkhorn (Cao et al. 2021)";

std::vector<privacy::Release> releases_of(const PrivacyOptions& options, std::int64_t steps) {
  std::vector<privacy::Release> releases;
  if (options.histogram_noise)
    releases.push_back({barrier::kHistogram, privacy::Gaussian{*options.histogram_noise, 1}});
  for (const privacy::Release& one : validations(options)) releases.push_back(one);
  // The rows of a step share its subsample, and each carries the noise.
  releases.push_back(
      {barrier::kTraining,
       privacy::SampledGaussian{.sampling_rate = needed(options.sampling_rate, "sampling_rate"),
                                .noise_multiplier = 1,
                                .count = steps + options.spare_steps.value_or(0)},
       static_cast<double>(outputs_per_step(options))});
  return releases;
}

// Sound only where nothing but one output of a step carries noise.
privacy::PublishedCount published_count(const PrivacyOptions& options, double multiplier) {
  const std::int64_t rows = outputs_per_step(options);
  privacy::PublishedCount count{
      .paper = kPaper,
      .purpose = barrier::kTraining,
      .per_release = privacy::SampledGaussian{needed(options.sampling_rate, "sampling_rate"),
                                              multiplier, rows},
      .outputs_per_step = rows,
      .holds = rows == 1};
  if (!count.holds) count.reason = why_outputs_share(rows);
  return count;
}

}  // namespace

std::optional<privacy::Plan> plan(const PricedSections& sections, const privacy::Accounting& how) {
  const PrivacyOptions& options = sections.privacy;
  if (needed(options.barrier, "barrier") == Barrier::kNone) return std::nullopt;
  privacy::PlanRequest request = request_of(options, privacy::Neighbours::kAddRemove);
  request.releases = [&](std::int64_t steps) { return releases_of(options, steps); };
  privacy::Plan plan = privacy::make_plan(request, how);
  if (follows(options, kName)) plan.published = published_count(options, plan.noise_multiplier);
  return plan;
}

MethodInfo Entry::info() {
  return {.name = kName,
          .data = DataKind::kPrivateImages,
          .paper = kPaper,
          .read = read_method<MethodOptions>,
          .plan = plan};
}

}  // namespace obol::method::dp_sinkhorn
