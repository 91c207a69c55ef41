#include "obol/base/types.h"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace obol {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A guarantee that was forgotten, or whose two numbers were swapped, must not compile.
static_assert(!std::is_default_constructible_v<Epsilon>);
static_assert(!std::is_default_constructible_v<Delta>);
static_assert(!std::is_convertible_v<double, Epsilon>);
static_assert(!std::is_convertible_v<double, Delta>);
static_assert(!std::is_convertible_v<Epsilon, double>);
static_assert(!std::is_convertible_v<Delta, double>);
static_assert(!std::is_constructible_v<Epsilon, Delta>);
static_assert(!std::is_constructible_v<Delta, Epsilon>);

template <class Number>
std::string refusal_of(double value) {
  try {
    Number{value};
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Epsilon, KeepsItsValue) {
  EXPECT_EQ(Epsilon{3.25}.value(), 3.25);
  EXPECT_EQ(Epsilon{0.0}.value(), 0.0);
  EXPECT_EQ(Epsilon{std::numeric_limits<double>::max()}.value(),
            std::numeric_limits<double>::max());
}

TEST(Epsilon, RefusesWhatIsNotFiniteOrIsNegative) {
  EXPECT_EQ(refusal_of<Epsilon>(-1), "epsilon must be finite and not negative, but is -1");
  EXPECT_EQ(refusal_of<Epsilon>(-std::numeric_limits<double>::denorm_min()),
            "epsilon must be finite and not negative, but is -5e-324");
  EXPECT_EQ(refusal_of<Epsilon>(kInfinity), "epsilon must be finite and not negative, but is inf");
  EXPECT_EQ(refusal_of<Epsilon>(-kInfinity),
            "epsilon must be finite and not negative, but is -inf");
  EXPECT_EQ(refusal_of<Epsilon>(kNan), "epsilon must be finite and not negative, but is nan");
}

TEST(Epsilon, ComparesByValue) {
  EXPECT_LT(Epsilon{1}, Epsilon{2});
  EXPECT_GT(Epsilon{2}, Epsilon{1});
  EXPECT_EQ(Epsilon{1}, Epsilon{1});
  EXPECT_NE(Epsilon{1}, Epsilon{2});
  EXPECT_LE(Epsilon{1}, Epsilon{1});
  EXPECT_FALSE(Epsilon{2} <= Epsilon{1});
}

TEST(Delta, KeepsItsValue) {
  EXPECT_EQ(Delta{1e-5}.value(), 1e-5);
  EXPECT_EQ(Delta{0.0}.value(), 0.0);
  EXPECT_EQ(Delta{std::nextafter(1.0, 0.0)}.value(), std::nextafter(1.0, 0.0));
}

TEST(Delta, RefusesWhatIsNotAtLeastZeroAndLessThanOne) {
  EXPECT_EQ(refusal_of<Delta>(1), "delta must be at least 0 and less than 1, but is 1");
  EXPECT_EQ(refusal_of<Delta>(-1e-9), "delta must be at least 0 and less than 1, but is -1e-09");
  EXPECT_EQ(refusal_of<Delta>(kInfinity), "delta must be at least 0 and less than 1, but is inf");
  EXPECT_EQ(refusal_of<Delta>(-kInfinity), "delta must be at least 0 and less than 1, but is -inf");
  EXPECT_EQ(refusal_of<Delta>(kNan), "delta must be at least 0 and less than 1, but is nan");
}

TEST(Delta, ComparesByValue) {
  EXPECT_LT(Delta{1e-6}, Delta{1e-5});
  EXPECT_GT(Delta{1e-5}, Delta{1e-6});
  EXPECT_EQ(Delta{1e-5}, Delta{1e-5});
  EXPECT_NE(Delta{1e-5}, Delta{1e-6});
}

}  // namespace
}  // namespace obol
