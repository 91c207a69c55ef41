#include "obol/model/bfloat_stack.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <ATen/Parallel.h>

namespace obol::model {
namespace {

using torch::Tensor;

// Done together: enough that weights are read seldom, few enough for the second cache.
constexpr std::int64_t kImages = 6;
static_assert(kImages % kBfloatPixels == 0);  // every group of pixels is a full one

std::int64_t filled_up(std::int64_t channels) {
  return (channels + kBfloatChannels - 1) / kBfloatChannels * kBfloatChannels;
}

// Of add_products.
std::int64_t columns_of(std::int64_t out) {
  return out % (2 * kBfloatChannels) == 0 ? 2 * kBfloatChannels : kBfloatChannels;
}

// Where a pixel stands in images [.., side + 2, side + 2, channels]: all have a border of zeros.
std::int64_t place(std::int64_t image, std::int64_t y, std::int64_t x, std::int64_t side,
                   std::int64_t channels) {
  return ((image * (side + 2) + y + 1) * (side + 2) + x + 1) * channels;
}

const Bfloat* bfloats(const Tensor& x) {
  return reinterpret_cast<const Bfloat*>(x.data_ptr<at::BFloat16>());
}

// [taps, in, out] -> [out / columns, taps, in / 2, columns, 2]
Tensor for_products(const Tensor& taps) {
  const std::int64_t columns = columns_of(taps.size(2));
  return taps.reshape({taps.size(0), taps.size(1) / 2, 2, -1, columns}).permute({3, 0, 1, 4, 2});
}

// [taps, in, out] -> [out, taps, in]
Tensor for_dots(const Tensor& taps) { return taps.permute({2, 0, 1}); }

}  // namespace

std::vector<BfloatStack::Phase> BfloatStack::phases_of(const Layer& layer, const Tensor& weight,
                                                       std::int64_t padding, bool is_last) {
  const std::int64_t kernel = weight.size(2);
  std::vector<Phase> phases;
  for (std::int64_t phase = 0; phase < layer.stride * layer.stride; ++phase) {
    const std::int64_t row = phase / layer.stride;
    const std::int64_t column = phase % layer.stride;
    std::vector<std::int64_t> offsets;
    std::vector<Tensor> taps;
    for (std::int64_t tap = 0; tap < kernel * kernel; ++tap) {
      // Output pixel o takes input pixel i times tap o + padding - stride i of each axis.
      const std::int64_t y = row + padding - tap / kernel;
      const std::int64_t x = column + padding - tap % kernel;
      if (y % layer.stride != 0 || x % layer.stride != 0) continue;
      offsets.push_back((y / layer.stride * (layer.side + 2) + x / layer.stride) * layer.in);
      taps.push_back(weight.select(3, tap % kernel).select(2, tap / kernel));
    }
    const Tensor all = at::stack(taps);
    phases.push_back({std::move(offsets),
                      (is_last ? for_dots(all) : for_products(all)).to(at::kBFloat16).contiguous(),
                      row, column});
  }
  return phases;
}

BfloatStack::Layer BfloatStack::layer_of(const BfloatLayer& given, std::int64_t side,
                                         bool is_last) {
  const std::int64_t in = filled_up(given.weight.size(0));
  const std::int64_t out = is_last ? given.weight.size(1) : filled_up(given.weight.size(1));
  const std::int64_t more_out = out - given.weight.size(1);
  // Each tap makes a pixel of its own of a single one.
  const bool is_product = side == 1 && given.padding == 0;
  Layer layer{.in = in,
              .out = out,
              .side = side,
              .stride = is_product ? given.weight.size(2) : given.stride,
              .slope = static_cast<float>(given.slope),
              .shift = at::constant_pad_nd(given.shift.detach(), {0, more_out}).contiguous(),
              .phases = {},
              .from = {},
              .to = {}};
  const Tensor weight = at::constant_pad_nd(
      given.weight.detach(), {0, 0, 0, 0, 0, more_out, 0, in - given.weight.size(0)});
  layer.phases = phases_of(layer, weight, given.padding, is_last);
  for (std::int64_t pixel = 0; pixel < kImages * side * side; ++pixel) {
    const std::int64_t image = pixel / (side * side);
    const std::int64_t y = pixel / side % side;
    const std::int64_t x = pixel % side;
    layer.from.push_back(place(image, y, x, side, in));
    layer.to.push_back(place(image, layer.stride * y, layer.stride * x, layer.stride * side, out));
  }
  return layer;
}

BfloatStack::BfloatStack(const std::vector<BfloatLayer>& layers) {
  std::int64_t side = 1;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    layers_.push_back(layer_of(layers[k], side, k + 1 == layers.size()));
    side *= layers_.back().stride;
  }
}

