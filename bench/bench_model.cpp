// bench_model: the generator's layers and whole steps of it on a processor, in GFLOP/s and as a
// share of what a plain product of matrices reaches in the same run.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/model/conv_transpose.h"
#include "obol/model/norm_activation.h"

namespace {

using torch::Tensor;
namespace model = obol::model;

constexpr int kRepeats = 15;

// The best of some runs, since other programs can only slow it down.
void measure_gemm();
double seconds_of(const std::function<void()>& work) {
  work();
  double best = 1e9;
  for (int run = 0; run < kRepeats; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const auto cstart = std::clock();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, at::get_num_threads() == 1 ? double(std::clock() - cstart) / CLOCKS_PER_SEC : took.count());
  }
  return best;
}

double gemm_rate = 0;

void print(const std::string& what, double flops, double seconds) {
  std::cout << fmt::format("{:<52} {:>8.1f} ms {:>7.1f} GFLOP/s {:>6.0f} %\n", what, seconds * 1e3,
                           flops / seconds / 1e9, 100 * flops / seconds / gemm_rate);
}

void measure_gemm() {
  constexpr std::int64_t kSide = 2048;
  const Tensor a = torch::randn({kSide, kSide});
  const Tensor b = torch::randn({kSide, kSide});
  const double flops = 2.0 * kSide * kSide * kSide;
  const double seconds = seconds_of([&] { torch::mm(a, b); });
  gemm_rate = std::max(gemm_rate, flops / seconds);
  print("2048^3 product", flops, seconds);
}

void measure_layer(std::int64_t images, std::int64_t in, std::int64_t out, std::int64_t side,
                   std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  model::ConvTranspose layer(
      model::ConvTransposeOptions{in, out, kernel, stride, padding, false});
  const auto run = [&](bool stock, bool backward) {
    Tensor x = torch::randn({images, in, side, side});
    if (!stock) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    x.requires_grad_(backward);
    torch::NoGradGuard guard;
    torch::AutoGradMode mode(backward);
    const Tensor gradient = (stock ? at::conv_transpose2d(x, layer->weight, {}, stride, padding)
                                   : layer->forward(x))
                                .detach();
    const double seconds = seconds_of([&] {
      const Tensor y = stock ? at::conv_transpose2d(x, layer->weight, {}, stride, padding)
                             : layer->forward(x);
      if (backward) y.backward(gradient);
    });
    const double flops = 2.0 * (backward ? 3 : 1) * images * in * out * side * side * kernel * kernel;
    print(fmt::format("{} {}x{}x{}x{} -> {}, k{} s{}{}", stock ? "stock" : "ours", images, in, side,
                      side, out, kernel, stride, backward ? ", with backward" : ""),
          flops, seconds);
  };
  for (const bool stock : {true, false})
    for (const bool backward : {false, true}) run(stock, backward);
}

void measure_norm(std::int64_t images, std::int64_t c, std::int64_t side) {
  model::NormActivation n(model::NormActivationOptions{.channels = c, .slope = 0.2});
  Tensor x = torch::randn({images, c, side, side}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
  Tensor g = torch::randn({images, c, side, side}).contiguous(at::MemoryFormat::ChannelsLast);
  const double flops = x.numel();
  print("norm fwd (Gelem/s)", flops, seconds_of([&] { n->forward(x); }));
  print("norm fwd+bwd", flops, seconds_of([&] { n->forward(x).backward(g); }));
  print("copy", flops, seconds_of([&] { g.clone(); }));
  Tensor y = g.clone();
  print("copy into", flops, seconds_of([&] { y.copy_(g); }));
  print("norm fwd stock", flops, seconds_of([&] { at::leaky_relu(at::batch_norm(x, n->weight, n->bias, n->running_mean, n->running_var, true, 0.1, 1e-5, false), 0.2); }));
}

struct Net : torch::nn::Module {
  Net(std::int64_t h, bool stock_) : stock(stock_) {
    std::int64_t in[] = {16, 4 * h, 2 * h, h}, out[] = {4 * h, 2 * h, h, 1}, k[] = {7, 4, 4, 3},
                 st[] = {1, 2, 2, 1}, p[] = {0, 1, 1, 1};
    for (int i = 0; i < 4; ++i) {
      convs.push_back(register_module(fmt::format("c{}", i), model::ConvTranspose(model::ConvTransposeOptions{in[i], out[i], k[i], st[i], p[i], i == 3})));
      if (i < 3) norms.push_back(register_module(fmt::format("n{}", i), model::NormActivation(model::NormActivationOptions{.channels = out[i], .slope = 0.2})));
    }
  }
  Tensor forward(Tensor x) {
    for (int i = 0; i < 4; ++i) {
      auto& c = convs[i];
      x = stock ? at::conv_transpose2d(x, c->weight, c->bias, c->options.stride, c->options.padding) : c->forward(x);
      if (i == 3) return torch::sigmoid(x);
      auto& n = norms[i];
      x = stock ? at::leaky_relu(at::batch_norm(x, n->weight, n->bias, n->running_mean, n->running_var, is_training(), 0.1, 1e-5, false), 0.2) : n->forward(x);
    }
    return x;
  }
  bool stock;
  std::vector<model::ConvTranspose> convs;
  std::vector<model::NormActivation> norms;
};

void measure_net(std::int64_t width, std::int64_t images) {
  for (bool stock : {true, false}) {
    Net net(width, stock);
    const Tensor z = torch::randn({images, 16, 1, 1});
    const Tensor g = torch::randn({images, 1, 28, 28});
    const double flops = images * 104e6 * width * width / 4096;
    print(fmt::format("{} net w{} {} images step", stock ? "stock" : "ours", width, images), 3 * flops, seconds_of([&] { net.forward(z).backward(g); }));
    torch::NoGradGuard no;
    print(fmt::format("{} net w{} {} images train fwd", stock ? "stock" : "ours", width, images), flops, seconds_of([&] { net.forward(z); }));
    net.eval();
    print(fmt::format("{} net w{} {} images eval fwd", stock ? "stock" : "ours", width, images), flops, seconds_of([&] { net.forward(z); }));
  }
}

}  // namespace

int main() {
  at::set_num_threads(getenv("T") ? atoi(getenv("T")) : 2);
  measure_gemm();
  for (int i = 0; i < 2; ++i) measure_gemm();
  measure_norm(200, 32, 28);
  measure_layer(70, 256, 128, 7, 4, 2, 1);
  measure_layer(70, 128, 64, 14, 4, 2, 1);
  measure_layer(70, 64, 1, 28, 3, 1, 1);
  measure_layer(200, 128, 64, 7, 4, 2, 1);
  measure_layer(200, 64, 32, 14, 4, 2, 1);
  measure_layer(200, 32, 1, 28, 3, 1, 1);
  measure_layer(200, 16, 128, 1, 7, 1, 0);
  measure_net(64, 70);measure_net(32, 200);
  return 0;
}
