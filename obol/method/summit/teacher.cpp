#include "obol/method/summit/teacher.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>

#include "obol/barrier/outer.h"
#include "obol/method/state.h"
#include "obol/method/summit/entry.h"

namespace obol::method::summit {
namespace {

using torch::Tensor;

constexpr const char* kWeights = "teacher weights";
constexpr const char* kMomentum = "teacher momentum";
constexpr const char* kAverage = "teacher average";
constexpr double kDecay = 0.9;  // the share of the momentum that a step keeps
constexpr int kExactBits = 53;
// Records whose features are held in double at once: few enough for a cache.
constexpr std::int64_t kAtOnce = 512;

// Weights that a product with features on their grid is exact with.
Tensor exact_weights(const Tensor& weights) {
  const barrier::OuterGrid grid = barrier::outer_grid(weights.size(1));
  const double largest = std::max(weights.abs().max().item<double>(), 1e-30);
  const auto terms = static_cast<int>(std::ceil(std::log2(static_cast<double>(weights.size(1)))));
  const int bits = kExactBits - 1 - grid.right_bits - terms;
  const double unit = std::ldexp(1.0, std::ilogb(largest) + 1 - bits);
  return weights.div(unit).round_().mul_(unit);
}

// In place, rows of logits to softmax less one-hot. A loop of our own: a vectorised one may treat
// the last numbers of a tensor in another way.
void to_residuals(Tensor& logits, const Tensor& labels) {
  const std::int64_t classes = logits.size(1);
  auto* all = logits.data_ptr<double>();
  const auto* label = labels.data_ptr<std::int64_t>();
  constexpr std::int64_t kWorthAThread = 256;
  at::parallel_for(0, logits.size(0), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double* first = all + row * classes;
      const double largest = *std::max_element(first, first + classes);
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += first[c] = std::exp(first[c] - largest);
      for (std::int64_t c = 0; c < classes; ++c) first[c] /= sum;
      first[label[row]] -= 1;
    }
  });
}

}  // namespace

Tensor residuals(const Tensor& features, const Tensor& labels, const Tensor& weights, double gain) {
  const Tensor exact = exact_weights(weights).t();
  Tensor logits = torch::empty({features.size(0), weights.size(0)}, torch::kDouble);
  for (std::int64_t from = 0; from < features.size(0); from += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, features.size(0) - from);
    const Tensor some = features.narrow(0, from, count).to(torch::kDouble);
    logits.narrow(0, from, count).copy_(torch::mm(some, exact).mul_(gain));
  }
  to_residuals(logits, labels.cpu().contiguous());
  return logits.to(features.device());
}

Teacher::Teacher(const TeacherOptions& options, const data::ImageShape& shape, std::int64_t classes,
                 std::int64_t records, const torch::Device& device)
    : options_(options),
      classifier_(shape, classes, options.teacher_gain, device),
      expected_(options.teacher_rate * static_cast<double>(records)),
      weights_(torch::zeros_like(classifier_.weights())),
      momentum_(torch::zeros_like(classifier_.weights())) {}

Tensor Teacher::of_records(const Tensor& images) const {
  return barrier::on_outer_grid(classifier_.features_of_records(images)).to(torch::kFloat);
}

void Teacher::step(std::int64_t step, barrier::Door& door, barrier::PrivateRecords& records,
                   double noise_multiplier, RandomBits& bits) {
  const torch::NoGradGuard no_grad;
  barrier::OuterBarrier barrier(door, {.clip_norm = options_.teacher_clip_norm,
                                       .noise_multiplier = noise_multiplier,
                                       .left = weights_.size(0),
                                       .right = weights_.size(1),
                                       .purpose = kTeacher});
  records.prepare(options_.teacher_rate, bits);
  const auto drawn = records.draw(options_.teacher_rate, bits);
  const Tensor released = barrier.release(drawn.map([&](const barrier::Sample& sample) {
    return barrier::OuterProducts{
        .left = residuals(sample.points, sample.labels(), weights_, options_.teacher_gain),
        .right = sample.points,
        .present = sample.present};
  }));
  momentum_.mul_(kDecay).add_(released.to(weights_.device()) / expected_);
  weights_.sub_(momentum_ * options_.teacher_learning_rate);
  const std::int64_t first = options_.teacher_steps / 2 + 1;
  if (step < first) return;
  classifier_.weights().lerp_(weights_, 1.0 / static_cast<double>(step - first + 1));
}

bool Teacher::has_learnt() const { return classifier_.weights().any().item<bool>(); }

void Teacher::save(run::Sections& sections) const {
  sections[kWeights] = saved(weights_);
  sections[kMomentum] = saved(momentum_);
  sections[kAverage] = saved(classifier_.weights());
}

void Teacher::load(const run::Sections& sections) {
  restore(sections, kWeights, weights_);
  restore(sections, kMomentum, momentum_);
  restore(sections, kAverage, classifier_.weights());
}

}  // namespace obol::method::summit
