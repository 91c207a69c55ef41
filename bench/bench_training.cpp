// bench_training WHAT [cpu|cuda]: steps of DP-Sinkhorn, against the same in eager LibTorch and
// against what a product of matrices reaches in the same run, as JSON.
//
//   row, batch, record     steps a second with this barrier, and where their time goes
//   memory, memory-eager   the peak of five steps with the record barrier, beyond what the process
//                          had before there were data
//
// One measurement of memory a process, so that the peak is its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "bench/ceilings.h"
#include "bench/clock.h"
#include "bench/eager_dp_sinkhorn.h"
#include "bench/memory.h"
#include "bench/row.h"
#include "bench/training.h"
#include "obol/barrier/barrier.h"
#include "obol/barrier/recorded_step.h"
#include "obol/base/memory.h"
#include "obol/privacy/noise.h"
#include "obol/transport/tensor/streamed.h"
#include "obol/transport/tensor/testing.h"

namespace {

using obol::Private;
using obol::bench::finished;
using obol::data::Dataset;
using obol::method::Barrier;
using obol::method::dp_sinkhorn::Options;
using torch::Tensor;
namespace barrier = obol::barrier;
namespace bench = obol::bench;
namespace transport = obol::transport;

constexpr std::int64_t kRecords = 60000;
constexpr std::int64_t kClasses = 10;

Options options_of(const std::string& barrier) {
  if (barrier == "record") return bench::record();
  Options options = bench::paper(kRecords);
  options.barrier = obol::method::barrier_from(barrier);
  return options;
}

std::string name_of(const Options& options) {
  return "DP-Sinkhorn, barrier " + std::string(obol::method::name_of(options.barrier));
}

// Of the convolutions, and of the record barrier's products: distances and pulls.
double flops_of(const Options& options) {
  const obol::data::ImageShape shape{.channels = 1, .height = 28, .width = 28};
  const double image =
      bench::flops_of_image(*obol::model::make_generator(options.generator, shape, kClasses));
  const auto n = static_cast<double>(options.generated_batch);
  if (options.barrier != Barrier::kRecord) return 3 * image * n * (1 + options.method.resample);
  const auto second = static_cast<double>(options.method.second_batch);
  const double others = options.sampling_rate * kRecords + 2 * second;
  return image * (3 * n + second) + 4 * n / kClasses * others * 784;
}

// Pieces of a step on their own, each with the sizes it has there.
class Parts {
 public:
  Parts(const Options& options, const Private<Dataset>& data, const torch::Device& device)
      : options_(options),
        device_(device),
        records_(data, {.device = device,
                        .lowest = obol::method::lowest_of(options.generator),
                        .by_class = options.barrier == Barrier::kRecord}),
        trainee_({options.generator, options.optimizer, options.method.average}, data.facts().shape,
                 kClasses, device),
        image_flops_(bench::flops_of_image(
            *obol::model::make_generator(options.generator, data.facts().shape, kClasses))) {}

  void measure() {
    prepare();
    add("sample of the records", [this] { static_cast<void>(draw()); });
    if (options_.barrier == Barrier::kRecord)
      measure_record();
    else
      measure_rows();
    trainee_.begin(1, 1'000'000);
    add("optimiser", [this, gradients = zeros()] {
      const std::vector<Tensor> parameters = trainee_.parameters();
      for (std::size_t k = 0; k < parameters.size(); ++k)
        parameters[k].mutable_grad() = gradients[k];
      trainee_.finish();
    });
    std::vector<bench::Work> works;
    for (const auto& part : parts_) {
      const auto recorded = std::make_shared<barrier::RecordedStep>(device_, &house_.door);
      works.push_back(finished(device_, [this, recorded, &part] {
        prepare();
        recorded->run(part.work);
      }));
    }
    const std::vector<double> seconds = bench::seconds_of_each(works);
    for (std::size_t k = 0; k < parts_.size(); ++k)
      print(bench::Part{name_of(options_), parts_[k].what, seconds[k], parts_[k].flops / 1e9});
  }

 private:
  struct Piece {
    std::string what;
    bench::Work work;
    double flops;
  };
  void add(const std::string& what, bench::Work work, double flops = bench::kNone) {
    parts_.push_back({what, std::move(work), flops});
  }

