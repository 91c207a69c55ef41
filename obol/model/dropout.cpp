#include "obol/model/dropout.h"

#include <algorithm>
#include <cstdint>

#include <ATen/Parallel.h>

#include "obol/base/random.h"
#include "obol/model/channels_last.h"
#include "obol/model/rows.h"

namespace obol::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kBits = 32;  // of a word that are used
constexpr std::int64_t kWorthAThread = 1024;

Tensor random_words(std::int64_t numbers) {
  SeededBits bits(static_cast<std::uint64_t>(
      torch::randint(std::numeric_limits<std::int64_t>::max(), {1}, torch::kLong)
          .item<std::int64_t>()));
  Tensor words = torch::empty({(numbers + kBits - 1) / kBits}, torch::kInt);
  auto* word = words.data_ptr<std::int32_t>();
  for (std::int64_t k = 0; k < words.numel(); k += 2) {
    const std::uint64_t both = bits();
    word[k] = static_cast<std::int32_t>(both & 0xffffffffU);
    if (k + 1 < words.numel()) word[k + 1] = static_cast<std::int32_t>(both >> kBits);
  }
  return words;
}

// In the order in which the numbers lie in memory.
Tensor kept(const Tensor& x, const Tensor& words) {
  Tensor result = torch::empty_like(x);
  with_type(x, [&]<class T>(T) {
    const auto* word = words.data_ptr<std::int32_t>();
    const T* from = x.data_ptr<T>();
    T* to = result.data_ptr<T>();
    at::parallel_for(0, words.numel(), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        keep_by_bits(word[k], from + k * kBits, std::min(kBits, x.numel() - k * kBits),
                     to + k * kBits);
    });
  });
  return result;
}

class DropHalf : public torch::autograd::Function<DropHalf> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    const auto format = x.suggest_memory_format();
    const Tensor words = random_words(x.numel());
    context->save_for_backward({words});
    context->saved_data["format"] = static_cast<std::int64_t>(format);
    return kept(x.contiguous(format), words);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto format = static_cast<at::MemoryFormat>(context->saved_data["format"].toInt());
    return {kept(gradients[0].contiguous(format), context->get_saved_variables()[0])};
  }
};

}  // namespace

Tensor drop_half(const Tensor& x) {
  const bool is_ours =
      x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
  return is_ours ? DropHalf::apply(x) : at::dropout(x, 0.5, true);
}

}  // namespace obol::model
