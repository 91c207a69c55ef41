#include "obol/report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::report {
namespace {

constexpr double kLeft = 78;
constexpr double kRight = 24;
constexpr double kTop = 66;
constexpr double kBottom = 58;
constexpr double kLetter = 7.4;  // the width of one, about
constexpr double kLineHeight = 16;
constexpr double kKeyHeight = 18;      // of one line in the key
constexpr double kKeyStroke = 28;      // and what stands before its name
constexpr std::size_t kMostAbove = 3;  // lines of which the key has room above the plot
constexpr std::size_t kColours = 4;

constexpr const char* kPlotStyle =
    ".o{font:13px system-ui,sans-serif;fill:#24292f}.o .t{font-size:16px;font-weight:600}"
    ".o .g{stroke:#d0d7de;stroke-width:1}.o .a{stroke:#57606a;stroke-width:1.2}"
    ".o .m{stroke:#57606a;stroke-width:1.2;stroke-dasharray:5 4}"
    ".o polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}"
    ".o .p{fill:#fff}.o .c0{stroke:#0969da}.o .c1{stroke:#cf222e}.o .c2{stroke:#1a7f37}"
    ".o .c3{stroke:#8250df}.o .s{stroke-width:1.8;fill:none}.o .r{stroke:#57606a}"
    ".o .l{paint-order:stroke;stroke:#fff;stroke-width:4px}.o .s.c0.f{fill:#0969da}.o "
    ".s.r.f{fill:#57606a}"
    ".o .d{stroke-width:4}"
    "@media(prefers-color-scheme:dark){.o{fill:#e6edf3}.o .p{fill:#0d1117}.o .l{stroke:#0d1117}.o "
    ".g{stroke:#30363d}"
    ".o .a,.o .m,.o .r{stroke:#8b949e}.o .c0{stroke:#58a6ff}.o .c1{stroke:#ff7b72}"
    ".o .c2{stroke:#3fb950}.o .c3{stroke:#bc8cff}.o .s.c0.f{fill:#58a6ff}"
    ".o .s.r.f{fill:#8b949e}}";

// One axis, and the round numbers on it.
struct Axis {
  double low;
  double high;
  std::vector<double> ticks;
  bool is_logarithmic = false;

