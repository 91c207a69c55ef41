// What GS-WGAN asks of a GPU. Without CUDA, in this build or in its LibTorch, there is none.
//
//   Branches branches(device, 8);
//   branches.run([&](std::size_t k) { ... });       // eight kinds of work, side by side
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <torch/torch.h>

namespace obol::method::gs_wgan::gpu {

// Of its memory, what nobody has taken.
std::int64_t free_bytes(const torch::Device& device);

// Streams beside the current one: work that is too small for a GPU shares it. Can be recorded. On a
// processor one piece of work follows another.
class Branches {
 public:
  Branches(const torch::Device& device, std::size_t count);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  // work(0), work(1), ... are called one after another, each with its own stream as the current
  // one. They must not touch each other's tensors. What the current stream does next waits for all.
  void run(const std::function<void(std::size_t)>& work) const;

 private:
  struct Streams;
  std::size_t count_;
  std::unique_ptr<Streams> streams_;  // null on a processor
};

}  // namespace obol::method::gs_wgan::gpu
