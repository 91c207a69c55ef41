#include "obol/barrier/recorded_step.h"

#include <vector>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

namespace obol::barrier {

struct WorkStream::Guard {
  c10::cuda::CUDAStreamGuard guard;
};

WorkStream::WorkStream(const torch::Device& device) {
  if (!device.is_cuda()) return;
  // The same shapes come again and again: the fastest kernel is worth a search. What is released
  // must not be rounded to TF32.
  at::globalContext().setBenchmarkCuDNN(true);
  at::globalContext().setAllowTF32CuBLAS(false);
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index());
  c10::cuda::getCurrentCUDAStream(stream.device_index()).synchronize();
  guard_.reset(new Guard{c10::cuda::CUDAStreamGuard(stream)});
}

WorkStream::~WorkStream() {
  if (guard_) guard_->guard.current_stream().synchronize();
}

struct RecordedStep::Recording {
  at::cuda::CUDAGraph graph;
  std::vector<Door::Toll> tolls;
};

RecordedStep::RecordedStep(const torch::Device& device, Door* door)
    : device_(device), door_(door) {}
RecordedStep::~RecordedStep() = default;

void RecordedStep::run(const std::function<void()>& body) {
  constexpr int kPlain = 3;
  if (!device_.is_cuda()) {
    body();
    return;
  }
  if (!recording_ && plain_ < kPlain) {
    body();
    ++plain_;
    return;
  }
  if (!recording_) {
    auto recording = std::make_unique<Recording>();
    if (door_ != nullptr) door_->record(&recording->tolls);
    try {
      // Other threads may take memory meanwhile: those that propagate gradients do.
      recording->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      body();
      recording->graph.capture_end();
    } catch (...) {
      if (door_ != nullptr) door_->record(nullptr);
      throw;
    }
    if (door_ != nullptr) door_->record(nullptr);
    recording_ = std::move(recording);
  }
  if (door_ != nullptr) door_->pay(recording_->tolls);
  recording_->graph.replay();
}

void RecordedStep::forget() {
  if (recording_) c10::cuda::getCurrentCUDAStream(device_.index()).synchronize();
  recording_.reset();
  plain_ = 0;
}

}  // namespace obol::barrier
