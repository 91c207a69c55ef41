// The generator `dcgan` in torch's own operators, images with their channels first: what ours is
// compared with.
//
//   EagerGenerator eager(*generator);          // a copy of its weights
//   torch::Tensor images = eager.train(z, labels);
#pragma once

#include <vector>

#include <torch/torch.h>

#include "obol/model/generator.h"

namespace obol::bench {

class EagerGenerator {
 public:
  // `like`: a dcgan whose images are not 32 x 32.
  explicit EagerGenerator(const model::Generator& like);

  // z [n, latent], labels [n] (ignored without classes): [n, channels, height, width].
  torch::Tensor train(const torch::Tensor& z, const torch::Tensor& labels) const;
  torch::Tensor evaluate(const torch::Tensor& z, const torch::Tensor& labels) const;

  // Leaves that ask for gradients, in the order of the other generator's.
  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const { return parameters_; }

 private:
  enum class Statistics { kOfBatch, kKept };
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& z, const torch::Tensor& labels,
                                      Statistics statistics) const;

  struct Norm {
    torch::Tensor weight;
    torch::Tensor bias;
    torch::Tensor mean;
    torch::Tensor variance;
  };
  std::vector<torch::Tensor> parameters_;
  torch::Tensor embedding_;
  std::vector<torch::Tensor> filters_;
  std::vector<Norm> norms_;
  torch::Tensor last_bias_;
  double slope_;
  bool is_tanh_;
};

// Operations of one image forward, of the convolutions alone; both ways are three times that.
double flops_of_image(const model::Generator& dcgan);

}  // namespace obol::bench
