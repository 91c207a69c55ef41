// Sums of products in bfloat16, the upper half of a float, for processors that compute them two at
// a time. What is summed are pixels of images whose channels lie side by side, as a convolution
// needs them; sums are floats.
#pragma once

#include <cstdint>

namespace obol::model {

using Bfloat = std::uint16_t;

// Whether this processor has them; only then may the others be called.
bool has_bfloat_products() noexcept;

// What a pixel is made of: at each tap `channels` numbers, `offsets` away from where it stands.
struct Taps {
  const std::int64_t* offsets;
  std::int64_t count;
  std::int64_t channels;  // a multiple of kBfloatChannels
};
constexpr std::int64_t kBfloatChannels = 32;

// Pixels are computed in groups of this many.
constexpr std::int64_t kBfloatPixels = 6;

struct BfloatGroup {
  const Bfloat* from;
  const std::int64_t* from_offsets;  // [kBfloatPixels]
  Bfloat* to;
  const std::int64_t* to_offsets;  // [kBfloatPixels]
};

// to[c] = r(shift[c] + sum over taps and channels k of weights[k][c] from[k]) for c below
// `columns`, which is 32 or 64, with r(v) = v above zero and slope v below. Weights are [taps,
// channels / 2, columns, 2].
void add_products(const Taps& taps, const BfloatGroup& group, const Bfloat* weights,
                  std::int64_t columns, const float* shift, float slope);

// to[i to_step] = shift + sum over taps and channels k of weights[k] from[i channels + k], for i
// below `pixels`. Weights are [taps, channels].
void add_dots(const Taps& taps, const Bfloat* from, std::int64_t pixels, const Bfloat* weights,
              float shift, float* to, std::int64_t to_step);

}  // namespace obol::model
