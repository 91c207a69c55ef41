// Learning what records were before their owners added noise to them (Reshetova, Chen and Ozgur:
// Local differential privacy with entropic Wasserstein distance).
//
//   LdpWgan method(options, local::read_privatized("private.npz"), {.bits = bits});
//   run::train(method, folder, {.total = steps_of(options.method, count)}, &payment);
//
// A step takes a batch of records and as many generated images, and moves the images along the
// gradient of the loss. All of it is computed from what was released already, so it costs nothing,
// however often the records are looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/local/privatized.h"
#include "obol/method/features.h"
#include "obol/method/generator_method.h"
#include "obol/method/ldp_wgan/loss.h"
#include "obol/method/ldp_wgan/options.h"
#include "obol/model/critic.h"
#include "obol/recipe/place.h"
#include "obol/run/loop.h"

namespace obol::method::ldp_wgan {

struct Options {
  MethodOptions method;
  OptimizerOptions optimizer;
  model::GeneratorOptions generator;
};

// InvalidArgument where the parts do not go together, or not with such records.
void check(const Options& options, const local::Privatization& how, std::int64_t records,
           const recipe::Places& places = {});

// Whole batches only; what is left over of an epoch has its turn in another.
std::int64_t steps_of(const MethodOptions& options, std::int64_t records);

// The loss of the recipe, at the temperature that is matched to the noise or asked for.
Loss loss_of(const MethodOptions& options, const local::Privatization& how);

// How often each class was, from labels of which some were changed by randomised response:
// [classes], summing to 1.
torch::Tensor class_shares(const torch::Tensor& labels, std::int64_t classes, double epsilon);

class LdpWgan final : public GeneratorMethod {
 public:
  LdpWgan(const Options& options, local::Privatized data, const MethodContext& context);

  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  std::vector<run::Metric> metrics() override { return metrics_; }

 private:
  void save_more(run::Sections& sections) override;
  void load_more(const run::Sections& sections) override;
  struct Generated {
    torch::Tensor images;  // [n, channels, height, width], as the generator makes them
    torch::Tensor labels;  // [n]
  };
  [[nodiscard]] torch::Tensor batch_at(std::int64_t step);  // indices of records
  Generated generate(std::int64_t count);
  // In [0, 1], in the space of the records.
  [[nodiscard]] torch::Tensor points_of(const torch::Tensor& images) const;
  void step_transport(const torch::Tensor& batch);
  void step_critic(const torch::Tensor& batch);

  Options options_;
  local::Privatized data_;
  std::int64_t count_;
  std::int64_t batch_;
  std::int64_t steps_;
  Features features_;
  std::optional<Loss> loss_;  // none: by a critic
  std::optional<model::Critic> critic_;
  model::CriticState critic_state_;
  torch::Tensor records_;     // [count, numbers], on the device
  torch::Tensor labels_;      // [count]; undefined where they were dropped
  torch::Tensor shares_;      // [classes]
  torch::Tensor potentials_;  // [count], double, where Sinkhorn starts warm
  torch::Tensor shuffle_;     // [1]: seed of the order in which records have their turn
  torch::Tensor order_;       // [count], of the epoch
  std::int64_t epoch_ = -1;
  std::vector<run::Metric> metrics_;
};

}  // namespace obol::method::ldp_wgan
