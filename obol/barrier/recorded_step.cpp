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

struct RecordedStep::Recorder {
  struct Recording {
    at::cuda::CUDAGraph graph;
    std::vector<Door::Toll> tolls;
  };

  torch::Device device;
  Door* door;
  int plain = 0;  // runs so far
  std::unique_ptr<Recording> recording = nullptr;

  // Keeps what the door would have paid.
  void record(const std::function<void()>& body) {
    auto made = std::make_unique<Recording>();
    const auto keep_tolls = [&](std::vector<Door::Toll>* tolls) {
      if (door != nullptr) door->record(tolls);
    };
    keep_tolls(&made->tolls);
    try {
      // Other threads may take memory meanwhile: those that propagate gradients do.
      made->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      body();
      made->graph.capture_end();
    } catch (...) {
      keep_tolls(nullptr);
      throw;
    }
    keep_tolls(nullptr);
    recording = std::move(made);
  }
};

RecordedStep::RecordedStep(const torch::Device& device, Door* door) {
  if (device.is_cuda()) recorder_.reset(new Recorder{device, door});
}
RecordedStep::~RecordedStep() = default;

void RecordedStep::run(const std::function<void()>& body) {
  constexpr int kPlain = 3;
  if (!recorder_) {
    body();
    return;
  }
  Recorder& recorder = *recorder_;
  if (!recorder.recording && recorder.plain < kPlain) {
    body();
    ++recorder.plain;
    return;
  }
  if (!recorder.recording) recorder.record(body);
  if (recorder.door != nullptr) recorder.door->pay(recorder.recording->tolls);
  recorder.recording->graph.replay();
}

void RecordedStep::forget() {
  if (!recorder_) return;
  if (recorder_->recording)
    c10::cuda::getCurrentCUDAStream(recorder_->device.index()).synchronize();
  recorder_->recording.reset();
  recorder_->plain = 0;
}

}  // namespace obol::barrier
