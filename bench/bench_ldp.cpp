// bench_ldp [cpu|cuda] [THREADS]: steps of learning from privatised records a second, at the
// paper's size (batches of 400, 400 iterations of Sinkhorn, 784 numbers, a DCGAN of width 64), what
// share of a step is transport, and the same step in eager LibTorch: stock layers, Sinkhorn on
// logarithms.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/base/memory.h"
#include "obol/base/random.h"
#include "obol/method/ldp_wgan/method.h"

namespace {

using obol::local::Mechanism;
using torch::Tensor;
namespace ldp = obol::method::ldp_wgan;

constexpr std::int64_t kBatch = 400;
constexpr std::int64_t kRecords = 4000;
constexpr std::int64_t kIterations = 400;
constexpr std::int64_t kLatent = 100;
constexpr std::int64_t kWidth = 64;

double seconds_of(const torch::Device& device, const std::function<void()>& work) {
  const auto wait = [&] {
    if (device.is_cuda()) torch::cuda::synchronize();
  };
  work();
  work();
  double best = 1e9;
  for (int k = 0; k < 5; ++k) {
    wait();
    const auto start = std::chrono::steady_clock::now();
    work();
    wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

obol::local::Privatized records(Mechanism mechanism, double scale) {
  obol::local::Privatized data;
  data.how.mechanism = mechanism;
  data.how.scale = scale;
  data.how.shape = {.channels = 1, .height = 28, .width = 28};
  const Tensor values = torch::rand({kRecords, 784}) + scale * torch::randn({kRecords, 784});
  data.records.assign(values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  return data;
}

torch::nn::Sequential eager_generator() {
  using torch::nn::ConvTranspose2dOptions;
  const auto up = [](std::int64_t in, std::int64_t out, int kernel, int stride, int padding) {
    return torch::nn::ConvTranspose2d(
        ConvTranspose2dOptions(in, out, kernel).stride(stride).padding(padding));
  };
  return torch::nn::Sequential(up(kLatent, 4 * kWidth, 7, 1, 0), torch::nn::BatchNorm2d(4 * kWidth),
                               torch::nn::ReLU(), up(4 * kWidth, 2 * kWidth, 4, 2, 1),
                               torch::nn::BatchNorm2d(2 * kWidth), torch::nn::ReLU(),
                               up(2 * kWidth, kWidth, 4, 2, 1), torch::nn::BatchNorm2d(kWidth),
                               torch::nn::ReLU(), up(kWidth, 1, 3, 1, 1), torch::nn::Sigmoid());
}

// <P, C> with P standing still.
Tensor eager_loss(const Tensor& x, const Tensor& y, const ldp::Loss& loss) {
  const bool is_squared = loss.cost.kind == obol::transport::CostKind::kSquared;
  const Tensor cost = is_squared ? torch::cdist(x, y).square() : torch::cdist(x, y, 1);
  Tensor plan;
  {
    const torch::NoGradGuard no_grad;
    const double lambda = loss.regularization;
    const double log_n = std::log(static_cast<double>(kBatch));
    Tensor f = torch::zeros({kBatch, 1}, x.options());
    Tensor g = torch::zeros({1, kBatch}, x.options());
    for (std::int64_t k = 0; k < kIterations; ++k) {
      f = -lambda * (torch::logsumexp((g - cost) / lambda, 1, true) - log_n);
      g = -lambda * (torch::logsumexp((f - cost) / lambda, 0, true) - log_n);
    }
    plan = ((f + g - cost) / lambda - 2 * log_n).exp();
  }
  return (plan * cost).sum();
}

void row(const char* name, Mechanism mechanism, double scale, const torch::Device& device) {
  const obol::local::Privatized data = records(mechanism, scale);
  ldp::Options options;
  options.generator = {.width = kWidth, .latent = kLatent};
  options.method.batch = kBatch;
  options.method.iterations = kIterations;
  obol::SeededBits bits(1);
  ldp::LdpWgan method(options, data, {.bits = bits, .device = device});
  obol::run::UnsafeDiagnostics nothing;
  std::int64_t step = 0;
  const double ours = seconds_of(device, [&] { method.step(++step, nothing); });
  const ldp::Loss loss = ldp::loss_of(options.method, data.how);
  const Tensor all = torch::from_blob(const_cast<float*>(data.records.data()), {kRecords, 784})
                         .to(device, torch::kFloat, false, true);
  const Tensor y = all.slice(0, 0, kBatch);
  const Tensor x = torch::rand({kBatch, 784}, y.options());
  const double transport = seconds_of(device, [&] { ldp::pull_to({.x = x, .y = y}, loss); });
  torch::nn::Sequential generator = eager_generator();
  generator->to(device);
  torch::optim::Adam optimizer(generator->parameters(), torch::optim::AdamOptions(1e-4));
  const double eager = seconds_of(device, [&] {
    const Tensor images = generator->forward(torch::rand({kBatch, kLatent, 1, 1}, y.options()));
    optimizer.zero_grad();
    eager_loss(images.flatten(1), y, loss).backward();
    optimizer.step();
  });
  std::cout << fmt::format("| {} | {:.2f} | {:.2f} | {:.1f} | {:.2f} | {:.0f}% |\n", name,
                           1 / eager, 1 / ours, eager / ours, 1e3 * transport,
                           100 * transport / ours);
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  const torch::Device device(argc > 1 ? argv[1] : "cpu");
  at::set_num_threads(argc > 2 ? std::stoi(argv[2]) : 2);
  std::cout << "| step | eager, steps/s | ours, steps/s | ratio | transport, ms | of a step |\n"
               "| --- | ---: | ---: | ---: | ---: | ---: |\n";
  row("Gaussian noise of 1.5, squared cost", Mechanism::kGaussian, 1.5, device);
  row("Laplace noise of 1, absolute cost", Mechanism::kLaplace, 1, device);
}
