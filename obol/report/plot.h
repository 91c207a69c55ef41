// Plots of lines and points as SVG text that stands alone: no network, light and dark by the
// reader's preference, a title and a description for those who cannot see it.
//
//   write_file("curve.svg", plot_svg({.title = "Epsilon over steps",
//                                     .x_label = "steps", .y_label = "epsilon",
//                                     .lines = {{"guarantee", points}}}));
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace obol::report {

// Whether the points that a line joins are marked.
enum class PlotDots { kNone, kShown };

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;
  PlotDots dots = PlotDots::kNone;
};

// A level that lines are compared with.
struct PlotMark {
  std::string name;
  double y;
};

enum class PlotSymbol { kDisc, kRing, kDiamond, kHollowDiamond };

// A point with its name beside it.
struct PlotPoint {
  std::string name;
  double x;
  double y;
  PlotSymbol symbol = PlotSymbol::kDisc;
};

enum class PlotScale {
  kFromZero,     // from zero, or from the lowest value if that is negative
  kAroundData,   // no further than round numbers around the data
  kLogarithmic,  // of positive numbers; others are left out
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotLine> lines = {};
  std::vector<PlotMark> marks = {};
  std::vector<PlotPoint> points = {};
  std::string description = {};  // what there is to see
  PlotScale x_scale = PlotScale::kFromZero;
  PlotScale y_scale = PlotScale::kFromZero;
  double width = 720;  // and more for the key of many lines
  double height = 420;
};

// Axes end at round numbers. Points that are not finite are left out. InvalidArgument where no
// point is left.
std::string plot_svg(const Plot& plot);

// For text between tags and in attributes.
std::string escaped_for_xml(std::string_view text);

}  // namespace obol::report
