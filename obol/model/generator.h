// Networks that make images of latent vectors and labels.
//
//   auto generator = make_generator({.width = 32}, {1, 28, 28}, 10);
//   SeededBits bits(0);
//   torch::Tensor z = generator->latents(200, bits);                // [200, latent]
//   torch::Tensor images = generator->forward(z, labels);           // [200, 1, 28, 28]
//
// Batch normalisation sees generated images only, so it costs no privacy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/model/options.h"

namespace obol::model {

class Generator : public torch::nn::Module {
 public:
  // z [n, latent]; labels [n] of int64, undefined or ignored if unconditional -> [n, channels,
  // height, width], in [0, 1] (sigmoid) or [-1, 1] (tanh).
  virtual torch::Tensor forward(const torch::Tensor& z, const torch::Tensor& labels) = 0;

  // What forward gives in evaluation mode, of the weights as they are now, without gradients and to
  // a few levels of a byte: for images that are kept as bytes. Faster than forward where a network
  // and the processor allow it, else forward itself. Must not outlive the generator.
  using Forward = std::function<torch::Tensor(const torch::Tensor& z, const torch::Tensor& labels)>;
  [[nodiscard]] virtual Forward for_sampling();

  // The body of forward in evaluation mode, in TorchScript: from z and labels to a returned tensor.
  [[nodiscard]] virtual std::string script() const = 0;

  [[nodiscard]] const GeneratorOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::int64_t latent() const noexcept { return options_.latent; }
  [[nodiscard]] const data::ImageShape& shape() const noexcept { return shape_; }
  // 0 or 1: unconditional.
  [[nodiscard]] std::int64_t num_classes() const noexcept { return num_classes_; }
  [[nodiscard]] bool is_conditional() const noexcept { return num_classes_ > 1; }

  // [count, latent] of the latent law, on the processor: the same words, the same numbers.
  [[nodiscard]] torch::Tensor latents(std::int64_t count, RandomBits& bits) const;

 protected:
  Generator(GeneratorOptions options, data::ImageShape shape, std::int64_t num_classes);

  [[nodiscard]] double slope() const { return options_.activation == "relu" ? 0 : 0.2; }
  [[nodiscard]] torch::Tensor output(const torch::Tensor& x) const;

 private:
  GeneratorOptions options_;
  data::ImageShape shape_;
  std::int64_t num_classes_;
};

// One image for each label [n] (of an unconditional generator the labels only count), in evaluation
// mode, in batches, on the processor.
torch::Tensor sample(Generator& generator, const torch::Tensor& labels, RandomBits& bits);

// InvalidArgument on options out of their limits, and on a shape that the architecture cannot make,
// naming those that it can. Weights come from torch's generator (torch::manual_seed).
std::shared_ptr<Generator> make_generator(const GeneratorOptions& options,
                                          const data::ImageShape& shape, std::int64_t num_classes);

}  // namespace obol::model