  [[nodiscard]] double share(double value) const {
    return is_logarithmic ? std::log(value / low) / std::log(high / low)
                          : (value - low) / (high - low);
  }
  // But for rounding. Logarithms of what has none are not numbers, and compare with nothing.
  [[nodiscard]] bool holds(double value) const {
    return share(value) > -1e-6 && share(value) < 1 + 1e-6;
  }
};

Axis linear_axis(double low, double high) {
  high = std::max(high, low + 1e-12 * (1 + std::abs(low)));
  const double rough = (high - low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  Axis axis{
      .low = std::floor(low / step) * step, .high = std::ceil(high / step) * step, .ticks = {}};
  const auto count = static_cast<int>(std::floor((axis.high - axis.low) / step + 0.5));
  for (int i = 0; i <= count; ++i) axis.ticks.push_back(axis.low + i * step);
  return axis;
}

Axis logarithmic_axis(double low, double high) {
  std::vector<double> round;  // 1, 2, 5, 10, ... around the data
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, power) < 10 * high;
       ++power)
    for (const double factor : {1.0, 2.0, 5.0}) round.push_back(factor * std::pow(10.0, power));
  const auto first = std::upper_bound(round.begin(), round.end(), low * (1 + 1e-9)) - 1;
  const auto last = std::upper_bound(first + 1, round.end() - 1, high * (1 + 1e-9));
  Axis axis{.low = *first, .high = *last, .ticks = {first, last + 1}, .is_logarithmic = true};
  constexpr std::size_t kMostTicks = 8;  // more than that, and only powers of ten are named
  if (axis.ticks.size() > kMostTicks)
    std::erase_if(axis.ticks, [](double tick) {
      const double power = std::log10(tick);
      return std::abs(power - std::round(power)) > 1e-6;
    });
  return axis;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Axis axis_for(const Range& range, PlotScale scale) {
  if (scale == PlotScale::kLogarithmic) return logarithmic_axis(range.low, range.high);
  return linear_axis(scale == PlotScale::kFromZero ? std::min(0.0, range.low) : range.low,
                     range.high);
}

// "0", "2.5", "40k", "8M"
std::string tick_text(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (std::abs(value) >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

struct Frame {
  Axis x;
  Axis y;
  double right_end;
  double bottom;

  [[nodiscard]] bool holds(double px, double py) const { return x.holds(px) && y.holds(py); }
  [[nodiscard]] double left(double value) const {
    return kLeft + x.share(value) * (right_end - kLeft);
  }
  [[nodiscard]] double top(double value) const { return bottom - y.share(value) * (bottom - kTop); }
};

Frame frame_of(const Plot& plot) {
  constexpr double kLargest = 1e100;  // differences of larger ones might not be finite
  const auto fits = [](double value, PlotScale scale) {
    return std::abs(value) < kLargest && (scale != PlotScale::kLogarithmic || value > 1 / kLargest);
  };
  Range x;
  Range y;
  const auto include = [&](double px, double py) {
    if (!fits(px, plot.x_scale) || !fits(py, plot.y_scale)) return;
    x.include(px);
    y.include(py);
  };
  for (const PlotLine& line : plot.lines)
    for (const auto& [px, py] : line.points) include(px, py);
  for (const PlotPoint& point : plot.points) include(point.x, point.y);
  if (x.low > x.high)
    throw InvalidArgument(violation("a plot", "of at least one finite point", "empty"));
  for (const PlotMark& mark : plot.marks)
    if (fits(mark.y, plot.y_scale)) y.include(mark.y);
  Axis across = axis_for(x, plot.x_scale);
  if (plot.points.empty() && plot.x_scale == PlotScale::kFromZero) {
    across.high = std::max(x.high, across.low + 1e-12);  // no empty room on the right
    std::erase_if(across.ticks, [&](double tick) { return tick > across.high * (1 + 1e-9); });
  }
  return {.x = across,
          .y = axis_for(y, plot.y_scale),
          .right_end = plot.width - kRight,
          .bottom = plot.height - kBottom};
}

std::string grid_svg(const Frame& frame) {
  std::string svg;
  for (const double value : frame.y.ticks)
    svg += fmt::format(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        value == frame.y.low ? "a" : "g", kLeft, frame.top(value), frame.right_end,
        frame.top(value), kLeft - 8, frame.top(value) + 4.5, tick_text(value));
  for (const double value : frame.x.ticks)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       frame.left(value), frame.bottom + 20, tick_text(value));
  return svg;
}

// Of the line at `index`: a colour, and where there are no more of them, dashes.
std::string stroke_svg(const std::string& points, std::size_t index) {
  constexpr std::array kDashes = {"", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""};
  return fmt::format("<polyline class=\"c{}\"{} points=\"{}\"/>", index % kColours,
                     kDashes[index / kColours % kDashes.size()], points);
}

std::string line_svg(const PlotLine& line, std::size_t index, const Frame& frame) {
  std::string points;
  std::string dots;
  for (const auto& [x, y] : line.points) {
    if (!frame.holds(x, y)) continue;
    points += fmt::format("{:.1f},{:.1f} ", frame.left(x), frame.top(y));
    if (line.dots == PlotDots::kShown)
      dots += fmt::format("<circle class=\"d c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.5\"/>",
                          index % kColours, frame.left(x), frame.top(y));
  }
  return stroke_svg(points, index) + dots + '\n';
}

bool is_key_beside(const Plot& plot) { return plot.lines.size() > kMostAbove; }

double key_width(const Plot& plot) {
  std::size_t longest = 0;
  for (const PlotLine& line : plot.lines) longest = std::max(longest, line.name.size());
  return kKeyStroke + kLetter * static_cast<double>(longest);
}

// With the key.
double whole_width(const Plot& plot) {
  constexpr double kGap = 16;
  return plot.width + (is_key_beside(plot) ? kGap + key_width(plot) : 0);
}
double whole_height(const Plot& plot) {
  const double key = kTop + kKeyHeight * static_cast<double>(plot.lines.size());
  return is_key_beside(plot) ? std::max(plot.height, key) : plot.height;
}

// Where there are several lines: right of the title, or of the plot.
std::string key_svg(const Plot& plot) {
  std::string svg;
  const double left = whole_width(plot) - kRight - key_width(plot);
  for (std::size_t i = 0; plot.lines.size() > 1 && i < plot.lines.size(); ++i) {
    const double top = (is_key_beside(plot) ? kTop : 20) + kKeyHeight * static_cast<double>(i);
    svg += stroke_svg(fmt::format("{:.1f},{:.1f} {:.1f},{:.1f}", left, top, left + 22, top), i);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left + kKeyStroke, top + 4.5,
                       escaped_for_xml(plot.lines[i].name));
  }
  return svg;
}

bool is_round(PlotSymbol symbol) {
  return symbol == PlotSymbol::kDisc || symbol == PlotSymbol::kRing;
}

std::string symbol_svg(PlotSymbol symbol, double x, double y) {
  const bool is_filled = symbol == PlotSymbol::kDisc || symbol == PlotSymbol::kDiamond;
  const std::string style =
      fmt::format("s {}{}", is_round(symbol) ? "c0" : "r", is_filled ? " f" : "");
  if (is_round(symbol))
    return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>", style, x, y);
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>", style,
                     x, y - 5.5);
}

