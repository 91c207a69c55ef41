#include "obol/method/summit/teacher.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>

#include "obol/barrier/outer.h"
#include "obol/features/group_norm.h"
#include "obol/method/state.h"
#include "obol/method/summit/entry.h"

namespace obol::method::summit {
namespace {

using torch::Tensor;

constexpr const char* kWeights = "teacher weights";
constexpr const char* kMomentum = "teacher momentum";
constexpr const char* kAverage = "teacher average";
constexpr double kDecay = 0.9;     // of the momentum
constexpr double kConstant = 0.3;  // the feature whose weight is the bias
constexpr int kExactBits = 53;
// Records whose features are held in double at once: few enough for a cache.
constexpr std::int64_t kAtOnce = 512;

Tensor with_constant(const Tensor& features) {
  return torch::cat({features, torch::full({features.size(0), 1}, kConstant, features.options())},
                    1);
}

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

Teacher::Teacher(const TeacherOptions& options, const features::Scattering& scattering,
                 std::int64_t classes, std::int64_t records, const torch::Device& device)
    : options_(options),
      scattering_(scattering),
      classes_(classes),
      expected_(options.teacher_rate * static_cast<double>(records)) {
  weights_ = torch::zeros({classes, scattering.dimension() + 1},
                          torch::TensorOptions(device).dtype(torch::kDouble));
  momentum_ = torch::zeros_like(weights_);
  average_ = torch::zeros_like(weights_);
}

std::int64_t Teacher::groups() const { return features::groups_for(scattering_.channels()); }

Tensor Teacher::features_of(const Tensor& scattered) const {
  return with_constant(features::group_normalized(scattered, groups()));
}

Tensor Teacher::of_records(const Tensor& images) const {
  const Tensor normalized =
      features::group_normalized_records(scattering_.of_records(images), groups());
  return barrier::on_outer_grid(with_constant(normalized)).to(torch::kFloat);
}

void Teacher::step(std::int64_t step, barrier::Door& door, barrier::PrivateRecords& records,
                   double noise_multiplier, RandomBits& bits) {
  const torch::NoGradGuard no_grad;
  barrier::OuterBarrier barrier(door, {.clip_norm = options_.teacher_clip_norm,
                                       .noise_multiplier = noise_multiplier,
                                       .left = classes_,
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
  average_.lerp_(weights_, 1.0 / static_cast<double>(step - first + 1));
}

Tensor Teacher::logits(const Tensor& scattered) const {
  const Tensor weights = (average_ * options_.teacher_gain).to(torch::kFloat);
  return torch::mm(features_of(scattered), weights.t());
}

void Teacher::save(run::Sections& sections) const {
  sections[kWeights] = saved(weights_);
  sections[kMomentum] = saved(momentum_);
  sections[kAverage] = saved(average_);
}

void Teacher::load(const run::Sections& sections) {
  restore(sections, kWeights, weights_);
  restore(sections, kMomentum, momentum_);
  restore(sections, kAverage, average_);
}

}  // namespace obol::method::summit
