// bench_features [cpu|cuda]: features of 500 images of 28x28, forward and both ways, against what
// LibTorch's own operators take for them, as JSON.
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/clock.h"
#include "bench/row.h"
#include "obol/base/memory.h"
#include "obol/features/fourier.h"
#include "obol/features/scattering.h"

namespace {

using torch::Tensor;
namespace bench = obol::bench;
namespace features = obol::features;
using Map = std::function<Tensor(const Tensor&)>;

constexpr std::int64_t kImages = 500;
constexpr obol::data::ImageShape kShape{.channels = 1, .height = 28, .width = 28};

// Scattering as it is mostly computed: in the Fourier domain, on the image padded to 32x32, all
// moduli at full resolution. Not our numbers, since these filters are periodic and others by half a
// pixel, but the same map in kind.
class FourierScattering {
 public:
  FourierScattering(int order, const torch::Device& device) : order_(order) {
    for (const int scale : {0, 1}) {
      std::vector<Tensor> angles;
      for (int k = 0; k < 8; ++k) angles.push_back(morlet(scale, k * std::numbers::pi / 8));
      bands_.push_back(torch::stack(angles).to(device));
    }
    const Tensor w = frequencies(0);
    const Tensor line = (w.square() * (-1.6 * 1.6 / 2)).exp();
    low_ = torch::outer(line, line).to(device, torch::kFloat);
  }

  Tensor operator()(const Tensor& images) const {
    const Tensor x = torch::constant_pad_nd(images.view({-1, 1, 28, 28}), {2, 2, 2, 2});
    const Tensor spectrum = torch::fft::fft2(x);
    const Tensor fine = torch::fft::ifft2(spectrum * bands_[0]).abs();
    std::vector<Tensor> parts = {x, fine, torch::fft::ifft2(spectrum * bands_[1]).abs()};
    if (order_ == 2)
      parts.push_back(
          torch::fft::ifft2(torch::fft::fft2(fine).unsqueeze(2) * bands_[1]).abs().flatten(1, 2));
    const Tensor smooth =
        torch::real(torch::fft::ifft2(torch::fft::fft2(torch::cat(parts, 1)) * low_));
    return smooth.slice(2, 0, 32, 4).slice(3, 0, 32, 4);
  }

 private:
  // Of one direction, moved by whole turns.
  static Tensor frequencies(int turns) {
    return (torch::fft::fftfreq(32, torch::kDouble) + turns) * (2 * std::numbers::pi);
  }

  static Tensor morlet(int scale, double angle) {
    const double spread = 0.8 * (scale + 1);
    const double frequency = 0.75 * std::numbers::pi / (scale + 1);
    const auto bump = [&](double centre) {
      Tensor sum = torch::zeros({32, 32}, torch::kDouble);
      for (int down = -2; down <= 2; ++down)
        for (int right = -2; right <= 2; ++right) {
          const Tensor y = frequencies(down).unsqueeze(1);
          const Tensor x = frequencies(right).unsqueeze(0);
          const Tensor u = x * std::cos(angle) + y * std::sin(angle);
          const Tensor v = y * std::cos(angle) - x * std::sin(angle);
          sum += (((u - centre).square() + v.square() * 4) * (-spread * spread / 2)).exp();
        }
      return sum;
    };
    const Tensor wave = bump(frequency);
    const Tensor envelope = bump(0);
    return (wave - envelope * (wave[0][0] / envelope[0][0])).to(torch::kFloat);
  }

  int order_;
  std::vector<Tensor> bands_;  // [8, 32, 32] of both scales
  Tensor low_;                 // [32, 32]
};

struct Contender {
  std::string name;  // empty: ours
  Map map;
};

// A GPU goes on computing after a call has returned.
void finish(const Tensor& of) {
  if (of.is_cuda()) torch::cuda::synchronize();
}

void compare(const std::string& what, const Tensor& points, const std::vector<Contender>& all) {
  std::vector<bench::Work> forward;
  std::vector<bench::Work> both_ways;
  for (const Contender& contender : all) {
    const Tensor x = points.clone().requires_grad_();
    const Tensor gradient = torch::randn_like(contender.map(points));
    forward.push_back([map = contender.map, points] {
      const torch::NoGradGuard no_grad;
      map(points);
      finish(points);
    });
    both_ways.push_back([map = contender.map, x, gradient] {
      torch::autograd::grad({map(x)}, {x}, {gradient});
      finish(x);
    });
  }
  const auto report = [&](const std::string& way, const std::vector<bench::Work>& works) {
    const std::vector<double> seconds = bench::seconds_of_each(works);
    for (std::size_t k = 1; k < all.size(); ++k)
      print(bench::Row{.what = fmt::format("{}, {} images, {}", what, kImages, way),
                       .unit = "ms",
                       .ours = seconds[0] * 1e3,
                       .reference = seconds[k] * 1e3,
                       .reference_is = all[k].name});
  };
  report("forward", forward);
  report("both ways", both_ways);
}

void scattering(int order, const torch::Device& device) {
  const features::Scattering ours(kShape, {.order = order, .device = device});
  const FourierScattering by_fft(order, device);
  compare(fmt::format("scattering of order {}", order),
          torch::rand({kImages, kShape.pixels()}, device),
          {{"", [&](const Tensor& x) { return ours(x); }},
           {"FFTs in eager LibTorch", [&](const Tensor& x) { return by_fft(x); }},
           {"convolutions in eager LibTorch", [&](const Tensor& x) { return ours.reference(x); }}});
}

void fourier(const torch::Device& device) {
  const features::FourierFeatures ours(kShape.pixels(),
                                       {.count = 2500, .frequencies = {0.1}, .device = device});
  const Tensor frequencies = torch::randn({kShape.pixels(), 2500}, device) * 0.1;
  compare("5,000 random Fourier features", torch::rand({kImages, kShape.pixels()}, device),
          {{"", [&](const Tensor& x) { return ours(x); }},
           {"eager LibTorch", [&](const Tensor& x) {
              const Tensor phases = torch::mm(x, frequencies);
              return torch::cat({phases.cos(), phases.sin()}, 1) * (1 / std::sqrt(2500.0));
            }}});
}

}  // namespace

int main(int argc, char** argv) {
  obol::keep_freed_memory();
  try {
    const torch::Device device(argc > 1 ? argv[1] : "cpu");
    torch::manual_seed(1);
    scattering(1, device);
    scattering(2, device);
    fourier(device);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
