#include <vector>

#include "obol/base/chacha20_block.h"
#include "obol/cuda/testing.cuh"

namespace obol::barrier::cuda {
namespace {

using obol::cuda::check;
using obol::cuda::Device;
using obol::cuda::has_gpu;

__global__ void standard_block(std::uint32_t* words) {
  std::uint32_t key[8];
  for (unsigned k = 0; k < 8; ++k) key[k] = 0x03020100 + k * 0x04040404;
  std::uint32_t block[16];
  chacha20_block(key, 1, {0x09000000, 0x4a000000, 0}, block);
  for (int k = 0; k < 16; ++k) words[k] = block[k];
}

// RFC 8439, section 2.3.2.
TEST(ChaCha20Gpu, MakesTheBlockOfTheStandard) {
  OBOL_NEEDS_GPU();
  const Device<std::uint32_t> words(std::size_t{16});
  standard_block<<<1, 1>>>(words.get());
  check(cudaGetLastError(), "a block");
  const std::vector<std::uint32_t> expected = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                               0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                               0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                               0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_EQ(words.host(), expected);
}

}  // namespace
}  // namespace obol::barrier::cuda