struct Label {
  double left;
  double right;
  double y;
};

// Names of points stand beside them, and where they would cover each other, lower or, at the lower
// end, higher.
std::string points_svg(const Plot& plot, const Frame& frame) {
  std::vector<const PlotPoint*> order;
  for (const PlotPoint& point : plot.points)
    if (frame.holds(point.x, point.y)) order.push_back(&point);
  std::stable_sort(order.begin(), order.end(), [&](const PlotPoint* a, const PlotPoint* b) {
    return frame.top(a->y) < frame.top(b->y);
  });
  std::vector<Label> placed;
  for (const PlotPoint* point : order) {
    const double x = frame.left(point->x);
    placed.push_back({.left = x - 8, .right = x + 8, .y = frame.top(point->y)});
  }
  std::string svg;
  std::string marks;  // of others below those of one's own
  std::string own;
  for (const PlotPoint* point : order) {
    const double x = frame.left(point->x);
    const double y = frame.top(point->y);
    const double length = kLetter * static_cast<double>(point->name.size());
    const bool is_right = x + 14 + length <= plot.width;
    Label label{.left = is_right ? x + 14 : x - 14 - length, .right = 0, .y = y};
    label.right = label.left + length;
    const auto covers = [&](const Label& other) {
      return label.left < other.right && other.left < label.right &&
             std::abs(label.y - other.y) < kLineHeight - 0.1;
    };
    const auto settle = [&](double by) {
      for (auto at = placed.begin(); at != placed.end();)
        if (covers(*at)) {
          label.y = at->y + by;
          at = placed.begin();
        } else {
          ++at;
        }
    };
    settle(kLineHeight);
    if (label.y > frame.bottom + 4) {  // the numbers of the axis begin below
      label.y = y;
      settle(-kLineHeight);
    }
    placed.push_back(label);
    if (std::abs(label.y - y) > 2)
      svg +=
          fmt::format("<line class=\"g\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                      x, y, is_right ? label.left - 3 : label.right + 3, label.y);
    (is_round(point->symbol) ? own : marks) += symbol_svg(point->symbol, x, y);
    svg += fmt::format("<text class=\"l\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                       is_right ? label.left : label.right, label.y + 4.5,
                       is_right ? "start" : "end", escaped_for_xml(point->name));
  }
  return svg + marks + own + "\n";
}

}  // namespace

std::string escaped_for_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += c;
  }
  return result;
}

std::string plot_svg(const Plot& plot) {
  const Frame frame = frame_of(plot);
  const std::string title = escaped_for_xml(plot.title);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"o\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n",
      whole_width(plot), whole_height(plot), title);
  if (!plot.description.empty())
    svg += fmt::format("<desc>{}</desc>\n", escaped_for_xml(plot.description));
  svg += fmt::format(
      "<style>{3}</style>\n<rect class=\"p\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text class=\"t\" x=\"20\" y=\"30\">{2}</text>\n",
      whole_width(plot), whole_height(plot), title, kPlotStyle);
  svg += grid_svg(frame);
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kLeft + frame.right_end) / 2, plot.height - 14, escaped_for_xml(plot.x_label),
      (kTop + frame.bottom) / 2, escaped_for_xml(plot.y_label));
  for (const PlotMark& mark : plot.marks) {
    if (!frame.y.holds(mark.y)) continue;
    svg += fmt::format(
        "<line class=\"m\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" dx=\"6\">{4}</text>\n",
        kLeft, frame.top(mark.y), frame.right_end, frame.top(mark.y) - 6,
        escaped_for_xml(mark.name));
  }
  for (std::size_t i = 0; i < plot.lines.size(); ++i) svg += line_svg(plot.lines[i], i, frame);
  return svg + key_svg(plot) + points_svg(plot, frame) + "</svg>\n";
}

}  // namespace obol::report
