#include "obol/barrier/sum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

// clip_norm is between 2^26 and 2^27 units.
constexpr int kUnitBits = 26;
constexpr int kMantissaBits = 53;
constexpr std::int64_t kMostDimension = std::int64_t{1} << 30;
// What is smaller adds nothing, what is larger counts as not finite: all that follows stays within
// the normal numbers.
constexpr double kSmallest = 0x1p-300;
constexpr double kLargest = 0x1p500;
constexpr double kSmallestClip = 0x1p-200;
constexpr double kLargestClip = 0x1p200;
// Numbers that are computed with at once.
constexpr std::int64_t kBlockNumbers = std::int64_t{1} << 20;

// 2^-k for positive doubles x with 2^(k-1) <= x < 2^k: exact, from the bits of their exponents.
Tensor inverse_power_above(const Tensor& positive) {
  constexpr int kFraction = 52;
  constexpr std::int64_t kTwiceBias = 2045;  // 2 * 1023 - 1
  const Tensor exponents = positive.contiguous().view(torch::kLong).bitwise_right_shift(kFraction);
  return (kTwiceBias - exponents).bitwise_left_shift(kFraction).view(torch::kDouble);
}

void require_shape(bool is_so, const char* what, const Tensor& given) {
  // A fact of the program, not of the data.
  if (!is_so)
    throw Error(fmt::format("contributions must have {}, but have {} dimensions and {} numbers",
                            what, given.dim(), given.numel()));
}

}  // namespace

SumGrid sum_grid(double clip_norm, std::int64_t dimension) {
  if (!(clip_norm >= kSmallestClip && clip_norm <= kLargestClip))
    throw InvalidArgument(violation("clip_norm", "between 2^-200 and 2^200", clip_norm));
  if (dimension < 1 || dimension > kMostDimension)
    throw InvalidArgument(violation("the dimension of a sum", "between 1 and 2^30", dimension));
  int dimension_bits = 0;
  while ((std::int64_t{1} << dimension_bits) < dimension) ++dimension_bits;
  return {.unit = std::ldexp(1.0, std::ilogb(clip_norm) - kUnitBits),
          .row_bits = (kMantissaBits - dimension_bits) / 2,
          .limit = clip_norm * (1 - 0x1p-30)};
}

ExactSum::ExactSum(double clip_norm, std::int64_t groups, std::int64_t dimension)
    : grid_(sum_grid(clip_norm, dimension)), groups_(groups), dimension_(dimension) {
  if (groups < 1) throw InvalidArgument(violation("the groups of a sum", "at least 1", groups));
}

// docs/guarantees/barriers.md refers to the steps. Every operation is exact or correctly rounded,
// and reductions are exact: the result does not depend on the order, nor on what stands beside.
Tensor ExactSum::units_of(const Contributions& some) const {
  // 1. What takes part.
  const Tensor largest = some.rows.abs().amax(1, true).to(torch::kDouble);  // NaN stays NaN
  Tensor takes_part = largest.ge(kSmallest).logical_and_(largest.lt(kLargest));
  if (some.present.defined()) takes_part.logical_and_(some.present.unsqueeze(1).ne(0));
  if (some.groups.defined())
    takes_part.logical_and_(some.groups.ge(0).logical_and_(some.groups.lt(groups_)).unsqueeze(1));
  const Tensor absent = takes_part.logical_not();
  const Tensor rows = some.rows.to(torch::kDouble).masked_fill(absent, 0);
  // 2. At least the length of each row: that of whole numbers is exact.
  const Tensor to_whole = inverse_power_above(largest.masked_fill(absent, 1))
                              .mul_(std::ldexp(1.0, grid_.row_bits));  // powers of two
  const Tensor squares = rows.mul(to_whole).round_().square_().sum(1, true);
  const double rounding = std::sqrt(static_cast<double>(dimension_)) / 2 * (1 + 0x1p-40);
  const Tensor length = squares.sqrt_().add_(rounding).div_(to_whole);
  // 3. Clipped, in units, rounded towards zero.
  const Tensor scale = length.reciprocal_().mul_(grid_.limit).clamp_max_(1).div_(grid_.unit);
  return rows.mul(scale).trunc_().to(torch::kLong);
}

void ExactSum::add_block(const Contributions& some) {
  const Tensor units = units_of(some);
  if (some.groups.defined())
    units_.index_add_(0, some.groups.clamp(0, groups_ - 1), units);
  else
    units_[0].add_(units.sum(0));
}