BfloatStack::Workspace BfloatStack::workspace() const {
  Workspace inputs;
  for (const Layer& layer : layers_)
    inputs.emplace_back(
        static_cast<std::size_t>(kImages * (layer.side + 2) * (layer.side + 2) * layer.in));
  return inputs;
}

Taps BfloatStack::taps_of(const Layer& layer, const Phase& phase) {
  return {phase.offsets.data(), static_cast<std::int64_t>(phase.offsets.size()), layer.in};
}

void BfloatStack::apply(const Layer& layer, const Bfloat* from, Bfloat* to) {
  const std::int64_t columns = columns_of(layer.out);
  for (const Phase& phase : layer.phases) {
    const Taps taps = taps_of(layer, phase);
    const std::int64_t start =
        (phase.row * (layer.stride * layer.side + 2) + phase.column) * layer.out;
    const Bfloat* weights = bfloats(phase.weights);
    for (std::int64_t c = 0; c < layer.out; c += columns) {
      for (std::size_t p = 0; p < layer.from.size(); p += kBfloatPixels)
        add_products(taps, {from, &layer.from[p], to + start + c, &layer.to[p]}, weights, columns,
                     layer.shift.data_ptr<float>() + c, layer.slope);
      weights += taps.count * taps.channels * columns;
    }
  }
}

void BfloatStack::apply_last(const Layer& layer, const Bfloat* from, std::int64_t images,
                             float* to) {
  const std::int64_t side = layer.stride * layer.side;
  for (std::int64_t plane = 0; plane < images * layer.out; ++plane, to += side * side) {
    const std::int64_t channel = plane % layer.out;
    for (const Phase& phase : layer.phases) {
      const Taps taps = taps_of(layer, phase);
      const Bfloat* weights = bfloats(phase.weights) + channel * taps.count * taps.channels;
      for (std::int64_t y = 0; y < layer.side; ++y)
        add_dots(taps, from + place(plane / layer.out, y, 0, layer.side, layer.in), layer.side,
                 weights, layer.shift.data_ptr<float>()[channel],
                 to + (layer.stride * y + phase.row) * side + phase.column, layer.stride);
    }
  }
}

Tensor BfloatStack::forward(const Tensor& x) const {
  const Layer& first = layers_.front();
  const Layer& last = layers_.back();
  const std::int64_t side = last.stride * last.side;
  const Tensor inputs =
      at::constant_pad_nd(x, {0, first.in - x.size(1)}).to(at::kBFloat16).contiguous();
  Tensor images = at::empty({x.size(0), last.out, side, side});
  const std::int64_t blocks = (x.size(0) + kImages - 1) / kImages;
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    Workspace space = workspace();
    for (std::int64_t image = begin * kImages; image < std::min(end * kImages, x.size(0));
         image += kImages) {
      const std::int64_t now = std::min(kImages, x.size(0) - image);
      for (std::int64_t i = 0; i < now; ++i)
        std::copy_n(bfloats(inputs) + (image + i) * first.in, first.in,
                    space[0].data() + place(i, 0, 0, 1, first.in));
      for (std::size_t k = 0; k + 1 < layers_.size(); ++k)
        apply(layers_[k], space[k].data(), space[k + 1].data());
      apply_last(last, space.back().data(), now,
                 images.data_ptr<float>() + image * last.out * side * side);
    }
  });
  return images;
}

}  // namespace obol::model
