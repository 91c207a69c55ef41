// What GS-WGAN asks of a GPU. Without CUDA, in this build or in its LibTorch, there is none.
//
//   Branches branches(device, 8);
//   branches.run([&](std::size_t k) { ... });       // eight kinds of work, side by side
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <torch/torch.h>

namespace obol::method::gs_wgan::gpu {

// Of its memory, what nobody has taken.
std::int64_t free_bytes(const torch::Device& device);

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

// Streams beside the current one: work that is too small for a GPU shares it. Can be recorded. On a
// processor one piece of work follows another.
class Branches {
 public:
  Branches(const torch::Device& device, std::size_t count);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  // work(0), work(1), ... are called one after another, each with its own stream as the current
  // one. They must not touch each other's tensors. What the current stream does next waits for all.
  void run(const std::function<void(std::size_t)>& work) const;

 private:
  struct Streams;
  std::size_t count_;
  std::unique_ptr<Streams> streams_;  // null on a processor
};

}  // namespace obol::method::gs_wgan::gpu
