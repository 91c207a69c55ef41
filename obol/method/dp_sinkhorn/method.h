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
#include <vector>

#include "obol/barrier/recorded_step.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/dp_sinkhorn/step.h"
#include "obol/method/generator_method.h"
#include "obol/recipe/place.h"
#include "obol/run/loop.h"

namespace obol::method::dp_sinkhorn {

// InvalidArgument where the parts do not go together, or not with such data.
void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places = {});

class DpSinkhorn final : public GeneratorMethod {
 public:
  // There is a door in the context unless the barrier is none.
  DpSinkhorn(const Options& options, const Private<data::Dataset>& data,
             const MethodContext& context);
  DpSinkhorn(const DpSinkhorn&) = delete;
  DpSinkhorn& operator=(const DpSinkhorn&) = delete;

  void start() override { step_->start(); }
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  std::vector<run::Metric> metrics() override;

 private:
  void save_more(run::Sections& sections) override { step_->save(sections); }
  void load_more(const run::Sections& sections) override { step_->load(sections); }

  Options options_;
  std::unique_ptr<Step> step_;
  std::int64_t taken_ = 0;    // the number of the last step
  double learning_rate_ = 0;  // of that step
  barrier::RecordedStep recorded_;
};

}  // namespace obol::method::dp_sinkhorn
