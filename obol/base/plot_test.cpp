#include "obol/base/plot.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Plot, DrawsEveryLineOnceAndAKeyForSeveral) {
  const PlotLine line{.name = "one", .points = {{0, 0}, {1000, 3.2}}};
  Plot plot{.title = "t", .x_label = "x", .y_label = "y", .lines = {line}};
  EXPECT_EQ(count_of(plot_svg(plot), "<polyline"), 1U);
  plot.lines.push_back(line);
  EXPECT_EQ(count_of(plot_svg(plot), "<polyline"), 4U);
}

TEST(Plot, HasRoundTicksThatReachAboveTheHighestPoint) {
  const std::string svg = plot_svg({.title = "t",
                                    .x_label = "steps",
                                    .y_label = "epsilon",
                                    .lines = {{"a", {{0, 0}, {160000, 8.57}}}}});
  EXPECT_NE(svg.find(">10</text>"), std::string::npos);
  EXPECT_NE(svg.find(">150k</text>"), std::string::npos);
  EXPECT_EQ(svg.find(">200k</text>"), std::string::npos) << "no empty room on the right";
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Plot, KeepsMarkupInNamesFromBecomingMarkup) {
  const std::string svg = plot_svg(
      {.title = "<b> & c", .x_label = "x", .y_label = "y", .lines = {{"a", {{0, 1}, {1, 2}}}}});
  EXPECT_NE(svg.find("&lt;b&gt; &amp; c"), std::string::npos);
}

TEST(Plot, LeavesOutWhatIsNotFiniteAndRefusesToDrawNothing) {
  const PlotLine line{.name = "a", .points = {{0, 1}, {1, NAN}, {2, INFINITY}, {3, 2}}};
  const std::string svg = plot_svg({.title = "t", .x_label = "x", .y_label = "y", .lines = {line}});
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_THROW(plot_svg({.title = "t", .x_label = "x", .y_label = "y", .lines = {}}),
               InvalidArgument);
}

}  // namespace
}  // namespace obol
