// Transport on the GPU: the semi-debiased loss of a training step, and the large solver against the
// memory's speed. Prints a markdown section for bench/results; medians of graph replays.
//
//   bench_transport_gpu [IMAGES]      # IDX file of 28 x 28 images; without it, drawn strokes
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "obol/cuda/error.h"
#include "obol/transport/cuda/pairwise.h"
#include "obol/transport/cuda/sinkhorn.h"

namespace {

namespace transport = obol::transport;
namespace cuda = obol::transport::cuda;
using obol::cuda::check;

constexpr int kPixels = 784;

template <class T>
class Device {
 public:
  explicit Device(std::size_t count) { check(cudaMalloc(&data_, count * sizeof(T) + 1), "memory"); }
  template <class U>
  explicit Device(const std::vector<U>& values) : Device(values.size()) {
    const std::vector<T> mine(values.begin(), values.end());
    check(cudaMemcpy(data_, mine.data(), mine.size() * sizeof(T), cudaMemcpyHostToDevice),
          "a copy");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { cudaFree(data_); }
  T* get() const { return data_; }
  T at(int i) const {
    T value;
    check(cudaMemcpy(&value, data_ + i, sizeof(T), cudaMemcpyDeviceToHost), "a copy");
    return value;
  }

 private:
  T* data_ = nullptr;
};

// Microseconds of one replay among `together` back to back; median of `repeats`.
double microseconds(const std::function<void(cudaStream_t)>& body, int repeats, int together = 1) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaStreamCreate(&stream), "a stream");
  check(cudaEventCreate(&begin), "an event");
  check(cudaEventCreate(&end), "an event");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
  body(stream);
  check(cudaStreamEndCapture(stream, &graph), "a capture");
  check(cudaGraphInstantiate(&exec, graph, 0), "a graph");
  std::vector<double> times;
  for (int r = 0; r < repeats + 2; ++r) {
    check(cudaEventRecord(begin, stream), "an event");
    for (int k = 0; k < together; ++k) check(cudaGraphLaunch(exec, stream), "a replay");
    check(cudaEventRecord(end, stream), "an event");
    check(cudaEventSynchronize(end), "a replay");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "an event");
    if (r >= 2) times.push_back(1e3 * milliseconds / together);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// In [-1, 1], as training sees them.
std::vector<float> images(const char* path, int count) {
  std::vector<float> pixels;
  if (path != nullptr) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(16 + static_cast<std::size_t>(count) * kPixels);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    for (std::size_t k = 16; k < bytes.size(); ++k)
      pixels.push_back(static_cast<float>(static_cast<unsigned char>(bytes[k])) / 127.5F - 1);
    return pixels;
  }
  std::mt19937 bits(1);
  std::uniform_real_distribution<float> uniform(4, 24);
  for (int i = 0; i < count; ++i) {
    const float ends[4] = {uniform(bits), uniform(bits), uniform(bits), uniform(bits)};
    for (int k = 0; k < kPixels; ++k) {
      float nearest = 100;
      for (int step = 0; step <= 20; ++step) {
        const float along = static_cast<float>(step) / 20;
        const float down = ends[0] + along * (ends[1] - ends[0]) - static_cast<float>(k / 28);
        const float across = ends[2] + along * (ends[3] - ends[2]) - static_cast<float>(k % 28);
        nearest = std::min(nearest, down * down + across * across);
      }
      pixels.push_back(2 * std::exp(-nearest / 4) - 1);
    }
  }
  return pixels;
}

constexpr int kRows = 50;
constexpr int kResampled = 20;
constexpr double kRegularization = 0.05;
// Mixture with m = 1 and labels of weight 15: 2 * 15^2 + 2 * 15 where they differ.
const transport::Ground kGround{transport::GroundCost::kMixture, 1, 480};

// The semi-debiased loss: 2 W(x[0:n], y) - W(x[0:n], x[r:n+r]).
template <class T>
struct Step {
  Device<T> all_x;
  Device<T> all_y;
  Device<std::int64_t> labels;  // of point i of x, or of y, at i; they repeat after kRows
  Device<T> cost{2 * kRows * kRows};
  Device<T> potentials{4 * kRows};
  Device<T> gradient{static_cast<std::size_t>((kRows + kResampled) * kPixels)};
  Device<cuda::SinkhornResult> results{2};
  cuda::Points<T> x;
  cuda::Points<T> y;

  explicit Step(const std::vector<float>& pixels)
      : all_x(std::vector<float>(pixels.begin(), pixels.begin() + (kRows + kResampled) * kPixels)),
        all_y(std::vector<float>(pixels.begin() + (kRows + kResampled) * kPixels, pixels.end())),
        labels([] {
          std::vector<int> all;
          for (int i = 0; i < kRows + kResampled; ++i) all.push_back(i % kRows % 10);
          return all;
        }()),
        x{all_x.get(), kRows + kResampled, kPixels, labels.get()},
        y{all_y.get(), kRows, kPixels, labels.get()} {}

