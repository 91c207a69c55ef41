#include "obol/model/generator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

#include "obol/base/error.h"
#include "obol/model/biggan.h"
#include "obol/model/dcgan.h"
#include "obol/model/resnet.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kMaxClasses = 1 << 16;

// In [0, 1), of the upper 53 bits.
double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

double draw(const std::string& law, RandomBits& bits) {
  if (law == "bernoulli") return static_cast<double>(bits() >> 63);
  if (law == "uniform") return 2 * unit(bits()) - 1;
  // Box and Muller; 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - unit(bits())));
  return radius * std::cos(2 * std::numbers::pi * unit(bits()));
}

// The limits that a recipe keeps, for options that came another way.
class Checker final : public recipe::Fields {
 public:
  using Fields::integer;
  using Fields::number;
  using Fields::text;
  void flag(std::string_view, bool&, std::string_view) override {}
  void integer(std::string_view key, std::optional<std::int64_t>& value,
               const recipe::Limits& limits, std::string_view) override {
    if (!limits.allow(static_cast<double>(*value)))
      throw InvalidArgument(violation(key, limits.words, *value));
  }
  void number(std::string_view, std::optional<double>&, const recipe::Limits&,
              std::string_view) override {}
  void text(std::string_view key, std::optional<std::string>& value, const recipe::Choices& choices,
            std::string_view) override {
    for (const std::string& choice : choices)
      if (*value == choice) return;
    throw InvalidArgument(
        violation(key, fmt::format("one of {}", fmt::join(choices, ", ")), *value));
  }
};

}  // namespace

Generator::Generator(GeneratorOptions options, data::ImageShape shape, std::int64_t num_classes)
    : options_(std::move(options)), shape_(shape), num_classes_(num_classes) {}

Tensor Generator::latents(std::int64_t count, RandomBits& bits) const {
  Tensor z = torch::empty({count, latent()});
  auto* values = z.data_ptr<float>();
  for (std::int64_t k = 0; k < z.numel(); ++k)
    values[k] = static_cast<float>(draw(options_.latent_law, bits));
  return z;
}

Generator::Forward Generator::for_sampling() {
  return [this](const Tensor& z, const Tensor& labels) { return forward(z, labels); };
}

Tensor Generator::output(const Tensor& x) const {
  return options_.output == "tanh" ? x.tanh() : x.sigmoid();
}

Tensor sample(Generator& generator, const Tensor& labels, RandomBits& bits) {
  // Few enough that a layer's output comes from memory that malloc reuses.
  constexpr std::int64_t kBatch = 100;
  const torch::NoGradGuard no_grad;
  const bool was_training = generator.is_training();
  const torch::Device device = generator.parameters().front().device();
  const data::ImageShape& shape = generator.shape();
  Tensor images = torch::empty({labels.size(0), shape.channels, shape.height, shape.width});
  generator.eval();
  for (std::int64_t first = 0; first < labels.size(0); first += kBatch) {
    const std::int64_t count = std::min(kBatch, labels.size(0) - first);
    const Tensor z = generator.latents(count, bits).to(device);
    images.narrow(0, first, count)
        .copy_(generator.forward(z, labels.narrow(0, first, count).to(device)));
  }
  generator.train(was_training);
  return images;
}

std::shared_ptr<Generator> make_generator(const GeneratorOptions& options,
                                          const data::ImageShape& shape, std::int64_t num_classes) {
  GeneratorOptions checked = options;
  Checker checker;
  checked.describe(checker);
  if (num_classes < 0 || num_classes > kMaxClasses)
    throw InvalidArgument(
        violation("num_classes", fmt::format("from 0 to {}", kMaxClasses), num_classes));
  if (options.architecture == "biggan")
    return std::make_shared<BigGan>(options, shape, num_classes);
  if (options.architecture == "resnet")
    return std::make_shared<Resnet>(options, shape, num_classes);
  return std::make_shared<Dcgan>(options, shape, num_classes);
}

}  // namespace obol::model
