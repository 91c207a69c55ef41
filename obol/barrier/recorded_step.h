// A step of training that is taken again and again. On a GPU it is recorded in a CUDA graph and
// replayed, so that the host only says "again".
//
//   WorkStream stream(device);                        // while there is work
//   RecordedStep step(device, &door);
//   for (...) step.run([&] { ... one step ... });     // the body runs four times, then never again
//
// On a processor, and where there is no CUDA, every run is a call of the body. On a GPU the first
// three are (operators choose their kernels, memory is taken), the fourth is recorded, and from
// then on the recording is replayed: the same kernels at the same addresses. So the body
//   - reads and writes tensors that stay where they are (numbers that change from step to step lie
//     on the device, and the body itself counts on);
//   - never waits for the device: no item(), no copy to the host, no shape that depends on data;
//   - takes random numbers from torch's generator of the device or from the door, which draw anew
//     in each replay;
//   - leaves nothing to the host that a later step needs.
//
// What the body releases through the door is paid before every replay: the recording keeps the
// events, and where the budget does not allow them nothing is replayed (BudgetExceeded).
#pragma once

#include <functional>
#include <memory>

#include <torch/torch.h>

#include "obol/barrier/door.h"

namespace obol::barrier {

// While it lives, this thread's work on `device` goes to a stream of its own: one that can be
// recorded. Waits for it at the end. Nothing on a processor.
class WorkStream {
 public:
  explicit WorkStream(const torch::Device& device);
  ~WorkStream();
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;

 private:
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

class RecordedStep {
 public:
  // `door`, where there is one, must outlive this.
  explicit RecordedStep(const torch::Device& device, Door* door = nullptr);
  ~RecordedStep();
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;

  void run(const std::function<void()>& body);
  // The next runs are plain again, and then recorded anew: tensors have moved.
  void forget();

 private:
  struct Recorder;  // null where there is nothing to record on
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace obol::barrier