  T* part(int which) { return potentials.get() + which * kRows; }

  cuda::Points<T> side(int first) const {
    return {x.data + first * kPixels, kRows, kPixels, x.labels + first};
  }

  void costs(cudaStream_t stream) {
    const cuda::CostProblem<T> problems[] = {
        {side(0), y, cost.get(), kRows},
        {side(0), side(kResampled), cost.get() + kRows * kRows, kRows}};
    cuda::pairwise_cost(problems, 2, kPixels, kGround, stream);
  }

  void solve(const transport::SinkhornOptions& options, cudaStream_t stream) {
    const cuda::SinkhornProblem<T> problems[] = {
        {cost.get(), kRows, kRows, kRows, part(0), part(1), results.get()},
        {cost.get() + kRows * kRows, kRows, kRows, kRows, part(2), part(3), results.get() + 1}};
    cuda::sinkhorn(problems, 2, options, nullptr, stream);
  }

  void slope(cudaStream_t stream) {
    const T* own = cost.get() + kRows * kRows;
    const double epsilon = kRegularization;
    const cuda::GradientTerm<T> terms[] = {
        {0, kRows, y, cost.get(), kRows, 1, part(0), part(1), nullptr, nullptr, epsilon, 2},
        {0, kRows, side(kResampled), own, kRows, 1, part(2), part(3), nullptr, nullptr, epsilon,
         -1},
        {kResampled, kRows, side(0), own, 1, kRows, part(3), part(2), nullptr, nullptr, epsilon,
         -1}};
    cuda::pairwise_gradient(x, kPixels, kGround, terms, 3, gradient.get(), kPixels, stream);
  }

  void launch(const transport::SinkhornOptions& options, cudaStream_t stream) {
    costs(stream);
    solve(options, stream);
    slope(stream);
  }
};

transport::SinkhornOptions options(transport::Stopping stopping, double annealing, double tolerance,
                                   int most) {
  transport::SinkhornOptions o{kRegularization};
  o.stopping = stopping;
  o.annealing = annealing;
  o.tolerance = tolerance;
  o.max_iterations = most;
  return o;
}

template <class T>
void time_loss(const char* name, Step<T>& step, const transport::SinkhornOptions& o, int repeats) {
  const auto body = [&](cudaStream_t stream) { step.launch(o, stream); };
  const double alone = microseconds(body, repeats);
  const double together = microseconds(body, repeats, 10);
  const cuda::SinkhornResult first = step.results.at(0);
  const cuda::SinkhornResult second = step.results.at(1);
  std::printf("| %s, %s | %.1f | %.1f | %d, %d | %.1e, %.1e | %d, %d |\n", name,
              sizeof(T) == 4 ? "float" : "double", together, alone, first.iterations,
              second.iterations, first.marginal_error, second.marginal_error, first.converged,
              second.converged);
}

__global__ void empty_kernel() {}

// The three launches one by one; each also pays for its own launch.
void parts_of_a_loss(Step<float>& step) {
  const auto time = [](const std::function<void(cudaStream_t)>& body) {
    return microseconds(body, 51, 10);
  };
  const auto solve = [&](int iterations) {
    return time([&](cudaStream_t s) {
      step.solve(options(transport::Stopping::kFixed, 0.7, 1e-3, iterations), s);
    });
  };
  std::printf("\nAlone: an empty kernel %.1f us, ",
              time([](cudaStream_t s) { empty_kernel<<<1, 32, 0, s>>>(); }));
  std::printf("costs %.1f, ", time([&](cudaStream_t s) { step.costs(s); }));
  std::printf("solves of 1 iteration %.1f and of 31 %.1f, ", solve(1), solve(31));
  std::printf("gradient %.1f.\n", time([&](cudaStream_t s) { step.slope(s); }));
}

void losses(const char* path) {
  const std::vector<float> pixels = images(path, 2 * kRows + kResampled);
  Step<float> step(pixels);
  Step<double> doubles(pixels);
  std::printf(
      "\n### The loss of a training step: potentials and gradient\n\nn 50, 20 resampled rows, m "
      "50, d "
      "784, mixture with labels, regularization 0.05, %s. Microseconds of a replayed graph of "
      "three "
      "launches.\n\n| stopping | of ten in a row | alone | iterations | marginal errors | "
      "converged "
      "|\n| --- | ---: | ---: | --- | --- | --- |\n",
      path != nullptr ? "MNIST images" : "drawn strokes");
  using transport::Stopping;
  const auto annealed = [](double ratio) {
    return options(Stopping::kAnnealed, ratio, 1e-3, 1000);
  };
  time_loss("annealed, ratio 0.5", step, annealed(0.5), 51);
  time_loss("annealed, ratio 0.7", step, annealed(0.7), 51);
  time_loss("annealed, ratio 0.7", doubles, annealed(0.7), 51);
  time_loss("30 iterations", step, options(Stopping::kFixed, 1, 1e-3, 30), 51);
  time_loss("to 1e-3, annealed by 0.5", step, options(Stopping::kConverge, 0.5, 1e-3, 20000), 5);
  time_loss("to 1e-3, annealed by 0.9", step, options(Stopping::kConverge, 0.9, 1e-3, 20000), 5);
  transport::SinkhornOptions relaxed = options(Stopping::kConverge, 0.5, 1e-3, 20000);
  relaxed.over_relaxation = 1.8;
  time_loss("to 1e-3, annealed by 0.5, over-relaxed by 1.8", step, relaxed, 5);
  time_loss("to 1e-3, not annealed", step, options(Stopping::kConverge, 1, 1e-3, 20000), 5);
  time_loss("to 1e-3, annealed by 0.9", doubles, options(Stopping::kConverge, 0.9, 1e-3, 20000), 5);

  parts_of_a_loss(step);
}

