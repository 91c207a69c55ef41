#include "obol/local/published.h"

#include <numbers>
#include <variant>

namespace obol::local {
namespace {

constexpr const char* kPurpose = "records";
constexpr const char* kReason =
    "it takes the radius of the ball for the most by which two inputs differ, but two points of a "
    "ball may be further apart";

}  // namespace

privacy::PublishedCount published_locally(const privacy::Event& records, double radii) {
  // The paper's noise is over the radius: so much larger does its multiplier look.
  privacy::Event event = privacy::with_count(records, 1);
  if (auto* gaussian = std::get_if<privacy::LocalGaussian>(&event))
    gaussian->noise_multiplier *= radii;
  if (auto* laplace = std::get_if<privacy::LocalLaplace>(&event)) laplace->scale *= radii;
  return {.paper = "Reshetova et al. (local privacy with entropic Wasserstein distances)",
          .purpose = kPurpose,
          .per_release = event,
          .outputs_per_step = 1,
          .holds = false,
          .reason = kReason};
}

std::vector<privacy::PublishedCount> published_counts(const Path& /*folder*/,
                                                      const privacy::LedgerRecord& ledger) {
  if (ledger.header.neighbours != privacy::Neighbours::kPerson) return {};
  std::vector<privacy::PublishedCount> counts;
  for (const privacy::PlannedEvent& one : privacy::released_in(ledger))
    if (one.purpose == kPurpose && counts.empty())
      for (const double radii : {2.0, std::numbers::sqrt2})
        counts.push_back(published_locally(one.event, radii));
  return counts;
}

}  // namespace obol::local
