#include "obol/barrier/records.h"

#include <algorithm>
#include <numeric>

#include "obol/data/sampler.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

std::int64_t classes_of(const data::Dataset::PublicFacts& facts) {
  return std::max<std::int64_t>(1, facts.num_classes);
}

// [0, 1], or bytes, to [lowest, 1].
Tensor in_range(const Tensor& pixels, double lowest) {
  const double white = pixels.scalar_type() == torch::kByte ? 255 : 1;
  return pixels.to(torch::kFloat).mul_((1 - lowest) / white).add_(lowest);
}

Tensor pixels_of(const data::Dataset& data, const std::vector<std::int64_t>& order) {
  const std::int64_t width = data.shape.pixels();
  const auto copy = [&](const auto& pixels, auto type) {
    using T = typename std::decay_t<decltype(pixels)>::value_type;
    Tensor rows = torch::empty({static_cast<std::int64_t>(order.size()), width}, type);
    T* to = rows.template data_ptr<T>();
    for (const std::int64_t index : order)
      to = std::copy_n(pixels.data() + index * width, width, to);
    return rows;
  };
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&data.pixels))
    return copy(*bytes, torch::kByte);
  return copy(std::get<std::vector<float>>(data.pixels), torch::kFloat);
}

}  // namespace

Tensor Sample::labels() const {
  const auto classes = static_cast<std::int64_t>(class_counts.size());
  return torch::arange(classes).repeat_interleave(torch::tensor(class_counts, torch::kLong));
}

PrivateRecords::Stored PrivateRecords::store(const data::Dataset& data,
                                             const RecordOptions& options) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(data.count()));
  std::iota(order.begin(), order.end(), 0);
  const auto label_of = [&](std::int64_t record) {
    return data.labels.empty() ? 0 : data.labels[static_cast<std::size_t>(record)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return label_of(a) < label_of(b); });
  Stored stored;
  stored.class_ends.assign(static_cast<std::size_t>(classes_of(data.public_facts())), 0);
  for (const std::int64_t record : order)
    ++stored.class_ends[static_cast<std::size_t>(label_of(record))];
  std::partial_sum(stored.class_ends.begin(), stored.class_ends.end(), stored.class_ends.begin());
  const Tensor pixels = pixels_of(data, order);
  if (!options.features) {
    stored.points = pixels.to(options.device);
    return stored;
  }
  // Some thousands at a time: bytes take a quarter of what their floats do.
  constexpr std::int64_t kAtOnce = 4096;
  std::vector<Tensor> parts;
  for (const Tensor& part : pixels.split(kAtOnce))
    parts.push_back(options.features(in_range(part.to(options.device), options.lowest)));
  stored.points = torch::cat(parts);
  return stored;
}

PrivateRecords::PrivateRecords(const Private<data::Dataset>& data, const RecordOptions& options)
    : classes_(classes_of(data.facts())),
      lowest_(options.features ? 0 : options.lowest),
      stored_(data.map([&](const data::Dataset& set) { return store(set, options); })) {}

Drawn<Sample> PrivateRecords::draw(double rate, RandomBits& bits) const {
  const auto take = [&](const Stored& stored) {
    const torch::NoGradGuard no_grad;
    const std::vector<std::int64_t> indices =
        data::poisson_indices(stored.points.size(0), rate, bits);
    Sample sample;
    auto from = indices.begin();
    for (const std::int64_t end : stored.class_ends) {
      const auto to = std::lower_bound(from, indices.end(), end);
      sample.class_counts.push_back(to - from);
      from = to;
    }
    const Tensor chosen = torch::tensor(indices, torch::kLong).to(stored.points.device());
    const Tensor rows = stored.points.index_select(0, chosen);
    const bool are_features = lowest_ == 0 && rows.scalar_type() == torch::kFloat;
    sample.points = are_features ? rows : in_range(rows, lowest_);
    return sample;
  };
  return {stored_.map(take), rate};
}

Private<Tensor> PrivateRecords::class_counts() const {
  return stored_.map([](const Stored& stored) {
    const Tensor ends = torch::tensor(stored.class_ends, torch::kDouble);
    Tensor counts = ends.clone();
    counts.slice(0, 1) -= ends.slice(0, 0, -1);
    return counts;
  });
}

}  // namespace obol::barrier
