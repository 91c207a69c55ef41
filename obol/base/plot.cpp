#include "obol/base/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 420;
constexpr double kLeft = 78;
constexpr double kRight = 24;
constexpr double kTop = 66;
constexpr double kBottom = 58;

constexpr const char* kStyle =
    ".o{font:13px system-ui,sans-serif;fill:#24292f}.o .t{font-size:16px;font-weight:600}"
    ".o .g{stroke:#d0d7de;stroke-width:1}.o .a{stroke:#57606a;stroke-width:1.2}"
    ".o .m{stroke:#57606a;stroke-width:1.2;stroke-dasharray:5 4}"
    ".o polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}"
    ".o .p{fill:#fff}.o .c0{stroke:#0969da}.o .c1{stroke:#cf222e}.o .c2{stroke:#1a7f37}"
    ".o .c3{stroke:#8250df}"
    "@media(prefers-color-scheme:dark){.o{fill:#e6edf3}.o .p{fill:#0d1117}.o .g{stroke:#30363d}"
    ".o .a,.o .m{stroke:#8b949e}.o .c0{stroke:#58a6ff}.o .c1{stroke:#ff7b72}"
    ".o .c2{stroke:#3fb950}.o .c3{stroke:#bc8cff}}";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

// One axis: from `low` to `high` in round steps.
struct Axis {
  double low;
  double high;
  double step;

  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

Axis axis_for(double low, double high) {
  low = std::min(0.0, low);
  high = std::max(high, low + 1e-12);
  const double rough = (high - low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  return {
      .low = std::floor(low / step) * step, .high = std::ceil(high / step) * step, .step = step};
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

  [[nodiscard]] double left(double value) const {
    return kLeft + x.share(value) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double top(double value) const {
    return kHeight - kBottom - y.share(value) * (kHeight - kTop - kBottom);
  }
};

Frame frame_of(const Plot& plot) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<double, 2> x{kInfinity, -kInfinity};
  std::array<double, 2> y = x;
  for (const PlotLine& line : plot.lines)
    for (const auto& [px, py] : line.points) {
      if (!std::isfinite(px) || !std::isfinite(py)) continue;
      x = {std::min(x[0], px), std::max(x[1], px)};
      y = {std::min(y[0], py), std::max(y[1], py)};
    }
  if (x[0] > x[1])
    throw InvalidArgument(violation("a plot", "of at least one finite point", "empty"));
  for (const PlotMark& mark : plot.marks) y[1] = std::max(y[1], mark.y);
  Axis across = axis_for(x[0], x[1]);
  across.high = std::max(x[1], across.low + 1e-12);  // no empty room on the right
  return {.x = across, .y = axis_for(y[0], y[1])};
}

std::string grid_svg(const Frame& frame) {
  std::string svg;
  const auto count = [](const Axis& axis) {
    return static_cast<int>(std::floor((axis.high - axis.low) / axis.step + 1e-9));
  };
  for (int i = 0; i <= count(frame.y); ++i) {
    const double value = frame.y.low + i * frame.y.step;
    svg += fmt::format(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        i == 0 ? "a" : "g", kLeft, frame.top(value), kWidth - kRight, frame.top(value), kLeft - 8,
        frame.top(value) + 4.5, tick_text(value));
  }
  for (int i = 0; i <= count(frame.x); ++i) {
    const double value = frame.x.low + i * frame.x.step;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       frame.left(value), kHeight - kBottom + 20, tick_text(value));
  }
  return svg;
}

}  // namespace

std::string plot_svg(const Plot& plot) {
  const Frame frame = frame_of(plot);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"o\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" aria-label=\"{2}\">\n<style>{3}</style>\n"
      "<rect class=\"p\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text class=\"t\" x=\"{4}\" y=\"28\">{2}</text>\n",
      kWidth, kHeight, escaped(plot.title), kStyle, kLeft);
  svg += grid_svg(frame);
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kLeft + kWidth - kRight) / 2, kHeight - 14, escaped(plot.x_label),
      (kTop + kHeight - kBottom) / 2, escaped(plot.y_label));
  for (const PlotMark& mark : plot.marks)
    svg += fmt::format(
        "<line class=\"m\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" dx=\"6\">{4}</text>\n",
        kLeft, frame.top(mark.y), kWidth - kRight, frame.top(mark.y) - 6, escaped(mark.name));
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const PlotLine& line = plot.lines[i];
    std::string points;
    for (const auto& [x, y] : line.points)
      if (std::isfinite(x) && std::isfinite(y))
        points += fmt::format("{:.1f},{:.1f} ", frame.left(x), frame.top(y));
    svg += fmt::format("<polyline class=\"c{}\" points=\"{}\"/>\n", i % 4, points);
    if (plot.lines.size() == 1) continue;
    const double legend = kWidth - kRight - 210;
    const double top = 20 + 18 * static_cast<double>(i);
    svg += fmt::format(
        "<polyline class=\"c{}\" points=\"{:.1f},{:.1f} {:.1f},{:.1f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        i % 4, legend, top, legend + 22, top, legend + 28, top + 4.5, escaped(line.name));
  }
  return svg + "</svg>\n";
}

}  // namespace obol
