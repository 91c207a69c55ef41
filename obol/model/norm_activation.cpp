#include "obol/model/norm_activation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <ATen/Parallel.h>

#include "obol/model/channels_last.h"
#include "obol/model/gpu.h"
#include "obol/model/rows.h"

namespace obol::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sums run in T over a block of rows and in double over blocks, always of the same rows: the result
// does not depend on the number of threads.
constexpr std::int64_t kBlock = 512;

// Calls body(block, first row, number of rows), threads side by side.
template <class Body>
void for_blocks(std::int64_t rows, const Body& body) {
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      body(k, k * kBlock, std::min(kBlock, rows - k * kBlock));
  });
}

// Two sums per channel over all rows: add(first row, number of rows, first [channels], second).
template <class T, class Add>
std::vector<double> two_sums(std::int64_t rows, std::int64_t channels, const Add& add) {
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
  std::vector<T> partial(static_cast<std::size_t>(blocks * 2 * channels));
  for_blocks(rows, [&](std::int64_t block, std::int64_t first, std::int64_t count) {
    T* sums = partial.data() + block * 2 * channels;
    add(first, count, sums, sums + channels);
  });
  std::vector<double> total(static_cast<std::size_t>(2 * channels));
  for (std::size_t k = 0; k < partial.size(); ++k) total[k % total.size()] += partial[k];
  return total;
}

Tensor rectified(const Tensor& x, const Tensor& scale, const Tensor& shift, double slope) {
  const std::int64_t channels = x.size(1);
  Tensor y = at::empty_like(x);
  with_type(x, [&]<class T>(T) {
    const auto* from = x.data_ptr<T>();
    auto* to = y.data_ptr<T>();
    const Rectifier<T> rectifier{scale.data_ptr<T>(), shift.data_ptr<T>(), static_cast<T>(slope),
                                 channels};
    for_blocks(x.numel() / channels, [&](std::int64_t, std::int64_t first, std::int64_t count) {
      rectify(rectifier, from + first * channels, count, to + first * channels);
    });
  });
  return y;
}

// Mean and biased variance, [2, channels] in double. The first row is taken off before squares are
// summed: a large mean then does not drown a small variance.
template <class T>
Tensor moments_as(const Tensor& x) {
  const std::int64_t channels = x.size(1);
  const std::int64_t rows = x.numel() / channels;
  const T* data = x.data_ptr<T>();
  const auto sums =
      two_sums<T>(rows, channels, [&](std::int64_t row, std::int64_t count, T* a, T* b) {
        add_deviations(data + row * channels, count, channels, data, a, b);
      });
  Tensor moments = at::empty({2, channels}, at::kDouble);
  auto* out = moments.data_ptr<double>();
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / rows;
    out[c] = data[c] + mean;
    out[channels + c] = std::max(0.0, sums[channels + c] / rows - mean * mean);
  }
  return moments;
}

Tensor moments_of(const Tensor& x) {
  return with_type(x, [&]<class T>(T) { return moments_as<T>(x); });
}

// dx = scale (g - mean(g) - x_hat mean(g x_hat)), g being the gradient before the rectifier: linear
// in g, x and 1.
template <class T>
variable_list gradients_of(const Tensor& input, const Tensor& gradient,
                           const Rectifier<T>& rectifier, const double* mean,
                           const double* deviation) {
  const std::int64_t channels = rectifier.channels;
  const std::int64_t rows = input.numel() / channels;
  const T* x = input.data_ptr<T>();
  const T* g = gradient.data_ptr<T>();
  const auto sums =
      two_sums<T>(rows, channels, [&](std::int64_t row, std::int64_t count, T* a, T* b) {
        add_gradients(rectifier, x + row * channels, g + row * channels, count, a, b);
      });
  Tensor of_x = at::empty_like(input);
  Tensor of_weight = at::empty({channels}, input.options());
  Tensor of_bias = at::empty({channels}, input.options());
  std::vector<T> by_x(channels);
  std::vector<T> by_one(channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double covariance = (sums[channels + c] - sums[c] * mean[c]) / deviation[c];
    of_bias.data_ptr<T>()[c] = static_cast<T>(sums[c]);
    of_weight.data_ptr<T>()[c] = static_cast<T>(covariance);
    const double slope = -covariance / rows / deviation[c];
    by_x[c] = static_cast<T>(slope * rectifier.scale[c]);
    by_one[c] = static_cast<T>((-sums[c] / rows - slope * mean[c]) * rectifier.scale[c]);
  }
  T* out = of_x.data_ptr<T>();
  for_blocks(rows, [&](std::int64_t, std::int64_t first, std::int64_t count) {
    const std::int64_t k = first * channels;
    combine_gradients(rectifier, x + k, g + k, count, by_x.data(), by_one.data(), out + k);
  });
  return {of_x, of_weight, of_bias};
}

