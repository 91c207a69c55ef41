// bench_ldp gaussian|laplace [cpu|cuda]: steps of learning from privatised records a second, at the
// paper's size (batches of 400, 400 iterations of Sinkhorn, 784 numbers, a DCGAN of width 64),
// against the same step in eager LibTorch, and where the time goes, as JSON.
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "bench/ceilings.h"
#include "bench/clock.h"
#include "bench/eager_generator.h"
#include "bench/eager_ldp.h"
#include "bench/row.h"
#include "obol/base/memory.h"
#include "obol/base/random.h"
#include "obol/method/ldp_wgan/method.h"

namespace {

using obol::bench::finished;
using obol::local::Mechanism;
using torch::Tensor;
namespace bench = obol::bench;
namespace ldp = obol::method::ldp_wgan;

constexpr std::int64_t kBatch = 400;
constexpr std::int64_t kRecords = 4000;
constexpr std::int64_t kIterations = 400;
constexpr std::int64_t kLatent = 100;
constexpr obol::data::ImageShape kShape{.channels = 1, .height = 28, .width = 28};

obol::local::Privatized records(Mechanism mechanism, double scale) {
  obol::local::Privatized data;
  data.how.mechanism = mechanism;
  data.how.scale = scale;
  data.how.shape = kShape;
  const Tensor values = torch::rand({kRecords, 784}) + scale * torch::randn({kRecords, 784});
  data.records.assign(values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  return data;
}

void measure(const std::string& name, Mechanism mechanism, double scale,
             const torch::Device& device) {
  const obol::local::Privatized data = records(mechanism, scale);
  ldp::Options options;
  options.generator = {.width = 64, .latent = kLatent};
  options.method.batch = kBatch;
  options.method.iterations = kIterations;
  obol::SeededBits bits(1);
  ldp::LdpWgan method(options, data, {.bits = bits, .device = device});
  obol::run::UnsafeDiagnostics nothing;
  std::int64_t step = 0;

  const ldp::Loss loss = ldp::loss_of(options.method, data.how);
  const Tensor all = torch::from_blob(const_cast<float*>(data.records.data()), {kRecords, 784})
                         .to(device, torch::kFloat, false, true);
  const Tensor y = all.slice(0, 0, kBatch);
  const auto generator = obol::model::make_generator(options.generator, kShape, 1);
  generator->to(device);
  const bench::EagerGenerator stock(*generator);
  torch::optim::Adam adam(stock.parameters(), torch::optim::AdamOptions(1e-4));
  const auto eager_step = [&] {
    const Tensor z = torch::rand({kBatch, kLatent}, y.options()) * 2 - 1;
    adam.zero_grad();
    bench::eager_loss(stock.train(z, {}).flatten(1), y, loss).backward();
    adam.step();
  };
  const auto [ours, eager, product] = bench::compare(
      device, [&] { method.step(++step, nothing); }, eager_step);
  const double of_generator = 3 * kBatch * bench::flops_of_image(*generator);
  const double of_transport = 4.0 * kBatch * kBatch * 784;
  print(bench::Row{.what = name,
                   .unit = "steps/s",
                   .ours = 1 / ours,
                   .reference = 1 / eager,
                   .reference_is = "eager LibTorch",
                   .floor = product / (of_generator + of_transport),
                   .gflop = (of_generator + of_transport) / 1e9});
  const Tensor x = torch::rand({kBatch, 784}, y.options());
  const Tensor z = generator->latents(kBatch, bits).to(device);
  const Tensor gradient = torch::ones({kBatch, 1, 28, 28}, device);
  const std::vector<double> parts = bench::seconds_of_each(
      {finished(device, [&] { generator->forward(z, {}).backward(gradient); }),
       finished(device, [&] { ldp::pull_to({.x = x, .y = y}, loss); })});
  print(bench::Part{name, "the step", ours, (of_generator + of_transport) / 1e9});
  print(bench::Part{name, "generator, both ways", parts[0], of_generator / 1e9});
  print(bench::Part{name, "transport and its gradient", parts[1], of_transport / 1e9});
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  try {
    const std::string noise = argc > 1 ? argv[1] : "";
    const torch::Device device(argc > 2 ? argv[2] : "cpu");
    if (noise == "gaussian") {
      measure("local privacy, Gaussian noise of 1.5", Mechanism::kGaussian, 1.5, device);
    } else if (noise == "laplace") {
      measure("local privacy, Laplace noise of 1", Mechanism::kLaplace, 1, device);
    } else {
      std::cerr << "usage: bench_ldp gaussian|laplace [cpu|cuda]\n";
      return 2;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
