// Batch normalisation and the (leaky) rectifier behind it on a GPU, for rows of channels: images
// with their channels last. Numbers are floats or bfloat16, all arithmetic is in float or double.
//
//   Rows<float> x{images, rows, channels};
//   norm_train(x, norm, workspace, saved, y, stream);
//   norm_backward(x, saved, norm.slope, gradient, workspace, of_x, of_weight, of_bias, stream);
//
// Two launches each. Sums are always taken in the same order: the same numbers, the same bits.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace obol::model::cuda {

template <class T>
struct Rows {
  const T* data;  // [rows, channels], without gaps
  std::int64_t rows;
  std::int64_t channels;
};

struct Norm {
  const float* weight;  // [channels] each
  const float* bias;
  float* running_mean;
  float* running_var;
  float momentum;
  float epsilon;
  float slope;  // of the rectifier below zero
};

// Rows of `saved`, [kSaved, channels]: all that the gradient needs to know of the normalisation.
constexpr int kSaved = 4;

// Floats of `workspace`, which holds nothing between calls.
std::int64_t norm_workspace(std::int64_t rows, std::int64_t channels);

// With the mean and variance of x itself; moves the running ones towards them.
template <class T>
void norm_train(const Rows<T>& x, const Norm& norm, float* workspace, float* saved, T* y,
                cudaStream_t stream);

// With the running mean and variance.
template <class T>
void norm_evaluate(const Rows<T>& x, const Norm& norm, T* y, cudaStream_t stream);

// Of x, weight and bias, from the gradient of norm_train's y.
template <class T>
void norm_backward(const Rows<T>& x, const float* saved, float slope, const T* gradient,
                   float* workspace, T* of_x, float* of_weight, float* of_bias,
                   cudaStream_t stream);

}  // namespace obol::model::cuda