class TrainOnCpu : public torch::autograd::Function<TrainOnCpu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, const Tensor& moments, double slope, double epsilon) {
    const Tensor exact = weight.to(at::kDouble) / (moments[1] + epsilon).sqrt();
    const Tensor scale = exact.to(x.scalar_type());
    const Tensor shift = (bias.to(at::kDouble) - moments[0] * exact).to(x.scalar_type());
    const Tensor y = rectified(x, scale, shift, slope);
    context->save_for_backward({x, scale, shift, moments});
    context->saved_data["slope"] = slope;
    context->saved_data["epsilon"] = epsilon;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor gradient = channels_last(gradients[0]);
    const Tensor deviation = (saved[3][1] + context->saved_data["epsilon"].toDouble()).sqrt();
    variable_list result;
    with_type(x, [&]<class T>(T) {
      const Rectifier<T> rectifier{saved[1].data_ptr<T>(), saved[2].data_ptr<T>(),
                                   static_cast<T>(context->saved_data["slope"].toDouble()),
                                   x.size(1)};
      result = gradients_of(x, gradient, rectifier, saved[3].data_ptr<double>(),
                            deviation.data_ptr<double>());
    });
    result.resize(6);
    return result;
  }
};

}  // namespace

NormActivationImpl::NormActivationImpl(const NormActivationOptions& given) : options(given) {
  weight = register_parameter("weight", torch::ones({options.channels}));
  bias = register_parameter("bias", torch::zeros({options.channels}));
  running_mean = register_buffer("running_mean", torch::zeros({options.channels}));
  running_var = register_buffer("running_var", torch::ones({options.channels}));
}

Tensor NormActivationImpl::forward(const Tensor& x) {
  const bool is_plain = !is_training() && at::GradMode::is_enabled();
  if (!is_plain && gpu::takes(x))
    return is_training() ? gpu::norm_train(*this, x) : gpu::norm_evaluate(*this, x);
  if (is_plain || !x.is_cpu() || x.numel() == 0)
    return at::leaky_relu(at::batch_norm(x, weight, bias, running_mean, running_var, is_training(),
                                         options.momentum, options.epsilon, true),
                          options.slope);
  const Tensor rows = channels_last(x);
  if (!is_training()) {
    const auto [scale, shift] = scale_and_shift();
    return rectified(rows, scale, shift, options.slope);
  }
  const Tensor moments = moments_of(rows);
  update(moments, x.numel() / x.size(1));
  return TrainOnCpu::apply(rows, weight, bias, moments, options.slope, options.epsilon);
}

std::pair<Tensor, Tensor> NormActivationImpl::scale_and_shift() const {
  const Tensor scale = weight / (running_var + options.epsilon).sqrt();
  return {scale, bias - running_mean * scale};
}

void NormActivationImpl::update(const Tensor& moments, std::int64_t rows) {
  const torch::NoGradGuard no_grad;
  const double unbiased =
      static_cast<double>(rows) / static_cast<double>(std::max<std::int64_t>(rows - 1, 1));
  running_mean.lerp_(moments[0].to(running_mean.scalar_type()), options.momentum);
  running_var.lerp_((moments[1] * unbiased).to(running_var.scalar_type()), options.momentum);
}

}  // namespace obol::model