void ExactSum::add(const Contributions& some) {
  const torch::NoGradGuard no_grad;
  require_shape(some.rows.dim() == 2 && some.rows.size(1) == dimension_, "one row a record",
                some.rows);
  if (!units_.defined())
    units_ = torch::zeros({groups_, dimension_}, some.rows.options().dtype(torch::kLong));
  const std::int64_t count = some.rows.size(0);
  const auto of_each = [&](const Tensor& given, const char* what) {
    if (given.defined()) require_shape(given.dim() == 1 && given.size(0) == count, what, given);
    return given.defined() ? given.to(some.rows.device()) : given;
  };
  const Tensor groups = of_each(some.groups, "one group a record");
  const Tensor present = of_each(some.present, "one presence a record");
  const std::int64_t at_once = std::max<std::int64_t>(1, kBlockNumbers / dimension_);
  for (std::int64_t from = 0; from < count; from += at_once) {
    const std::int64_t now = std::min(at_once, count - from);
    const auto part = [&](const Tensor& all) {
      return all.defined() ? all.narrow(0, from, now) : all;
    };
    add_block({part(some.rows), part(groups), part(present)});
  }
}

void ExactSum::add(const ExactSum& other) {
  if (grid_.limit != other.grid_.limit || groups_ != other.groups_ ||
      dimension_ != other.dimension_)
    throw Error("sums that are added must have one clip_norm and one shape");
  if (!other.units_.defined()) return;
  units_ = units_.defined() ? units_ + other.units_.to(units_.device()) : other.units_.clone();
}

Tensor ExactSum::value() const {
  if (!units_.defined()) return torch::zeros({groups_, dimension_}, torch::kDouble);
  return units_.to(torch::kDouble).clamp_(-kMostUnits, kMostUnits).mul_(grid_.unit);
}

SumMechanism::SumMechanism(Door& door, const BarrierOptions& options, std::string purpose)
    : door_(door), options_(options), purpose_(std::move(purpose)) {
  check(options);
}

Tensor SumMechanism::release_sum(const Private<Tensor>& sum) {
  return release(
      door_,
      {.purpose = purpose_,
       .event = privacy::Gaussian{.noise_multiplier = options_.noise_multiplier, .count = 1},
       .bound = {.sensitivity = options_.clip_norm},
       .times = Times::kOnce},
      sum);
}

Tensor SumMechanism::release_sum(const Drawn<Tensor>& sum) {
  return release(door_,
                 {.purpose = purpose_,
                  .event = privacy::SampledGaussian{.sampling_rate = sum.rate,
                                                    .noise_multiplier = options_.noise_multiplier,
                                                    .count = 1},
                  .bound = {.sensitivity = options_.clip_norm}},
                 sum.value);
}

SumBarrier::SumBarrier(Door& door, const SumOptions& options)
    : SumMechanism(door,
                   {.clip_norm = options.clip_norm, .noise_multiplier = options.noise_multiplier},
                   options.purpose),
      groups_(options.groups),
      dimension_(options.dimension) {
  static_cast<void>(nothing());  // refuses numbers that cannot be meant
  if (options.purpose.empty())
    throw InvalidArgument(violation("the purpose of a sum", "given", "empty"));
}

ExactSum SumBarrier::nothing() const { return {options().clip_norm, groups_, dimension_}; }

Tensor SumBarrier::sum_of(const Contributions& contributions) const {
  ExactSum sum = nothing();
  sum.add(contributions);
  return sum.value();
}

Tensor SumBarrier::release(const PrivateRecords& records, const ContributionsOf& contributions_of,
                           std::int64_t at_once) {
  const Private<ExactSum> sum = records.fold(
      nothing(), at_once,
      [&](ExactSum& so_far, const Sample& some) { so_far.add(contributions_of(some)); });
  return release_sum(sum.map([](const ExactSum& whole) { return whole.value(); }));
}

Tensor SumBarrier::release(const Private<Contributions>& contributions) {
  return release_sum(contributions.map([&](const Contributions& all) { return sum_of(all); }));
}

Tensor SumBarrier::release(const Drawn<Contributions>& contributions) {
  return release_sum(contributions.map([&](const Contributions& all) { return sum_of(all); }));
}

}  // namespace obol::barrier
