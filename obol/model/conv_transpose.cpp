#include "obol/model/conv_transpose.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Parallel.h>

#include "obol/model/channels_last.h"
#include "obol/model/rows.h"

namespace obol::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sizes of one call, and how pixels of the result meet pixels of the input: the input pixel (y, x)
// contributes through tap (i, j) of the kernel to pixel (y stride - padding + i, ...).
struct Geometry {
  Geometry(const Tensor& x, const Tensor& weight, std::int64_t by_stride, std::int64_t by_padding)
      : images(x.size(0)),
        in(x.size(1)),
        height(x.size(2)),
        width(x.size(3)),
        out(weight.size(1)),
        kernel(weight.size(2)),
        stride(by_stride),
        padding(by_padding),
        out_height((height - 1) * stride + kernel - 2 * padding),
        out_width((width - 1) * stride + kernel - 2 * padding) {}

  [[nodiscard]] std::int64_t pixels() const { return height * width; }
  [[nodiscard]] std::int64_t out_pixels() const { return out_height * out_width; }
  [[nodiscard]] std::int64_t taps() const { return kernel * kernel * out; }

  // Images whose products are computed at once: enough of them for an efficient product, few
  // enough that what it writes is still in the cache when it is read.
  [[nodiscard]] std::int64_t chunk() const {
    constexpr std::int64_t kValues = 1 << 18;
    return std::max<std::int64_t>(1, kValues / (pixels() * taps()));
  }

  std::int64_t images, in, height, width, out, kernel, stride, padding, out_height, out_width;
};

// [in, out, kernel, kernel] -> [in, kernel kernel out]
Tensor as_matrix(const Tensor& weight) {
  return channels_last(weight).permute({0, 2, 3, 1}).reshape({weight.size(0), -1});
}

// The chunks, in as many parts as there are threads: calls body(part, first image, images).
template <class Body>
void for_chunks(const Geometry& size, std::int64_t parts, const Body& body) {
  const std::int64_t chunk = size.chunk();
  const std::int64_t chunks = (size.images + chunk - 1) / chunk;
  at::parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;  // a worker thread does not inherit it
    for (std::int64_t part = begin; part < end; ++part)
      for (std::int64_t k = chunks * part / parts; k < chunks * (part + 1) / parts; ++k)
        body(part, k * chunk, std::min(chunk, size.images - k * chunk));
  });
}

// Along one axis: for each pixel of the result the pairs (input pixel, tap) that reach it, as
// offsets into the columns.
std::vector<std::vector<std::int64_t>> meetings(const Geometry& size, std::int64_t length,
                                                std::int64_t pixel, std::int64_t tap) {
  std::vector<std::vector<std::int64_t>> found(
      static_cast<std::size_t>((length - 1) * size.stride + size.kernel));
  for (std::int64_t k = 0; k < length; ++k)
    for (std::int64_t i = 0; i < size.kernel; ++i)
      found[k * size.stride + i].push_back(k * pixel + i * tap);
  found.erase(found.begin(), found.begin() + size.padding);
  found.resize(found.size() - size.padding);
  return found;
}

// Gathers what the taps of one image contribute, columns [h w, kernel kernel out], into its result
// [out_height out_width, out].
template <class T>
class Gather {
 public:
  Gather(const Geometry& size, const T* bias)
      : size_(size),
        bias_(bias),
        zeros_(size.out),
        down_(meetings(size, size.height, size.width * size.taps(), size.kernel * size.out)),
        across_(meetings(size, size.width, size.taps(), size.out)) {}

  void operator()(const T* columns, T* result) const {
    for (const auto& down : down_)
      for (const auto& across : across_) {
        pixel(columns, down, across, result);
        result += size_.out;
      }
  }

 private:
  void pixel(const T* columns, const std::vector<std::int64_t>& down,
             const std::vector<std::int64_t>& across, T* result) const {
    std::copy_n(bias_, size_.out, result);
    const T* rows[4];
    int count = 0;
    for (const std::int64_t y : down)
      for (const std::int64_t x : across) {
        rows[count++] = columns + y + x;
        if (count < 4) continue;
        add_four(rows, size_.out, result);
        count = 0;
      }
    if (count == 0) return;
    std::fill(rows + count, rows + 4, zeros_.data());
    add_four(rows, size_.out, result);
  }

  const Geometry& size_;
  const T* bias_;
  std::vector<T> zeros_;
  std::vector<std::vector<std::int64_t>> down_;
  std::vector<std::vector<std::int64_t>> across_;
};

