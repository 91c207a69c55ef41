#include "obol/cuda/error.h"
#include "obol/model/cuda/norm_activation.h"
#include "obol/model/cuda/norm_rows.cuh"

namespace obol::model::cuda {
namespace {

template <class T, int V>
__global__ void __launch_bounds__(kThreads) sum_deviations(Rows<T> x, float* workspace) {
  const Place<V> place(x.rows, x.channels);
  float first[V];
#pragma unroll
  for (int k = 0; k < V; ++k) first[k] = place.is_inside ? number(x.data[place.channel + k]) : 0;
  float sums[2][V] = {};
  for_rows<1, T>(place, x.channels, {x.data}, [&](std::int64_t, const Pack<T, V>* packs) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float deviation = number(packs[0].values[k]) - first[k];
      sums[0][k] += deviation;
      sums[1][k] = fmaf(deviation, deviation, sums[1][k]);
    }
  });
  write_sums(place, sums, sums_of_block(workspace));
}

// Of channel c, from the two sums of its deviations from the first row.
template <class T>
__device__ Channel trained(const Rows<T>& x, const Norm& norm, std::int64_t c, const double* sums,
                           float* saved) {
  const auto rows = static_cast<double>(x.rows);
  const double offset = sums[0] / rows;
  const double variance = fmax(0.0, sums[kTile] / rows - offset * offset);
  const double inverse = 1 / sqrt(variance + static_cast<double>(norm.epsilon));
  const float first = number(x.data[c]);
  const Channel channel{first, static_cast<float>(offset),
                        static_cast<float>(inverse * static_cast<double>(norm.weight[c])),
                        norm.bias[c]};
  if (blockIdx.x > 0) return channel;
  const double momentum = norm.momentum;
  const double unbiased = variance * (rows / fmax(rows - 1, 1.0));
  const double mean = norm.running_mean[c];
  const double var = norm.running_var[c];
  norm.running_mean[c] = static_cast<float>(mean + momentum * (first + offset - mean));
  norm.running_var[c] = static_cast<float>(var + momentum * (unbiased - var));
  saved[c] = channel.offset;
  saved[x.channels + c] = channel.scale;
  saved[2 * x.channels + c] = channel.bias;
  saved[3 * x.channels + c] = static_cast<float>(inverse);
  return channel;
}

__device__ Channel evaluated(const Norm& norm, std::int64_t c) {
  return {norm.running_mean[c], 0, norm.weight[c] / sqrtf(norm.running_var[c] + norm.epsilon),
          norm.bias[c]};
}

// Without a workspace: by the running statistics.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    apply(Rows<T> x, Norm norm, const float* workspace, int chunks, float* saved, T* y) {
  __shared__ double sums[kSums];
  __shared__ Channel table[kTile];
  if (workspace != nullptr) read_sums(workspace, chunks, sums);
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.x;
  if (threadIdx.x < kTile && c < x.channels)
    table[threadIdx.x] =
        workspace != nullptr ? trained(x, norm, c, sums + threadIdx.x, saved) : evaluated(norm, c);
  __syncthreads();
  const Place<V> place(x.rows, x.channels);
  if (!place.is_inside) return;
  Channel channel[V];
#pragma unroll
  for (int k = 0; k < V; ++k) channel[k] = table[place.column + k];
  for_rows<1, T>(place, x.channels, {x.data}, [&](std::int64_t row, const Pack<T, V>* packs) {
    float result[V];
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float value = channel[k].affine(channel[k].deviation(number(packs[0].values[k])));
      result[k] = value > 0 ? value : value * norm.slope;
    }
    write(result, y + row * x.channels + place.channel);
  });
}

}  // namespace

std::int64_t norm_workspace(std::int64_t rows, std::int64_t channels) {
  return chunks_of(rows, channels) * tiles_of(channels) * kSums;
}

template <class T>
void norm_train(const Rows<T>& x, const Norm& norm, float* workspace, float* saved, T* y,
                cudaStream_t stream) {
  with_width(
      x,
      [&](auto width) {
        constexpr int V = decltype(width)::value;
        const dim3 grid = sum_grid(x);
        sum_deviations<T, V><<<grid, kThreads, 0, stream>>>(x, workspace);
        apply<T, V><<<apply_grid(x), kThreads, 0, stream>>>(x, norm, workspace,
                                                            static_cast<int>(grid.x), saved, y);
      },
      y);
  obol::cuda::check(cudaGetLastError(), "norm_train");
}

template <class T>
void norm_evaluate(const Rows<T>& x, const Norm& norm, T* y, cudaStream_t stream) {
  with_width(
      x,
      [&](auto width) {
        apply<T, decltype(width)::value>
            <<<apply_grid(x), kThreads, 0, stream>>>(x, norm, nullptr, 0, nullptr, y);
      },
      y);
  obol::cuda::check(cudaGetLastError(), "norm_evaluate");
}

template void norm_train(const Rows<float>&, const Norm&, float*, float*, float*, cudaStream_t);
template void norm_train(const Rows<__nv_bfloat16>&, const Norm&, float*, float*, __nv_bfloat16*,
                         cudaStream_t);
template void norm_evaluate(const Rows<float>&, const Norm&, float*, cudaStream_t);
template void norm_evaluate(const Rows<__nv_bfloat16>&, const Norm&, __nv_bfloat16*, cudaStream_t);

}  // namespace obol::model::cuda
