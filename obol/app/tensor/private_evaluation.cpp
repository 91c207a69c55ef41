#include "obol/app/tensor/private_evaluation.h"

#include <filesystem>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "obol/barrier/barrier.h"
#include "obol/barrier/door.h"
#include "obol/base/console.h"
#include "obol/base/random.h"
#include "obol/data/picture.h"
#include "obol/evaluate/epochs.h"
#include "obol/evaluate/memorisation.h"
#include "obol/evaluate/noisy.h"
#include "obol/method/certificates.h"
#include "obol/method/methods.h"
#include "obol/method/place.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/guard.h"
#include "obol/recipe/recipe.h"
#include "obol/run/grid.h"

namespace obol::app {
namespace {

using evaluate::ClassifierScore;
using evaluate::LabelledImages;
using evaluate::Validation;
using torch::Tensor;

// The certificate is renewed at once, so that it lists what was opened.
LabelledImages opened(const Work& work, const Private<data::Dataset>& training,
                      const std::string& reason) {
  const run::RunFolder& folder = work.subject.run("");
  run::Disclosures log(folder);
  const auto disclosed = training.declassify(reason, log);
  renew_certificate(folder);
  return evaluate::to_tensors(disclosed.value);
}

std::vector<std::uint8_t> pair_pixels(const std::vector<evaluate::ClosePair>& pairs,
                                      const Tensor& synthetic, const Tensor& training) {
  std::vector<Tensor> pictures;
  for (const evaluate::ClosePair& pair : pairs) {
    pictures.push_back(synthetic[pair.synthetic]);
    pictures.push_back(training[pair.training]);
  }
  const Tensor bytes = (torch::stack(pictures) * 255).round().to(torch::kByte).contiguous();
  return {bytes.data_ptr<std::uint8_t>(), bytes.data_ptr<std::uint8_t>() + bytes.numel()};
}

}  // namespace

evaluate::TestResult score(const Work& work, const std::string& classifier, std::uint64_t seed,
                           const LabelledImages& images, const std::string& of) {
  evaluate::DownstreamOptions options = work.options(seed);
  options.classifier = classifier;
  evaluate::Epochs epochs(fmt::format("training {} on {} images", classifier, of),
                          options.protocol);
  return evaluate::train_and_test(images, work.real, options, std::ref(epochs));
}

std::vector<ClassifierScore> real_baseline(const Work& work, const Private<data::Dataset>& training,
                                           const std::vector<ClassifierScore>& on_synthetic) {
  const LabelledImages images =
      opened(work, training, "evaluation: classifiers trained on the private images");
  std::vector<ClassifierScore> found;
  for (const ClassifierScore& synthetic : on_synthetic) {
    const evaluate::TestResult result = score(work, synthetic.classifier, 1, images, "real");
    ClassifierScore& one = found.emplace_back();
    one.classifier = synthetic.classifier;
    one.on_real = result.accuracy;
    one.balanced_on_real = result.balanced_accuracy();
    one.auc_on_real = result.auc;
    one.calibrated = *synthetic.accuracy / result.accuracy;
  }
  return found;
}

evaluate::MemorisationScore memorisation(const Work& work, const Private<data::Dataset>& training,
                                         const LabelledImages& synthetic) {
  constexpr std::int64_t kPairsInARow = 4;
  const LabelledImages images =
      opened(work, training, "evaluation: distances of synthetic images to the private ones");
  Progress progress("nearest neighbours", 2, "sides");
  const evaluate::Memorisation found = evaluate::memorisation(
      synthetic.images, images.images, work.real.images, {}, [&] { progress.advance(1); });
  const run::RunFolder& folder = work.subject.run("");
  static_cast<void>(folder.make_private());
  data::write_png(run::grid({.shape = work.subject.real().shape,
                             .pixels = pair_pixels(found.closest, synthetic.images, images.images),
                             .columns = 2 * kPairsInARow}),
                  folder.closest_pairs());
  return {.ratio = found.ratio,
          .low = found.low,
          .high = found.high,
          .samples = found.samples,
          .references = found.references,
          .closest = folder.closest_pairs().filename().string()};
}

Validation noisy_validation(const Work& work, const LabelledImages& synthetic, double noise) {
  const run::RunFolder& reading = work.subject.run("noisy");
  const run::RunFolder folder = run::RunFolder::resume(reading.path(), reading.recipe());
  auto recipe = recipe::Recipe::parse(folder.recipe(), run::kRecipeName);
  const privacy::Plan plan = method::plan_of(recipe);
  privacy::CertificateTerms terms{.delta = plan.delta, .published = plan.published};
  if (std::filesystem::exists(folder.certificate())) terms = method::read_terms(folder.path());
  const Private<data::Dataset> training = work.subject.training();
  privacy::Ledger ledger = privacy::Ledger::open(folder.ledger());
  if (training.facts().declared_size != ledger.record().header.records)
    throw DataError(violation("the number of private images",
                              fmt::format("{} as in the ledger", ledger.record().header.records),
                              training.facts().declared_size));
  const std::string name = work.request.classifiers.back();
  evaluate::DownstreamOptions options = work.options(1);
  options.classifier = name;
  evaluate::Epochs epochs(fmt::format("training {} for validation", name), options.protocol);
  const auto classifier = evaluate::train_classifier(synthetic, options, std::ref(epochs));
  std::optional<privacy::Budget> budget;
  if (plan.budget) budget = privacy::Budget{*plan.budget, plan.delta};
  run::Disclosures disclosures(folder);
  const method::Registration registration(folder.path(), ledger.record(), training, disclosures);
  const auto before_plan = [&](const std::vector<privacy::Stage>& stages) {
    registration.charge(ledger.record(), stages, plan.delta);
  };
  privacy::BudgetGuard guard(ledger, budget,
                             {.block = 1, .accounting = {}, .before_plan = before_plan});
  const privacy::PlannedEvent release{barrier::kValidation,
                                      privacy::Gaussian{.noise_multiplier = noise, .count = 1}};
  // Chosen now, after looking at the generator, unless the recipe had planned it.
  if (ledger.record().is_planned() && ledger.record().left(release.purpose, release.event) == 0)
    guard.plan({release});
  SecureBits bits;
  barrier::Door door(guard, bits);
  const double accuracy = evaluate::noisy_accuracy(*classifier, training, door, noise);
  privacy::write_certificate(folder.path(), terms);
  registration.update(ledger.record(), plan.delta);
  return {.classifier = name,
          .accuracy = accuracy,
          .standard_error = noise / static_cast<double>(training.facts().declared_size)};
}

}  // namespace obol::app
