#include "obol/model/spectral.h"

namespace obol::model {
namespace {

using torch::Tensor;

Tensor unit(const Tensor& vector) { return vector / vector.norm().clamp_min(1e-12); }

Tensor new_weight(const SpectralOptions& options) {
  Tensor weight = options.kernel == 0
                      ? torch::empty({options.out, options.in})
                      : torch::empty({options.out, options.in, options.kernel, options.kernel});
  return torch::nn::init::orthogonal_(weight);
}

}  // namespace

void power_iteration(const Tensor& matrix, const Tensor& left, const Tensor& right) {
  const torch::NoGradGuard no_grad;
  right.copy_(unit(at::mv(matrix.t(), left)));
  left.copy_(unit(at::mv(matrix, right)));
}

SpectralImpl::SpectralImpl(const SpectralOptions& given) : options(given) {
  weight = register_parameter("weight", new_weight(options));
  if (options.with_bias) bias = register_parameter("bias", torch::zeros({options.out}));
  left = register_buffer("left", unit(torch::randn({options.out})));
  right = register_buffer("right", unit(torch::randn({weight[0].numel()})));
  power_iteration(weight.flatten(1), left, right);
}

Tensor SpectralImpl::forward(const Tensor& x) {
  if (is_training()) power_iteration(weight.flatten(1), left, right);
  // Copies: the next step changes the vectors, perhaps before this one's gradient is taken.
  const Tensor norm = at::dot(left.clone(), at::mv(weight.flatten(1), right.clone()));
  const auto layout = x.is_cuda() && options.kernel > 0 ? at::MemoryFormat::ChannelsLast
                                                        : at::MemoryFormat::Preserve;
  const Tensor divided = (weight / norm).to(x.scalar_type(), false, false, layout);
  const Tensor added = bias.defined() ? bias.to(x.scalar_type()) : bias;
  if (options.kernel == 0) return at::linear(x, divided, added);
  return at::conv2d(x, divided, added, 1, options.kernel / 2);
}

}  // namespace obol::model
