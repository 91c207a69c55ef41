// DP-Sinkhorn: a generator trained by optimal transport to private data (Cao, Bie, Vahdat, Fidler
// and Kreis 2021), with the paper's barriers and the record barrier.
//
//   DpSinkhorn method(options, data, {.door = &door, .bits = bits});
//   run::train(method, folder, steps, &payment);
//
// Every step draws a Poisson sample of the private records and n generated images, n being fixed.
// With the barriers `row` and `batch` the gradient of the semi-debiased Sinkhorn loss with respect
// to the images is clipped and has noise; with `record` it is the sum of each record's own clipped
// pull, against a self term of generated images alone. The rest is back-propagation. On a GPU a
// step is recorded once, and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/barrier.h"
#include "obol/barrier/recorded_step.h"
#include "obol/barrier/records.h"
#include "obol/method/dp_sinkhorn/options.h"
#include "obol/method/features.h"
#include "obol/method/privacy_options.h"
#include "obol/method/trainee.h"
#include "obol/model/generator.h"
#include "obol/recipe/place.h"
#include "obol/run/loop.h"

namespace obol::method::dp_sinkhorn {

struct Options {
  MethodOptions method;
  OptimizerOptions optimizer;
  model::GeneratorOptions generator;
  Barrier barrier;
  double sampling_rate;
  double noise_multiplier = 0;
  std::int64_t generated_batch;
  std::int64_t steps;
  std::optional<double> histogram_noise;
};

// InvalidArgument where the parts do not go together, or not with such data.
void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places = {});

struct Surroundings {
  barrier::Door* door = nullptr;         // null where the barrier is none
  DisclosureLog* disclosures = nullptr;  // where the reason is kept if the barrier is none
  RandomBits& bits;                      // of the sampling
  torch::Device device = torch::kCPU;
};

class DpSinkhorn final : public run::Method {
 public:
  DpSinkhorn(const Options& options, const Private<data::Dataset>& data,
             const Surroundings& surroundings);

  void start() override;
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  run::Sections save() override;
  void load(const run::Sections& sections) override;
  std::vector<run::Metric> metrics() override;
  std::optional<run::Samples> samples() override;
  std::string generator() override;

  // The network that is released, as it is now, in evaluation mode.
  std::shared_ptr<model::Generator> released();

 private:
  struct Generated {
    torch::Tensor images;  // [count, channels, height, width]
    torch::Tensor labels;  // [count]
  };

  void step_record(std::int64_t step);
  void step_rows();
  Generated generate(const torch::Tensor& labels);
  // [count], class by class, as many of each.
  [[nodiscard]] torch::Tensor balanced_labels(std::int64_t count) const;
  [[nodiscard]] bool is_on_gpu() const { return surroundings_.device.is_cuda(); }
  // Generated records of another batch, class by class.
  barrier::Sample second_batch();
  [[nodiscard]] torch::Tensor potentials_of(const Generated& generated,
                                            const torch::Tensor& points);
  // With the weight that a step has; on a GPU, the step that the device has come to.
  [[nodiscard]] torch::Tensor weighted_self(const torch::Tensor& self, std::int64_t step) const;
  // The gradient of the loss of generated rows alone with respect to all of them.
  [[nodiscard]] torch::Tensor self_gradient(const torch::Tensor& rows,
                                            const torch::Tensor& labels) const;
  [[nodiscard]] torch::Tensor features_of(const torch::Tensor& images) const;
  // The gradient of the loss against the private sample with respect to rows 0 to n - 1.
  [[nodiscard]] barrier::Drawn<torch::Tensor> private_gradient(const torch::Tensor& rows,
                                                               const torch::Tensor& labels,
                                                               const torch::Tensor& self);
  torch::Tensor release(const barrier::Drawn<torch::Tensor>& gradient, std::int64_t rows);
  void note_norm(const torch::Tensor& gradient);
  void backward_by_parameters(const Generated& generated, const torch::Tensor& self,
                              const barrier::Drawn<torch::Tensor>& gradient);

  Options options_;
  Surroundings surroundings_;
  data::ImageShape shape_;
  std::int64_t classes_;
  std::int64_t records_count_;
  Features features_;
  barrier::PrivateRecords records_;
  Trainee trainee_;
  torch::Tensor class_sizes_;   // [classes], as released; public where there is one class
  torch::Tensor labels_;        // of a balanced batch
  torch::Tensor labels2_;       // of the second one
  torch::Tensor last_second_;   // features of the self term's rows, one step ago
  torch::Tensor self_weights_;  // on a GPU, [steps + 1]
  torch::Tensor gradient_norm_;
  std::vector<run::Metric> metrics_;
  barrier::RecordedStep recorded_;
};

}  // namespace obol::method::dp_sinkhorn
