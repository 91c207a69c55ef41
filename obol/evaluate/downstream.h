// Train on synthetic, test on real: how much of what a classifier can learn from real data it
// learns from synthetic data.
//
//   double accuracy = train_and_test(synthetic, test, {.classifier = "cnn", .seed = 1});
//
// When to stop is decided on a tenth of the synthetic data that is held out, never on real data;
// the test data is looked at once, by the network that did best on that tenth.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <torch/torch.h>

#include "obol/data/dataset.h"

namespace obol::evaluate {

struct LabelledImages {
  torch::Tensor images;  // [n, channels, height, width], floats in [0, 1]
  torch::Tensor labels;  // [n] of int64
};

// Bytes become floats in [0, 1].
LabelledImages to_tensors(const data::Dataset& data);

enum class Protocol {
  kQuick,  // stops after 3 epochs without improvement, and after 12
  kPaper,  // stops after 30 epochs without improvement
};

struct DownstreamOptions {
  std::string classifier = "cnn";  // logreg (by L-BFGS), mlp or cnn (by Adam)
  Protocol protocol = Protocol::kQuick;
  std::uint64_t seed = 0;  // of weights, order, dropout and hold-out
  torch::Device device = torch::kCPU;
};

struct Progress {
  std::int64_t epoch = 0;  // from 1
  double held_out_accuracy = 0;
};

// The accuracy on `real`. Sets torch's seed. InvalidArgument unless images and labels fit each
// other and hold at least two classes.
double train_and_test(const LabelledImages& synthetic, const LabelledImages& real,
                      const DownstreamOptions& options,
                      const std::function<void(const Progress&)>& report = {});

}  // namespace obol::evaluate
