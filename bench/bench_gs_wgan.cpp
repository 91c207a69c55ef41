// bench_gs_wgan [cpu|cuda]: generator steps of GS-WGAN a second (five steps of a critic, one of the
// generator), against the same step in eager LibTorch, and where the time goes, as JSON. On a GPU
// also the steps of critics in their warm start, side by side, against one critic at a time.
//
// Data are random: what a step costs does not depend on what the images show.
#include <cstdint>
#include <exception>
#include <iostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/ceilings.h"
#include "bench/clock.h"
#include "bench/eager_gs_wgan.h"
#include "bench/row.h"
#include "obol/barrier/recorded_step.h"
#include "obol/base/memory.h"
#include "obol/base/random.h"
#include "obol/method/gs_wgan/ask.h"
#include "obol/method/gs_wgan/desk.h"
#include "obol/method/gs_wgan/holder.h"
#include "obol/method/gs_wgan/workshop.h"

namespace {

using obol::bench::finished;
using torch::Tensor;
namespace bench = obol::bench;
namespace gs_wgan = obol::method::gs_wgan;
namespace model = obol::model;

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kLatent = 10;
constexpr std::int64_t kCriticSteps = 5;
constexpr std::int64_t kRecords = 1000;
constexpr std::int64_t kMostSteps = 1'000'000;  // of a trainee
constexpr obol::data::ImageShape kShape{.channels = 1, .height = 28, .width = 28};

struct Size {
  std::int64_t width;
  std::int64_t batch;
};

obol::data::Dataset random_shard() {
  obol::data::Dataset data;
  data.shape = kShape;
  const Tensor pixels = torch::randint(256, {kRecords * kShape.pixels()}, torch::kByte);
  data.pixels = std::vector<std::uint8_t>(pixels.data_ptr<std::uint8_t>(),
                                          pixels.data_ptr<std::uint8_t>() + pixels.numel());
  for (std::int64_t k = 0; k < kRecords; ++k)
    data.labels.push_back(static_cast<std::int32_t>(k % kClasses));
  data.class_names = std::vector<std::string>(kClasses, "a");
  data.declared_size = kRecords;
  return data;
}

// Each way of working is recorded by itself where there is a GPU.
class Ours {
 public:
  Ours(const Size& size, const torch::Device& device)
      : batch_(size.batch),
        critic_({.shape = kShape, .classes = kClasses, .width = size.width}),
        initial_(critic_.initial(bits_, device)),
        state_(model::CriticState{initial_.numbers.clone()}),
        holder_(critic_, {}, obol::Private<obol::data::Dataset>(random_shard()), device, 0, bits_),
        generator_options_{
            .width = size.width, .latent = kLatent, .embedding = kClasses, .activation = "relu"},
        trainee_({generator_options_, kOptimizer, 0.999}, kShape, kClasses, device),
        desk_(holder_, kRecords),
        question_{
            torch::rand({kCriticSteps, batch_, 1, 28, 28}, device),
            torch::zeros({kCriticSteps, batch_}, torch::TensorOptions(device).dtype(torch::kLong))},
        gradient_(torch::rand({batch_, 1, 28, 28}, device)),
        step_(device),
        answering_(device),
        learning_(device) {}

  void step() {
    begin();
    step_.run([&] {
      const gs_wgan::Asked asked = ask();
      answer(asked.question).use([&](const Tensor& gradient) { learn(asked, gradient); });
    });
    leave();
  }
  // The two halves of it.
  void answer_only() {
    begin();
    answering_.run([&] { static_cast<void>(answer(question_)); });
    leave();
  }
  void learn_only() {
    trainee_.begin(++steps_, kMostSteps);
    learning_.run([&] { learn(ask(), gradient_); });
  }

  [[nodiscard]] gs_wgan::Workshop workshop(std::size_t desks, std::int64_t steps) {
    return {{.steps = steps,
             .critic_steps = kCriticSteps,
             .batch = batch_,
             .generator = generator_options_,
             .optimizer = kOptimizer},
            holder_,
            {.desks = desks, .most_records = kRecords},
            bits_};
  }
  gs_wgan::Holder& holder() { return holder_; }

  // The same in eager LibTorch, from the same critic.
  [[nodiscard]] bench::EagerGsWgan eager(const torch::Device& device) const {
    const auto generator = obol::model::make_generator(generator_options_, kShape, kClasses);
    generator->to(device);
    return {bench::EagerCritic(critic_, initial_),
            bench::EagerGenerator(*generator),
            torch::rand({kRecords, 1, 28, 28}, device),
            {.batch = batch_, .critic_steps = kCriticSteps}};
  }

  [[nodiscard]] double generator_flops() const {
    const double image =
        bench::flops_of_image(*obol::model::make_generator(generator_options_, kShape, kClasses));
    return image * static_cast<double>(batch_ * (kCriticSteps - 1 + 3));
  }

