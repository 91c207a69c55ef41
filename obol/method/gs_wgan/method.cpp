#include "obol/method/gs_wgan/method.h"

#include <mutex>
#include <utility>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/data/sampler.h"
#include "obol/model/script.h"

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

// Which record is in which shard is public; what is in it is not.
constexpr std::uint64_t kSplit = 20201;

barrier::ShardBarrier barrier_of(const Options& options, std::int64_t paid) {
  using Clip = barrier::ShardBarrier::Clip;
  return {{.clip_norm = options.method.clip_norm, .noise_multiplier = options.noise_multiplier},
          options.barrier == "row" ? Clip::kRows : Clip::kWhole,
          options.generated_batch,
          paid};
}

}  // namespace

CriticTraining training_of(const MethodOptions& options) {
  return {.learning_rate = options.critic_learning_rate,
          .beta1 = options.critic_beta1,
          .beta2 = options.critic_beta2,
          .gradient_penalty = options.gradient_penalty,
          .drift_penalty = options.drift_penalty};
}

WarmStart warm_start_of(const Options& options) {
  return {.steps = options.method.warm_start,
          .critic_steps = options.method.critic_steps,
          .batch = options.generated_batch,
          .generator = options.generator,
          .optimizer = options.optimizer};
}

void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places) {
  recipe::located(places, "generator.architecture", [&] {
    model::make_generator(options.generator, facts.shape, facts.num_classes);
    static_cast<void>(Critic({.shape = facts.shape, .classes = classes_of(facts)}));
  });
  recipe::located(places, "privacy.barrier", [&] {
    if (options.barrier == "record")
      throw InvalidArgument(
          violation("privacy.barrier", "row, batch or none with method gs-wgan", options.barrier));
  });
  recipe::located(places, "privacy.shards", [&] {
    if (options.shards > facts.declared_size)
      throw InvalidArgument(violation(
          "privacy.shards", fmt::format("at most the number of records, {}", facts.declared_size),
          options.shards));
  });
}

GsWgan::GsWgan(const Options& options, const Private<data::Dataset>& data,
               const Surroundings& surroundings)
    : options_(options),
      surroundings_(surroundings),
      classes_(classes_of(data.facts())),
      trainee_({options.generator, options.optimizer, options.method.average}, data.facts().shape,
               data.facts().num_classes, surroundings.device),
      critic_(
          {.shape = data.facts().shape, .classes = classes_, .width = options.method.critic_width}),
      bank_({.folder = surroundings.critics,
             .numbers = critic_.state_size(),
             .device = surroundings.device}),
      turns_({.schedule = options.schedule, .shards = options.shards}, surroundings.turns) {
  check(options, data.facts());
  SeededBits split(kSplit);
  for (const auto& shard : data::disjoint_shards(data, options.shards, split)) {
    bits_.push_back(surroundings.bits_of(static_cast<std::int64_t>(bits_.size())));
    holders_.emplace_back(critic_, training_of(options.method), shard, surroundings.device,
                          lowest_of(options.generator), *bits_.back());
  }
  if (surroundings.guard != nullptr) barrier_ = barrier_of(options, surroundings.paid);
}

void GsWgan::warm_start() {
  std::optional<CriticBank> cache;
  if (surroundings_.warm)
    cache.emplace(BankOptions{.folder = *surroundings_.warm,
                              .numbers = critic_.state_size(),
                              .device = surroundings_.device});
  std::vector<std::int64_t> missing;
  for (std::int64_t k = 0; k < options_.shards; ++k) {
    if (bank_.has(k)) continue;
    if (cache && cache->has(k))
      bank_.put(k, cache->read(k));
    else
      missing.push_back(k);
  }
  if (missing.empty()) return;
  const WarmStart how = warm_start_of(options_);
  const auto count = static_cast<std::int64_t>(missing.size());
  Progress progress(fmt::format("warming up {} critics", count), count * how.steps, "steps");
  std::mutex one_at_a_time;
  const auto warm_up = [&](std::int64_t begin, std::int64_t end) {
    const at::AutoGradMode with_gradients(true);
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t shard = missing[static_cast<std::size_t>(k)];
      const auto state = holders_[static_cast<std::size_t>(shard)].warm_start(how, [&] {
        const std::lock_guard<std::mutex> lock(one_at_a_time);
        progress.advance(1);
        return interrupted();
      });
      if (!state) return;
      const std::lock_guard<std::mutex> lock(one_at_a_time);
      bank_.put(shard, *state);
      if (cache) cache->write(shard, *state);
    }
  };
  // A critic is too small to share: each core takes its own.
  if (surroundings_.device.is_cpu())
    at::parallel_for(0, count, 1, warm_up);
  else
    warm_up(0, count);
}

void GsWgan::step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) {
  const privacy::Turn turn = turns_.next();
  const auto shard = static_cast<std::size_t>(turn.shard);
  if (barrier_) {
    barrier::Door door(*surroundings_.guard, *bits_[shard]);
    barrier_->pay(door, turn.use);
  }
  const double rate = trainee_.begin(step, options_.steps);
  const Asked asked = ask(trainee_, classes_, options_.method.critic_steps,
                          options_.generated_batch, surroundings_.bits);
  const Tensor released =
      release(holders_[shard].answer(bank_.take(turn.shard), asked.question), turn);
  asked.last.backward(released / static_cast<double>(options_.generated_batch));
  trainee_.finish();
  metrics_ = {
      {"learning_rate", run::Public(rate, run::Origin::kSyntheticOnly)},
      {"gradient_norm", run::Public(released.norm().item<double>(), run::Origin::kReleased)}};
}

Tensor GsWgan::release(const Private<Tensor>& answer, const privacy::Turn& turn) {
  if (!barrier_)
    return answer.declassify("training without privacy", *surroundings_.disclosures).value.clone();
  barrier::Door door(*surroundings_.guard, *bits_[static_cast<std::size_t>(turn.shard)]);
  return barrier_->release(door, answer, turn.use);
}

run::Sections GsWgan::save() {
  // Critics may be ahead of the checkpoint that a killed run goes back to, and turns are: neither
  // goes back, and nothing that was released is forgotten.
  bank_.flush();
  turns_.settle();
  run::Sections sections;
  trainee_.save(sections);
  return sections;
}

void GsWgan::load(const run::Sections& sections) {
  trainee_.load(sections);
  warm_start();
}

std::string GsWgan::generator() {
  return model::script_bytes(*trainee_.released(surroundings_.bits));
}

}  // namespace obol::method::gs_wgan
