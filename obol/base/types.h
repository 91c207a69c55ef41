// The two numbers of a privacy guarantee, as types that cannot be confused or forgotten.
//
//   struct Budget { Epsilon epsilon; Delta delta; };
//   Budget budget{Epsilon{10.0}, Delta{1e-5}};   // Budget budget{}; does not compile
#pragma once

#include <cmath>
#include <compare>

#include "obol/base/error.h"

namespace obol {

class Epsilon {
 public:
  explicit Epsilon(double value) : value_(value) {
    if (!std::isfinite(value) || value < 0)
      throw InvalidArgument(violation("epsilon", "finite and not negative", value));
  }
  [[nodiscard]] double value() const noexcept { return value_; }
  auto operator<=>(const Epsilon&) const = default;

 private:
  double value_;
};

class Delta {
 public:
  explicit Delta(double value) : value_(value) {
    if (!(value >= 0 && value < 1))
      throw InvalidArgument(violation("delta", "at least 0 and less than 1", value));
  }
  [[nodiscard]] double value() const noexcept { return value_; }
  auto operator<=>(const Delta&) const = default;

 private:
  double value_;
};

}  // namespace obol
