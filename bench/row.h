// What benchmarks print: lines of JSON that bench/run makes one table of.
//
//   print(Row{.what = "DP-Sinkhorn, row", .unit = "steps/s", .ours = 7.6, .reference = 4.1, ...});
#pragma once

#include <cmath>
#include <iostream>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace obol::bench {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

inline std::string number_or_null(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

// One thing measured against another in the same run. Of units a second ("steps/s") more is better,
// of others less.
struct Row {
  std::string what;
  std::string unit;
  double ours;
  double reference = kNone;
  std::string reference_is = {};  // "eager LibTorch"
  double floor = kNone;           // what the machine would allow, in the same unit
  double gflop = kNone;           // of one
};

inline void print(const Row& row) {
  std::cout << fmt::format(R"({{"what": "{}", "unit": "{}", "ours": {}, "reference": {}, )"
                           R"("reference_is": "{}", "floor": {}, "gflop": {}}})",
                           row.what, row.unit, number_or_null(row.ours),
                           number_or_null(row.reference), row.reference_is,
                           number_or_null(row.floor), number_or_null(row.gflop))
            << std::endl;
}

// Where the time of one step goes.
struct Part {
  std::string of;
  std::string what;
  double seconds;
  double gflop = kNone;
};

inline void print(const Part& part) {
  std::cout << fmt::format(R"({{"of": "{}", "part": "{}", "milliseconds": {:.4g}, "gflop": {}}})",
                           part.of, part.what, part.seconds * 1e3, number_or_null(part.gflop))
            << std::endl;
}

}  // namespace obol::bench
