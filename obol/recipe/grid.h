// A grid of recipes: every combination of some values of some keys.
//
//   const Grid grid({"method.self_weight=0.5,1", "privacy.epsilon=1,10"});
//   for (const GridPoint& point : grid.points())
//     Recipe::load(path, point.overrides);    // {"method.self_weight=0.5", "privacy.epsilon=1"},
//     ...
//   grid.points()[0].name                     // "self_weight=0.5,epsilon=1": of a folder, too
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace obol::recipe {

struct GridKey {
  std::string key;         // "method.self_weight"
  std::string short_name;  // "self_weight", unless another key of the grid ends in the same
  std::vector<std::string> values;

  // As numbers, where all of them are.
  [[nodiscard]] std::optional<std::vector<double>> numbers() const;
};

struct GridPoint {
  std::vector<std::string> values;     // one of each key
  std::vector<std::string> overrides;  // as given to --set
  std::string name;  // other than that of any other point; whatever may trouble a shell is escaped
};

class Grid {
 public:
  // "key=value,value", as given to --grid. InvalidArgument where that is not so, where a key or one
  // of its values is given twice, and where there are more points than anyone would run.
  explicit Grid(const std::vector<std::string>& texts);

  [[nodiscard]] const std::vector<GridKey>& keys() const noexcept { return keys_; }
  // The last key changes fastest.
  [[nodiscard]] std::vector<GridPoint> points() const;

 private:
  std::vector<GridKey> keys_;
};

}  // namespace obol::recipe
