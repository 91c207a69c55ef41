// GS-WGAN: a generator trained against many critics, each of which has seen one shard of the
// private data (Chen, Orekondy and Fritz 2020, Algorithm 1).
//
//   GsWgan method(options, data, {.guard = &guard, .bits = bits, ...});
//   run::train(method, folder, steps, &payment);
//
// Every step gives the turn to one shard: its critic is trained on its records and on generated
// images, and the gradient of its scores with respect to the last of these images is clipped, has
// noise, and goes back through the generator. Only that crosses a barrier; critics stay.
//
// On a GPU a step is recorded (barrier/recorded_step.h wants a WorkStream), with one desk at which
// the shards' critics take turns.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/barrier.h"
#include "obol/barrier/recorded_step.h"
#include "obol/method/diagnostics.h"
#include "obol/method/generator_method.h"
#include "obol/method/gs_wgan/bank.h"
#include "obol/method/gs_wgan/desk.h"
#include "obol/method/gs_wgan/holder.h"
#include "obol/method/gs_wgan/options.h"
#include "obol/method/privacy_options.h"
#include "obol/privacy/turns.h"
#include "obol/recipe/place.h"
#include "obol/run/loop.h"

namespace obol::method::gs_wgan {

struct Options {
  MethodOptions method;
  OptimizerOptions optimizer;
  model::GeneratorOptions generator;
  Barrier barrier;  // not kRecord
  std::string schedule = "cyclic";
  std::int64_t shards;
  double noise_multiplier = 0;
  std::int64_t generated_batch;
  std::int64_t steps;
};

// InvalidArgument where the parts do not go together, or not with such data.
void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places = {});

CriticTraining training_of(const MethodOptions& options);
WarmStart warm_start_of(const Options& options);

class GsWgan final : public GeneratorMethod {
 public:
  // Critics are kept in the private folder of the context, and in `warm`, where that is given, as
  // they are after their warm start, for other runs too. The context has a ledger and a guard
  // unless the barrier is none, and random numbers of each shard.
  GsWgan(const Options& options, const Private<data::Dataset>& data, const MethodContext& context,
         std::optional<Path> warm = std::nullopt);

  void start() override { warm_start(); }
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  std::vector<run::Metric> metrics() override;

 private:
  void save_more(run::Sections& sections) override;
  void load_more(const run::Sections& sections) override;
  // Of the critics that are not there yet; those that are done before an interrupt are kept.
  void warm_start();
  struct WarmUp {
    std::vector<std::int64_t> shards;
    std::function<bool(std::int64_t steps)> advance;  // so many were taken; true: stop
    std::function<void(std::int64_t shard, const Private<CriticState>& state)> keep;
  };
  void warm_up(const WarmUp& what);
  void warm_up_on_gpu(const WarmUp& what);
  [[nodiscard]] std::int64_t most_records() const;  // of a shard

  // What is recorded.
  void learn(const privacy::Turn& turn, const Private<CriticState>& state, const Noting& noting);
  torch::Tensor release(const Private<torch::Tensor>& answer, const privacy::Turn& turn,
                        const Noting& noting);
  barrier::Door& door_of(std::int64_t shard);

  Options options_;
  std::optional<Path> warm_;
  std::int64_t classes_;
  Critic critic_;
  std::vector<std::unique_ptr<RandomBits>> bits_;  // of each shard
  std::vector<Holder> holders_;
  CriticBank bank_;
  // Both where there is a barrier.
  std::optional<barrier::ShardBarrier> barrier_;
  std::optional<privacy::Turns> turns_;
  std::deque<barrier::Door> doors_;  // of each shard; on a GPU one for all, which is recorded
  std::optional<Desk> desk_;         // on a GPU
  barrier::RecordedStep step_;
  std::optional<double> rate_;   // of the last step
  torch::Tensor released_norm_;  // [], on the device
};

}  // namespace obol::method::gs_wgan
