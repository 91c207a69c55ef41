// Group normalisation of each record's feature maps (Wu and He 2018), without parameters: a public
// map to rows whose length is at most 1.
//
//   Tensor maps = scattering(images);                                    // [n, 81, 7, 7]
//   group_normalized(maps, groups_for(81))                              // [n, 3969],
//   differentiable group_normalized_records(scattering.of_records(images), groups_for(81))  // for
//   barriers
//
// Each group of channels of a record loses its mean m and is divided by sqrt(v + 1e-5), v its
// variance. The row of all of them is divided by the square root of its dimension d: its squared
// length is the mean over the groups of v / (v + 1e-5).
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace obol::features {

// From public numbers alone: groups of three channels where three divides them, else of the next
// larger number that does.
std::int64_t groups_for(std::int64_t channels);

// Of [n, channels, h, w], to [n, channels * h * w].
torch::Tensor group_normalized(const torch::Tensor& maps, std::int64_t groups);

// The same without a gradient, for a barrier that asks for rows which depend on their own record to
// the last bit. Computed on the CPU in double, handed back in float where the maps are.
torch::Tensor group_normalized_records(const torch::Tensor& maps, std::int64_t groups);

}  // namespace obol::features
