// What a training of DP-MERF releases: one sum, once.
#include "obol/base/error.h"
#include "obol/method/dp_merf/entry.h"
#include "obol/method/dp_merf/options.h"
#include "obol/method/training_plan.h"

namespace obol::method::dp_merf {
namespace {

template <class T>
void refuse(const std::optional<T>& value, const char* key) {
  if (value)
    throw InvalidArgument(violation(std::string("privacy.") + key,
                                    "left out with method dp-merf, which releases one sum of all "
                                    "records",
                                    "given"));
}

}  // namespace

std::optional<privacy::Plan> plan(const PricedSections& sections, const privacy::Accounting& how) {
  const PrivacyOptions& options = sections.privacy;
  refuse(options.barrier, "barrier");
  refuse(options.sampling_rate, "sampling_rate");
  refuse(options.shards, "shards");
  refuse(options.schedule, "schedule");
  refuse(options.steps, "steps");
  refuse(options.spare_steps, "spare_steps");
  refuse(options.generated_batch, "generated_batch");
  refuse(options.histogram_noise, "histogram_noise");
  refuse(options.follows, "follows");
  PrivacyOptions once = options;
  once.steps = 1;
  privacy::PlanRequest request = request_of(once, privacy::Neighbours::kAddRemove);
  request.releases = [&](std::int64_t steps) {
    std::vector<privacy::Release> releases = validations(options);
    releases.push_back({kEmbedding, privacy::Gaussian{.noise_multiplier = 1, .count = steps}, 1.0});
    return releases;
  };
  return privacy::make_plan(request, how);
}

MethodInfo Entry::info() {
  return {.name = kName,
          .data = DataKind::kPrivateImages,
          .paper = {},
          .read = read_method<MethodOptions>,
          .plan = plan};
}

}  // namespace obol::method::dp_merf
