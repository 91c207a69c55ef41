#include "obol/barrier/gpu.h"

#include <cstddef>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include "obol/barrier/cuda/bits.h"
#include "obol/barrier/cuda/noise.h"
#include "obol/barrier/cuda/pull.h"
#include "obol/barrier/cuda/sampling.h"

namespace obol::barrier::gpu {
namespace {

using torch::Tensor;

cudaStream_t stream_of(const Tensor& tensor) {
  return at::cuda::getCurrentCUDAStream(tensor.device().index());
}

Tensor float_copy(const Tensor& values) {
  return torch::empty(values.sizes(), values.options().dtype(torch::kFloat)).copy_(values);
}

cuda::DeviceRows rows_of(const Tensor& dense) {
  const std::int64_t rows = dense.size(0);
  const std::int64_t width = rows == 0 ? 0 : dense.numel() / rows;
  return {dense.data_ptr<float>(), rows, width, width};
}

cuda::PoissonTables pointers_of(const Tables& tables) {
  return {.indices = tables.indices.data_ptr<std::int32_t>(),
          .counts = tables.counts.data_ptr<std::int32_t>(),
          .launch = reinterpret_cast<std::uint64_t*>(tables.launch.data_ptr<std::int64_t>()),
          .steps = tables.indices.size(0),
          .classes = tables.indices.size(1),
          .capacity = tables.indices.size(2)};
}

}  // namespace

struct Bits::State {
  cuda::DeviceBits bits;
};

Bits::Bits(RandomBits& bits, const torch::Device& device) {
  const c10::cuda::CUDAGuard guard(device);
  state_.reset(new State{cuda::DeviceBits(bits, at::cuda::getCurrentCUDAStream(device.index()))});
}
Bits::~Bits() = default;

Tensor with_noise(Bits& bits, const Tensor& values, const privacy::GaussianNoise& noise) {
  if (values.scalar_type() == torch::kDouble) {
    const Tensor dense = values.contiguous();
    Tensor rounded = torch::empty(values.sizes(), values.options().dtype(torch::kFloat));
    cuda::add_gaussian(
        bits.state().bits, dense.data_ptr<double>(), rounded.data_ptr<float>(), dense.numel(),
        privacy::grid_of(noise, static_cast<std::size_t>(dense.numel())), stream_of(dense));
    return rounded;
  }
  Tensor noisy = float_copy(values);
  const auto grid = privacy::grid_of(noise, static_cast<std::size_t>(noisy.numel()));
  cuda::add_gaussian(bits.state().bits, noisy.data_ptr<float>(), noisy.numel(), grid,
                     stream_of(noisy));
  return noisy;
}

Tensor clipped_rows(const Tensor& values, double bound) {
  Tensor clipped = float_copy(values);
  if (clipped.numel() > 0) cuda::clip_rows(rows_of(clipped), bound, stream_of(clipped));
  return clipped;
}

Tensor clipped_with_noise(Bits& bits, const Tensor& values, double bound,
                          const privacy::GaussianNoise& noise) {
  Tensor noisy = float_copy(values);
  const auto grid = privacy::grid_of(noise, static_cast<std::size_t>(noisy.numel()));
  if (noisy.numel() > 0)
    cuda::release_rows(bits.state().bits, rows_of(noisy), bound, grid, stream_of(noisy));
  return noisy;
}

void clipped_weights(Tensor& products, const Tensor& squares, const Tensor& potentials,
                     const Tensor& sample_squares, const PullOptions& options) {
  const Tensor rows = squares.contiguous();
  const Tensor weights = potentials.contiguous();
  const Tensor samples = sample_squares.contiguous();
  cuda::weigh({.products = products.data_ptr<double>(),
               .squares = rows.data_ptr<double>(),
               .potentials = weights.data_ptr<double>(),
               .sample_squares = samples.data_ptr<double>(),
               .classes = products.size(0),
               .rows = products.size(1),
               .samples = products.size(2)},
              options, stream_of(products));
}

Tables::Tables(std::int64_t steps, std::int64_t classes, std::int64_t capacity,
               const torch::Device& device) {
  const auto of = [&](torch::ScalarType type) { return torch::TensorOptions(device).dtype(type); };
  indices = torch::zeros({steps, classes, capacity}, of(torch::kInt));
  counts = torch::zeros({steps, classes}, of(torch::kInt));
  launch = torch::zeros({1}, of(torch::kLong));
}

void draw(Bits& bits, const Tensor& class_ends, std::int64_t records, double rate,
          const Tables& tables, Draw which) {
  cuda::poisson_tables(
      bits.state().bits, {class_ends.data_ptr<std::int64_t>(), records, rate}, pointers_of(tables),
      which == Draw::kNew ? cuda::Draw::kNew : cuda::Draw::kAgain, stream_of(class_ends));
}

Gathered gather(const Tensor& records, const Tables& tables, const Tensor& slot,
                const Range& range) {
  const std::int64_t rows = tables.indices.size(1) * tables.indices.size(2);
  const std::int64_t width = records.size(1);
  const auto options = records.options().dtype(torch::kFloat);
  Gathered gathered{torch::empty({rows, width}, options), torch::empty({rows}, options)};
  const auto from = [&](const auto* first) {
    cuda::gather_rows(first, width, pointers_of(tables), slot.data_ptr<std::int64_t>(),
                      {range.scale, range.offset},
                      {gathered.points.data_ptr<float>(), gathered.present.data_ptr<float>()},
                      stream_of(records));
  };
  if (records.scalar_type() == torch::kByte)
    from(records.data_ptr<std::uint8_t>());
  else
    from(records.data_ptr<float>());
  return gathered;
}

}  // namespace obol::barrier::gpu
