#include "obol/barrier/records.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <variant>

#include "obol/barrier/gpu.h"
#include "obol/base/error.h"
#include "obol/data/sampler.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

// The records of these indices, one after the other.
Tensor pixels_of(const data::Dataset& data, std::span<const std::int64_t> indices) {
  const std::int64_t width = data.shape.pixels();
  return std::visit(
      [&](const auto& pixels) {
        using T = typename std::decay_t<decltype(pixels)>::value_type;
        Tensor rows = torch::empty({static_cast<std::int64_t>(indices.size()), width},
                                   c10::CppTypeToScalarType<T>::value);
        T* to = rows.template data_ptr<T>();
        for (const std::int64_t index : indices)
          to = std::copy_n(pixels.data() + index * width, width, to);
        return rows;
      },
      data.pixels);
}

// All records where they are, in their file.
Tensor view_of(const data::PixelBytes& bytes, std::int64_t width) {
  return torch::from_blob(
      const_cast<std::uint8_t*>(bytes.data()),
      {static_cast<std::int64_t>(bytes.size()) / width, width}, [kept = bytes](void*) {},
      torch::kByte);
}

}  // namespace

std::int64_t classes_of(const data::Dataset::PublicFacts& facts) {
  return std::max<std::int64_t>(1, facts.num_classes);
}

Tensor in_range(const Tensor& pixels, double lowest) {
  const double white = pixels.scalar_type() == torch::kByte ? 255 : 1;
  return pixels.to(torch::kFloat).mul_((1 - lowest) / white).add_(lowest);
}

Tensor Sample::labels() const {
  if (each_label.defined()) return each_label;
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
  const auto* bytes = std::get_if<data::PixelBytes>(&data.pixels);
  if (bytes != nullptr && bytes->is_mapped() && options.device.is_cpu() && !options.features) {
    stored.points = view_of(*bytes, data.shape.pixels());
    stored.order = torch::tensor(order, torch::kLong);
    return stored;
  }
  // Some thousands at a time: neither floats of all bytes are held, nor a second copy of all.
  constexpr std::size_t kAtOnce = 4096;
  std::size_t start = 0;
  do {
    const auto some = std::span(order).subspan(start, std::min(kAtOnce, order.size() - start));
    Tensor part = pixels_of(data, some).to(options.device);
    if (options.features) part = options.features(in_range(part, options.lowest));
    if (start == 0) stored.points = torch::empty({data.count(), part.size(1)}, part.options());
    stored.points.narrow(0, static_cast<std::int64_t>(start), part.size(0)).copy_(part);
    start += kAtOnce;
  } while (start < order.size());
  return stored;
}

PrivateRecords::PrivateRecords(const Private<data::Dataset>& data, const RecordOptions& options)
    : classes_(classes_of(data.facts())),
      device_(options.device),
      by_class_(options.by_class),
      lowest_(options.features ? 0 : options.lowest),
      stored_(data.map([&](const data::Dataset& set) { return store(set, options); })) {}

PrivateRecords::~PrivateRecords() = default;

Drawn<Sample> PrivateRecords::draw(double rate, RandomBits& bits) const {
  return Drawn<Sample>(stored_.map([&](const Stored& stored) {
    return device_.is_cuda() ? take_ahead(stored) : take(stored, rate, bits);
  }),
                       rate);
}

Sample PrivateRecords::take(const Stored& stored, double rate, RandomBits& bits) const {
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
  Tensor chosen = torch::tensor(indices, torch::kLong);
  if (stored.order.defined()) chosen = stored.order.index_select(0, chosen);
  sample.points = points_of(stored.points.index_select(0, chosen));
  return sample;
}

Tensor PrivateRecords::points_of(const Tensor& rows) const {
  const bool are_features = lowest_ == 0 && rows.scalar_type() == torch::kFloat;
  return are_features ? rows : in_range(rows, lowest_);
}

void PrivateRecords::for_each_part(const Stored& stored, std::int64_t at_once,
                                   const std::function<void(const Sample&)>& use) const {
  if (at_once < 1) throw InvalidArgument(violation("records at once", "at least 1", at_once));
  const torch::NoGradGuard no_grad;
  const std::int64_t count = stored.points.size(0);
  for (std::int64_t from = 0; from < count; from += at_once) {
    const std::int64_t to = std::min(count, from + at_once);
    Sample some;
    std::int64_t start = 0;
    for (const std::int64_t end : stored.class_ends) {
      some.class_counts.push_back(
          std::max<std::int64_t>(0, std::min(end, to) - std::max(start, from)));
      start = end;
    }
    const Tensor rows = stored.order.defined()
                            ? stored.points.index_select(0, stored.order.narrow(0, from, to - from))
                            : stored.points.narrow(0, from, to - from);
    some.points = points_of(rows);
    use(some);
  }
}