  void prepare() { records_.prepare(options_.sampling_rate, bits_); }
  barrier::Drawn<barrier::Sample> draw() { return records_.draw(options_.sampling_rate, bits_); }
  [[nodiscard]] std::vector<Tensor> zeros() const {
    std::vector<Tensor> all;
    for (const Tensor& parameter : trainee_.parameters())
      all.push_back(torch::zeros_like(parameter).detach());
    return all;
  }
  [[nodiscard]] Tensor labels(std::int64_t count) const {
    return torch::arange(kClasses).repeat_interleave(count / kClasses).to(device_);
  }
  [[nodiscard]] Tensor rows(std::int64_t count) const { return torch::rand({count, 784}, device_); }
  [[nodiscard]] barrier::BarrierOptions bounds() const {
    return {.clip_norm = options_.method.clip_norm, .noise_multiplier = options_.noise_multiplier};
  }

  void add_generator(std::int64_t both_ways) {
    add(
        "generator, both ways",
        [this, of = labels(both_ways)] {
          const Tensor images = trainee_.generate(of, bits_);
          images.backward(torch::ones_like(images));
        },
        3 * image_flops_ * static_cast<double>(both_ways));
  }
  void add_noise(std::int64_t rows) {
    if (device_.is_cuda()) return;  // it is one kernel with the clipping
    add("... of which noise",
        [this, values = std::vector<double>(static_cast<std::size_t>(rows * 784))]() mutable {
          std::fill(values.begin(), values.end(), 0.25);
          obol::privacy::add_gaussian(bits_, values, {.sensitivity = 1, .noise_multiplier = 1});
        });
  }

  void measure_rows() {
    const std::int64_t n = options_.generated_batch;
    const auto again = static_cast<std::int64_t>(options_.method.resample * static_cast<double>(n));
    add_generator(n + again);
    const Tensor x = rows(n + again).requires_grad_();
    const Tensor y = rows(n);
    const Tensor of = labels(n);
    add("transport and its gradient", [this, x, y, of, again] {
      const transport::SinkhornOptions solver{.regularization = options_.method.regularization,
                                              .stopping = transport::Stopping::kAnnealed};
      if (device_.is_cuda()) {
        gradients_on_gpu(x.detach(), y, of, again, solver);
        return;
      }
      const Tensor loss =
          transport::semi_debiased_divergence({.x = x,
                                               .y = y,
                                               .cost = transport::parse_cost(options_.method.cost),
                                               .labels_x = of,
                                               .labels_y = of,
                                               .label_weight = options_.method.label_weight},
                                              again, solver);
      torch::autograd::grad({loss}, {x});
    });
    const auto gradient = draw().map([&](const barrier::Sample&) { return rows(n); });
    add("barrier: clip, pay, noise", [this, gradient, n] {
      if (options_.barrier == Barrier::kRow)
        barrier::RowBarrier(house_.door, bounds()).release(gradient, n);
      else
        barrier::BatchBarrier(house_.door, bounds()).release(gradient);
    });
    add_noise(n);
  }

  void gradients_on_gpu(const Tensor& x, const Tensor& y, const Tensor& labels, std::int64_t again,
                        const transport::SinkhornOptions& solver) {
    namespace streamed = transport::streamed;
    const transport::Cost cost = transport::parse_cost(options_.method.cost);
    const double weight = options_.method.label_weight;
    streamed::gradient({.x = x.slice(0, 0, y.size(0)),
                        .y = y,
                        .cost = cost,
                        .labels_x = labels,
                        .labels_y = labels,
                        .label_weight = weight,
                        .present = torch::ones({y.size(0)}, y.options())},
                       solver);
    streamed::self_gradient({.x = x,
                             .resampled = again,
                             .cost = cost,
                             .labels = torch::cat({labels, labels.slice(0, 0, again)}),
                             .label_weight = weight},
                            solver);
  }

