#include "obol/model/max_pool.h"

#include <cstdint>

#include <ATen/Parallel.h>

#include "obol/model/channels_last.h"
#include "obol/model/rows.h"

namespace obol::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Calls body(pooled pixel, its first pixel in the input), as numbers of rows of channels.
template <class Body>
void for_pixels(at::IntArrayRef sizes, const Body& body) {
  const std::int64_t height = sizes[2];
  const std::int64_t width = sizes[3];
  const std::int64_t half = width / 2;
  // One item is one row of pooled pixels.
  at::parallel_for(0, sizes[0] * (height / 2), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t image = item / (height / 2);
      const std::int64_t y = 2 * (item % (height / 2));
      for (std::int64_t x = 0; x < half; ++x)
        body(item * half + x, (image * height + y) * width + 2 * x);
    }
  });
}

class MaxPoolOnCpu : public torch::autograd::Function<MaxPoolOnCpu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& input) {
    const Tensor x = channels_last(input);
    const std::int64_t channels = x.size(1);
    const std::int64_t width = x.size(3);
    Tensor y = at::empty({x.size(0), channels, x.size(2) / 2, width / 2}, x.options(),
                         at::MemoryFormat::ChannelsLast);
    Tensor which = at::empty({y.numel()}, at::kByte);
    with_type(x, [&]<class T>(T) {
      const auto* from = x.data_ptr<T>();
      auto* to = y.data_ptr<T>();
      auto* place = which.data_ptr<std::uint8_t>();
      for_pixels(x.sizes(), [&](std::int64_t pooled, std::int64_t pixel) {
        const T* first = from + pixel * channels;
        const T* second = first + width * channels;
        const T* four[] = {first, first + channels, second, second + channels};
        largest_of_four(four, channels, to + pooled * channels, place + pooled * channels);
      });
    });
    context->save_for_backward({which});
    context->saved_data["sizes"] = x.sizes().vec();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor which = context->get_saved_variables()[0];
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const std::int64_t channels = sizes[1];
    const std::int64_t width = sizes[3];
    const Tensor gradient = channels_last(gradients[0]);
    const bool is_even = sizes[2] % 2 == 0 && width % 2 == 0;
    Tensor of_x = at::empty(sizes, gradient.options(), at::MemoryFormat::ChannelsLast);
    if (!is_even) of_x.zero_();
    with_type(gradient, [&]<class T>(T) {
      const auto* from = gradient.data_ptr<T>();
      const auto* place = which.data_ptr<std::uint8_t>();
      auto* to = of_x.data_ptr<T>();
      for_pixels(sizes, [&](std::int64_t pooled, std::int64_t pixel) {
        for (std::uint8_t k = 0; k < 4; ++k)
          gradient_of_one(from + pooled * channels, place + pooled * channels, k, channels,
                          to + (pixel + (k / 2) * width + k % 2) * channels);
      });
    });
    return {of_x};
  }
};

}  // namespace

Tensor max_pool_relu(const Tensor& x) {
  if (x.is_cpu() && x.numel() > 0) return MaxPoolOnCpu::apply(x);
  return at::relu(at::max_pool2d(x, 2));
}

}  // namespace obol::model