struct PrivateRecords::Ahead {
  gpu::Bits bits;
  double rate;
  Tensor ends;    // of the parts of a table, [parts]
  Tensor labels;  // of the records, [count], where a sample has one part
  gpu::Tables tables;
  Tensor slot;  // [1]: the step of the table that is next
  std::int64_t left = 0;

  Ahead(RandomBits& key, const torch::Device& device, double given_rate, const Tensor& parts,
        std::int64_t largest)
      : bits(key, device),
        rate(given_rate),
        ends(parts.to(device)),
        tables(kSteps, parts.size(0), room_for(largest, given_rate), device),
        slot(torch::zeros({1}, torch::TensorOptions(device).dtype(torch::kLong))) {}

  static constexpr std::int64_t kSteps = 128;
  // For all but one draw in a thousand million, by the normal law; those get larger tables.
  static std::int64_t room_for(std::int64_t records, double rate) {
    const double mean = static_cast<double>(records) * rate;
    const double room = mean + 6 * std::sqrt(mean * (1 - rate)) + 8;
    constexpr std::int64_t kMultiple = 8;
    const auto whole = static_cast<std::int64_t>(room);
    return std::min(records, (whole / kMultiple + 1) * kMultiple);
  }

  [[nodiscard]] std::int64_t room() const { return tables.indices.size(2); }
  [[nodiscard]] std::int64_t most() const { return tables.counts.max().item<std::int64_t>(); }
};

std::unique_ptr<PrivateRecords::Ahead> PrivateRecords::make_ahead(const Stored& stored, double rate,
                                                                  RandomBits& bits) const {
  std::vector<std::int64_t> ends{stored.points.size(0)};
  if (by_class_) ends = stored.class_ends;
  std::int64_t largest = 0;
  for (std::size_t c = 0; c < ends.size(); ++c)
    largest = std::max(largest, ends[c] - (c == 0 ? 0 : ends[c - 1]));
  auto ahead =
      std::make_unique<Ahead>(bits, device_, rate, torch::tensor(ends, torch::kLong), largest);
  if (!by_class_ && classes_ > 1) {
    const Tensor all = torch::tensor(stored.class_ends, torch::kLong);
    ahead->labels = torch::bucketize(torch::arange(stored.points.size(0)), all,
                                     /*out_int32=*/false, /*right=*/true)
                        .to(device_);
  }
  return ahead;
}

Prepared PrivateRecords::prepare(double rate, RandomBits& bits) {
  if (!device_.is_cuda()) return Prepared::kAsBefore;
  // Tells how the tensors lie, which no result depends on.
  Prepared prepared = Prepared::kAsBefore;
  stored_.use([&](const Stored& stored) {
    const std::int64_t count = stored.points.size(0);
    if (!ahead_ || ahead_->rate != rate) {
      ahead_ = make_ahead(stored, rate, bits);
      prepared = Prepared::kMoved;
    }
    Ahead& ahead = *ahead_;
    if (ahead.left == 0) {
      gpu::draw(ahead.bits, ahead.ends, count, rate, ahead.tables, gpu::Draw::kNew);
      // Nobody is left out for want of room.
      if (const std::int64_t most = ahead.most(); most > ahead.room()) {
        const Tensor launch = ahead.tables.launch;
        ahead.tables = {ahead.tables.indices.size(0), ahead.ends.size(0), most, device_};
        ahead.tables.launch.copy_(launch);
        gpu::draw(ahead.bits, ahead.ends, count, rate, ahead.tables, gpu::Draw::kAgain);
        prepared = Prepared::kMoved;
      }
      ahead.slot.zero_();
      ahead.left = ahead.tables.indices.size(0);
    }
    --ahead.left;
  });
  return prepared;
}

Sample PrivateRecords::take_ahead(const Stored& stored) const {
  if (!ahead_) throw Error("a draw on a GPU must be prepared, but was not");
  const torch::NoGradGuard no_grad;
  const double white = stored.points.scalar_type() == torch::kByte ? 255 : 1;
  const gpu::Gathered gathered =
      gpu::gather(stored.points, ahead_->tables, ahead_->slot, {(1 - lowest_) / white, lowest_});
  Sample sample{.points = gathered.points, .class_counts = {}, .present = gathered.present};
  if (ahead_->labels.defined()) {
    const Tensor indices = ahead_->tables.indices.index_select(0, ahead_->slot).flatten();
    sample.each_label = ahead_->labels.index_select(0, indices);
  }
  ahead_->slot.add_(1);
  return sample;
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
