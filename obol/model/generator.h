// Networks that make images of latent vectors and labels.
//
//   auto generator = make_generator({.width = 32}, {1, 28, 28}, 10);
//   SeededBits bits(0);
//   torch::Tensor z = generator->latents(200, bits);                // [200, latent]
//   torch::Tensor images = generator->forward(z, labels);           // [200, 1, 28, 28]
//
//   generator->place(torch::kCUDA);                                 // instead of to(): all else
//   follows torch::Tensor z = generator->latents(200, torch::kCUDA, bits);
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

  // Moves the network to `device`, with its weights laid out as computing there wants them. They
  // stay floats; what a GPU computes in is options().precision.
  void place(const torch::Device& device);
  [[nodiscard]] torch::Device device() const { return parameters().front().device(); }

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
  // On a processor the same. On a GPU of `random`, by default torch's own generator of that device,
  // which a recorded step can draw from anew: `bits` stays as it was.
  [[nodiscard]] torch::Tensor latents(std::int64_t count, const torch::Device& device,
                                      RandomBits& bits, const at::Generator& random = {}) const;

 protected:
  Generator(GeneratorOptions options, data::ImageShape shape, std::int64_t num_classes);

  [[nodiscard]] double slope() const { return options_.activation == "relu" ? 0 : 0.2; }
  // x as the network computes with it.
  [[nodiscard]] torch::Tensor computed(const torch::Tensor& x) const;
  // The last activation, as floats where the network computes with less.
  [[nodiscard]] torch::Tensor output(const torch::Tensor& x) const;

 private:
  GeneratorOptions options_;
  data::ImageShape shape_;
  std::int64_t num_classes_;
};

// Latents for images that are made outside training, where the generator is. On a GPU they come
// from a generator of their own, whose seed is the next word of `bits`.
class LatentSource {
 public:
  // Of `batch_on_processor` images at a time; on a GPU of as many as some memory holds.
  LatentSource(const Generator& generator, RandomBits& bits, std::int64_t batch_on_processor);

  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  // Those of the next batch, of which only `count` are wanted.
  [[nodiscard]] torch::Tensor next(std::int64_t count);

 private:
  const Generator& generator_;
  RandomBits& bits_;
  torch::Device device_;
  std::int64_t batch_;
  at::Generator random_;
};

// One image for each label [n] (of an unconditional generator the labels only count), in evaluation
// mode, in batches; the result is on the processor.
torch::Tensor sample(Generator& generator, const torch::Tensor& labels, RandomBits& bits);

// InvalidArgument on options out of their limits, and on a shape that the architecture cannot make,
// naming those that it can. Weights come from torch's generator (torch::manual_seed).
std::shared_ptr<Generator> make_generator(const GeneratorOptions& options,
                                          const data::ImageShape& shape, std::int64_t num_classes);

}  // namespace obol::model
