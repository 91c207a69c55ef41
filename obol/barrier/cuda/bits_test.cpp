#include "obol/barrier/cuda/bits.h"

#include <algorithm>
#include <vector>

#include "obol/barrier/cuda/gpu_testing.h"
#include "obol/barrier/cuda/noise.h"
#include "obol/barrier/cuda/testing.h"
#include "obol/privacy/noise.h"

namespace obol::barrier::cuda {
namespace {

using testing::check;
using testing::Device;
using testing::has_gpu;

BitsState state_of(const DeviceBits& bits) {
  BitsState state{};
  check(cudaMemcpy(&state, bits.state(), sizeof state, cudaMemcpyDeviceToHost), "a copy");
  return state;
}

TEST(DeviceBits, HaveTheKeyThatTheirSourceGaveAndBeginAtZero) {
  OBOL_NEEDS_GPU();
  SeededBits source(5);
  const DeviceBits bits(source);
  const BitsState state = state_of(bits);
  const testing::ChaCha20Key key = testing::key_of_seed(5);
  EXPECT_TRUE(std::equal(key.begin(), key.end(), state.key));
  EXPECT_EQ(state.launch, 0U);
}

TEST(DeviceBits, OfSecureBitsDiffer) {
  OBOL_NEEDS_GPU();
  SecureBits source;
  const DeviceBits one(source);
  const DeviceBits other(source);
  EXPECT_FALSE(std::equal(state_of(one).key, state_of(one).key + 8, state_of(other).key));
}

// Whatever the number of thread blocks, it is one launch.
TEST(DeviceBits, CountLaunchesOnTheDevice) {
  OBOL_NEEDS_GPU();
  SeededBits source(6);
  DeviceBits bits(source);
  const auto grid = privacy::grid_of(privacy::GaussianNoise{1, 1}, 1);
  Device<float> values(std::vector<float>(1'000'000));
  std::uint64_t launches = 0;
  for (const std::int64_t count : {1, 8, 512, 513, 1'000'000}) {
    add_gaussian(bits, values.get(), count, grid, nullptr);
    EXPECT_EQ(state_of(bits).launch, ++launches) << count;
    EXPECT_EQ(state_of(bits).started, 0U);
  }
  add_gaussian(bits, values.get(), 0, grid, nullptr);
  EXPECT_EQ(state_of(bits).launch, launches);
  testing::replay(100, [&](cudaStream_t stream) {
    add_gaussian(bits, values.get(), 100'000, grid, stream);
    release_rows(bits, {values.get(), 100, 784, 1000}, 1, grid, stream);
    release_rows(bits, {values.get(), 1, 40'000, 40'000}, 1, grid, stream);
  });
  EXPECT_EQ(state_of(bits).launch, launches + 300);
}

}  // namespace
}  // namespace obol::barrier::cuda
