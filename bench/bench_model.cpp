// bench_model [THREADS]: what generators and classifiers reach on a processor, in GFLOP/s and as a
// share of what a product of 2048 x 2048 matrices reaches in the same run. With one thread it is
// processor time that counts, so that other programs matter little; with more, the clock.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/model/classifier.h"
#include "obol/model/conv_transpose.h"
#include "obol/model/generator.h"
#include "obol/model/sample.h"

namespace {

using torch::Tensor;
namespace model = obol::model;

constexpr int kRepeats = 9;

double now() {
  if (at::get_num_threads() == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of_one(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

// The best of some runs, since other programs can only slow it down.
double seconds_of(const std::function<void()>& work) {
  work();
  double best = 1e9;
  for (int run = 0; run < kRepeats; ++run) best = std::min(best, seconds_of_one(work));
  return best;
}

class Table {
 public:
  Table() {
    constexpr std::int64_t kSide = 2048;
    const Tensor a = torch::randn({kSide, kSide});
    const double flops = 2.0 * kSide * kSide * kSide;
    const double seconds = seconds_of([&] { torch::mm(a, a); });
    product_ = flops / seconds;
    print("2048 x 2048 product", flops, seconds);
  }

  void add(const std::string& what, double flops, const std::function<void()>& work) const {
    print(what, flops, seconds_of(work));
  }

  void print(const std::string& what, double flops, double seconds) const {
    std::cout << fmt::format("{:<58} {:>7.1f} ms {:>6.1f} GFLOP/s {:>4.0f} %\n", what,
                             seconds * 1e3, flops / seconds / 1e9,
                             100 * flops / seconds / product_);
  }

 private:
  double product_ = 0;
};

void measure_layer(const Table& table, std::int64_t images, std::int64_t side,
                   const model::ConvTransposeOptions& options) {
  model::ConvTranspose layer(options);
  const double flops =
      6.0 * static_cast<double>(images * side * side) * static_cast<double>(layer->weight.numel());
  const auto measure = [&](const std::string& name, const Tensor& x, const auto& forward) {
    const Tensor gradient = torch::randn_like(forward(x).detach());
    table.add(fmt::format("{}: {} of {}x{}x{} to {}, kernel {}, both ways", name, images,
                          options.in, side, side, options.out, options.kernel),
              flops, [&] { forward(x).backward(gradient); });
  };
  const Tensor x = torch::randn({images, options.in, side, side});
  measure("stock", x.clone().requires_grad_(), [&](const Tensor& input) {
    return at::conv_transpose2d(input, layer->weight, {}, options.stride, options.padding);
  });
  measure("ours", x.contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(),
          [&](const Tensor& input) { return layer->forward(input); });
}

// 104 MFLOP an image at width 64.
double flops_of(std::int64_t width, std::int64_t images) {
  return 104e6 * static_cast<double>(width * width * images) / (64 * 64);
}

void measure_generator(const Table& table, std::int64_t width, std::int64_t images) {
  auto generator = model::make_generator({.width = width}, {1, 28, 28}, 10);
  obol::SeededBits bits(1);
  const Tensor z = generator->latents(images, bits);
  const Tensor labels = torch::arange(images, at::kLong).remainder(10);
  const Tensor gradient = torch::randn({images, 1, 28, 28});
  const std::string name = fmt::format("dcgan of width {}, {} images", width, images);
  const double flops = flops_of(width, images);
  table.add(name + ", both ways", 3 * flops,
            [&] { generator->forward(z, labels).backward(gradient); });
  const torch::NoGradGuard no_grad;
  table.add(name + ", forward", flops, [&] { generator->forward(z, labels); });
  generator->eval();
  table.add(name + ", evaluation", flops, [&] { generator->forward(z, labels); });
}

// The generator in evaluation mode by torch's own operators, its images [n, channels, height,
// width] in memory; z and labels as forward takes them.
Tensor stock_images(model::Generator& generator, const Tensor& z, const Tensor& labels) {
  const auto parameters = generator.named_parameters();
  const auto buffers = generator.named_buffers();
  Tensor x = torch::cat({z, at::embedding(parameters["label_embedding.weight"], labels)}, 1);
  x = x.unsqueeze(-1).unsqueeze(-1);
  for (int k = 1; k <= 4; ++k) {
    const std::string conv = fmt::format("conv{}.", k);
    const std::string norm = fmt::format("norm{}.", k);
    const Tensor weight = parameters[conv + "weight"];
    if (k == 4) return at::conv_transpose2d(x, weight, parameters[conv + "bias"], 1, 1).sigmoid();
    x = at::conv_transpose2d(x, weight, {}, k == 1 ? 1 : 2, k == 1 ? 0 : 1);
    x = at::leaky_relu(at::batch_norm(x, parameters[norm + "weight"], parameters[norm + "bias"],
                                      buffers[norm + "running_mean"], buffers[norm + "running_var"],
                                      false, 0, 1e-5, false),
                       0.2);
  }
  return x;
}

// Both in turn, the best of each: other programs then slow both alike.
void measure_sampling(const Table& table, std::int64_t width) {
  constexpr std::int64_t kImages = 1000;
  constexpr std::int64_t kBatch = 500;
  auto generator = model::make_generator({.width = width}, {1, 28, 28}, 10);
  generator->eval();
  const torch::NoGradGuard no_grad;
  obol::SeededBits bits(1);
  const auto stock = [&] {
    for (std::int64_t done = 0; done < kImages; done += kBatch)
      model::to_bytes(stock_images(*generator, generator->latents(kBatch, bits),
                                   torch::arange(done, done + kBatch).remainder(10)),
                      generator->options());
  };
  const auto ours = [&] { model::sample(*generator, {.count = kImages, .seed = 1}); };
  double seconds_stock = 1e9;
  double seconds_ours = 1e9;
  for (int run = 0; run < kRepeats; ++run) {
    seconds_stock = std::min(seconds_stock, seconds_of_one(stock));
    seconds_ours = std::min(seconds_ours, seconds_of_one(ours));
  }
  const std::string name = fmt::format("dcgan of width {}, a sample of {}, ", width, kImages);
  table.print(name + "stock", flops_of(width, kImages), seconds_stock);
  table.print(name + "ours", flops_of(width, kImages), seconds_ours);
}

// 24 MFLOP an image, both ways.
void measure_classifier(const Table& table) {
  constexpr std::int64_t kImages = 100;
  auto cnn = model::make_classifier("cnn", {1, 28, 28}, 10);
  torch::optim::Adam adam(cnn->parameters(), torch::optim::AdamOptions(1e-3));
  const Tensor images = torch::rand({kImages, 1, 28, 28});
  const Tensor labels = torch::arange(kImages, at::kLong).remainder(10);
  table.add(fmt::format("cnn, {} images, a step of Adam", kImages), 24e6 * kImages, [&] {
    adam.zero_grad();
    at::cross_entropy_loss(cnn->forward(images), labels).backward();
    adam.step();
  });
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::stoi(argv[1]) : 2);
  const Table table;
  const auto doubling = [](std::int64_t in) {
    return model::ConvTransposeOptions{in, in / 2, 4, 2, 1, false};
  };
  measure_layer(table, 70, 7, doubling(256));
  measure_layer(table, 70, 14, doubling(128));
  measure_layer(table, 200, 7, doubling(128));
  measure_layer(table, 200, 14, doubling(64));
  measure_generator(table, 64, 70);
  measure_generator(table, 32, 200);
  measure_generator(table, 64, 500);
  measure_sampling(table, 64);
  measure_sampling(table, 32);
  measure_classifier(table);
  return 0;
}
