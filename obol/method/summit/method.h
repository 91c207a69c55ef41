// A generator trained by three private signals from one budget: moments of each class, released
// once; a teacher that recognises the classes; and optimal transport in the last steps.
//
//   Summit method(options, data, {.door = &door, .bits = bits});
//   run::train(method, folder, {.total = options.total_steps()}, &payment);
//
// Moments (moments.h) cost one release and serve every step. The teacher (teacher.h) is trained
// first, in steps of its own; its cross-entropy keeps generated images recognisable as their class.
// Transport pulls generated images towards private ones with the record barrier
// (obol/method/dp_sinkhorn/record_step.h). Each can be left out. docs/summit.md says why they work
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/records.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/features/scattering.h"
#include "obol/method/dp_sinkhorn/record_step.h"
#include "obol/method/generator_method.h"
#include "obol/method/summit/moments.h"
#include "obol/method/summit/options.h"
#include "obol/method/summit/teacher.h"
#include "obol/recipe/place.h"
#include "obol/run/loop.h"

namespace obol::method::summit {

struct Options {
  MethodOptions method;
  OptimizerOptions optimizer;
  model::GeneratorOptions generator;
  double moments_noise = 0;  // multipliers, where there is such a signal
  double teacher_noise = 0;
  double transport_noise = 0;
  double sampling_rate = 0;  // of transport, and so are the next ones
  std::int64_t generated_batch = 0;
  std::int64_t transport_steps = 0;
  std::optional<double> histogram_noise = std::nullopt;

  // The teacher's come first, then the generator's.
  [[nodiscard]] std::int64_t teacher_steps() const {
    return method.has_teacher() ? method.teacher_steps : 0;
  }
  [[nodiscard]] std::int64_t total_steps() const { return teacher_steps() + method.steps; }
};

// InvalidArgument where the parts do not go together, or not with such data.
void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places = {});

class Summit final : public GeneratorMethod {
 public:
  // `data` must outlive this.
  Summit(const Options& options, const Private<data::Dataset>& data, const MethodContext& context);

  void start() override;
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  std::vector<run::Metric> metrics() override;
  // Where samples are relabelled, and the teacher has learnt something.
  std::optional<std::string> teacher() override;

 private:
  void save_more(run::Sections& sections) override;
  void load_more(const run::Sections& sections) override;

  void teach(std::int64_t step);
  // The gradients of moments and teacher.
  void learn();

  Options options_;
  const Private<data::Dataset>& data_;
  data::ImageShape shape_;
  std::int64_t classes_;
  features::Scattering scattering_;          // of generated images
  features::Scattering moments_scattering_;  // the same, or its first order
  std::optional<Moments> moments_;
  std::optional<Teacher> teacher_;
  std::optional<barrier::PrivateRecords> teacher_records_;  // while it is trained
  dp_sinkhorn::Options transport_options_;
  std::unique_ptr<dp_sinkhorn::RecordStep> transport_;
  torch::Tensor labels_;  // [batch], class by class
  double rate_ = 0;
  std::int64_t taken_ = 0;
  torch::Tensor cross_entropy_;
};

}  // namespace obol::method::summit
