#include <algorithm>

#include "obol/cuda/error.h"
#include "obol/model/cuda/number.cuh"
#include "obol/model/cuda/planes.h"

namespace obol::model::cuda {
namespace {

constexpr int kThreads = 256;

// A thread block makes rows of output pixels of one image and channel.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add(const T* __restrict__ products, Planes shape, const float* __restrict__ bias,
        float* __restrict__ y) {
  const int width = shape.out_width();
  const int pixels = shape.out_height() * width;
  const int at = static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  const std::int64_t image = blockIdx.x / shape.outputs;
  const int output = static_cast<int>(blockIdx.x % shape.outputs);
  if (at >= pixels) return;
  const int row = at / width + shape.padding;
  const int column = at % width + shape.padding;
  const int columns = shape.columns();
  const T* from = products + image * shape.height * shape.width * columns + output;
  float sum = bias == nullptr ? 0 : bias[output];
  for (int down = 0; down < shape.kernel; ++down)
    for (int right = 0; right < shape.kernel; ++right) {
      const int i = row - down;
      const int j = column - right;
      if (i < 0 || i >= shape.height || j < 0 || j >= shape.width) continue;
      const int tap = (down * shape.kernel + right) * shape.outputs;
      sum += number(from[(i * shape.width + j) * columns + tap]);
    }
  y[static_cast<std::int64_t>(blockIdx.x) * pixels + at] = sum;
}

// A thread block fills some of the products of one image.
template <class T>
__global__ void __launch_bounds__(kThreads)
    spread(const float* __restrict__ gradient, Planes shape, T* __restrict__ products) {
  const int columns = shape.columns();
  const int count = shape.height * shape.width * columns;
  const std::int64_t image = blockIdx.x;
  const int out_height = shape.out_height();
  const int out_width = shape.out_width();
  const float* from = gradient + image * shape.outputs * out_height * out_width;
  T* to = products + image * count;
  for (int at = static_cast<int>(blockIdx.y * kThreads + threadIdx.x); at < count;
       at += static_cast<int>(gridDim.y) * kThreads) {
    const int pixel = at / columns;
    const int tap = at % columns / shape.outputs;
    const int output = at % shape.outputs;
    const int row = pixel / shape.width + tap / shape.kernel - shape.padding;
    const int column = pixel % shape.width + tap % shape.kernel - shape.padding;
    const bool is_inside = row >= 0 && row < out_height && column >= 0 && column < out_width;
    store(is_inside ? from[(output * out_height + row) * out_width + column] : 0, to + at);
  }
}

// Blocks of a grid's second dimension, each thread having about `each` numbers.
unsigned blocks_for(int count, int each) {
  constexpr int kMost = 65535;
  return static_cast<unsigned>(std::min(kMost, (count + kThreads * each - 1) / (kThreads * each)));
}

}  // namespace

template <class T>
void add_planes(const T* products, const Planes& shape, const float* bias, float* y,
                cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(shape.images * shape.outputs),
                  blocks_for(shape.out_height() * shape.out_width(), 1));
  add<<<grid, kThreads, 0, stream>>>(products, shape, bias, y);
  obol::cuda::check(cudaGetLastError(), "add_planes");
}

template <class T>
void spread_planes(const float* gradient, const Planes& shape, T* products, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(shape.images),
                  blocks_for(shape.height * shape.width * shape.columns(), 4));
  spread<<<grid, kThreads, 0, stream>>>(gradient, shape, products);
  obol::cuda::check(cudaGetLastError(), "spread_planes");
}

template void add_planes(const float*, const Planes&, const float*, float*, cudaStream_t);
template void add_planes(const __nv_bfloat16*, const Planes&, const float*, float*, cudaStream_t);
template void spread_planes(const float*, const Planes&, float*, cudaStream_t);
template void spread_planes(const float*, const Planes&, __nv_bfloat16*, cudaStream_t);

}  // namespace obol::model::cuda
