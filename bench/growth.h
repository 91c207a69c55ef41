// How time grows: a curve, its exponent and its plot.
//
//   print(Curve{.what = "a step", .over = "records", .points = {{1000, 0.01}, ...}},
//   "records.svg");
#pragma once

#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "obol/base/file.h"
#include "obol/report/plot.h"

namespace obol::bench {

using Points = std::vector<std::pair<double, double>>;

struct Curve {
  std::string what;
  std::string over;
  Points points;  // size, seconds
};

// Of the upper half, by least squares on logarithms: below, what does not grow hides what does.
inline double exponent_of(const Points& all) {
  const Points points(all.end() - static_cast<std::ptrdiff_t>((all.size() + 1) / 2), all.end());
  const auto count = static_cast<double>(points.size());
  double x = 0;
  double y = 0;
  for (const auto& [size, seconds] : points) {
    x += std::log(size) / count;
    y += std::log(seconds) / count;
  }
  double xy = 0;
  double xx = 0;
  for (const auto& [size, seconds] : points) {
    xy += (std::log(size) - x) * (std::log(seconds) - y);
    xx += (std::log(size) - x) * (std::log(size) - x);
  }
  return xy / xx;
}

inline void print(const Curve& curve, const Path& plot) {
  const double exponent = exponent_of(curve.points);
  write_file(
      plot,
      report::plot_svg(
          {.title = fmt::format("Seconds of {} over {}", curve.what, curve.over),
           .x_label = curve.over,
           .y_label = "seconds",
           .lines = {{fmt::format("measured: as the power {:.2f} in the upper half", exponent),
                      curve.points, report::PlotDots::kShown}},
           .x_scale = report::PlotScale::kLogarithmic,
           .y_scale = report::PlotScale::kLogarithmic}));
  std::string points;
  for (const auto& [size, seconds] : curve.points)
    points += fmt::format("{}[{}, {:.4g}]", points.empty() ? "" : ", ", size, seconds);
  std::cout
      << fmt::format(
             R"({{"curve": "{}", "over": "{}", "exponent": {:.3f}, "plot": "{}", "points": [{}]}})",
             curve.what, curve.over, exponent, plot.filename().string(), points)
      << std::endl;
}

}  // namespace obol::bench
