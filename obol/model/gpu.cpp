#include "obol/model/gpu.h"

#include <ATen/cuda/CUDAContext.h>

#include "obol/model/channels_last.h"
#include "obol/model/cuda/norm_activation.h"
#include "obol/model/cuda/planes.h"

namespace obol::model::gpu {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// body(T{}) with the kernels' type of x's numbers.
template <class Body>
void with_kernel_type(const Tensor& x, const Body& body) {
  if (x.scalar_type() == at::kBFloat16)
    body(__nv_bfloat16{});
  else
    body(float{});
}

template <class T>
T* data_of(const Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}

cudaStream_t stream_of(const Tensor& x) {
  return at::cuda::getCurrentCUDAStream(x.device().index());
}

Tensor floats_beside(const Tensor& x, at::IntArrayRef sizes) {
  return at::empty(sizes, x.options().dtype(at::kFloat));
}

template <class T>
cuda::Rows<T> rows_of(const Tensor& x) {
  return {data_of<T>(x), x.numel() / x.size(1), x.size(1)};
}

Tensor workspace_for(const Tensor& x) {
  return floats_beside(x, {cuda::norm_workspace(x.numel() / x.size(1), x.size(1))});
}

cuda::Norm norm_of(const NormActivationImpl& norm) {
  return {norm.weight.data_ptr<float>(),
          norm.bias.data_ptr<float>(),
          norm.running_mean.data_ptr<float>(),
          norm.running_var.data_ptr<float>(),
          static_cast<float>(norm.options.momentum),
          static_cast<float>(norm.options.epsilon),
          static_cast<float>(norm.options.slope)};
}

class NormTrain : public torch::autograd::Function<NormTrain> {
 public:
  // weight and bias are norm's own, named so that autograd sees them.
  static Tensor forward(AutogradContext* context, const Tensor& images, const Tensor& weight,
                        const Tensor& /*bias*/, const NormActivationImpl* norm) {
    const Tensor x = channels_last(images);
    const Tensor workspace = workspace_for(x);
    const Tensor saved = floats_beside(x, {cuda::kSaved, weight.size(0)});
    Tensor y = at::empty_like(x);
    with_kernel_type(x, [&]<class T>(T) {
      cuda::norm_train(rows_of<T>(x), norm_of(*norm), workspace.data_ptr<float>(),
                       saved.data_ptr<float>(), data_of<T>(y), stream_of(x));
    });
    context->save_for_backward({x, saved});
    context->saved_data["slope"] = norm->options.slope;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list kept = context->get_saved_variables();
    const Tensor& x = kept[0];
    const Tensor& saved = kept[1];
    const Tensor gradient = channels_last(gradients[0]);
    const Tensor workspace = workspace_for(x);
    Tensor of_x = at::empty_like(x);
    Tensor of_weight = floats_beside(x, {x.size(1)});
    Tensor of_bias = floats_beside(x, {x.size(1)});
    with_kernel_type(x, [&]<class T>(T) {
      cuda::norm_backward(rows_of<T>(x), saved.data_ptr<float>(),
                          static_cast<float>(context->saved_data["slope"].toDouble()),
                          static_cast<const T*>(data_of<T>(gradient)), workspace.data_ptr<float>(),
                          data_of<T>(of_x), of_weight.data_ptr<float>(), of_bias.data_ptr<float>(),
                          stream_of(x));
    });
    return {of_x, of_weight, of_bias, {}};
  }
};

// [in, out, kernel, kernel] of floats -> [in, kernel kernel out] of x's numbers
Tensor matrix_of(const Tensor& weight, const Tensor& x) {
  return as_columns(weight.to(x.scalar_type()));
}

cuda::Planes planes_of(const Tensor& x, std::int64_t outputs, std::int64_t kernel,
                       std::int64_t padding) {
  return {x.size(0),
          static_cast<int>(x.size(2)),
          static_cast<int>(x.size(3)),
          static_cast<int>(outputs),
          static_cast<int>(kernel),
          static_cast<int>(padding)};
}

class ConvTransposeFew : public torch::autograd::Function<ConvTransposeFew> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& images, const Tensor& weight,
                        const Tensor& bias, std::int64_t padding) {
    const Tensor x = channels_last(images);
    const Tensor matrix = matrix_of(weight, x);
    const Tensor products = at::mm(as_rows(x), matrix);
    const cuda::Planes planes = planes_of(x, weight.size(1), weight.size(2), padding);
    Tensor y =
        floats_beside(x, {x.size(0), weight.size(1), planes.out_height(), planes.out_width()});
    with_kernel_type(x, [&]<class T>(T) {
      cuda::add_planes(static_cast<const T*>(data_of<T>(products)), planes, bias.data_ptr<float>(),
                       y.data_ptr<float>(), stream_of(x));
    });
    context->save_for_backward({x, matrix});
    context->saved_data["outputs"] = weight.size(1);
    context->saved_data["kernel"] = weight.size(2);
    context->saved_data["padding"] = padding;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list kept = context->get_saved_variables();
    const Tensor& x = kept[0];
    const Tensor& matrix = kept[1];
    const Tensor gradient = gradients[0].contiguous();
    const std::int64_t outputs = context->saved_data["outputs"].toInt();
    const std::int64_t kernel = context->saved_data["kernel"].toInt();
    const cuda::Planes planes =
        planes_of(x, outputs, kernel, context->saved_data["padding"].toInt());
    const Tensor rows = as_rows(x);
    const Tensor spread = at::empty({rows.size(0), matrix.size(1)}, x.options());
    with_kernel_type(x, [&]<class T>(T) {
      cuda::spread_planes(static_cast<const float*>(gradient.data_ptr<float>()), planes,
                          data_of<T>(spread), stream_of(x));
    });
    const Tensor of_x = at::mm(spread, matrix.t())
                            .view({x.size(0), x.size(2), x.size(3), x.size(1)})
                            .permute({0, 3, 1, 2});
    const Tensor of_weight = at::mm(rows.t(), spread)
                                 .to(at::kFloat)
                                 .view({x.size(1), kernel, kernel, outputs})
                                 .permute({0, 3, 1, 2});
    return {of_x, of_weight, gradient.sum({0, 2, 3}), {}};
  }
};

}  // namespace

bool takes(const Tensor& x) {
  return x.is_cuda() && x.numel() > 0 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

Tensor norm_train(NormActivationImpl& norm, const Tensor& x) {
  return NormTrain::apply(x, norm.weight, norm.bias, &norm);
}

Tensor norm_evaluate(const NormActivationImpl& norm, const Tensor& images) {
  const Tensor x = channels_last(images);
  Tensor y = at::empty_like(x);
  with_kernel_type(x, [&]<class T>(T) {
    cuda::norm_evaluate(rows_of<T>(x), norm_of(norm), data_of<T>(y), stream_of(x));
  });
  return y;
}

Tensor conv_transpose_few(const Tensor& x, const Tensor& weight, const Tensor& bias,
                          std::int64_t padding) {
  // Autograd takes no undefined tensors.
  const Tensor some = bias.defined() ? bias : floats_beside(x, {weight.size(1)}).zero_();
  return ConvTransposeFew::apply(x, weight, some, padding);
}

}  // namespace obol::model::gpu
