#include "obol/evaluate/junk.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "obol/transport/tensor/cost.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kPartOfRows = 500;
constexpr std::int64_t kOneIn = 1000;  // real images lie beyond the limit
constexpr double kSmallest = 1e-12;    // limit, where all real images of a class are the same

enum class Among { kOthers, kThemselves };  // the points are not, or are, the references

// The distance of each point to the nearest reference, [n]; among themselves, to the nearest other.
Tensor nearest(const Tensor& points, const Tensor& references, Among among) {
  const std::int64_t rank = among == Among::kThemselves ? 2 : 1;
  std::vector<Tensor> distances;
  for (const Tensor& part : points.split(kPartOfRows))
    distances.push_back(
        std::get<0>(transport::cost_matrix(part, references, {}).kthvalue(rank, 1)));
  return torch::cat(distances).to(torch::kDouble).sqrt();
}

// The smallest value that at most one in a thousand exceeds; the largest of fewer.
double limit_of(const Tensor& values) {
  const std::int64_t count = values.size(0);
  return std::get<0>(values.kthvalue(count - count / kOneIn)).item<double>();
}

// Distances of the rows of one class in each space: [spaces, rows].
Tensor nearest_in_spaces(const ClassedPoints& points, const Tensor& rows,
                         const ClassedPoints& references, const Tensor& reference_rows,
                         Among among) {
  std::vector<Tensor> distances;
  for (std::size_t space = 0; space < references.spaces.size(); ++space)
    distances.push_back(nearest(points.spaces[space].index_select(0, rows),
                                references.spaces[space].index_select(0, reference_rows), among));
  return torch::stack(distances);
}

// How far images lie: the largest of their distances [spaces, n] in units of the spaces.
Tensor scores_of(const Tensor& distances, const Tensor& units) {
  return (distances / units.view({-1, 1})).amax(0);
}

struct AllDistances {
  Tensor real;               // [spaces, n]
  std::vector<Tensor> made;  // [spaces, n] of each class; undefined where one side has none
};

AllDistances distances_of(const ClassedPoints& real, const ClassedPoints& made,
                          std::int64_t num_classes) {
  AllDistances found;
  std::vector<Tensor> of_real;
  for (std::int64_t label = 0; label < num_classes; ++label) {
    Tensor& of_made = found.made.emplace_back();
    const Tensor references = real.labels.eq(label).nonzero().flatten();
    if (references.size(0) < 2) continue;
    of_real.push_back(nearest_in_spaces(real, references, real, references, Among::kThemselves));
    const Tensor rows = made.labels.eq(label).nonzero().flatten();
    if (rows.size(0) > 0) of_made = nearest_in_spaces(made, rows, real, references, Among::kOthers);
  }
  if (!of_real.empty()) found.real = torch::cat(of_real, 1);
  return found;
}

}  // namespace

std::vector<Tensor> junk_spaces(const Tensor& features, const Tensor& images) {
  const Tensor lengths = features.norm(2, 1, true).clamp_min(kSmallest);
  return {features / lengths, images.flatten(1)};
}

std::optional<Junk> junk(const ClassedPoints& real, const ClassedPoints& made,
                         std::int64_t num_classes) {
  const torch::NoGradGuard no_grad;
  const AllDistances distances = distances_of(real, made, num_classes);
  if (!distances.real.defined() || distances.real.size(1) < kFewestForJunk) return std::nullopt;
  std::vector<double> limits;
  for (const Tensor& of_space : distances.real.unbind())
    limits.push_back(std::max(kSmallest, limit_of(of_space)));
  const Tensor units = torch::tensor(at::ArrayRef<double>(limits), torch::kDouble);
  const double limit = limit_of(scores_of(distances.real, units));

  Junk found;
  double beyond = 0;
  double judged = 0;
  for (const Tensor& of_class : distances.made) {
    found.per_class.push_back(std::numeric_limits<double>::quiet_NaN());
    if (!of_class.defined()) continue;
    const Tensor is_junk = scores_of(of_class, units).gt(limit).to(torch::kDouble);
    found.per_class.back() = is_junk.mean().item<double>();
    beyond += is_junk.sum().item<double>();
    judged += static_cast<double>(is_junk.size(0));
  }
  if (judged == 0) return std::nullopt;
  const std::int64_t count = distances.real.size(1);
  found.rate = beyond / judged;
  const std::int64_t above = count / kOneIn + 1;
  found.expected_of_real = static_cast<double>(above) / static_cast<double>(count + 1);
  return found;
}

}  // namespace obol::evaluate