  void measure_record() {
    const std::int64_t n = options_.generated_batch;
    const std::int64_t second = options_.method.second_batch;
    const double regularization = options_.method.regularization;
    add_generator(n);
    add(
        "generator, forward",
        [this, of = labels(second)] {
          const torch::NoGradGuard no_grad;
          trainee_.generate(of, bits_);
        },
        image_flops_ * static_cast<double>(second));
    const barrier::Rows generated{rows(n), torch::zeros({n}, device_), kClasses};
    const Tensor others = rows(second);
    add("potentials",
        [this, generated, others, regularization, of = labels(n), of_second = labels(second)] {
          const std::int64_t iterations = options_.method.potential_iterations;
          if (device_.is_cuda()) {
            transport::streamed::potentials(generated.points, others, kClasses, regularization,
                                            iterations);
            return;
          }
          transport::sinkhorn(
              {.x = generated.points,
               .y = others,
               .labels_x = of,
               .labels_y = of_second,
               .label_weight = transport::kSeparateClasses},
              {.regularization = regularization, .tolerance = 0, .max_iterations = iterations});
        });
    const double pull_flops = 4 * static_cast<double>(n) / kClasses * 784;
    add(
        "barrier: pull of the records, pay, noise",
        [this, generated, regularization, drawn = draw()] {
          barrier::RecordBarrier(house_.door, bounds(), regularization).release(generated, drawn);
        },
        pull_flops * options_.sampling_rate * kRecords);
    add_noise(n);
    const barrier::Sample self{others, std::vector<std::int64_t>(kClasses, second / kClasses),
                               device_.is_cuda() ? torch::ones({second}, device_) : Tensor()};
    add(
        "pull of generated images",
        [this, generated, self, regularization] {
          barrier::pull(generated, self, regularization, options_.method.clip_norm);
        },
        pull_flops * static_cast<double>(second));
  }

  Options options_;
  torch::Device device_;
  obol::SecureBits bits_;
  bench::House house_{kRecords};
  barrier::PrivateRecords records_;
  obol::method::Trainee trainee_;
  double image_flops_;
  std::vector<Piece> parts_;
};

void steps(const std::string& barrier, const torch::Device& device) {
  const Options options = options_of(barrier);
  Dataset images = bench::some_images(kRecords);
  bench::EagerDpSinkhorn eager(options, images, device);
  const Private<Dataset> data(std::move(images));
  bench::Training training(options, data, device);
  // A GPU is told of several steps before anybody waits for it, as in a training.
  const int at_once = device.is_cuda() ? 50 : 1;
  const auto [together, reference, product] = bench::compare(
      device,
      [&] {
        for (int k = 0; k < at_once; ++k) training.step();
      },
      [&] { eager.step(); });
  const double ours = together / at_once;
  const double flops = flops_of(options);
  print(bench::Row{.what = name_of(options),
                   .unit = "steps/s",
                   .ours = 1 / ours,
                   .reference = 1 / reference,
                   .reference_is = "eager LibTorch",
                   .floor = product / flops,
                   .gflop = flops / 1e9});
  print(bench::Part{name_of(options), "the step", ours, flops / 1e9});
  Parts(options, data, device).measure();
}

enum class Whose { kOurs, kEager };

void memory(Whose whose, const torch::Device& device) {
  const double before = bench::status_bytes("VmRSS");
  Dataset images = bench::some_images(kRecords);
  const double raw = static_cast<double>(kRecords) * 784;
  const auto five = [](const bench::Work& step) {
    for (int k = 0; k < 5; ++k) step();
  };
  if (whose == Whose::kEager) {
    bench::EagerDpSinkhorn eager(bench::record(), images, device);
    five([&] { eager.step(); });
  } else {
    bench::Training training(bench::record(), Private<Dataset>(std::move(images)), device);
    five([&] { training.step(); });
  }
  print(bench::Row{.what = "peak memory of a training",
                   .unit = "MB",
                   .ours = (bench::status_bytes("VmHWM") - before) / 1e6,
                   .floor = raw / 1e6});
}

int run(const std::string& what, const torch::Device& device) {
  const barrier::WorkStream stream(device);
  if (what == "row" || what == "batch" || what == "record")
    steps(what, device);
  else if (what == "memory" || what == "memory-eager")
    memory(what == "memory" ? Whose::kOurs : Whose::kEager, device);
  else
    return 2;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  try {
    const int code = argc < 2 ? 2 : run(argv[1], torch::Device(argc > 2 ? argv[2] : "cpu"));
    if (code != 0)
      std::cerr << "usage: bench_training row|batch|record|memory|memory-eager [cpu|cuda]\n";
    return code;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
