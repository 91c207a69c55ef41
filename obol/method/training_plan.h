// What the plans of several methods have in common: keys of [privacy], and how papers count.
//
//   privacy::PlanRequest request = request_of(options, privacy::Neighbours::kAddRemove);
//   request.releases = [&](std::int64_t steps) { ... };
//   privacy::Plan plan = privacy::make_plan(request, how);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/method/privacy_options.h"
#include "obol/privacy/plan.h"

namespace obol::method {

// delta, epsilon, noise_multiplier and steps. InvalidArgument, which names the key, where one is
// missing that nothing can be found without, and where keys do not go together.
privacy::PlanRequest request_of(const PrivacyOptions& options, privacy::Neighbours neighbours);

// Accuracies on the private records that `obol evaluate` may ask for, where any are planned.
std::vector<privacy::Release> validations(const PrivacyOptions& options);

// Outputs of a step that carry noise of their own though they share its subsample: those that are
// clipped one by one.
std::int64_t outputs_per_step(const PrivacyOptions& options);

// Whether the recipe asks for the count of the method's paper. InvalidArgument where it asks for
// that of another method.
bool follows(const PrivacyOptions& options, std::string_view method);

// Why a count of such outputs as if each had its own subsample is no guarantee.
std::string why_outputs_share(std::int64_t outputs);

}  // namespace obol::method
