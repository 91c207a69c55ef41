#include "obol/method/gs_wgan/side_by_side.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace obol::method::gs_wgan {
namespace {

class SideBySide : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(3); }
  void TearDown() override { at::set_num_threads(usual_); }
  int usual_ = at::get_num_threads();
};

TEST_F(SideBySide, DoesEachOnceAndOnOneThread) {
  std::vector<std::atomic<int>> times(50);
  std::atomic<int> most = 0;
  side_by_side(50, [&](std::int64_t k) {
    ++times[static_cast<std::size_t>(k)];
    most = std::max<int>(most, at::get_num_threads());
  });
  for (const auto& count : times) EXPECT_EQ(count, 1);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(at::get_num_threads(), 3);
  side_by_side(0, [](std::int64_t) { FAIL(); });
}

TEST_F(SideBySide, ThrowsWhatOneThrew) {
  std::atomic<int> begun = 0;
  const auto work = [&](std::int64_t k) {
    ++begun;
    if (k == 2) throw std::runtime_error("two");
  };
  EXPECT_THROW(side_by_side(100'000, work), std::runtime_error);
  EXPECT_LT(begun, 100'000);
}

}  // namespace
}  // namespace obol::method::gs_wgan
