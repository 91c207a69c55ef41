#include "obol/barrier/cuda/bits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "obol/barrier/cuda/arithmetic.h"
#include "obol/base/random.h"
#include "obol/cuda/error.h"

namespace obol::barrier::cuda {

using obol::cuda::check;

DeviceBits::DeviceBits(RandomBits& bits, cudaStream_t stream) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(BitsState)), "memory for random bits");
  state_ = static_cast<BitsState*>(memory);
  std::array<std::uint64_t, 4> words{};
  bits.fill(words);
  BitsState start{};
  for (std::size_t k = 0; k < 8; ++k)
    start.key[k] = static_cast<std::uint32_t>(words[k / 2] >> (k % 2 * 32));
  const cudaError_t copied =
      cudaMemcpyAsync(state_, &start, sizeof start, cudaMemcpyHostToDevice, stream);
  const cudaError_t waited = cudaStreamSynchronize(stream);
  wipe(std::as_writable_bytes(std::span(words)));
  wipe(std::as_writable_bytes(std::span(&start, 1)));
  if (copied == cudaSuccess && waited == cudaSuccess) return;
  cudaFree(state_);
  check(copied, "a key");
  check(waited, "a key");
}

DeviceBits::~DeviceBits() {
  // Whatever draws still is to end first; an end has nobody to tell of errors.
  cudaDeviceSynchronize();
  cudaMemset(state_, 0, sizeof(BitsState));
  cudaFree(state_);
}

}  // namespace obol::barrier::cuda
