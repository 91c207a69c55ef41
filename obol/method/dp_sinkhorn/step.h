// One step of DP-Sinkhorn, of which there are two kinds: by rows (row_step.h) and by records
// (record_step.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/records.h"
#include "obol/method/context.h"
#include "obol/method/diagnostics.h"
#include "obol/method/dp_sinkhorn/options.h"
#include "obol/method/privacy_options.h"
#include "obol/method/trainee.h"
#include "obol/model/options.h"
#include "obol/run/checkpoint.h"
#include "obol/run/metrics.h"
#include "obol/transport/tensor/problem.h"

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

// What a step works on: the method's, which outlives it.
struct StepParts {
  const Options& options;
  const MethodContext& context;
  Trainee& trainee;
};

// Of the sample: sample_size, and transport_loss, which is the entropic transport cost between
// generated rows (problem.x) and the sample. self_loss is that between generated rows: x and y, or
// x and itself where there is no y. Computes nothing where diagnostics are not asked for.
void note_losses(const Noting& noting, const transport::Problem& problem,
                 const transport::SinkhornOptions& solver,
                 const barrier::Drawn<barrier::Sample>& drawn);

class Step {
 public:
  virtual ~Step() = default;

  // Before the first step of a new run.
  virtual void start() {}
  // Ends with the gradients of the generator's parameters. On a GPU it may be recorded, unless
  // diagnostics are asked for.
  virtual void take(const Noting& noting) = 0;
  // Where samples are drawn from.
  [[nodiscard]] virtual barrier::PrivateRecords& records() = 0;

  virtual void save(run::Sections& sections) = 0;
  virtual void load(const run::Sections& sections) = 0;
  // Of step `step`, as of the last that was taken.
  [[nodiscard]] virtual std::vector<run::Metric> metrics(std::int64_t step) const = 0;
};

}  // namespace obol::method::dp_sinkhorn
