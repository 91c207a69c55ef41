#include "obol/evaluate/roc.h"

#include <cmath>
#include <limits>
#include <tuple>

namespace obol::evaluate {
namespace {

using torch::Tensor;

// log(p / (1 - p)) of the probability p of one class: ordered as p is, but told apart where many
// probabilities round to 1.
Tensor log_odds(const Tensor& logits, std::int64_t label) {
  const Tensor others = torch::cat({logits.slice(1, 0, label), logits.slice(1, label + 1)}, 1);
  return logits.select(1, label) - others.logsumexp(1);
}

}  // namespace

double area_under_roc(const Tensor& scores, const Tensor& is_positive) {
  const Tensor positive = scores.masked_select(is_positive).contiguous();
  const Tensor negative = std::get<0>(scores.masked_select(is_positive.logical_not()).sort());
  if (positive.numel() == 0 || negative.numel() == 0)
    return std::numeric_limits<double>::quiet_NaN();
  // For each positive score, counts the negative ones below it and those not above it.
  const Tensor below = torch::searchsorted(negative, positive).to(torch::kDouble);
  const Tensor not_above = torch::searchsorted(negative, positive, false, true).to(torch::kDouble);
  return ((below + not_above) / 2).mean().item<double>() / static_cast<double>(negative.numel());
}

double macro_area_under_roc(const Tensor& logits, const Tensor& labels) {
  const Tensor precise = logits.to(torch::kDouble);
  double sum = 0;
  double count = 0;
  for (std::int64_t label = 0; label < logits.size(1); ++label) {
    const double area = area_under_roc(log_odds(precise, label), labels.eq(label));
    if (std::isnan(area)) continue;
    sum += area;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace obol::evaluate
