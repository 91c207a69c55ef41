// Random frequencies that are public: the same in every run, on a grid on which products with
// inputs on theirs are exact in double. Internal to the features.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

namespace obol::features {

// Of inputs up to 1, after the binary point.
inline constexpr int kInputBits = 16;

// The smallest power of two that is at least so much.
int bits_above(double number);

// In double, rounded to multiples of 2^-bits.
torch::Tensor on_grid(const torch::Tensor& values, int bits);

// [inputs, count], double, on the CPU: normal numbers, with each of the standard deviations for an
// equal share of the columns. InvalidArgument unless these are finite and positive, and divide
// `count`.
torch::Tensor draw_frequencies(std::int64_t inputs, std::int64_t count,
                               const std::vector<double>& frequencies);

}  // namespace obol::features
