// Line plots as SVG text that stands alone: no network, light and dark by the reader's preference.
//
//   write_file("curve.svg", plot_svg({.title = "Epsilon over steps",
//                                     .x_label = "steps", .y_label = "epsilon",
//                                     .lines = {{"guarantee", points}}}));
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace obol {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// A level that lines are compared with.
struct PlotMark {
  std::string name;
  double y;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotLine> lines;
  std::vector<PlotMark> marks = {};
};

// Axes from zero (or the lowest value, if negative) to a round number above the highest. Points
// that are not finite are left out. InvalidArgument where no point is left.
std::string plot_svg(const Plot& plot);

}  // namespace obol
