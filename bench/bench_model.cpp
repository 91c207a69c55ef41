// bench_model layers|sampling [cpu|cuda]: what generators and classifiers reach, and how fast
// images are sampled, against stock layers in eager LibTorch, as JSON.
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/ceilings.h"
#include "bench/clock.h"
#include "bench/eager_generator.h"
#include "bench/row.h"
#include "obol/base/memory.h"
#include "obol/base/random.h"
#include "obol/model/classifier.h"
#include "obol/model/conv_transpose.h"
#include "obol/model/generator.h"
#include "obol/model/sample.h"

namespace {

using torch::Tensor;
namespace bench = obol::bench;
namespace model = obol::model;

constexpr obol::data::ImageShape kShape{.channels = 1, .height = 28, .width = 28};
constexpr std::int64_t kClasses = 10;

void measure(const std::string& what, double flops, const torch::Device& device,
             const bench::Work& work) {
  print(
      bench::Part{"networks", what, bench::seconds_of(bench::finished(device, work)), flops / 1e9});
}

void measure_layer(std::int64_t images, std::int64_t side,
                   const model::ConvTransposeOptions& options, const torch::Device& device) {
  model::ConvTranspose layer(options);
  layer->to(device);
  const double flops =
      6.0 * static_cast<double>(images * side * side) * static_cast<double>(layer->weight.numel());
  const auto both_ways = [&](const std::string& name, const Tensor& x, const auto& forward) {
    const Tensor gradient = torch::randn_like(forward(x).detach());
    measure(fmt::format("{}: {} of {}x{}x{} to {}, kernel {}, both ways", name, images, options.in,
                        side, side, options.out, options.kernel),
            flops, device, [&] { forward(x).backward(gradient); });
  };
  const Tensor x = torch::randn({images, options.in, side, side}, device);
  both_ways("stock", x.clone().requires_grad_(), [&](const Tensor& input) {
    return at::conv_transpose2d(input, layer->weight, {}, options.stride, options.padding);
  });
  both_ways("ours", x.contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(),
            [&](const Tensor& input) { return layer->forward(input); });
}

void measure_generator(std::int64_t width, std::int64_t images, const torch::Device& device) {
  const auto generator = model::make_generator({.width = width}, kShape, kClasses);
  generator->place(device);
  obol::SeededBits bits(1);
  const Tensor z = generator->latents(images, bits).to(device);
  const Tensor labels = torch::arange(images, at::kLong).remainder(kClasses).to(device);
  const Tensor gradient = torch::randn({images, 1, 28, 28}, device);
  const std::string name = fmt::format("dcgan of width {}, {} images", width, images);
  const double flops = bench::flops_of_image(*generator) * static_cast<double>(images);
  measure(name + ", both ways", 3 * flops, device,
          [&] { generator->forward(z, labels).backward(gradient); });
  const torch::NoGradGuard no_grad;
  measure(name + ", forward", flops, device, [&] { generator->forward(z, labels); });
  generator->eval();
  measure(name + ", evaluation", flops, device, [&] { generator->forward(z, labels); });
}

// 24 MFLOP an image, both ways.
void measure_classifier(const torch::Device& device) {
  constexpr std::int64_t kImages = 100;
  const auto cnn = model::make_classifier("cnn", kShape, kClasses);
  cnn->to(device);
  torch::optim::Adam adam(cnn->parameters(), torch::optim::AdamOptions(1e-3));
  const Tensor images = torch::rand({kImages, 1, 28, 28}, device);
  const Tensor labels = torch::arange(kImages, at::kLong).remainder(kClasses).to(device);
  measure(fmt::format("cnn, {} images, a step of Adam", kImages), 24e6 * kImages, device, [&] {
    adam.zero_grad();
    at::cross_entropy_loss(cnn->forward(images), labels).backward();
    adam.step();
  });
}

void layers(const torch::Device& device) {
  const auto doubling = [](std::int64_t in) {
    return model::ConvTransposeOptions{in, in / 2, 4, 2, 1, false};
  };
  measure_layer(70, 7, doubling(256), device);
  measure_layer(70, 14, doubling(128), device);
  measure_layer(200, 7, doubling(128), device);
  measure_layer(200, 14, doubling(64), device);
  measure_generator(64, 70, device);
  measure_generator(32, 200, device);
  measure_generator(64, 500, device);
  measure_classifier(device);
}

// On a processor of a thousand, which is what 60,000 take but for the factor.
void sampling(const torch::Device& device) {
  constexpr double kWhole = 60000;
  const std::int64_t images = device.is_cuda() ? 60000 : 1000;
  const std::int64_t at_once = device.is_cuda() ? 5000 : 500;
  const auto generator = model::make_generator({}, kShape, kClasses);
  generator->place(device);
  generator->eval();
  const auto same = model::make_generator({}, kShape, kClasses);
  same->to(device);
  const bench::EagerGenerator stock(*same);
  const auto eager = [&] {
    const torch::NoGradGuard no_grad;
    for (std::int64_t done = 0; done < images; done += at_once) {
      const Tensor z = torch::rand({at_once, generator->latent()}, device) * 2 - 1;
      const Tensor labels = torch::arange(at_once, device).remainder(kClasses);
      model::to_bytes(stock.evaluate(z, labels), generator->options());
    }
  };
  const auto [ours, reference, product] = bench::compare(
      device, [&] { model::sample(*generator, {.count = images}); }, eager);
  const double flops = bench::flops_of_image(*generator) * kWhole;
  print(bench::Row{.what = "60,000 images sampled, width 64",
                   .unit = "s",
                   .ours = ours * kWhole / static_cast<double>(images),
                   .reference = reference * kWhole / static_cast<double>(images),
                   .reference_is = "eager LibTorch",
                   .floor = flops / product,
                   .gflop = flops / 1e9});
}

int run(const std::string& what, const torch::Device& device) {
  if (what == "layers")
    layers(device);
  else if (what == "sampling")
    sampling(device);
  else
    return 2;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  try {
    const int code = argc < 2 ? 2 : run(argv[1], torch::Device(argc > 2 ? argv[2] : "cpu"));
    if (code != 0) std::cerr << "usage: bench_model layers|sampling [cpu|cuda]\n";
    return code;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
