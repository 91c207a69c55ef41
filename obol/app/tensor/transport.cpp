#include "obol/app/transport.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/app/tensor/device.h"
#include "obol/base/console.h"
#include "obol/base/file.h"
#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/data/npy.h"
#include "obol/transport/tensor/problem.h"
#include "obol/transport/tensor/types.h"

namespace obol::app {
namespace {

using torch::Tensor;
using transport::Problem;
using transport::SinkhornOptions;
using transport::Solution;

// A file's values, in the type T, owned by the tensor.
template <class T>
Tensor read_as(data::Stream& stream, const data::NpyHeader& header, torch::ScalarType type) {
  auto values = std::make_shared<std::vector<T>>(data::read_npy_values<T>(stream, header, {}));
  const std::vector<std::int64_t> shape(header.shape.begin(), header.shape.end());
  return torch::from_blob(
      values->data(), shape, [values](void*) {}, type);
}

Tensor read_points(const std::string& path) {
  const FileBytes file(path);
  const auto stream = data::open_stream(file, {});
  const data::NpyHeader header = data::read_npy_header(*stream);
  if (header.kind != 'f')
    throw DataError(violation("the type of points", "float32 or float64, as by astype('float32')",
                              header.type_name(), path));
  return header.item_size == sizeof(float) ? read_as<float>(*stream, header, torch::kFloat)
                                           : read_as<double>(*stream, header, torch::kDouble);
}

Tensor read_labels(const std::string& path, const torch::Device& device) {
  if (path.empty()) return {};
  const FileBytes file(path);
  const auto stream = data::open_stream(file, {});
  return read_as<std::int64_t>(*stream, data::read_npy_header(*stream), torch::kLong).to(device);
}

const char* precision_of(const Tensor& points) {
  return points.scalar_type() == torch::kFloat ? "float32" : "float64";
}

Problem read_problem(const TransportRequest& request) {
  const torch::Device device = use_device(request.device, 0);
  Problem problem{.x = read_points(request.x).to(device),
                  .y = read_points(request.y).to(device),
                  .cost = transport::parse_cost(request.cost),
                  .labels_x = read_labels(request.labels_x, device),
                  .labels_y = read_labels(request.labels_y, device),
                  .label_weight = request.label_weight};
  if (problem.x.scalar_type() != problem.y.scalar_type())
    throw DataError(violation(fmt::format("the type of {}", request.y),
                              fmt::format("{}, as of {}", precision_of(problem.x), request.x),
                              precision_of(problem.y)));
  return problem;
}

std::optional<double> available_bytes() {
  std::ifstream facts("/proc/meminfo");
  for (std::string line; std::getline(facts, line);)
    if (line.starts_with("MemAvailable:")) return std::stod(line.substr(line.find(':') + 1)) * 1024;
  return std::nullopt;
}

// The costs, and their transpose or the plan: allocating more than there is would end in a kill.
void check_memory(const Problem& problem, const TransportRequest& request) {
  if (problem.x.dim() == 0 || problem.y.dim() == 0) return;  // refused with a better reason
  if (problem.x.is_cuda()) return;                           // where LibTorch itself says so
  const auto n = static_cast<double>(problem.x.size(0));
  const auto m = static_cast<double>(problem.y.size(0));
  const double one = static_cast<double>(problem.x.element_size());
  double needed = request.exact && request.plan.empty() ? n * m * one : 2 * n * m * one;
  if (request.debiased) needed = std::max({needed, n * n * one, m * m * one});
  const std::optional<double> available = available_bytes();
  if (available && needed > *available)
    throw InvalidArgument(violation(
        fmt::format("the memory for {} x {} costs", problem.x.size(0), problem.y.size(0)),
        fmt::format("{}", human_bytes(static_cast<std::uint64_t>(needed))),
        fmt::format("{}: take fewer points{}", human_bytes(static_cast<std::uint64_t>(*available)),
                    one > sizeof(float) ? ", or float32" : "")));
}

// Counts passes over the costs, and asks before each whether to go on.
class Passes {
 public:
  explicit Passes(const Problem& problem)
      : work_(static_cast<double>(problem.x.size(0)) * static_cast<double>(problem.y.size(0))) {}

