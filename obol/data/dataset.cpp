#include "obol/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::data {

std::string to_string(const ImageShape& shape) {
  return shape.channels == 1 ? fmt::format("{}x{}", shape.height, shape.width)
                             : fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

std::int64_t Dataset::count() const {
  const auto size = std::visit([](const auto& p) { return p.size(); }, pixels);
  return shape.pixels() == 0 ? 0 : static_cast<std::int64_t>(size) / shape.pixels();
}

void Dataset::make_sound() {
  if (auto* floats = std::get_if<std::vector<float>>(&pixels)) {
    const auto per_record = static_cast<std::size_t>(shape.pixels());
    for (std::size_t start = 0; per_record > 0 && start < floats->size(); start += per_record) {
      const auto record =
          std::span(*floats).subspan(start, std::min(per_record, floats->size() - start));
      if (!std::all_of(record.begin(), record.end(), [](float p) { return std::isfinite(p); }))
        std::fill(record.begin(), record.end(), 0.0F);
      for (float& pixel : record) pixel = std::clamp(pixel, 0.0F, 1.0F);
    }
  }
  const auto last = static_cast<std::int32_t>(num_classes()) - 1;
  if (last < 0) return;
  for (std::int32_t& label : labels) label = std::clamp(label, 0, last);
}

void sort_class_names(std::vector<std::string>& names) {
  const bool are_numbers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return parse_integer(name).has_value();
  });
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return are_numbers ? *parse_integer(a) < *parse_integer(b) : a < b;
  });
}

std::vector<std::string> numbered_classes(const std::vector<std::int32_t>& labels) {
  std::vector<std::string> names;
  if (labels.empty()) return names;
  const std::int32_t largest = *std::max_element(labels.begin(), labels.end());
  for (std::int32_t label = 0; label <= largest; ++label) names.push_back(fmt::format("{}", label));
  return names;
}

std::vector<std::int64_t> class_counts(const Dataset& data) {
  std::vector<std::int64_t> counts(data.class_names.size(), 0);
  for (const std::int32_t label : data.labels) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

Dataset select(const Dataset& data, const std::vector<std::int64_t>& indices) {
  Dataset chosen{.shape = data.shape,
                 .pixels = {},
                 .labels = {},
                 .class_names = data.class_names,
                 .declared_size = data.declared_size};
  const auto per_record = static_cast<std::size_t>(data.shape.pixels());
  std::visit(
      [&](const auto& from) {
        std::vector<typename std::decay_t<decltype(from)>::value_type> to(indices.size() *
                                                                          per_record);
        for (std::size_t i = 0; i < indices.size(); ++i)
          std::copy_n(from.begin() + indices[i] * data.shape.pixels(), per_record,
                      to.begin() + static_cast<std::ptrdiff_t>(i * per_record));
        chosen.pixels = std::move(to);
      },
      data.pixels);
  if (data.is_labelled())
    for (const std::int64_t i : indices)
      chosen.labels.push_back(data.labels[static_cast<std::size_t>(i)]);
  return chosen;
}

std::vector<std::uint8_t> record_bytes(const Dataset& data, std::int64_t index) {
  const auto size = static_cast<std::size_t>(data.shape.pixels());
  std::vector<std::uint8_t> bytes(size);
  const std::int64_t start = index * data.shape.pixels();
  if (const auto* whole = std::get_if<PixelBytes>(&data.pixels)) {
    std::copy_n(whole->begin() + start, size, bytes.begin());
  } else {
    const auto& real = std::get<std::vector<float>>(data.pixels);
    std::transform(
        real.begin() + start, real.begin() + start + data.shape.pixels(), bytes.begin(),
        [](float p) {
          return static_cast<std::uint8_t>(std::lround(std::clamp(p, 0.0F, 1.0F) * 255.0F));
        });
  }
  return bytes;
}

void check_consistent(const Dataset& data, const std::string& where) {
  const std::int64_t count = data.count();
  if (count == 0) throw DataError(violation("the number of records", "at least 1", 0, where));
  if (!data.is_labelled() && data.labels.empty()) return;
  if (static_cast<std::int64_t>(data.labels.size()) != count)
    throw DataError(violation("the number of labels",
                              fmt::format("{}, the number of images", count), data.labels.size(),
                              where));
  for (std::size_t i = 0; i < data.labels.size(); ++i)
    if (data.labels[i] < 0 || data.labels[i] >= data.num_classes())
      throw DataError(violation(fmt::format("label {}", i),
                                fmt::format("between 0 and {}", data.num_classes() - 1),
                                data.labels[i], where));
}

}  // namespace obol::data
