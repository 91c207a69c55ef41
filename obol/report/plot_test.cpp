#include "obol/report/plot.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::report {
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

TEST(Plot, ManyLinesDifferAndTheirKeyStandsBesideThem) {
  Plot plot{.title = "t", .x_label = "x", .y_label = "y"};
  for (int i = 0; i < 30; ++i)
    plot.lines.push_back({.name = fmt::format("line {}", i),
                          .points = {{0, i}, {1, i + 1}},
                          .dots = i < 2 ? PlotDots::kShown : PlotDots::kNone});
  const std::string svg = plot_svg(plot);
  EXPECT_EQ(count_of(svg, "<polyline"), 60U);
  EXPECT_EQ(count_of(svg, "<circle"), 4U);
  EXPECT_EQ(count_of(svg, "<polyline class=\"c1\" points"), 6U) << "lines 1, 13, 25 and their key";
  EXPECT_EQ(svg.find("viewBox=\"0 0 720 "), std::string::npos) << "wider";
  EXPECT_EQ(svg.find(" 420\""), std::string::npos) << "and higher";
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
  EXPECT_EQ(escaped_for_xml("<a href=\"x\" b='&'>"),
            "&lt;a href=&quot;x&quot; b=&#39;&amp;&#39;&gt;");
}

TEST(Plot, SaysWhatItShowsToThoseWhoCannotSeeIt) {
  const std::string svg = plot_svg({.title = "t",
                                    .x_label = "x",
                                    .y_label = "y",
                                    .lines = {{"a", {{0, 1}, {1, 2}}}},
                                    .description = "from 1 to 2"});
  EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
  EXPECT_NE(svg.find("<title>t</title>"), std::string::npos);
  EXPECT_NE(svg.find("<desc>from 1 to 2</desc>"), std::string::npos);
}

// The heights at which texts that hold `part` stand.
std::vector<double> heights_of(const std::string& svg, const std::string& part) {
  std::vector<double> heights;
  for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) {
    const std::size_t y = svg.rfind(" y=\"", at) + 4;
    heights.push_back(std::stod(svg.substr(y)));
  }
  return heights;
}

TEST(Plot, NamesOfPointsDoNotCoverEachOther) {
  Plot plot{.title = "t", .x_label = "x", .y_label = "y", .y_scale = PlotScale::kAroundData};
  for (const double y : {0.8, 0.8, 0.801, 0.802, 0.8, 0.95})
    plot.points.push_back({.name = "point", .x = 10, .y = y});
  std::vector<double> heights = heights_of(plot_svg(plot), ">point<");
  ASSERT_EQ(heights.size(), 6U);
  std::sort(heights.begin(), heights.end());
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 15) << i;
  EXPECT_LE(heights.back(), plot.height - 40) << "inside";
}

TEST(Plot, HasRoundTicksOnALogarithmicScaleAndNoPlaceForZeroOnIt) {
  Plot plot{.title = "t",
            .x_label = "x",
            .y_label = "y",
            .points = {{"a", 1, 1}, {"b", 844, 2}, {"never", 0, 3}},
            .x_scale = PlotScale::kLogarithmic};
  const std::string svg = plot_svg(plot);
  for (const char* tick : {">1</text>", ">10</text>", ">100</text>", ">1000</text>"})
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
  EXPECT_EQ(svg.find("never"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  plot.points = {{"a", 10, 1}};  // one alone has room around it
  EXPECT_EQ(plot_svg(plot).find("nan"), std::string::npos);
}

TEST(Plot, TellsSymbolsApart) {
  const auto with = [](PlotSymbol symbol) {
    return plot_svg(
        {.title = "t", .x_label = "x", .y_label = "y", .points = {{"a", 1, 1, symbol}}});
  };
  EXPECT_NE(with(PlotSymbol::kDisc).find("class=\"s c0 f\""), std::string::npos);
  EXPECT_NE(with(PlotSymbol::kRing).find("class=\"s c0\""), std::string::npos);
  EXPECT_NE(with(PlotSymbol::kDiamond).find("class=\"s r f\""), std::string::npos);
  EXPECT_NE(with(PlotSymbol::kHollowDiamond).find("class=\"s r\""), std::string::npos);
}

TEST(Plot, LeavesOutWhatIsNotFiniteAndRefusesToDrawNothing) {
  const PlotLine line{.name = "a", .points = {{0, 1}, {1, NAN}, {2, INFINITY}, {3, 2}}};
  const std::string svg = plot_svg({.title = "t", .x_label = "x", .y_label = "y", .lines = {line}});
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_THROW(plot_svg({.title = "t", .x_label = "x", .y_label = "y", .lines = {}}),
               InvalidArgument);
}

}  // namespace
}  // namespace obol::report