std::vector<float> uniform_values(std::size_t count) {
  std::mt19937 bits(2);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(bits()) * 2.3e-10F;
  return values;
}

__global__ void copy_kernel(const float4* from, float4* to, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t k = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < count;
       k += step)
    to[k] = from[k];
}

double copy_speed() {
  constexpr std::size_t kBytes = std::size_t{2} << 30;
  Device<char> from(kBytes);
  Device<char> to(kBytes);
  check(cudaMemset(from.get(), 0x5a, kBytes), "memory");
  const double time = microseconds(
      [&](cudaStream_t s) {
        copy_kernel<<<132 * 16, 512, 0, s>>>(reinterpret_cast<const float4*>(from.get()),
                                             reinterpret_cast<float4*>(to.get()), kBytes / 16);
      },
      11);
  return 2.0 * kBytes / time * 1e-6;  // TB/s
}

template <class T>
void large(int n, double copy) {
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  Device<T> cost(uniform_values(count));
  Device<T> f(n);
  Device<T> g(n);
  Device<cuda::SinkhornResult> result(1);
  const std::size_t bytes = cuda::sinkhorn_workspace<T>(n, n);
  Device<char> workspace(bytes);
  const cuda::SinkhornProblem<T> problem{cost.get(), n, n, n, f.get(), g.get(), result.get()};
  const auto time = [&](int iterations) {
    transport::SinkhornOptions o{kRegularization};
    o.stopping = transport::Stopping::kFixed;
    o.max_iterations = iterations;
    return microseconds([&](cudaStream_t s) { cuda::sinkhorn(&problem, 1, o, workspace.get(), s); },
                        5);
  };
  const double each = (time(110) - time(10)) / 100;
  const double speed = static_cast<double>(count * sizeof(T)) / each * 1e-6;
  std::printf("| %d, %s | %.1f | %.2f | %.0f%% | %.1f |\n", n, sizeof(T) == 4 ? "float" : "double",
              each, speed, 100 * speed / copy, static_cast<double>(bytes) * 1e-6);
}

void large_solves() {
  const double copy = copy_speed();
  std::printf(
      "\n### Large problems\n\nA device copy moves %.2f TB/s, read and written. An iteration must "
      "read the costs at least once.\n\n| n = m | us an iteration | TB/s of costs | of the copy | "
      "workspace, MB |\n| --- | ---: | ---: | ---: | ---: |\n",
      copy);
  for (const int n : {512, 1024, 2048, 4096, 5000, 8192}) large<float>(n, copy);
  for (const int n : {1024, 4096}) large<double>(n, copy);
}

void large_points() {
  constexpr int kCount = 5000;
  const auto size = static_cast<std::size_t>(kCount) * kPixels;
  Device<float> x(uniform_values(size));
  Device<float> cost(static_cast<std::size_t>(kCount) * kCount);
  Device<float> f(std::vector<float>(kCount, 60));
  Device<float> gradient(size);
  const cuda::Points<float> points{x.get(), kCount, kPixels};
  std::printf(
      "\n### 5000 x 5000 points of 784 dimensions, float\n\n| what | ms |\n| --- | ---: |\n");
  for (const auto& ground : {transport::Ground{transport::GroundCost::kSquared}, kGround}) {
    const char* name = ground.kind == transport::GroundCost::kSquared ? "squared" : "mixture";
    const cuda::CostProblem<float> problem{points, points, cost.get(), kCount};
    std::printf(
        "| costs, %s | %.2f |\n", name,
        microseconds([&](cudaStream_t s) { cuda::pairwise_cost(&problem, 1, kPixels, ground, s); },
                     5) *
            1e-3);
    const cuda::GradientTerm<float> term{0,       kCount,  points,  cost.get(), kCount, 1,
                                         f.get(), f.get(), nullptr, nullptr,    10};
    std::printf("| gradient, %s | %.2f |\n", name,
                microseconds(
                    [&](cudaStream_t s) {
                      cuda::pairwise_gradient(points, kPixels, ground, &term, 1, gradient.get(),
                                              kPixels, s);
                    },
                    5) *
                    1e-3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::printf("## Transport on the GPU\n");
    losses(argc > 1 ? argv[1] : nullptr);
    large_solves();
    large_points();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
