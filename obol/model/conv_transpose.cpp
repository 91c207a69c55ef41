#include "obol/model/conv_transpose.h"

#include <array>
#include <cmath>
#include <tuple>

#include "obol/model/channels_last.h"
#include "obol/model/gpu.h"

namespace obol::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Output channels for which a GPU's convolutions are slower than a product and a sum of planes.
constexpr std::int64_t kFew = 4;

// A transposed convolution is the gradient of a convolution with respect to its input, which oneDNN
// computes several times faster than torch's own transposed operator. So is each of its gradients.
class ConvTransposeOnCpu : public torch::autograd::Function<ConvTransposeOnCpu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        std::int64_t stride, std::int64_t padding) {
    const Tensor input = channels_last(x);
    const Tensor filters = channels_last(weight);
    const auto side = [&](std::int64_t axis) {
      return (x.size(axis) - 1) * stride + weight.size(axis) - 2 * padding;
    };
    const Tensor shape = at::empty({x.size(0), weight.size(1), side(2), side(3)}, x.options(),
                                   at::MemoryFormat::ChannelsLast);
    context->save_for_backward({input, filters});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    return std::get<0>(convolution_gradients(input, shape, filters, stride, padding, kOfInput));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const std::int64_t stride = context->saved_data["stride"].toInt();
    const std::int64_t padding = context->saved_data["padding"].toInt();
    const Tensor gradient = channels_last(gradients[0]);
    const Tensor of_x =
        context->needs_input_grad(0) ? at::conv2d(gradient, weight, {}, stride, padding) : Tensor();
    const Tensor of_weight =
        std::get<1>(convolution_gradients(x, gradient, weight, stride, padding, kOfWeight));
    return {of_x, of_weight, {}, {}};
  }

 private:
  static constexpr std::array<bool, 3> kOfInput{true, false, false};
  static constexpr std::array<bool, 3> kOfWeight{false, true, false};

  static std::tuple<Tensor, Tensor, Tensor> convolution_gradients(
      const Tensor& of_output, const Tensor& input, const Tensor& weight, std::int64_t stride,
      std::int64_t padding, const std::array<bool, 3>& wanted) {
    return at::convolution_backward(of_output, input, weight, {}, {stride, stride},
                                    {padding, padding}, {1, 1}, false, {0, 0}, 1, wanted);
  }
};

// Images of one pixel: one product.
Tensor of_single_pixels(const Tensor& x, const Tensor& weight) {
  return at::mm(x.flatten(1), as_columns(weight))
      .view({x.size(0), weight.size(2), weight.size(3), weight.size(1)})
      .permute({0, 3, 1, 2});
}

}  // namespace

Tensor conv_transpose(const Tensor& x, const Tensor& given_weight, const Tensor& given_bias,
                      std::int64_t stride, std::int64_t padding) {
  const bool is_product = x.size(2) == 1 && x.size(3) == 1 && padding == 0;
  if (!is_product && stride == 1 && given_weight.size(1) <= kFew && gpu::takes(x))
    return gpu::conv_transpose_few(x, given_weight, given_bias, padding);
  const Tensor weight = given_weight.to(x.scalar_type());
  const Tensor bias = given_bias.defined() ? given_bias.to(x.scalar_type()) : given_bias;
  const bool is_ours = x.is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0;
  if (!is_product && !is_ours)
    return at::conv_transpose2d(x.is_cuda() ? channels_last(x) : x, weight, bias, stride, padding);
  const Tensor result = is_product ? of_single_pixels(x, weight)
                                   : ConvTransposeOnCpu::apply(x, weight, stride, padding);
  return bias.defined() ? result + bias.view({-1, 1, 1}) : result;
}

ConvTransposeImpl::ConvTransposeImpl(const ConvTransposeOptions& given) : options(given) {
  weight = register_parameter(
      "weight", torch::empty({options.in, options.out, options.kernel, options.kernel}));
  torch::nn::init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!options.with_bias) return;
  const double bound =
      1 / std::sqrt(static_cast<double>(options.out * options.kernel * options.kernel));
  bias = register_parameter("bias", torch::empty({options.out}).uniform_(-bound, bound));
}

Tensor ConvTransposeImpl::forward(const Tensor& x) {
  return conv_transpose(x, weight, bias, options.stride, options.padding);
}

}  // namespace obol::model
