// A stack of transposed convolutions with a rectifier behind all but the last, in bfloat16: twice
// as many products a second as in float, for images that end as bytes.
//
//   BfloatStack stack({{conv1->weight * scale, shift, 1, 0, 0.2}, ...});   // weights are copied
//   torch::Tensor y = stack.forward(x);       // [n, in] -> [n, out, side, side], floats
//
// Weights and what goes from layer to layer keep 8 bits, sums 24. Every image is computed for
// itself: neither the batch nor the number of threads changes a bit of it.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/model/bfloat.h"

namespace obol::model {

struct BfloatLayer {
  torch::Tensor weight;  // [in, out, kernel, kernel], of floats on the processor
  torch::Tensor shift;   // [out]
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  double slope = 0;  // of the rectifier below zero; the last layer has no rectifier
};

class BfloatStack {
 public:
  // Of layers that multiply the side by their stride; the first, which sees a single pixel, by its
  // kernel. Needs has_bfloat_products().
  explicit BfloatStack(const std::vector<BfloatLayer>& layers);

  [[nodiscard]] torch::Tensor forward(const torch::Tensor& x) const;

 private:
  // Output pixels in the same place beside their input pixel, which have the same weights.
  struct Phase {
    std::vector<std::int64_t> offsets;  // of the taps
    torch::Tensor weights;              // as bfloat.h wants them
    std::int64_t row;                   // of the first output pixel
    std::int64_t column;
  };
  struct Layer {
    std::int64_t in;  // channels, filled up with zeros
    std::int64_t out;
    std::int64_t side;  // of the input
    std::int64_t stride;
    float slope;
    torch::Tensor shift;
    std::vector<Phase> phases;
    std::vector<std::int64_t> from;  // where the pixels of some images stand, in groups
    std::vector<std::int64_t> to;
  };
  using Workspace = std::vector<std::vector<Bfloat>>;  // the inputs of each layer, with a border

  [[nodiscard]] static Layer layer_of(const BfloatLayer& given, std::int64_t side, bool is_last);
  [[nodiscard]] static std::vector<Phase> phases_of(const Layer& layer, const torch::Tensor& weight,
                                                    std::int64_t padding, bool is_last);
  [[nodiscard]] static Taps taps_of(const Layer& layer, const Phase& phase);
  [[nodiscard]] Workspace workspace() const;
  static void apply(const Layer& layer, const Bfloat* from, Bfloat* to);
  static void apply_last(const Layer& layer, const Bfloat* from, std::int64_t images, float* to);

  std::vector<Layer> layers_;
};

}  // namespace obol::model
