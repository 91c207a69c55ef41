// bench_gs_wgan [THREADS]: generator steps of GS-WGAN a second (five steps of a critic, one of the
// generator), against the same step in eager LibTorch: stock layers, a penalty that is
// differentiated twice, images made anew for each step of the critic.
//
// Data are random: what a step costs does not depend on what the images show.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/base/memory.h"
#include "obol/base/random.h"
#include "obol/method/gs_wgan/holder.h"

namespace {

using torch::Tensor;
namespace gs_wgan = obol::method::gs_wgan;

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kLatent = 10;
constexpr std::int64_t kCriticSteps = 5;

struct Size {
  std::int64_t width;
  std::int64_t batch;
};

double seconds_of(const std::function<void()>& work) {
  work();
  double best = 1e9;
  for (int k = 0; k < 7; ++k) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

// A weight that is divided by its largest singular value at every use.
struct Spectral {
  Tensor weight;
  Tensor left;
  explicit Spectral(const std::vector<std::int64_t>& sizes)
      : weight((torch::randn(sizes) * 0.05).requires_grad_()), left(torch::randn({sizes[0]})) {}
  Tensor operator()() {
    const Tensor matrix = weight.flatten(1);
    Tensor right;
    {
      const torch::NoGradGuard no_grad;
      right = torch::nn::functional::normalize(
          at::mv(matrix.t(), left), torch::nn::functional::NormalizeFuncOptions().dim(0));
      left = torch::nn::functional::normalize(at::mv(matrix, right),
                                              torch::nn::functional::NormalizeFuncOptions().dim(0));
    }
    return weight / at::dot(left, at::mv(matrix, right));
  }
};

class EagerCritic {
 public:
  explicit EagerCritic(std::int64_t w)
      : convolutions_{Spectral({w, 1, 5, 5}), Spectral({2 * w, w, 5, 5}),
                      Spectral({4 * w, 2 * w, 5, 5})},
        last_({1, 64 * w}),
        labels_({kClasses, 64 * w}) {
    for (const std::int64_t channels : {w, 2 * w, 4 * w})
      biases_.push_back(torch::zeros({channels}).requires_grad_());
  }
  std::vector<Tensor> parameters() {
    std::vector<Tensor> all = biases_;
    for (const Spectral& one : convolutions_) all.push_back(one.weight);
    all.push_back(last_.weight);
    all.push_back(labels_.weight);
    return all;
  }
  Tensor scores(const Tensor& images, const Tensor& labels) {
    Tensor x = images;
    for (std::size_t k = 0; k < 3; ++k)
      x = at::leaky_relu(at::conv2d(x, convolutions_[k](), biases_[k], 2, 2), 0.2);
    x = x.flatten(1);
    return at::linear(x, last_()).squeeze(1) + (labels_().index_select(0, labels) * x).sum(1);
  }

 private:
  std::vector<Spectral> convolutions_;
  std::vector<Tensor> biases_;
  Spectral last_;
  Spectral labels_;
};

torch::nn::Sequential eager_generator(std::int64_t w) {
  using torch::nn::ConvTranspose2dOptions;
  const auto up = [](std::int64_t in, std::int64_t out, int kernel, int stride, int padding) {
    return torch::nn::ConvTranspose2d(
        ConvTranspose2dOptions(in, out, kernel).stride(stride).padding(padding));
  };
  return torch::nn::Sequential(up(kLatent + kClasses, 4 * w, 7, 1, 0),
                               torch::nn::BatchNorm2d(4 * w), torch::nn::ReLU(),
                               up(4 * w, 2 * w, 4, 2, 1), torch::nn::BatchNorm2d(2 * w),
                               torch::nn::ReLU(), up(2 * w, w, 4, 2, 1), torch::nn::BatchNorm2d(w),
                               torch::nn::ReLU(), up(w, 1, 3, 1, 1), torch::nn::Sigmoid());
}

double eager_seconds(const Size& size) {
  const torch::optim::AdamOptions adam(torch::optim::AdamOptions(1e-4).betas({0.5, 0.9}));
  EagerCritic critic(size.width);
  torch::nn::Sequential generator = eager_generator(size.width);
  torch::optim::Adam of_critic(critic.parameters(), adam);
  torch::optim::Adam of_generator(generator->parameters(), adam);
  const std::int64_t n = size.batch;
  const auto generate = [&](const Tensor& labels) {
    return generator->forward(
        torch::cat({torch::rand({n, kLatent}), torch::one_hot(labels, kClasses)}, 1)
            .view({n, -1, 1, 1}));
  };
  return seconds_of([&] {
    for (std::int64_t k = 0; k < kCriticSteps; ++k) {
      const Tensor labels = torch::randint(kClasses, {n});
      const Tensor real = torch::rand({n, 1, 28, 28});
      const Tensor fake = generate(labels).detach();
      const Tensor mix = torch::rand({n, 1, 1, 1});
      const Tensor mixed = (mix * real + (1 - mix) * fake).requires_grad_();
      const Tensor gradient =
          torch::autograd::grad({critic.scores(mixed, labels).sum()}, {mixed}, {}, true, true)[0];
      const Tensor of_real = critic.scores(real, labels);
      const Tensor loss = critic.scores(fake, labels).mean() - of_real.mean() +
                          1e-3 * of_real.square().mean() +
                          10 * (gradient.flatten(1).norm(2, 1) - 1).square().mean();
      of_critic.zero_grad();
      loss.backward();
      of_critic.step();
    }
    const Tensor labels = torch::randint(kClasses, {n});
    const Tensor images = generate(labels);
    const Tensor seen = images.detach().requires_grad_();
    const Tensor gradient = torch::autograd::grad({-critic.scores(seen, labels).sum()}, {seen})[0];
    const Tensor noisy = gradient + 2.14 * torch::randn_like(gradient);
    of_generator.zero_grad();
    images.backward(noisy / n);
    of_generator.step();
  });
}

double our_seconds(const Size& size) {
  obol::SeededBits bits(1);
  const obol::data::ImageShape shape{.channels = 1, .height = 28, .width = 28};
  const gs_wgan::Critic critic({.shape = shape, .classes = kClasses, .width = size.width});
  obol::data::Dataset data;
  data.shape = shape;
  constexpr std::int64_t kRecords = 1000;
  const Tensor pixels = torch::randint(256, {kRecords * shape.pixels()}, torch::kByte);
  data.pixels = std::vector<std::uint8_t>(pixels.data_ptr<std::uint8_t>(),
                                          pixels.data_ptr<std::uint8_t>() + pixels.numel());
  for (std::int64_t k = 0; k < kRecords; ++k)
    data.labels.push_back(static_cast<std::int32_t>(k % kClasses));
  data.class_names = std::vector<std::string>(kClasses, "a");
  data.declared_size = kRecords;
  gs_wgan::Holder holder(critic, {}, obol::Private<obol::data::Dataset>(data), torch::kCPU, 0,
                         bits);
  obol::method::Trainee trainee(
      {{.width = size.width, .latent = kLatent, .embedding = kClasses, .activation = "relu"},
       {.learning_rate = 1e-4, .beta1 = 0.5, .beta2 = 0.9},
       0.999},
      shape, kClasses, torch::kCPU);
  const obol::Private<gs_wgan::CriticState> state(critic.initial(bits));
  return seconds_of([&] {
    trainee.begin(1, 1);
    const gs_wgan::Asked asked = gs_wgan::ask(trainee, kClasses, kCriticSteps, size.batch, bits);
    const auto answer = holder.answer(state, asked.question);
    static_cast<void>(answer.map([&](const Tensor& gradient) {
      const Tensor noisy = gradient + 2.14 * torch::randn_like(gradient);
      asked.last.backward(noisy / static_cast<double>(size.batch));
      return 0;
    }));
    trainee.finish();
  });
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  at::set_num_threads(argc > 1 ? std::stoi(argv[1]) : 2);
  std::cout << "| width, images | eager, steps/s | ours, steps/s | ratio |\n"
               "| --- | ---: | ---: | ---: |\n";
  for (const Size& size : {Size{16, 32}, Size{16, 64}, Size{64, 32}}) {
    const double eager = eager_seconds(size);
    const double ours = our_seconds(size);
    std::cout << fmt::format("| {}, {} | {:.2f} | {:.2f} | {:.1f} |\n", size.width, size.batch,
                             1 / eager, 1 / ours, eager / ours);
  }
}
