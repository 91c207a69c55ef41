#include "obol/model/generator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "obol/model/biggan.h"
#include "obol/model/blueprint.h"
#include "obol/model/channels_last.h"
#include "obol/model/conv_transpose.h"
#include "obol/model/dcgan.h"
#include "obol/model/resnet.h"

namespace obol::model {
namespace {

using torch::Tensor;

// In [0, 1), of the upper 53 bits.
double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

double draw(const std::string& law, RandomBits& bits) {
  if (law == "bernoulli") return static_cast<double>(bits() >> 63);
  if (law == "uniform") return 2 * unit(bits()) - 1;
  // Box and Muller; 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - unit(bits())));
  return radius * std::cos(2 * std::numbers::pi * unit(bits()));
}

// As many images as have at most a gigabyte in their largest layer, were it of floats.
std::int64_t batch_on_gpu(const Generator& generator) {
  constexpr std::int64_t kNumbers = std::int64_t{1} << 28;
  constexpr std::int64_t kMost = 10'000;
  const GeneratorOptions& options = generator.options();
  const std::int64_t channels = options.architecture == "dcgan" ? options.width : 4 * options.width;
  const std::int64_t of_image = channels * generator.shape().height * generator.shape().width;
  return std::clamp<std::int64_t>(kNumbers / of_image, 1, kMost);
}

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

Tensor Generator::latents(std::int64_t count, const torch::Device& device, RandomBits& bits,
                          const at::Generator& random) const {
  if (!device.is_cuda()) return latents(count, bits).to(device);
  Tensor z = at::empty({count, latent()}, torch::TensorOptions(device).dtype(at::kFloat));
  if (options_.latent_law == "bernoulli") return z.bernoulli_(0.5, random);
  return options_.latent_law == "uniform" ? z.uniform_(-1, 1, random) : z.normal_(0, 1, random);
}

void Generator::place(const torch::Device& device) {
  to(device);
  if (!device.is_cuda()) return;
  // Weights that are normalised are laid out anew in every step.
  for (const auto& module : modules())
    if (auto* layer = module->as<ConvTransposeImpl>())
      layer->weight.set_data(channels_last(layer->weight.detach()));
}

Tensor Generator::computed(const Tensor& x) const {
  const bool is_less =
      x.is_cuda() && x.scalar_type() == at::kFloat && options_.precision != "float";
  return is_less ? x.to(at::kBFloat16) : x;
}

Generator::Forward Generator::for_sampling() {
  return [this](const Tensor& z, const Tensor& labels) { return forward(z, labels); };
}

Tensor Generator::output(const Tensor& x) const {
  const Tensor y = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
  return options_.output == "tanh" ? y.tanh() : y.sigmoid();
}

LatentSource::LatentSource(const Generator& generator, RandomBits& bits,
                           std::int64_t batch_on_processor)
    : generator_(generator),
      bits_(bits),
      device_(generator.device()),
      batch_(device_.is_cuda() ? batch_on_gpu(generator) : batch_on_processor) {
  if (!device_.is_cuda()) return;
  random_ = at::globalContext().defaultGenerator(device_).clone();
  random_.set_current_seed(bits());
}

Tensor LatentSource::next(std::int64_t count) {
  if (!device_.is_cuda()) return generator_.latents(count, bits_);
  // All of them: which number comes where depends on how many are drawn together.
  return generator_.latents(batch_, device_, bits_, random_).narrow(0, 0, count);
}

Tensor sample(Generator& generator, const Tensor& labels, RandomBits& bits) {
  // Few enough that a layer's output comes from memory that malloc reuses.
  constexpr std::int64_t kOnProcessor = 100;
  const torch::NoGradGuard no_grad;
  const bool was_training = generator.is_training();
  const data::ImageShape& shape = generator.shape();
  Tensor images = torch::empty({labels.size(0), shape.channels, shape.height, shape.width});
  generator.eval();
  LatentSource latents(generator, bits, kOnProcessor);
  for (std::int64_t first = 0; first < labels.size(0); first += latents.batch()) {
    const std::int64_t count = std::min(latents.batch(), labels.size(0) - first);
    const Tensor z = latents.next(count);
    images.narrow(0, first, count)
        .copy_(generator.forward(z, labels.narrow(0, first, count).to(z.device())));
  }
  generator.train(was_training);
  return images;
}

std::shared_ptr<Generator> make_generator(const GeneratorOptions& options,
                                          const data::ImageShape& shape, std::int64_t num_classes) {
  check(Blueprint{.options = options, .shape = shape, .num_classes = num_classes});
  if (options.architecture == "biggan")
    return std::make_shared<BigGan>(options, shape, num_classes);
  if (options.architecture == "resnet")
    return std::make_shared<Resnet>(options, shape, num_classes);
  return std::make_shared<Dcgan>(options, shape, num_classes);
}

}  // namespace obol::model
