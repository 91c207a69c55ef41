#include "obol/model/sample.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/base/random.h"
#include "obol/base/text.h"

namespace obol::model {
namespace {

using torch::Tensor;

void check(const Generator& generator, const SampleOptions& options) {
  if (options.count < 1)
    throw InvalidArgument(violation("the number of images", "at least 1", options.count));
  const std::int64_t classes = generator.num_classes();
  if (options.teacher != nullptr &&
      (options.teacher->shape() != generator.shape() || options.teacher->num_classes() != classes))
    throw InvalidArgument(violation(
        "the teacher", fmt::format("of {} and {} classes", to_string(generator.shape()), classes),
        fmt::format("of {} and {}", to_string(options.teacher->shape()),
                    options.teacher->num_classes())));
  if (!options.label) return;
  if (!generator.is_conditional())
    throw InvalidArgument(
        violation("a label", "left out with a generator without classes", *options.label));
  if (*options.label < 0 || *options.label >= classes)
    throw InvalidArgument(
        violation("a label", fmt::format("from 0 to {}", classes - 1), *options.label));
}

// A class that the teacher sees in no image at all would be looked for without end.
void require_some(std::int64_t in_vain, std::int64_t label) {
  constexpr std::int64_t kMostInVain = 10'000;
  if (in_vain >= kMostInVain)
    throw DataError(fmt::format(
        "one image in {} must have the class {} in the teacher's eyes, but none has: without the "
        "teacher, images have the class that the generator was asked for",
        with_thousands(static_cast<std::uint64_t>(in_vain)), label));
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
  // One class alone is asked for, or what the teacher takes for it is picked out of all.
  const bool is_picked = options.label && options.teacher != nullptr;
  std::int64_t made = 0;
  std::int64_t in_vain = 0;
  Progress progress("sampling", options.count, "images");
  for (std::int64_t kept = 0; kept < options.count;) {
    check_interrupt();
    const std::int64_t missing = options.count - kept;
    const std::int64_t now = std::min(latents.batch(), is_picked ? missing * classes : missing);
    Tensor labels = options.label && !is_picked
                        ? torch::full({now}, *options.label, torch::kLong)
                        : torch::arange(made, made + now).remainder(classes);
    const Tensor z = latents.next(now);
    Tensor bytes = to_bytes(forward(z, labels.to(z.device())), generator.options());
    made += now;
    if (options.teacher != nullptr) labels = options.teacher->labels(bytes.to(z.device()));
    if (is_picked) {
      const Tensor rows = torch::nonzero(labels == *options.label).squeeze(1).slice(0, 0, missing);
      in_vain = rows.size(0) > 0 ? 0 : in_vain + now;
      require_some(in_vain, *options.label);
      bytes = bytes.index_select(0, rows);
      labels = labels.index_select(0, rows);
    }
    pixels.insert(pixels.end(), bytes.data_ptr<std::uint8_t>(),
                  bytes.data_ptr<std::uint8_t>() + bytes.numel());
    if (generator.is_conditional())
      result.labels.insert(result.labels.end(), labels.data_ptr<std::int64_t>(),
                           labels.data_ptr<std::int64_t>() + labels.numel());
    kept += bytes.size(0);
    progress.advance(bytes.size(0));
  }
  result.pixels = std::move(pixels);
  generator.train(was_training);
  return result;
}

}  // namespace obol::model
