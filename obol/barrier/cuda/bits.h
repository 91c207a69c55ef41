// Random words made on the GPU: a key from the host, and a count of launches that the device keeps.
//
//   SecureBits secure;
//   DeviceBits bits(secure, stream);
//   add_gaussian(bits, values, count, grid, stream);   // may be captured in a graph and replayed
//
// The words are ChaCha20's, with a key of 256 bits that is drawn from `bits`: secure where they
// are, and repeatable where they are seeded. The nonce is {purpose, launch}, the counter numbers
// the blocks of a launch; each launch that draws raises the number on the device, so that a replay
// draws new words and none is ever used twice. That holds while all that draw from one object run
// one after another: on one stream, or in an order given by events.
#pragma once

#include <cuda_runtime_api.h>

namespace obol {
class RandomBits;
}

namespace obol::barrier::cuda {

struct BitsState;

class DeviceBits {
 public:
  // Waits for the stream; so does the end, which wipes the key.
  explicit DeviceBits(RandomBits& bits, cudaStream_t stream = nullptr);
  ~DeviceBits();
  DeviceBits(const DeviceBits&) = delete;
  DeviceBits& operator=(const DeviceBits&) = delete;

  [[nodiscard]] BitsState* state() const noexcept { return state_; }  // on the device

 private:
  BitsState* state_ = nullptr;
};

}  // namespace obol::barrier::cuda
