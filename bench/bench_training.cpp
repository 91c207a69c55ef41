// bench_training [THREADS]: steps of DP-Sinkhorn a second, and as a share of what a product of
// 2048 x 2048 matrices reaches in the same run; the paper's step also against the same step written
// with stock operators, as its authors' code is (eager LibTorch; the loops of geomloss).
//
// Data are random: what a step costs does not depend on what the images show.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include "obol/base/file.h"
#include "obol/base/memory.h"
#include "obol/data/sampler.h"
#include "obol/method/dp_sinkhorn/method.h"
#include "obol/privacy/ledger.h"

namespace {

using obol::method::dp_sinkhorn::DpSinkhorn;
using obol::method::dp_sinkhorn::Options;
using torch::Tensor;

constexpr std::int64_t kRecords = 60000;

double seconds_of(const std::function<void()>& work, int repeats) {
  work();
  double best = 1e9;
  for (int k = 0; k < repeats; ++k) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

double product_rate() {
  constexpr std::int64_t kSide = 2048;
  const Tensor a = torch::randn({kSide, kSide});
  return 2.0 * kSide * kSide * kSide / seconds_of([&] { torch::mm(a, a); }, 5);
}

// 104 MFLOP forward an image at width 64 (28 x 28), three times that both ways.
double generator_flops(std::int64_t width, std::int64_t both_ways, std::int64_t forward) {
  return 104e6 * static_cast<double>(width * width) / (64 * 64) *
         static_cast<double>(3 * both_ways + forward);
}

obol::data::Dataset random_images() {
  obol::data::Dataset data;
  data.shape = {.channels = 1, .height = 28, .width = 28};
  const Tensor bytes = torch::randint(256, {kRecords * data.shape.pixels()}, torch::kByte);
  data.pixels = std::vector<std::uint8_t>(bytes.data_ptr<std::uint8_t>(),
                                          bytes.data_ptr<std::uint8_t>() + bytes.numel());
  for (std::int64_t k = 0; k < kRecords; ++k)
    data.labels.push_back(static_cast<std::int32_t>(k % 10));
  for (int c = 0; c < 10; ++c) data.class_names.push_back(std::to_string(c));
  data.declared_size = kRecords;
  return data;
}

Options paper() {
  Options options{.barrier = "row",
                  .sampling_rate = 50.0 / kRecords,
                  .noise_multiplier = 1.5,
                  .generated_batch = 50,
                  .steps = 100000};
  options.generator = {.width = 64, .activation = "relu", .output = "tanh"};
  return options;
}

Options record() {
  Options options{.barrier = "record",
                  .sampling_rate = 0.1,
                  .noise_multiplier = 1.75,
                  .generated_batch = 200,
                  .steps = 100000,
                  .histogram_noise = 50};
  options.generator = {.width = 32, .activation = "leaky_relu", .output = "sigmoid"};
  options.method.clip_norm = 6;
  options.method.regularization = 3;
  options.method.average = 0.99;
  return options;
}

// What a training needs around it.
struct House {
  obol::TemporaryFolder folder;
  obol::SecureBits bits;
  obol::privacy::Ledger ledger = obol::privacy::Ledger::create(
      folder.path() / "ledger.jsonl", {.neighbours = obol::privacy::Neighbours::kAddRemove,
                                       .records = kRecords,
                                       .fingerprint = "none",
                                       .randomness = bits.provenance()});
  obol::privacy::BudgetGuard guard{ledger, std::nullopt};
  obol::barrier::Door door{guard, bits};
};

double steps_of(const Options& options, const obol::Private<obol::data::Dataset>& data,
                int repeats) {
  House house;
  DpSinkhorn method(options, data, {.door = &house.door, .bits = house.bits});
  method.start();
  obol::run::UnsafeDiagnostics nothing;
  std::int64_t step = 0;
  return 1 / seconds_of([&] { method.step(++step, nothing); }, repeats);
}

// --- The paper's step with stock operators.

class Eager {
 public:
  explicit Eager(const obol::data::Dataset& data)
      : adam_(std::vector<Tensor>{}, torch::optim::AdamOptions(1e-4).weight_decay(2e-5)) {
    const auto& bytes = std::get<std::vector<std::uint8_t>>(data.pixels);
    records_ =
        torch::from_blob(const_cast<std::uint8_t*>(bytes.data()), {data.count(), 784}, torch::kByte)
            .to(torch::kFloat)
            .div_(127.5)
            .sub_(1);
    labels_ = torch::tensor(data.labels, torch::kLong);
    std::vector<Tensor> parameters;
    const auto add = [&](const Tensor& value) {
      parameters.push_back(value.requires_grad_());
      return parameters.back();
    };
    embedding_ = add(torch::randn({10, 4}));
    const std::int64_t channels[] = {16, 256, 128, 64, 1};
    const std::int64_t kernels[] = {7, 4, 4, 3};
    for (int k = 0; k < 4; ++k) {
      weights_[k] =
          add(torch::randn({channels[k], channels[k + 1], kernels[k], kernels[k]}) * 0.05);
      scales_[k] = add(torch::ones({channels[k + 1]}));
      shifts_[k] = add(torch::zeros({channels[k + 1]}));
    }
    adam_.add_param_group(torch::optim::OptimizerParamGroup(parameters));
  }

  void step() {
    constexpr std::int64_t kRows = 50;
    constexpr std::int64_t kAgain = 20;
    const Tensor labels = torch::randint(10, {kRows});
    const Tensor all = torch::cat({labels, labels.slice(0, 0, kAgain)});
    const Tensor images = generate(torch::rand({kRows + kAgain, 12}) * 2 - 1, all).flatten(1);
    const Tensor x = images.detach().clone().requires_grad_();
    const Tensor chosen = torch::rand({records_.size(0)}).lt(50.0 / kRecords).nonzero().squeeze(1);
    const Tensor rows = with_labels(x, all);
    const Tensor private_rows =
        with_labels(records_.index_select(0, chosen), labels_.index_select(0, chosen));
    const Tensor loss = 2 * transport(rows.slice(0, 0, kRows), private_rows) -
                        transport(rows.slice(0, 0, kRows), rows.slice(0, kAgain, kRows + kAgain));
    loss.backward();
    const Tensor norms = x.grad().norm(2, {1}, true);
    Tensor gradient = x.grad() * (0.5 / norms).clamp_max(1);
    gradient.slice(0, 0, kRows) += torch::randn({kRows, 784}) * (2 * 0.5 * 1.5);
    adam_.zero_grad();
    images.backward(gradient);
    adam_.step();
  }

 private:
  Tensor generate(const Tensor& z, const Tensor& labels) {
    Tensor x = torch::cat({z, torch::embedding(embedding_, labels)}, 1).view({-1, 16, 1, 1});
    const std::int64_t strides[] = {1, 2, 2, 1};
    for (int k = 0; k < 4; ++k) {
      x = torch::conv_transpose2d(x, weights_[k], {}, strides[k], k == 0 ? 0 : 1);
      if (k == 3) break;
      x = torch::relu(torch::batch_norm(x, scales_[k], shifts_[k], {}, {}, true, 0.1, 1e-5, false));
    }
    return torch::tanh(x);
  }

  static Tensor with_labels(const Tensor& x, const Tensor& labels) {
    return torch::cat({x, torch::one_hot(labels, 10).to(torch::kFloat) * 15}, 1);
  }

  // Annealed by half a step, then a last pair of updates through which the gradient flows.
  static Tensor transport(const Tensor& x, const Tensor& y) {
    constexpr double kRegularization = 0.05;
    const Tensor differences = x.unsqueeze(1) - y.unsqueeze(0);
    const Tensor cost = differences.square().sum(2) + differences.abs().sum(2);
    const auto softmin = [](double e, const Tensor& c, const Tensor& h, std::int64_t along) {
      return -e * torch::logsumexp((h - c) / e, along) +
             e * std::log(static_cast<double>(c.size(along)));
    };
    Tensor f = torch::zeros({x.size(0)});
    Tensor g = torch::zeros({y.size(0)});
    {
      const torch::NoGradGuard no_grad;
      const Tensor fixed = cost.detach();
      for (double e = fixed.max().item<double>(); e > kRegularization; e *= 0.5) {
        f = softmin(e, fixed, g.unsqueeze(0), 1);
        g = softmin(e, fixed, f.unsqueeze(1), 0);
      }
    }
    const Tensor last_f = softmin(kRegularization, cost, g.unsqueeze(0), 1);
    const Tensor last_g = softmin(kRegularization, cost, f.unsqueeze(1), 0);
    return last_f.mean() + last_g.mean();
  }

  Tensor records_;
  Tensor labels_;
  Tensor embedding_;
  Tensor weights_[4];
  Tensor scales_[4];
  Tensor shifts_[4];
  torch::optim::Adam adam_;
};

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  at::set_num_threads(argc > 1 ? std::stoi(argv[1]) : 2);
  const double product = product_rate();
  std::cout << fmt::format("2048 x 2048 product: {:.1f} GFLOP/s, {} threads\n", product / 1e9,
                           at::get_num_threads());
  const auto report = [&](const std::string& what, double rate, double flops) {
    std::cout << fmt::format("{:<52} {:6.2f} steps/s {:6.1f} GFLOP/s {:3.0f} %  peak {:.2f} GiB\n",
                             what, rate, rate * flops / 1e9, 100 * rate * flops / product,
                             peak_gib());
  };
  obol::data::Dataset images = random_images();
  const double paper_flops = generator_flops(64, 70, 0);
  const double record_flops = generator_flops(32, 200, 400) + 4.0 * 20 * 6000 * 784;
  double eager = 0;
  {
    Eager reference(images);
    eager = 1 / seconds_of([&] { reference.step(); }, 5);
  }
  const obol::Private<obol::data::Dataset> data(std::move(images));
  const double ours = steps_of(paper(), data, 15);
  report("paper's step, n 50 + 20, width 64: stock operators", eager, paper_flops);
  report("paper's step: ours", ours, paper_flops);
  std::cout << fmt::format("  {:.1f} times the stock operators\n", ours / eager);
  report("record step, n 200 + 400, q 0.1, width 32: ours", steps_of(record(), data, 10),
         record_flops);
}
