// What a training of the summit method releases, and how its parts share one budget.
#include <variant>

#include "obol/barrier/purposes.h"
#include "obol/base/error.h"
#include "obol/method/summit/entry.h"
#include "obol/method/summit/options.h"
#include "obol/method/training_plan.h"

namespace obol::method::summit {
namespace {

void refuse(bool is_given, const char* key, const char* why) {
  if (is_given)
    throw InvalidArgument(
        violation(std::string("privacy.") + key, std::string("left out ") + why, "given"));
}

void check_keys(const PrivacyOptions& privacy, const MethodOptions& method) {
  constexpr const char* kAlways = "with method summit";
  refuse(privacy.shards.has_value(), "shards", kAlways);
  refuse(privacy.schedule.has_value(), "schedule", kAlways);
  refuse(privacy.follows.has_value(), "follows", kAlways);
  refuse(privacy.barrier.has_value() && *privacy.barrier != Barrier::kRecord, "barrier",
         "or \"record\" with method summit");
  if (!method.has_moments() && !method.has_teacher() && !method.has_transport())
    throw InvalidArgument(
        "one of method.moments_share, method.teacher_share and method.transport_share must be "
        "positive, but all are 0");
  if (method.has_transport()) return;
  constexpr const char* kWithout = "where method.transport_share is 0";
  refuse(privacy.sampling_rate.has_value(), "sampling_rate", kWithout);
  refuse(privacy.steps.has_value(), "steps", kWithout);
  refuse(privacy.spare_steps.has_value(), "spare_steps", kWithout);
  refuse(privacy.generated_batch.has_value(), "generated_batch", kWithout);
  refuse(privacy.histogram_noise.has_value(), "histogram_noise", kWithout);
}

// Shares are in units of 1 / multiplier^2, in which `count` releases of a sample of rate q add up
// to about count q^2 (Abadi et al. 2016): exact for q = 1, and only a way to divide the budget
// otherwise. The accountant has the last word on the sum.
privacy::Release sampled(const char* purpose, double rate, std::int64_t count, double share) {
  return {purpose,
          privacy::SampledGaussian{.sampling_rate = rate, .noise_multiplier = 1, .count = count},
          share / (static_cast<double>(count) * rate * rate)};
}

std::vector<privacy::Release> releases_of(const PrivacyOptions& privacy,
                                          const MethodOptions& method, std::int64_t steps) {
  std::vector<privacy::Release> releases;
  if (method.has_transport() && privacy.histogram_noise)
    releases.push_back({barrier::kHistogram, privacy::Gaussian{*privacy.histogram_noise, 1}});
  for (const privacy::Release& one : validations(privacy)) releases.push_back(one);
  if (method.has_moments())
    releases.push_back(
        {kMoments, privacy::Gaussian{.noise_multiplier = 1, .count = 1}, method.moments_share});
  if (method.has_teacher())
    releases.push_back(
        sampled(kTeacher, method.teacher_rate, method.teacher_steps, method.teacher_share));
  if (method.has_transport())
    releases.push_back(sampled(barrier::kTraining, needed(privacy.sampling_rate, "sampling_rate"),
                               steps + privacy.spare_steps.value_or(0), method.transport_share));
  return releases;
}

double multiplier_of(const privacy::Event& event) {
  if (const auto* once = std::get_if<privacy::Gaussian>(&event)) return once->noise_multiplier;
  return std::get<privacy::SampledGaussian>(event).noise_multiplier;
}

}  // namespace

std::optional<privacy::Plan> plan(const PricedSections& sections, const privacy::Accounting& how) {
  const PrivacyOptions& options = sections.privacy;
  const auto& method = sections.options<MethodOptions>();
  check_keys(options, method);
  PrivacyOptions with_steps = options;
  if (!method.has_transport()) with_steps.steps = 1;
  privacy::PlanRequest request = request_of(with_steps, privacy::Neighbours::kAddRemove);
  request.releases = [&](std::int64_t steps) { return releases_of(options, method, steps); };
  return privacy::make_plan(request, how);
}

double noise_of(const privacy::Plan& plan, const char* purpose) {
  for (const privacy::PlannedEvent& planned : plan.planned)
    if (planned.purpose == purpose) return multiplier_of(planned.event);
  throw Error(std::string("a plan must have a release for ") + purpose);
}

MethodInfo Entry::info() {
  return {.name = kName,
          .data = DataKind::kPrivateImages,
          .paper = {},
          .read = read_method<MethodOptions>,
          .plan = plan};
}

}  // namespace obol::method::summit
