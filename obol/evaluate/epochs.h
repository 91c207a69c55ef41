// A progress line for the epochs of one training, which an interrupt ends.
//
//   Epochs epochs("training cnn", options.protocol);
//   train_classifier(images, options, std::ref(epochs));
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/evaluate/downstream.h"

namespace obol::evaluate {

class Epochs {
 public:
  Epochs(const std::string& label, Protocol protocol)
      : progress_(label, protocol == Protocol::kQuick ? kQuickEpochs : 0, "epochs") {}
  void operator()(const EpochResult& at) {
    check_interrupt();
    progress_.advance(1, at.held_out_accuracy
                             ? fmt::format("{:.1f}% held out", 100 * *at.held_out_accuracy)
                             : std::string());
  }

 private:
  static constexpr std::int64_t kQuickEpochs = 12;
  Progress progress_;
};

}  // namespace obol::evaluate
