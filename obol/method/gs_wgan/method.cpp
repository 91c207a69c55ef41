#include "obol/method/gs_wgan/method.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/data/sampler.h"
#include "obol/method/gs_wgan/ask.h"
#include "obol/method/gs_wgan/gpu.h"
#include "obol/method/gs_wgan/side_by_side.h"
#include "obol/method/gs_wgan/workshop.h"

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

// Which record is in which shard is public; what is in it is not.
constexpr std::uint64_t kSplit = 20201;

barrier::ShardBarrier barrier_of(const Options& options, std::int64_t paid) {
  using Clip = barrier::ShardBarrier::Clip;
  return {{.clip_norm = options.method.clip_norm, .noise_multiplier = options.noise_multiplier},
          options.barrier == Barrier::kRow ? Clip::kRows : Clip::kWhole,
          options.generated_batch,
          paid};
}

BankOptions bank_of(const MethodContext& context, const Critic& critic) {
  BankOptions options{
      .folder = context.own / "critics", .numbers = critic.state_size(), .device = context.device};
  if (options.device.is_cuda()) options.most_bytes = gpu::free_bytes(options.device) / 2;
  return options;
}

// Of mean scores of records and of generated images: what critic and generator make small, but for
// the critic's penalties.
void note_losses(const Noting& noting, const Private<Tensor>& scores) {
  noting.diagnostics.append(noting.step, "critic_loss", scores.map([](const Tensor& of) {
    return (of[1] - of[0]).item<double>();
  }));
  noting.diagnostics.append(noting.step, "generator_loss",
                            scores.map([](const Tensor& of) { return -of[1].item<double>(); }));
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
    if (options.barrier == Barrier::kRecord)
      throw InvalidArgument(violation("privacy.barrier", "row, batch or none with method gs-wgan",
                                      name_of(options.barrier)));
  });
  recipe::located(places, "privacy.shards", [&] {
    if (options.shards > facts.declared_size)
      throw InvalidArgument(violation(
          "privacy.shards", fmt::format("at most the number of records, {}", facts.declared_size),
          options.shards));
  });
}

GsWgan::GsWgan(const Options& options, const Private<data::Dataset>& data,
               const MethodContext& context, std::optional<Path> warm)
    : GeneratorMethod({options.generator, options.optimizer, options.method.average},
                      data.facts().shape, data.facts().num_classes, context),
      options_(options),
      warm_(std::move(warm)),
      classes_(classes_of(data.facts())),
      critic_(
          {.shape = data.facts().shape, .classes = classes_, .width = options.method.critic_width}),
      bank_(bank_of(context, critic_)),
      step_(context.device),
      released_norm_(torch::zeros({}, context.device)) {
  check(options, data.facts());
  SeededBits split(kSplit);
  for (const auto& shard : data::disjoint_shards(data, options.shards, split)) {
    bits_.push_back(context.bits_of(static_cast<std::int64_t>(bits_.size())));
    holders_.emplace_back(critic_, training_of(options.method), shard, context.device,
                          lowest_of(options.generator), *bits_.back());
  }
  const bool is_recorded = context.device.is_cuda();
  if (is_recorded) desk_.emplace(holders_.front(), most_records());
  if (context.guard == nullptr) return;
  const std::int64_t paid =
      context.ledger->record().paid(barrier::kTraining, barrier_of(options, 0).event());
  barrier_ = barrier_of(options, paid);
  turns_.emplace(privacy::TurnsOptions{.schedule = options.schedule, .shards = options.shards},
                 *context.ledger, paid);
  const std::size_t doors = is_recorded ? 1 : bits_.size();
  for (std::size_t k = 0; k < doors; ++k) doors_.emplace_back(*context.guard, *bits_[k]);
}

std::int64_t GsWgan::most_records() const {
  std::int64_t most = 0;
  for (const Holder& holder : holders_) most = std::max(most, holder.facts().declared_size);
  return most;
}

void GsWgan::warm_start() {
  std::optional<CriticBank> cache;
  if (warm_)
    cache.emplace(
        BankOptions{.folder = *warm_, .numbers = critic_.state_size(), .device = context().device});
  WarmUp what;
  for (std::int64_t k = 0; k < options_.shards; ++k) {
    if (bank_.has(k)) continue;
    if (cache && cache->has(k))
      bank_.put(k, cache->read(k));
    else
      what.shards.push_back(k);
  }
  if (what.shards.empty()) return;
  const auto count = static_cast<std::int64_t>(what.shards.size());
  Progress progress(fmt::format("warming up {} critics", count), count * options_.method.warm_start,
                    "steps");
  what.advance = [&](std::int64_t steps) {
    progress.advance(steps);
    return interrupted();
  };
  what.keep = [&](std::int64_t shard, const Private<CriticState>& state) {
    bank_.put(shard, state);
    if (cache) cache->write(shard, state);
  };
  if (context().device.is_cuda())
    warm_up_on_gpu(what);
  else
    warm_up(what);
}

