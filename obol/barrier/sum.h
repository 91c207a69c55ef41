// The general barrier: a sum of what each private record adds, with noise.
//
//   SumBarrier barrier(door, {.clip_norm = 1,
//                             .noise_multiplier = 20,
//                             .groups = records.classes(),
//                             .dimension = 500,
//                             .purpose = "mean embedding"});
//   torch::Tensor sums = barrier.release(records, [&](const Sample& some) {  // all records, once
//     return Contributions{.rows = embed(some.points), .groups = some.labels()};
//   });                                                                      // [classes, 500]
//
//   barrier.release(records.draw(0.1, bits).map([&](const Sample& sample) {  // of a sample
//     return Contributions{.rows = gradients(sample.points)};
//   }));
//
// Guarantee: what a record adds is scaled down to clip_norm (l2), rounded to a public grid, and
// summed exactly, so that adding or removing it moves the sum by at most clip_norm, whatever the
// other records are and in whatever order they come. One event Gaussian(noise_multiplier), of a
// sample SampledGaussian(rate, noise_multiplier), is in the ledger before the sum is opened.
// docs/guarantees/barriers.md has the proof, and what it asks of the rows: each must depend on its
// own record alone, to the last bit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <torch/torch.h>

#include "obol/barrier/mechanism.h"
#include "obol/barrier/records.h"

namespace obol::barrier {

// One row for each of some records.
struct Contributions {
  torch::Tensor rows;          // [m, dimension], floats or doubles
  torch::Tensor groups = {};   // [m] of int64: the row of the sum that each adds to; undefined: 0
  torch::Tensor present = {};  // [m]: 0 where no record is (on a GPU); undefined: all are there
};

// The grid that sums lie on; it follows from public numbers alone.
struct SumGrid {
  double unit;   // everything that is added is a whole multiple of it
  int row_bits;  // coordinates have so many bits below the largest of their row, for its norm
  double limit;  // of the length of a row, a little below clip_norm
};
SumGrid sum_grid(double clip_norm, std::int64_t dimension);

// Sums are released up to so many units, so that a double holds them to the last bit.
inline constexpr double kMostUnits = 0x1p53;

// The exact sum of contributions, each clipped and rounded by itself. One with a number that is not
// finite (or beyond 1e150), or of a group that is none, adds nothing. Computes with whatever it is
// given: it is the barrier that makes it private.
class ExactSum {
 public:
  ExactSum(double clip_norm, std::int64_t groups, std::int64_t dimension);
  ~ExactSum() = default;
  ExactSum(ExactSum&&) = default;
  ExactSum& operator=(ExactSum&&) = default;
  ExactSum(const ExactSum&) = delete;  // copies of tensors share their numbers
  ExactSum& operator=(const ExactSum&) = delete;

  void add(const Contributions& some);
  void add(const ExactSum& other);  // of other records, with the same numbers

  [[nodiscard]] torch::Tensor value() const;  // [groups, dimension], double

 private:
  // [m, dimension] of int64.
  [[nodiscard]] torch::Tensor units_of(const Contributions& some) const;
  void add_block(const Contributions& some);

  SumGrid grid_;
  std::int64_t groups_;
  std::int64_t dimension_;
  torch::Tensor units_;  // [groups, dimension] of int64, where the first rows were
};

// What releases a sum that is exact, of contributions that are clipped already: barriers with
// kernels of their own derive from it.
class SumMechanism : public Mechanism {
 protected:
  // `door` must outlive this.
  SumMechanism(Door& door, const BarrierOptions& options, std::string purpose);

  // Of all records, once: an event Gaussian.
  torch::Tensor release_sum(const Private<torch::Tensor>& sum);
  // Of a sample: an event SampledGaussian.
  torch::Tensor release_sum(const Drawn<torch::Tensor>& sum);

  [[nodiscard]] const BarrierOptions& options() const noexcept { return options_; }

 private:
  Door& door_;
  BarrierOptions options_;
  std::string purpose_;
};

struct SumOptions {
  double clip_norm;
  double noise_multiplier;
  std::int64_t groups = 1;  // rows of the sum; a record adds to one of them
  std::int64_t dimension;
  std::string purpose;  // in the ledger
};

class SumBarrier : public SumMechanism {
 public:
  SumBarrier(Door& door, const SumOptions& options);

  using ContributionsOf = std::function<Contributions(const Sample& some)>;

  // All of them, once. The function sees `at_once` records at a time. One by one, a row depends on
  // its own record alone whatever the function does; more are faster.
  torch::Tensor release(const PrivateRecords& records, const ContributionsOf& contributions_of,
                        std::int64_t at_once = 1);
  torch::Tensor release(const Private<Contributions>& contributions);
  torch::Tensor release(const Drawn<Contributions>& contributions);

 private:
  [[nodiscard]] ExactSum nothing() const;
  [[nodiscard]] torch::Tensor sum_of(const Contributions& contributions) const;

  std::int64_t groups_;
  std::int64_t dimension_;
};

}  // namespace obol::barrier
