#include "obol/evaluate/noisy.h"

#include "obol/barrier/barrier.h"
#include "obol/evaluate/downstream.h"

namespace obol::evaluate {

double noisy_accuracy(model::Classifier& classifier, const Private<data::Dataset>& records,
                      barrier::Door& door, double noise) {
  const auto right = records.map([&](const data::Dataset& data) {
    const LabelledImages images = to_tensors(data);
    const torch::Tensor is_right = predict(classifier, images.images).cpu().eq(images.labels);
    return is_right.sum(0, true).to(torch::kDouble);  // floats end at 2^24
  });
  barrier::HistogramBarrier barrier(door, noise, barrier::kValidation);
  return barrier.release(right).item<double>() / static_cast<double>(records.facts().declared_size);
}

}  // namespace obol::evaluate
