// Critics, as GS-WGAN has them: spectrally normalised convolutions with a projection on the label,
// trained by the Wasserstein loss with gradient and drift penalties.
//
//   Critic critic({.shape = {1, 28, 28}, .classes = 10, .width = 64});
//   CriticState state = critic.initial(bits);
//   critic.train(state, {real, real_labels, fake, fake_labels, mix}, options);
//   torch::Tensor gradient = critic.image_gradient(state, images, labels);
//
//   score(x, y) = <w + v_y, h_3> + b,   h_k = r(W_k * h_{k-1} + b_k),   h_0 = x,
//
// with 5 x 5 convolutions W_k of stride 2 and r(z) = z above 0 and 0.2 z below; every matrix is
// divided by its largest singular value, followed by one power iteration a step.
//
// r is linear on either side, so the gradient of a score with respect to the image is a chain of
// linear maps of the parameters (its masks do not move), and the derivative of the gradient penalty
// is another pass through the same chain. So the gradient of the loss is written out here: nothing
// is recorded for a second differentiation, which would also go back through what is constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/model/critic_gpu.h"

namespace obol::model {

struct CriticOptions {
  data::ImageShape shape;
  std::int64_t classes = 1;  // 1: no projection
  std::int64_t width = 64;
};

struct CriticTraining {
  double learning_rate = 1e-4;
  double beta1 = 0.5;
  double beta2 = 0.9;
  double gradient_penalty = 10;
  double drift_penalty = 1e-3;
};

// Everything that a critic remembers, in one vector: weights, Adam's two moments, singular vectors,
// and the number of steps.
struct CriticState {
  torch::Tensor numbers;  // [Critic::state_size()]
};

struct CriticBatch {
  torch::Tensor real;         // [n, channels, height, width]
  torch::Tensor real_labels;  // [n]
  torch::Tensor fake;         // [n, ...]
  torch::Tensor fake_labels;
  torch::Tensor mix;  // [n, 1, 1, 1] in [0, 1]: how much of `real` is in the image whose gradient
                      // is penalised, which has the label of `real`
};

class Critic {
 public:
  // InvalidArgument on images that are too small.
  explicit Critic(const CriticOptions& options);

  [[nodiscard]] std::int64_t parameters() const noexcept { return parameters_; }
  [[nodiscard]] std::int64_t state_size() const noexcept { return 3 * parameters_ + vectors_ + 1; }

  // Random weights.
  [[nodiscard]] CriticState initial(RandomBits& bits,
                                    const torch::Device& device = torch::kCPU) const;

  // [n]
  [[nodiscard]] torch::Tensor scores(const CriticState& state, const torch::Tensor& images,
                                     const torch::Tensor& labels) const;
  // Of the sum of the scores, so row by row: [n, channels, height, width].
  [[nodiscard]] torch::Tensor image_gradient(const CriticState& state, const torch::Tensor& images,
                                             const torch::Tensor& labels) const;
  // Of the loss of `batch` with respect to the weights: [parameters()].
  [[nodiscard]] torch::Tensor loss_gradient(const CriticState& state, const CriticBatch& batch,
                                            const CriticTraining& training) const;
  // One power iteration, and one step of Adam on that gradient.
  void train(CriticState& state, const CriticBatch& batch, const CriticTraining& training) const;

  // The parts of a vector of weights, by name and in the shapes of torch's layers, for tests.
  struct Part {
    std::string name;
    torch::Tensor value;
  };
  [[nodiscard]] std::vector<Part> parts(const torch::Tensor& weights) const;
  [[nodiscard]] torch::Tensor weights(const CriticState& state) const;

 private:
  // One matrix of the network, where it lies in the vectors.
  struct Matrix {
    std::string name;
    std::vector<std::int64_t> sizes;  // [rows, ...]
    std::int64_t at = 0;              // of the first weight
    std::int64_t bias_at = -1;        // of its bias, if any
    std::int64_t vectors_at = 0;      // of its singular vectors
    [[nodiscard]] std::int64_t rows() const { return sizes.front(); }
    [[nodiscard]] std::int64_t columns() const;
    [[nodiscard]] bool is_convolution() const { return sizes.size() == 4; }
  };
  // A matrix divided by its largest singular value, as far as that is known.
  struct Normalised {
    torch::Tensor matrix;  // in the shape of its layer
    torch::Tensor norm;    // []
    torch::Tensor left;    // [rows]
    torch::Tensor right;   // [columns]
    torch::Tensor bias;
  };
  // Of images: the layers' outputs, and how the label weighs the last of them.
  struct Pass {
    std::vector<torch::Tensor> hidden;  // h_1, h_2, h_3
    torch::Tensor direction;            // w + v_y: [n, features]
    torch::Tensor scores;               // [n]
  };

  [[nodiscard]] std::int64_t features() const;
  [[nodiscard]] torch::Tensor moment(const CriticState& state, int which) const;
  [[nodiscard]] torch::Tensor vectors(const CriticState& state) const;
  [[nodiscard]] std::vector<Normalised> normalised(const CriticState& state) const;
  void iterate(CriticState& state) const;
  // Gradients of the normalised matrices to those of the matrices, through the division by the
  // norm, whose vectors count as constants.
  void through_norms(const CriticState& state, const std::vector<Normalised>& layers,
                     const std::vector<torch::Tensor>& gradients,
                     const torch::Tensor& result) const;
  [[nodiscard]] Pass forward(const std::vector<Normalised>& layers, const torch::Tensor& images,
                             const torch::Tensor& labels) const;
  // dL/dz_3, dL/dz_2, dL/dz_1 in the order of the layers, z_k being in front of r, where the score
  // of image i counts weights[i].
  [[nodiscard]] std::vector<torch::Tensor> backward(const std::vector<Normalised>& layers,
                                                    const Pass& pass,
                                                    const torch::Tensor& weights) const;

  CriticOptions options_;
  std::vector<Matrix> matrices_;     // three convolutions, the last layer, the labels' projection
  std::vector<gpu::Matrix> on_gpu_;  // the same
  std::int64_t parameters_ = 0;
  std::int64_t vectors_ = 0;
};

}  // namespace obol::model
