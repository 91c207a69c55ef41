// What the kernels of obol/model/cuda do for a critic on a GPU, besides its convolutions. Without
// CUDA, in this build or in its LibTorch, no tensor is ever there; the functions then throw.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

namespace obol::model::gpu {

// One matrix of a critic, where it lies in the vector of weights and its two singular vectors in
// that of all of these.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t positions;  // of a filter: 25 of one that is 5 x 5
  std::int64_t at;
  std::int64_t vectors_at;
};

// What critic.cpp does on processors, of vectors of floats; a few launches for all matrices.
void iterate(const std::vector<Matrix>& matrices, const torch::Tensor& weights,
             const torch::Tensor& vectors);
struct Normalised {
  torch::Tensor norms;     // [matrices]
  torch::Tensor matrices;  // divided by them: each where it is in the weights, channels last
};
Normalised normalised(const std::vector<Matrix>& matrices, const torch::Tensor& weights,
                      const torch::Tensor& vectors);
struct Gradient {
  torch::Tensor of_normalised;  // [rows, columns], dense
  torch::Tensor norm;           // []
};
void through_norms(const std::vector<Matrix>& matrices, const std::vector<Gradient>& gradients,
                   const torch::Tensor& weights, const torch::Tensor& vectors,
                   const torch::Tensor& result);
struct Adam {
  double rate;
  double beta1;
  double beta2;
  torch::Tensor steps;  // [1], counting this one
};
void update(const Adam& how, const torch::Tensor& gradient, const torch::Tensor& weights,
            const torch::Tensor& first, const torch::Tensor& second);

}  // namespace obol::model::gpu
