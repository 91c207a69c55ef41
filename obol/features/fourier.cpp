#include "obol/features/fourier.h"

#include <cmath>

#include <ATen/Parallel.h>

#include "obol/base/error.h"
#include "obol/features/frequencies.h"
#include "obol/features/waves.h"

namespace obol::features {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_bound(const FourierOptions& options) {
  if (!std::isfinite(options.bound) || options.bound <= 0)
    throw InvalidArgument(violation("The bound of inputs", "finite and positive", options.bound));
}

constexpr std::int64_t kWorthAThread = 4;  // rows

// In place, [m, 2 k], of which the first k of each row are phases: their cosines and sines. A loop
// of our own: a vectorised one may treat the last numbers of a tensor in another way.
void cosines_and_sines(Tensor& phases, double scale) {
  const std::int64_t half = phases.size(1) / 2;
  auto* all = phases.data_ptr<double>();
  at::parallel_for(0, phases.size(0), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double* first = all + row * 2 * half;
      for (std::int64_t k = 0; k < half; ++k) {
        const double phase = first[k];
        first[k] = std::cos(phase) * scale;
        first[half + k] = std::sin(phase) * scale;
      }
    }
  });
}

// The same in float, by a kernel of our own.
void single_waves(Tensor& phases, double scale) {
  const std::int64_t half = phases.size(1) / 2;
  auto* all = phases.data_ptr<float>();
  const auto waves = wave_kernels().front().waves;
  at::parallel_for(0, phases.size(0), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      waves(all + row * 2 * half, all + row * 2 * half + half, static_cast<std::size_t>(half),
            static_cast<float>(scale));
  });
}

Tensor gradient_of_phases(const Tensor& waves, const Tensor& of_waves) {
  const std::int64_t half = waves.size(1) / 2;
  Tensor of_phases = at::empty({waves.size(0), half}, waves.options());
  const auto* values = waves.data_ptr<float>();
  const auto* gradients = of_waves.data_ptr<float>();
  auto* to = of_phases.data_ptr<float>();
  const auto gradient = wave_kernels().front().gradient;
  at::parallel_for(0, waves.size(0), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* value = values + row * 2 * half;
      const float* of_value = gradients + row * 2 * half;
      gradient(value, value + half, of_value, of_value + half, static_cast<std::size_t>(half),
               to + row * half);
    }
  });
  return of_phases;
}

// One product of matrices and one pass over its result, each way. What the gradient needs is what
// the features are.
class FourierOnCpu : public torch::autograd::Function<FourierOnCpu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& points, const Tensor& frequencies,
                        double scale) {
    const std::int64_t half = frequencies.size(1);
    Tensor waves = at::empty({points.size(0), 2 * half}, points.options());
    Tensor phases = waves.narrow(1, 0, half);
    at::mm_out(phases, points, frequencies);
    single_waves(waves, scale);
    context->save_for_backward({waves, frequencies});
    return waves;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor of_phases = gradient_of_phases(saved[0], gradients[0].contiguous());
    return {at::mm(of_phases, saved[1].t()), Tensor(), Tensor()};
  }
};

}  // namespace

FourierFeatures::FourierFeatures(std::int64_t inputs, const FourierOptions& options)
    : bound_(options.bound),
      frequencies_(draw_frequencies(inputs, options.count, options.frequencies).to(options.device)),
      single_(frequencies_.to(torch::kFloat)),
      scale_(1 / std::sqrt(static_cast<double>(options.count))) {
  check_bound(options);
}

Tensor FourierFeatures::operator()(const Tensor& points) const {
  if (points.is_cpu() && points.scalar_type() == torch::kFloat)
    return FourierOnCpu::apply(points, single_, scale_);
  const bool is_single = points.scalar_type() == torch::kFloat;
  const Tensor phases =
      torch::mm(points, is_single ? single_ : frequencies_.to(points.scalar_type()));
  return torch::cat({phases.cos(), phases.sin()}, 1) * scale_;
}

Tensor FourierFeatures::of_records(const Tensor& points) const {
  const torch::NoGradGuard no_grad;
  const Tensor inputs = on_grid(points.clamp(-bound_, bound_), kInputBits - bits_above(bound_));
  const Tensor phases = torch::mm(inputs, frequencies_);
  if (!phases.is_cpu()) return torch::cat({phases.cos(), phases.sin()}, 1) * scale_;
  Tensor both = torch::empty({phases.size(0), dimension()}, phases.options());
  both.narrow(1, 0, phases.size(1)).copy_(phases);
  cosines_and_sines(both, scale_);
  return both;
}

}  // namespace obol::features
