// A sum of outer products, one for each private record of a sample, with noise: what the clipped
// gradients of a linear model add up to, without writing any of them out.
//
//   OuterBarrier barrier(door, {.clip_norm = 0.1,
//                               .noise_multiplier = 2,
//                               .left = classes,
//                               .right = features,
//                               .purpose = "teacher"});
//   torch::Tensor sum = barrier.release(drawn.map([&](const Sample& sample) {
//     return OuterProducts{.left = residuals(sample), .right = sample.points};
//   }));                                                                   // [left, right]
//
// Guarantee: the outer product of a record's two rows has the length |left| |right|. The left row
// is scaled down until that is at most clip_norm, both rows are rounded to public grids, and the
// sum of the products is exact, so that adding or removing a record moves it by at most clip_norm,
// whatever the other records are. One event SampledGaussian(rate, noise_multiplier). The proof, and
// what it asks of the rows (each depends on its own record alone, to the last bit), is in
// docs/guarantees/barriers.md.
#pragma once

#include <cstdint>
#include <string>

#include <torch/torch.h>

#include "obol/barrier/records.h"
#include "obol/barrier/sum.h"

namespace obol::barrier {

// Two rows for each of some records. Numbers are clamped to [-1, 1]; a record with a number that is
// not finite adds nothing.
struct OuterProducts {
  torch::Tensor left;          // [m, k]
  torch::Tensor right;         // [m, d]
  torch::Tensor present = {};  // [m]: 0 where no record is (on a GPU); undefined: all are there
};

// Bits below 1 of the numbers that are multiplied. They follow from public numbers alone.
struct OuterGrid {
  int left_bits;
  int right_bits;
};
// InvalidArgument where a row is longer than 2^20.
OuterGrid outer_grid(std::int64_t right_dimension);

// A sum of so many outer products is exact.
inline constexpr std::int64_t kMostOuterProducts = std::int64_t{1} << 25;

// The right rows as the sum has them: what is computed from these numbers is computed from what is
// released.
torch::Tensor on_outer_grid(const torch::Tensor& right);

// The exact sum [k, d] of outer products, each clipped and rounded by itself. Computes with
// whatever it is given: it is the barrier that makes it private.
torch::Tensor sum_of_outer_products(const OuterProducts& products, double clip_norm);

struct OuterOptions {
  double clip_norm;
  double noise_multiplier;
  std::int64_t left;
  std::int64_t right;
  std::string purpose;  // in the ledger
};

class OuterBarrier : public SumMechanism {
 public:
  OuterBarrier(Door& door, const OuterOptions& options);
  torch::Tensor release(const Drawn<OuterProducts>& products);

 private:
  std::int64_t left_;
  std::int64_t right_;
};

}  // namespace obol::barrier