 private:
  void begin() {
    trainee_.begin(++steps_, kMostSteps);
    if (is_recorded()) desk_.seat(holder_, state_);
  }
  void leave() {
    if (is_recorded()) desk_.copy_to(state_);
  }
  [[nodiscard]] bool is_recorded() const { return holder_.device().is_cuda(); }
  gs_wgan::Asked ask() { return gs_wgan::ask(trainee_, kClasses, kCriticSteps, batch_, bits_); }
  obol::Private<Tensor> answer(const gs_wgan::Question& question) {
    return is_recorded() ? desk_.answer(question) : holder_.answer(state_, question);
  }
  void learn(const gs_wgan::Asked& asked, const Tensor& gradient) {
    const Tensor noisy = gradient + 2.14 * torch::randn_like(gradient);
    asked.last.backward(noisy / static_cast<double>(batch_));
    trainee_.finish();
  }

  inline static const obol::method::OptimizerOptions kOptimizer{
      .learning_rate = 1e-4, .beta1 = 0.5, .beta2 = 0.9};
  std::int64_t batch_;
  obol::SeededBits bits_{1};
  model::Critic critic_;
  model::CriticState initial_;
  obol::Private<model::CriticState> state_;
  gs_wgan::Holder holder_;
  obol::model::GeneratorOptions generator_options_;
  obol::method::Trainee trainee_;
  gs_wgan::Desk desk_;
  gs_wgan::Question question_;
  Tensor gradient_;
  std::int64_t steps_ = 0;
  obol::barrier::RecordedStep step_;
  obol::barrier::RecordedStep answering_;
  obol::barrier::RecordedStep learning_;
};

// Of a critic's convolutions: forward and back for three sets of images, of which the mixed one
// goes forward again for the penalty, and the gradients of the matrices from all three; at last the
// gradient of the images.
double critic_flops(const Size& size) {
  const auto w = static_cast<double>(size.width);
  const double first = 2 * 14 * 14 * 25 * w;
  const double others = 2 * 25 * (7 * 7 * 2 * w * w + 4 * 4 * 8 * w * w);
  const double step = first * (3 + 1 + 1 + 3) + others * (3 + 3 + 1 + 3);
  return static_cast<double>(size.batch) * (kCriticSteps * step + 2 * (first + others));
}

void measure(const Size& size, const torch::Device& device) {
  Ours ours(size, device);
  bench::EagerGsWgan eager = ours.eager(device);
  const auto [seconds, reference, product] = bench::compare(
      device, [&] { ours.step(); }, [&] { eager.step(kLatent, kClasses); });
  const double of_critic = critic_flops(size);
  const double flops = of_critic + ours.generator_flops();
  const std::string name = fmt::format("GS-WGAN, width {}, {} images", size.width, size.batch);
  print(bench::Row{.what = name,
                   .unit = "steps/s",
                   .ours = 1 / seconds,
                   .reference = 1 / reference,
                   .reference_is = "eager LibTorch",
                   .floor = product / flops,
                   .gflop = flops / 1e9});
  const std::vector<double> parts =
      bench::seconds_of_each({finished(device, [&] { ours.answer_only(); }),
                              finished(device, [&] { ours.learn_only(); })});
  print(bench::Part{name, "the step", seconds, flops / 1e9});
  print(bench::Part{name, "five steps of the critic, its answer", parts[0], of_critic / 1e9});
  print(bench::Part{name, "generator: images for them, backward, optimiser", parts[1],
                    ours.generator_flops() / 1e9});
}

void measure_warm_start(const Size& size, const torch::Device& device) {
  constexpr std::size_t kDesks = 8;
  constexpr std::int64_t kSteps = 50;
  Ours ours(size, device);
  bench::EagerGsWgan eager = ours.eager(device);
  gs_wgan::Workshop workshop = ours.workshop(kDesks, kSteps);
  const std::vector<gs_wgan::Holder*> holders(kDesks, &ours.holder());
  const auto never = [] { return false; };
  const auto [seconds, reference, product] = bench::compare(
      device, [&] { static_cast<void>(workshop.warm_start(holders, never)); },
      [&] { eager.step(kLatent, kClasses); });
  const double flops =
      (critic_flops(size) + ours.generator_flops()) / static_cast<double>(kCriticSteps);
  print(bench::Row{
      .what = fmt::format("GS-WGAN, warm start, width {}, {} images", size.width, size.batch),
      .unit = "critic steps/s",
      .ours = static_cast<double>(kCriticSteps * kSteps) * static_cast<double>(kDesks) / seconds,
      .reference = static_cast<double>(kCriticSteps) / reference,
      .reference_is = "eager LibTorch, one critic at a time",
      .floor = product / flops,
      .gflop = flops / 1e9});
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  try {
    const torch::Device device(argc > 1 ? argv[1] : "cpu");
    const obol::barrier::WorkStream stream(device);
    for (const Size& size : {Size{16, 32}, Size{64, 32}}) {
      measure(size, device);
      if (device.is_cuda()) measure_warm_start(size, device);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