// The reverse: what each tap of each input pixel touched.
template <class T>
void scatter(const Geometry& size, const T* result, T* columns) {
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      const std::int64_t ox = x * size.stride - size.padding;
      const std::int64_t first = std::clamp<std::int64_t>(-ox, 0, size.kernel);
      const std::int64_t last = std::clamp<std::int64_t>(size.out_width - ox, first, size.kernel);
      for (std::int64_t i = 0; i < size.kernel; ++i, columns += size.kernel * size.out) {
        const std::int64_t oy = y * size.stride - size.padding + i;
        if (oy < 0 || oy >= size.out_height) {
          std::fill_n(columns, size.kernel * size.out, T{0});
          continue;
        }
        std::fill_n(columns, first * size.out, T{0});
        std::copy_n(result + (oy * size.out_width + ox + first) * size.out,
                    (last - first) * size.out, columns + first * size.out);
        std::fill_n(columns + last * size.out, (size.kernel - last) * size.out, T{0});
      }
    }
  }
}

template <class T>
void forward_on_cpu(const Geometry& size, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& result) {
  const Gather<T> gather(size, bias.data_ptr<T>());
  for_chunks(size, at::get_num_threads(),
             [&](std::int64_t, std::int64_t first, std::int64_t count) {
               const Tensor columns =
                   at::mm(x.narrow(0, first * size.pixels(), count * size.pixels()), weight);
               for (std::int64_t k = 0; k < count; ++k)
                 gather(columns.data_ptr<T>() + k * size.pixels() * size.taps(),
                        result.data_ptr<T>() + (first + k) * size.out_pixels() * size.out);
             });
}

// Fills `of_x` if defined and returns the gradient of the weight.
template <class T>
Tensor backward_on_cpu(const Geometry& size, const Tensor& x, const Tensor& weight,
                       const Tensor& gradient, const Tensor& of_x) {
  const std::int64_t parts = at::get_num_threads();
  Tensor sums = at::zeros({parts, size.in, size.taps()}, x.options());
  for_chunks(size, parts, [&](std::int64_t which, std::int64_t first, std::int64_t count) {
    const std::int64_t rows = count * size.pixels();
    const Tensor columns = at::empty({rows, size.taps()}, x.options());
    for (std::int64_t k = 0; k < count; ++k)
      scatter(size, gradient.data_ptr<T>() + (first + k) * size.out_pixels() * size.out,
              columns.data_ptr<T>() + k * size.pixels() * size.taps());
    if (of_x.defined()) {
      Tensor part = of_x.narrow(0, first * size.pixels(), rows);
      at::mm_out(part, columns, weight.t());
    }
    sums[which].addmm_(x.narrow(0, first * size.pixels(), rows).t(), columns);
  });
  return sums.sum(0);
}

class OnCpu : public torch::autograd::Function<OnCpu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, std::int64_t stride, std::int64_t padding) {
    const Geometry size(x, weight, stride, padding);
    const Tensor input = channels_last(x);
    const Tensor matrix = as_matrix(weight);
    Tensor result = at::empty({size.images, size.out, size.out_height, size.out_width}, x.options(),
                              at::MemoryFormat::ChannelsLast);
    with_type(x,
              [&]<class T>(T) { forward_on_cpu<T>(size, as_rows(input), matrix, bias, result); });
    context->save_for_backward({input, weight});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor& weight = saved[1];
    const Geometry size(x, weight, context->saved_data["stride"].toInt(),
                        context->saved_data["padding"].toInt());
    const Tensor gradient = channels_last(gradients[0]);
    const bool is_of_x_wanted = context->needs_input_grad(0);
    const Tensor of_x = is_of_x_wanted
                            ? at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast)
                            : Tensor();
    const Tensor of_weight = with_type(x, [&]<class T>(T) {
      return backward_on_cpu<T>(size, as_rows(x), as_matrix(weight), gradient,
                                is_of_x_wanted ? as_rows(of_x) : Tensor());
    });
    const Tensor of_bias = context->needs_input_grad(2) ? as_rows(gradient).sum(0) : Tensor();
    return {of_x,
            of_weight.view({size.in, size.kernel, size.kernel, size.out}).permute({0, 3, 1, 2}),
            of_bias,
            {},
            {}};
  }
};

// Images of one pixel: one product, which the GPU's convolutions do not see.
Tensor of_single_pixels(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor result = at::mm(x.flatten(1), as_matrix(weight))
                            .view({x.size(0), weight.size(2), weight.size(3), weight.size(1)})
                            .permute({0, 3, 1, 2});
  return bias.defined() ? result + bias.view({-1, 1, 1}) : result;
}

}  // namespace

Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                      std::int64_t stride, std::int64_t padding) {
  const bool is_ours = x.is_cpu() && weight.size(2) == weight.size(3) &&
                       (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
  if (is_ours) {
    const Tensor start = bias.defined() ? bias : at::zeros({weight.size(1)}, x.options());
    return OnCpu::apply(x, weight, start, stride, padding);
  }
  const bool is_product = x.size(2) == 1 && x.size(3) == 1 && padding == 0;
  return is_product ? of_single_pixels(x, weight, bias)
                    : at::conv_transpose2d(x, weight, bias, stride, padding);
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
