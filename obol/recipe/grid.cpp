#include "obol/recipe/grid.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::recipe {
namespace {

constexpr std::size_t kMostPoints = 10'000;
constexpr std::size_t kLongestName = 200;  // file systems take 255, and something may be added

std::string last_part(const std::string& key) { return split(key, '.').back(); }

GridKey parse_key(const std::string& text) {
  const auto refuse = [&](const std::string& actual) {
    throw InvalidArgument(violation("--grid", "section.key=value,value,...", actual));
  };
  const std::size_t equals = text.find('=');
  GridKey key{.key = std::string(trim(std::string_view(text).substr(0, equals))),
              .short_name = {},
              .values = {}};
  if (equals == std::string::npos || key.key.empty()) refuse(text);
  for (const std::string& part : split(std::string_view(text).substr(equals + 1), ',')) {
    const std::string value(trim(part));
    if (value.empty()) refuse(text);
    if (std::find(key.values.begin(), key.values.end(), value) != key.values.end())
      throw InvalidArgument(violation(fmt::format("a value of --grid {}", key.key), "given once",
                                      fmt::format("given twice: {}", value)));
    key.values.push_back(value);
  }
  return key;
}

// Letters, digits and what is harmless as they are; the rest as in addresses: "1%2F1200".
std::string escaped(std::string_view text) {
  constexpr std::string_view kHarmless = "._+-:";
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool is_plain = code < 128 && std::isalnum(code) != 0;
    if (is_plain || kHarmless.find(c) != std::string_view::npos)
      result += c;
    else
      result += fmt::format("%{:02X}", code);
  }
  return result;
}

GridPoint extended(GridPoint point, const GridKey& key, const std::string& value) {
  point.name += fmt::format("{}{}={}", point.name.empty() ? "" : ",", escaped(key.short_name),
                            escaped(value));
  if (point.name.size() > kLongestName)
    throw InvalidArgument(violation("the name of a point of the grid",
                                    fmt::format("at most {} letters", kLongestName),
                                    fmt::format("longer: {}", point.name)));
  point.values.push_back(value);
  point.overrides.push_back(fmt::format("{}={}", key.key, value));
  return point;
}

}  // namespace

std::optional<std::vector<double>> GridKey::numbers() const {
  std::vector<double> result;
  for (const std::string& value : values) {
    const std::optional<double> number = parse_number(value);
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

Grid::Grid(const std::vector<std::string>& texts) {
  std::size_t count = 1;
  for (const std::string& text : texts) {
    GridKey key = parse_key(text);
    for (const GridKey& other : keys_)
      if (other.key == key.key)
        throw InvalidArgument(
            violation("a key of --grid", "given once", fmt::format("given twice: {}", key.key)));
    count *= key.values.size();
    if (count > kMostPoints)
      throw InvalidArgument(
          violation("a grid", fmt::format("of at most {} points", kMostPoints), "larger"));
    keys_.push_back(std::move(key));
  }
  if (keys_.empty()) throw InvalidArgument(violation("--grid", "given", "missing"));
  for (GridKey& key : keys_) {
    const std::string last = last_part(key.key);
    const auto same = std::count_if(keys_.begin(), keys_.end(), [&](const GridKey& other) {
      return last_part(other.key) == last;
    });
    key.short_name = same == 1 ? last : key.key;
  }
}

std::vector<GridPoint> Grid::points() const {
  std::vector<GridPoint> points(1);
  for (const GridKey& key : keys_) {
    std::vector<GridPoint> longer;
    for (const GridPoint& point : points)
      for (const std::string& value : key.values) longer.push_back(extended(point, key, value));
    points = std::move(longer);
  }
  return points;
}

}  // namespace obol::recipe
