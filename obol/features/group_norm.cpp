#include "obol/features/group_norm.h"

#include <cmath>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::features {
namespace {

using torch::Tensor;

constexpr double kLeastVariance = 1e-5;  // is added to it

void check_groups(const Tensor& maps, std::int64_t groups) {
  if (maps.dim() != 4)
    throw InvalidArgument(violation("Feature maps", "of four dimensions",
                                    fmt::format("[{}]", fmt::join(maps.sizes(), ", "))));
  if (groups < 1 || maps.size(1) % groups != 0)
    throw InvalidArgument(violation("The number of groups",
                                    fmt::format("a divisor of {} channels", maps.size(1)), groups));
}

double scale_of(const Tensor& maps) {
  return 1 / std::sqrt(static_cast<double>(maps.size(1) * maps.size(2) * maps.size(3)));
}

// In the order in which the numbers lie, so that every record is treated alike.
void normalize(const float* from, std::int64_t count, double scale, float* to) {
  double sum = 0;
  for (std::int64_t k = 0; k < count; ++k) sum += from[k];
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (std::int64_t k = 0; k < count; ++k) squares += (from[k] - mean) * (from[k] - mean);
  const double variance = squares / static_cast<double>(count);
  const double factor = scale / std::sqrt(variance + kLeastVariance);
  for (std::int64_t k = 0; k < count; ++k) to[k] = static_cast<float>((from[k] - mean) * factor);
}

}  // namespace

std::int64_t groups_for(std::int64_t channels) {
  std::int64_t each = 3;
  while (each < channels && channels % each != 0) ++each;
  return each < channels ? channels / each : 1;
}

Tensor group_normalized(const Tensor& maps, std::int64_t groups) {
  check_groups(maps, groups);
  // The last division rides along as the weights of channels.
  const Tensor weights = torch::full({maps.size(1)}, scale_of(maps), maps.options());
  return torch::group_norm(maps, groups, weights, {}, kLeastVariance).flatten(1);
}

Tensor group_normalized_records(const Tensor& maps, std::int64_t groups) {
  check_groups(maps, groups);
  const torch::NoGradGuard no_grad;
  const Tensor all = maps.to(torch::kCPU, torch::kFloat).contiguous();
  Tensor rows = torch::empty({all.size(0), all.size(1) * all.size(2) * all.size(3)});
  const std::int64_t each = rows.size(1) / groups;
  const double scale = scale_of(all);
  const auto* from = all.data_ptr<float>();
  auto* to = rows.data_ptr<float>();
  constexpr std::int64_t kWorthAThread = 64;
  at::parallel_for(0, all.size(0) * groups, kWorthAThread,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t group = begin; group < end; ++group)
                       normalize(from + group * each, each, scale, to + group * each);
                   });
  return rows.to(maps.device());
}

}  // namespace obol::features