void GsWgan::warm_up(const WarmUp& what) {
  const WarmStart how = warm_start_of(options_);
  std::mutex one_at_a_time;
  std::atomic<bool> is_stopped = false;
  side_by_side(static_cast<std::int64_t>(what.shards.size()), [&](std::int64_t k) {
    if (is_stopped) return;
    const std::int64_t shard = what.shards[static_cast<std::size_t>(k)];
    const auto state = holders_[static_cast<std::size_t>(shard)].warm_start(how, [&] {
      const std::lock_guard<std::mutex> lock(one_at_a_time);
      return what.advance(1);
    });
    if (!state) {
      is_stopped = true;
      return;
    }
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    what.keep(shard, *state);
  });
}

void GsWgan::warm_up_on_gpu(const WarmUp& what) {
  constexpr std::size_t kSideBySide = 8;
  const std::size_t count = what.shards.size();
  const std::size_t desks = std::min(kSideBySide, count);
  Workshop workshop(warm_start_of(options_), holders_.front(),
                    {.desks = desks, .most_records = most_records()}, context().bits);
  for (std::size_t begin = 0; begin < count; begin += desks) {
    std::vector<Holder*> group;
    for (std::size_t k = begin; k < std::min(begin + desks, count); ++k)
      group.push_back(&holders_[static_cast<std::size_t>(what.shards[k])]);
    const auto states = workshop.warm_start(
        group, [&] { return what.advance(static_cast<std::int64_t>(group.size())); });
    if (!states) return;
    for (std::size_t k = 0; k < group.size(); ++k) what.keep(what.shards[begin + k], (*states)[k]);
  }
}

void GsWgan::step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) {
  const privacy::Turn turn =
      turns_ ? turns_->next()
             : privacy::Turn{privacy::shard_at(options_.schedule, options_.shards, step - 1), 0};
  // Before every replay: what is recorded only opens.
  if (barrier_) barrier_->pay(door_of(turn.shard), turn.use);
  const Private<CriticState> state = bank_.take(turn.shard);
  rate_ = trainee().begin(step, options_.steps);
  if (desk_) desk_->seat(holders_[static_cast<std::size_t>(turn.shard)], state);
  const auto learn_now = [&] { learn(turn, state, {.step = step, .diagnostics = diagnostics}); };
  // What is replayed cannot be looked at.
  if (diagnostics.is_asked_for())
    learn_now();
  else
    step_.run(learn_now);
  if (desk_) desk_->copy_to(state);
}

void GsWgan::learn(const privacy::Turn& turn, const Private<CriticState>& state,
                   const Noting& noting) {
  const Asked asked = ask(trainee(), classes_, options_.method.critic_steps,
                          options_.generated_batch, context().bits);
  Holder& holder = holders_[static_cast<std::size_t>(turn.shard)];
  const Tensor released = release(
      desk_ ? desk_->answer(asked.question) : holder.answer(state, asked.question), turn, noting);
  if (noting.diagnostics.is_asked_for()) {
    if (desk_) desk_->copy_to(state);
    note_losses(noting, holder.mean_scores(state, asked.question));
  }
  asked.last.backward(released / static_cast<double>(options_.generated_batch));
  trainee().finish();
  released_norm_.copy_(released.norm());
}

Tensor GsWgan::release(const Private<Tensor>& answer, const privacy::Turn& turn,
                       const Noting& noting) {
  if (!barrier_)
    return answer.declassify("training without privacy", *context().disclosures).value.clone();
  if (noting.diagnostics.is_asked_for())
    note_clipping(noting, answer.map([&](const Tensor& values) {
      return options_.barrier == Barrier::kRow ? values.flatten(1).norm(2, {1})
                                               : values.norm().unsqueeze(0);
    }),
                  options_.method.clip_norm);
  return barrier_->release(door_of(turn.shard), answer, turn.use);
}

barrier::Door& GsWgan::door_of(std::int64_t shard) {
  return desk_ ? doors_.front() : doors_[static_cast<std::size_t>(shard)];
}

std::vector<run::Metric> GsWgan::metrics() {
  if (!rate_) return {};
  return {{"learning_rate", run::Public(*rate_, run::Origin::kSyntheticOnly)},
          {"gradient_norm", run::Public(released_norm_.item<double>(), run::Origin::kReleased)}};
}

void GsWgan::save_more(run::Sections& /*sections*/) {
  // Critics may be ahead of the checkpoint that a killed run goes back to, and turns are: neither
  // goes back, and nothing that was released is forgotten.
  bank_.flush();
  if (turns_) turns_->settle();
}

void GsWgan::load_more(const run::Sections& /*sections*/) {
  step_.forget();
  warm_start();
}

}  // namespace obol::method::gs_wgan
