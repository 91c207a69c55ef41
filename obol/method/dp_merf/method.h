// DP-MERF (Harder, Adamczewski and Park 2021): a generator whose random features have, in each
// class, the mean of the private records' features. These means are released once; training on them
// costs nothing more.
//
//   DpMerf method(options, data, {.door = &door, .bits = bits});
//   run::train(method, folder, steps, &payment);
//
// Guarantee: a record adds one vector of length 1 to the sum of its class: its features, and a
// constant that counts it. One event Gaussian(noise_multiplier) (obol/barrier/sum.h).
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/records.h"
#include "obol/barrier/sum.h"
#include "obol/features/fourier.h"
#include "obol/method/dp_merf/options.h"
#include "obol/method/generator_method.h"
#include "obol/recipe/place.h"
#include "obol/run/loop.h"

namespace obol::method::dp_merf {

struct Options {
  MethodOptions method;
  OptimizerOptions optimizer;
  model::GeneratorOptions generator;
  double noise_multiplier;
};

// InvalidArgument where the parts do not go together, or not with such data.
void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places = {});

// Mean features of each class, from noisy sums [classes, d + 1] whose last column counts.
torch::Tensor means_of(const torch::Tensor& sums, double noise_multiplier);

// The squared distance of the rows' class-wise means to `targets` [classes, d], averaged over the
// classes, without the bias that a finite batch has: rows [n, d] of length 1 are class by class, as
// many of each.
torch::Tensor distance(const torch::Tensor& rows, const torch::Tensor& targets);

class DpMerf final : public GeneratorMethod {
 public:
  DpMerf(const Options& options, const Private<data::Dataset>& data, const MethodContext& context);

  void start() override;
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  std::vector<run::Metric> metrics() override;

 private:
  void save_more(run::Sections& sections) override;
  void load_more(const run::Sections& sections) override;

  Options options_;
  std::int64_t classes_;
  features::FourierFeatures features_;
  barrier::PrivateRecords records_;
  torch::Tensor labels_;   // [batch], class by class
  torch::Tensor targets_;  // [classes, d], float: released
  double rate_ = 0;
  torch::Tensor distance_;  // [], of the last step
};

}  // namespace obol::method::dp_merf
