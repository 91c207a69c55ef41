#include "obol/method/certificates.h"

#include <cstdint>

#include "obol/base/error.h"
#include "obol/local/published.h"
#include "obol/method/methods.h"
#include "obol/run/folder.h"

namespace obol::method {
namespace {

// A recipe that has no price gives no count, and neither does one that would take minutes to count.
std::vector<privacy::PublishedCount> counts_of_recipe(const Path& path) {
  constexpr std::uint64_t kLargestRecipe = std::uint64_t{1} << 20;
  constexpr std::int64_t kMostSteps = 100'000'000;
  try {
    auto recipe = recipe::Recipe::parse(read_text(path, kLargestRecipe), path.string());
    const auto options = recipe.read<PrivacyOptions>("privacy");
    const MethodInfo& info = method_of(recipe);
    if (!options.follows || options.steps.value_or(0) > kMostSteps || info.plan == nullptr)
      return {};
    const auto plan = info.plan({.privacy = options, .method = info.read(recipe)}, {});
    if (!plan || !plan->published) return {};
    return {*plan->published};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<privacy::PublishedCount> published_counts(const Path& run,
                                                      const privacy::LedgerRecord& ledger) {
  if (ledger.header.neighbours == privacy::Neighbours::kPerson)
    return local::published_counts(run, ledger);
  return counts_of_recipe(run / run::kRecipeName);
}

privacy::CertificateTerms read_terms(const Path& run) {
  return privacy::read_terms(run, published_counts);
}

privacy::Certificate verify_certificate(const Path& run) {
  return privacy::verify_certificate(run, published_counts);
}

}  // namespace obol::method
