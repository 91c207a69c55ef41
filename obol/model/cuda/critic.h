// What a step of a critic does besides its convolutions: power iterations, divisions by norms and
// what they do to gradients, Adam; for all matrices of the critic at once.
//
//   iterate(matrices, weights, vectors, stream);
//   norms(matrices, weights, vectors, result, stream);
//
// All pointers are of the device and of floats. `weights` is the vector of all weights; `vectors`
// has the left and, behind it, the right singular vector of each matrix. Asynchronous on `stream`;
// can be captured in a graph.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace obol::model::cuda {

struct Matrix {
  int rows;
  int columns;
  int positions;            // of a filter: column c * positions + p is channel c at position p
  std::int64_t at;          // in the weights
  std::int64_t vectors_at;  // in the vectors
};

inline constexpr int kMostMatrices = 5;
struct Matrices {
  Matrix of[kMostMatrices];  // NOLINT(modernize-avoid-c-arrays): goes to kernels by value
  int count;
};

// One power iteration.
void iterate(const Matrices& matrices, const float* weights, float* vectors, cudaStream_t stream);

// left^T W right of each matrix: result [count].
void norms(const Matrices& matrices, const float* weights, const float* vectors, float* result,
           cudaStream_t stream);

// W / norm, each where W is in the weights, its channels last: column p * channels + c.
void normalise(const Matrices& matrices, const float* weights, const float* norms, float* result,
               cudaStream_t stream);

// From the gradient G of W / norm to that of W, the singular vectors being constants:
// (G - <G, W / norm> left right^T) / norm.
struct Gradient {
  const float* numbers;  // G: [rows, columns]
  const float* norm;
};
struct Gradients {
  Gradient of[kMostMatrices];  // NOLINT(modernize-avoid-c-arrays)
};
// `along` [count] is for the kernels' own use; `result` is laid out as the weights are, and stays
// as it was where these are of no matrix.
void through_norms(const Matrices& matrices, const Gradients& gradients, const float* weights,
                   const float* vectors, float* along, float* result, cudaStream_t stream);

struct Adam {
  float rate;
  float beta1;
  float beta2;
};
// Step number *steps.
void adam(const Adam& how, const float* gradient, const float* steps, float* weights, float* first,
          float* second, std::int64_t count, cudaStream_t stream);

}  // namespace obol::model::cuda
