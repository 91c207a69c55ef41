#include "obol/method/fit.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>

#include "obol/base/sha256.h"
#include "obol/data/fingerprint.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/method/gs_wgan/method.h"

namespace obol::method::gs_wgan {
namespace {

Options options_of(const Experiment& experiment, const std::optional<privacy::Plan>& plan) {
  const PrivacyOptions& privacy = experiment.privacy;
  return {.method = experiment.options<MethodOptions>(),
          .optimizer = experiment.optimizer,
          .generator = experiment.generator,
          .barrier = needed(privacy.barrier, "barrier"),
          .schedule = privacy.schedule.value_or("cyclic"),
          .shards = needed(privacy.shards, "shards"),
          .noise_multiplier = plan ? plan->noise_multiplier : 0,
          .generated_batch = needed(privacy.generated_batch, "generated_batch"),
          .steps = plan ? plan->steps : needed(privacy.steps, "steps")};
}

// Everything that decides how a warm-started critic comes out, in the name of a folder. Whoever
// does not have the key that is kept beside it learns nothing of the data from the name.
Path warm_folder(const Path& cache, const Options& options, const Private<data::Dataset>& data,
                 DisclosureLog& log) {
  std::filesystem::create_directories(cache);
  const std::string key = data::key_in(cache / "warm.key");
  const MethodOptions& method = options.method;
  const model::GeneratorOptions& generator = options.generator;
  const OptimizerOptions& optimizer = options.optimizer;
  const std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
      data::fingerprint(data, std::as_bytes(std::span(key)), log,
                        "keyed fingerprint of the data in the name of a folder of warm-started "
                        "critics, which has the key beside it"),
      options.shards, options.generated_batch, method.warm_start, method.critic_steps,
      method.critic_width, method.critic_learning_rate, method.critic_beta1, method.critic_beta2,
      method.gradient_penalty, method.drift_penalty, method.seed.value_or(-1),
      generator.architecture, generator.width, generator.latent, generator.embedding,
      generator.latent_law, generator.activation, generator.output, generator.precision,
      optimizer.kind, optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.decay);
  Sha256 hash;
  hash.update(text);
  constexpr std::size_t kDigits = 16;
  return cache / hash.hex().substr(0, kDigits);
}

}  // namespace

run::Outcome Entry::fit(const Experiment& experiment, const Data& data, const FitOptions& options) {
  const std::optional<privacy::Plan> plan = price_of(experiment);
  const Options method_options =
      recipe::located(experiment.places, "privacy", [&] { return options_of(experiment, plan); });
  check(method_options, data.facts(), experiment.places);
  const auto make = [&](const MethodContext& context) -> std::unique_ptr<run::Method> {
    const std::optional<Path>& cache = method_options.method.warm_cache;
    std::optional<Path> warm;
    if (cache) warm = warm_folder(*cache, method_options, data, *context.disclosures);
    return std::make_unique<GsWgan>(method_options, data, context, warm);
  };
  // One answer of every shard is paid at a time: there are few, and what is paid ahead is lost
  // where a run is killed.
  return method::fit(experiment, plan, data, options,
                     {.steps = method_options.steps, .make = make, .reserve = 1});
}

}  // namespace obol::method::gs_wgan
