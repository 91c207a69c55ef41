#include "obol/method/dp_sinkhorn/record_step.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "obol/method/state.h"
#include "obol/transport/tensor/streamed.h"

namespace obol::method::dp_sinkhorn {
namespace {

using torch::Tensor;

constexpr const char* kClassSizes = "class sizes";
constexpr const char* kSecondBatch = "second batch";

// [steps + 1], from step 1.
Tensor self_weights(const RecordStepOptions& options, std::int64_t steps) {
  Tensor weights = torch::zeros({steps + 1});
  for (std::int64_t step = 1; step <= steps; ++step)
    weights.data_ptr<float>()[step] = static_cast<float>(self_weight_at(options, step, steps));
  return weights;
}

// How long each record's pull is before it is clipped: [m]; see barrier::pull.
Tensor pull_norms(const barrier::Rows& rows, const barrier::Sample& sample, double regularization) {
  const Tensor labels_of_rows =
      torch::arange(rows.classes, torch::TensorOptions(rows.points.device()))
          .repeat_interleave(rows.points.size(0) / rows.classes);
  const Tensor is_other =
      labels_of_rows.unsqueeze(1).ne(sample.labels().to(rows.points.device()).unsqueeze(0));
  const Tensor squares = torch::cdist(rows.points.to(torch::kDouble),
                                      sample.points.to(rows.points.device(), torch::kDouble))
                             .square();
  const Tensor shares =
      ((rows.potentials.to(torch::kDouble).unsqueeze(1) - squares) / regularization)
          .masked_fill(is_other, -std::numeric_limits<double>::infinity())
          .softmax(0);
  const Tensor norms = (shares.square() * squares).sum(0).sqrt();
  return sample.present.defined() ? norms.masked_select(sample.present.gt(0)) : norms;
}

}  // namespace

RecordStep::RecordStep(const StepParts& parts, const Private<data::Dataset>& data)
    : parts_(parts),
      clip_norm_(parts.options.method.clip_norm),
      regularization_(parts.options.method.regularization),
      options_(parts.options.method),
      shape_(data.facts().shape),
      classes_(classes_of(data.facts())),
      features_(parse_features(options_.features, shape_).to(parts.context.device)),
      records_(data, {.device = parts.context.device,
                      .lowest = lowest_of(parts.options.generator),
                      .features = features_.are_pixels()
                                      ? std::function<Tensor(const Tensor&)>()
                                      : [this](const Tensor& x) { return features_.of_records(x); },
                      .by_class = true}) {
  const torch::Device& device = parts.context.device;
  const auto count = static_cast<double>(data.facts().declared_size);
  class_sizes_ = torch::full({classes_}, count, torch::kFloat).to(device);
  labels_ = balanced_labels(parts.options.generated_batch);
  labels2_ = balanced_labels(options_.second_batch);
  gradient_norm_ = torch::zeros({}, torch::TensorOptions(device));
  if (is_on_gpu()) self_weights_ = self_weights(options_, parts.options.steps).to(device);
}

void RecordStep::start() {
  if (classes_ == 1) return;
  const double noise = *parts_.options.histogram_noise;
  barrier::HistogramBarrier histogram(*parts_.context.door, noise);
  // A class that is hardly there must not be divided by what is left of it.
  const double least = std::max(1.0, 2 * noise);
  class_sizes_ = histogram.release(records_.class_counts())
                     .clamp_min(least)
                     .to(parts_.context.device, torch::kFloat);
}

Tensor RecordStep::balanced_labels(std::int64_t count) const {
  return torch::arange(classes_).repeat_interleave(count / classes_).to(parts_.context.device);
}

Tensor RecordStep::features_of(const Tensor& images) const { return features_(images.flatten(1)); }

barrier::Sample RecordStep::second_batch() {
  const torch::NoGradGuard no_grad;
  barrier::Sample second{
      .points = features_of(parts_.trainee.generate(labels2_, parts_.context.bits)),
      .class_counts = {}};
  if (is_on_gpu())
    second.present = torch::ones({labels2_.size(0)}, second.points.options());
  else
    second.class_counts.assign(static_cast<std::size_t>(classes_), labels2_.size(0) / classes_);
  return second;
}

transport::Problem RecordStep::against(const Tensor& points, const Tensor& second) const {
  return {.x = points,
          .y = second,
          .labels_x = labels_,
          .labels_y = labels2_,
          .label_weight = transport::kSeparateClasses};
}

Tensor RecordStep::potentials_of(const Tensor& points) {
  if (options_.potential_iterations == 0) return torch::zeros({points.size(0)}, points.options());
  if (is_on_gpu())
    return transport::streamed::potentials(points, last_second_, classes_, regularization_,
                                           options_.potential_iterations);
  return transport::sinkhorn(against(points, last_second_),
                             {.regularization = regularization_,
                              .tolerance = 0,
                              .max_iterations = options_.potential_iterations})
      .f.to(points.options());
}

Tensor RecordStep::weighted_self(const Tensor& self, std::int64_t step) const {
  const auto n = static_cast<double>(parts_.options.generated_batch);
  const auto n2 = static_cast<double>(options_.second_batch);
  if (!is_on_gpu()) return self * (self_weight_at(options_, step, parts_.options.steps) * n / n2);
  return self * (self_weights_.index_select(0, parts_.trainee.step()) * (n / n2));
}

void RecordStep::note(const Noting& noting, const barrier::Rows& rows,
                      const barrier::Sample& second,
                      const barrier::Drawn<barrier::Sample>& drawn) const {
  if (!noting.diagnostics.is_asked_for()) return;
  note_losses(noting, against(rows.points, second.points), {.regularization = regularization_},
              drawn);
  note_clipping(noting, drawn.value.map([&](const barrier::Sample& sample) {
    return pull_norms(rows, sample, regularization_);
  }),
                clip_norm_);
}

void RecordStep::take(const Noting& noting) {
  const std::int64_t n = parts_.options.generated_batch;
  const double rate = parts_.options.sampling_rate;
  const Tensor images = parts_.trainee.generate(labels_, parts_.context.bits);
  const Tensor points = features_of(images);
  if (!last_second_.defined()) last_second_ = second_batch().points;
  const barrier::Sample second = second_batch();
  // Potentials from generated rows that have no other part in this step: those of the step before.
  barrier::Rows rows{points.detach(), {}, classes_};
  rows.potentials = potentials_of(rows.points);
  barrier::RecordBarrier barrier(
      *parts_.context.door,
      {.clip_norm = clip_norm_, .noise_multiplier = parts_.options.noise_multiplier},
      regularization_);
  const auto drawn = records_.draw(rate, parts_.context.bits);
  note(noting, rows, second, drawn);
  const Tensor released = barrier.release(rows, drawn);
  const Tensor self = barrier::pull(rows, second, regularization_, clip_norm_);
  // A recorded step reads where it was recorded.
  if (is_on_gpu())
    last_second_.copy_(second.points);
  else
    last_second_ = second.points;
  // Over what a class is expected to contribute, n_c rows of it.
  const auto of_class = static_cast<double>(n) / static_cast<double>(classes_);
  const Tensor sizes = class_sizes_.index_select(0, labels_);
  const Tensor data_term = released * (of_class / rate / sizes).unsqueeze(1);
  const Tensor gradient = data_term - weighted_self(self, noting.step);
  gradient_norm_.copy_(gradient.norm());
  const Tensor unseen = features_.dropped(images.detach().flatten(1));
  if (!unseen.defined()) {
    points.backward(gradient / static_cast<double>(n));
    return;
  }
  // What the features do not see, nothing would hold: it is drawn to zero, as if the private images
  // had nothing there.
  torch::autograd::backward({points, images}, {gradient / static_cast<double>(n),
                                               unseen.view_as(images) / static_cast<double>(n)});
}

void RecordStep::save(run::Sections& sections) {
  sections[kClassSizes] = saved(class_sizes_);
  if (last_second_.defined()) sections[kSecondBatch] = saved(last_second_);
}

void RecordStep::load(const run::Sections& sections) {
  restore(sections, kClassSizes, class_sizes_);
  last_second_ = Tensor();
  if (!sections.contains(kSecondBatch)) return;  // no step was taken
  const Tensor one = torch::zeros({1, shape_.channels, shape_.height, shape_.width},
                                  torch::TensorOptions(parts_.context.device));
  const Tensor points =
      torch::zeros({options_.second_batch, features_of(one).size(1)}, one.options());
  restore(sections, kSecondBatch, points);
  last_second_ = points;
}

std::vector<run::Metric> RecordStep::metrics(std::int64_t step) const {
  return {{"self_weight", run::Public(self_weight_at(options_, step, parts_.options.steps),
                                      run::Origin::kSyntheticOnly)},
          {"gradient_norm", run::Public(gradient_norm_.item<double>(), run::Origin::kReleased)}};
}

}  // namespace obol::method::dp_sinkhorn
