#include "obol/cuda/error.h"
#include "obol/model/cuda/norm_activation.h"
#include "obol/model/cuda/norm_rows.cuh"

namespace obol::model::cuda {
namespace {

__device__ Channel restored(const float* saved, std::int64_t channels, std::int64_t c,
                            float first) {
  return {first, saved[c], saved[channels + c], saved[2 * channels + c]};
}

// The gradient in front of the rectifier.
__device__ float rectified(const Channel& channel, float deviation, float slope, float gradient) {
  return channel.affine(deviation) > 0 ? gradient : gradient * slope;
}

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    sum_gradients(Rows<T> x, const float* saved, float slope, const T* gradient, float* workspace) {
  const Place<V> place(x.rows, x.channels);
  Channel channel[V] = {};
  if (place.is_inside)
#pragma unroll
    for (int k = 0; k < V; ++k)
      channel[k] =
          restored(saved, x.channels, place.channel + k, number(x.data[place.channel + k]));
  float sums[2][V] = {};
  for_rows<2, T>(place, x.channels, {x.data, gradient}, [&](std::int64_t, const Pack<T, V>* packs) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float deviation = channel[k].deviation(number(packs[0].values[k]));
      const float g = rectified(channel[k], deviation, slope, number(packs[1].values[k]));
      sums[0][k] += g;
      sums[1][k] = fmaf(g, deviation, sums[1][k]);
    }
  });
  write_sums(place, sums, sums_of_block(workspace));
}

// of_x = scale (g - mean(g) - x_hat mean(g x_hat)) = scale g - by_one - by_deviation deviation.
struct Slope {
  Channel channel;
  float by_one;
  float by_deviation;
};

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    apply_gradients(Rows<T> x, const float* saved, float slope, const T* gradient,
                    const float* workspace, int chunks, T* of_x, float* of_weight, float* of_bias) {
  __shared__ double sums[kSums];
  __shared__ Slope table[kTile];
  read_sums(workspace, chunks, sums);
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.x;
  if (threadIdx.x < kTile && c < x.channels) {
    const double sum = sums[threadIdx.x];
    const double inverse = saved[3 * x.channels + c];
    const double covariance = sums[kTile + threadIdx.x] * inverse;
    const Channel channel = restored(saved, x.channels, c, number(x.data[c]));
    const double share = static_cast<double>(channel.scale) / static_cast<double>(x.rows);
    table[threadIdx.x] = {channel, static_cast<float>(share * sum),
                          static_cast<float>(share * covariance * inverse)};
    if (blockIdx.x == 0) {
      of_weight[c] = static_cast<float>(covariance);
      of_bias[c] = static_cast<float>(sum);
    }
  }
  __syncthreads();
  const Place<V> place(x.rows, x.channels);
  if (!place.is_inside) return;
  Slope by[V];
#pragma unroll
  for (int k = 0; k < V; ++k) by[k] = table[place.column + k];
  for_rows<2, T>(
      place, x.channels, {x.data, gradient}, [&](std::int64_t row, const Pack<T, V>* packs) {
        float result[V];
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const float deviation = by[k].channel.deviation(number(packs[0].values[k]));
          const float g = rectified(by[k].channel, deviation, slope, number(packs[1].values[k]));
          result[k] = fmaf(-by[k].by_deviation, deviation, by[k].channel.scale * g - by[k].by_one);
        }
        write(result, of_x + row * x.channels + place.channel);
      });
}

}  // namespace

template <class T>
void norm_backward(const Rows<T>& x, const float* saved, float slope, const T* gradient,
                   float* workspace, T* of_x, float* of_weight, float* of_bias,
                   cudaStream_t stream) {
  with_width(
      x,
      [&](auto width) {
        constexpr int V = decltype(width)::value;
        const dim3 grid = sum_grid(x);
        sum_gradients<T, V><<<grid, kThreads, 0, stream>>>(x, saved, slope, gradient, workspace);
        apply_gradients<T, V><<<apply_grid(x), kThreads, 0, stream>>>(
            x, saved, slope, gradient, workspace, static_cast<int>(grid.x), of_x, of_weight,
            of_bias);
      },
      gradient, of_x);
  obol::cuda::check(cudaGetLastError(), "norm_backward");
}

template void norm_backward(const Rows<float>&, const float*, float, const float*, float*, float*,
                            float*, float*, cudaStream_t);
template void norm_backward(const Rows<__nv_bfloat16>&, const float*, float, const __nv_bfloat16*,
                            float*, __nv_bfloat16*, float*, float*, cudaStream_t);

}  // namespace obol::model::cuda
