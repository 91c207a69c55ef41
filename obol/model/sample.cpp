#include "obol/model/sample.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"

namespace obol::model {
namespace {

using torch::Tensor;

void check(const Generator& generator, const SampleOptions& options) {
  if (options.count < 1)
    throw InvalidArgument(violation("the number of images", "at least 1", options.count));
  const std::int64_t classes = generator.num_classes();
  if (!options.label) return;
  if (!generator.is_conditional())
    throw InvalidArgument(
        violation("a label", "left out with a generator without classes", *options.label));
  if (*options.label < 0 || *options.label >= classes)
    throw InvalidArgument(
        violation("a label", fmt::format("from 0 to {}", classes - 1), *options.label));
}

}  // namespace

Tensor to_bytes(const Tensor& images, const GeneratorOptions& options) {
  const double lowest = options.output == "tanh" ? -1 : 0;
  // Bytes first: a quarter of what there is to bring from a GPU.
  return ((images - lowest) * (255 / (1 - lowest)))
      .round_()
      .clamp_(0, 255)
      .to(torch::kByte)
      .to(torch::kCPU)
      .contiguous();
}

data::Dataset sample(Generator& generator, const SampleOptions& options) {
  constexpr std::int64_t kOnProcessor = 500;
  check(generator, options);
  const torch::NoGradGuard no_grad;
  std::unique_ptr<RandomBits> bits = std::make_unique<SecureBits>();
  if (options.seed) bits = std::make_unique<SeededBits>(static_cast<std::uint64_t>(*options.seed));
  const bool was_training = generator.is_training();
  generator.eval();
  data::Dataset result;
  result.shape = generator.shape();
  result.declared_size = options.count;
  const Generator::Forward forward = generator.for_sampling();
  const std::int64_t classes = std::max<std::int64_t>(1, generator.num_classes());
  if (generator.is_conditional())
    for (std::int64_t c = 0; c < classes; ++c) result.class_names.push_back(std::to_string(c));
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(options.count * result.shape.pixels()));
  LatentSource latents(generator, *bits, kOnProcessor);
  Progress progress("sampling", options.count, "images");
  for (std::int64_t done = 0; done < options.count; done += latents.batch()) {
    check_interrupt();
    const std::int64_t now = std::min(latents.batch(), options.count - done);
    const Tensor labels = options.label ? torch::full({now}, *options.label, torch::kLong)
                                        : torch::arange(done, done + now).remainder(classes);
    const Tensor z = latents.next(now);
    const Tensor bytes = to_bytes(forward(z, labels.to(z.device())), generator.options());
    pixels.insert(pixels.end(), bytes.data_ptr<std::uint8_t>(),
                  bytes.data_ptr<std::uint8_t>() + bytes.numel());
    if (generator.is_conditional())
      result.labels.insert(result.labels.end(), labels.data_ptr<std::int64_t>(),
                           labels.data_ptr<std::int64_t>() + now);
    progress.advance(now);
  }
  result.pixels = std::move(pixels);
  generator.train(was_training);
  return result;
}

}  // namespace obol::model