  void run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
    check_interrupt();
    transport::parallel_rows(count, work_, body);
    const std::lock_guard lock(mutex_);  // classes are solved side by side
    progress_.advance(1);
  }

 private:
  double work_;
  std::mutex mutex_;
  Progress progress_{"transport", 0, "passes over the costs"};
};

// W(y, y) as a problem.
Problem other_side(const Problem& problem) {
  return {.x = problem.y,
          .cost = problem.cost,
          .labels_x = problem.labels_y,
          .label_weight = problem.label_weight};
}

void solve_debiased(const Problem& problem, const SinkhornOptions& options,
                    TransportAnswer& answer) {
  for (const Problem& self : {problem, other_side(problem)}) {
    const Solution solution = sinkhorn_self(self, options);
    answer.dual -= solution.dual;
    answer.marginal_error = std::max(answer.marginal_error, solution.marginal_error);
    answer.iterations = std::max(answer.iterations, solution.iterations);
    answer.converged = answer.converged && solution.converged;
  }
  answer.value = answer.dual;
}

// Returns the plan if it is asked for.
Tensor solve_entropic(const Problem& problem, const TransportRequest& request,
                      TransportAnswer& answer) {
  Passes passes(problem);
  const SinkhornOptions options{
      .regularization = request.regularization,
      .stopping =
          request.annealed ? transport::Stopping::kAnnealed : transport::Stopping::kConverge,
      .tolerance = request.tolerance,
      .max_iterations = request.max_iterations,
      .parallel = [&](std::size_t count, const auto& body) { passes.run(count, body); }};
  const Solution solution = sinkhorn(problem, options);
  answer.value = solution.primal;
  answer.dual = request.debiased ? 2 * solution.dual : solution.dual;
  answer.marginal_error = solution.marginal_error;
  answer.iterations = solution.iterations;
  answer.converged = solution.converged;
  if (request.debiased) solve_debiased(problem, options, answer);
  return request.plan.empty() ? Tensor() : transport_plan(problem, solution);
}

Tensor solve_exact(const Problem& problem, const TransportRequest& request,
                   TransportAnswer& answer) {
  const transport::ExactResult result = exact_transport(problem);
  answer.value = result.value;
  answer.dual = result.value - result.gap;
  answer.iterations = result.iterations;
  answer.converged = result.converged;
  if (request.plan.empty()) return {};
  Tensor plan = torch::zeros({problem.x.size(0), problem.y.size(0)}, problem.x.scalar_type());
  transport::with_type(plan, [&](auto type) {
    using T = decltype(type);
    const auto columns = static_cast<std::size_t>(plan.size(1));
    for (const auto& [row, column, mass] : result.plan)
      plan.data_ptr<T>()[row * columns + column] = static_cast<T>(mass);
  });
  return plan;
}

void write_plan(const Tensor& plan, const std::string& path) {
  AtomicFile file(path);
  transport::with_type(plan, [&](auto type) {
    using T = decltype(type);
    file.write(data::npy_header<T>(plan.sizes().vec()));
    const std::span<const T> values(plan.data_ptr<T>(), static_cast<std::size_t>(plan.numel()));
    file.write(std::as_bytes(values));
  });
  file.commit();
}

TransportAnswer answer_to(const TransportRequest& request) {
  const Problem problem = read_problem(request);
  check_memory(problem, request);
  const auto start = std::chrono::steady_clock::now();
  TransportAnswer answer;
  const Tensor plan = request.exact ? solve_exact(problem, request, answer)
                                    : solve_entropic(problem, request, answer);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (plan.defined()) write_plan(plan.cpu(), request.plan);
  answer.n = problem.x.size(0);
  answer.m = problem.y.size(0);
  answer.coordinates = problem.x[0].numel();
  answer.precision = precision_of(problem.x);
  answer.cost = to_string(problem.cost);
  return answer;
}

}  // namespace

TransportAnswer solve_transport(const TransportRequest& request) {
  const ReporterScope scope(request.reporter);
  try {
    return answer_to(request);
  } catch (const InvalidArgument& error) {  // the library says x and y; people gave files
    throw InvalidArgument(fmt::format("{} (x is {}, y is {})", error.what(), request.x, request.y));
  }
}

}  // namespace obol::app
