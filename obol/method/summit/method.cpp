#include "obol/method/summit/method.h"

#include <fmt/format.h>

#include "obol/barrier/outer.h"
#include "obol/base/error.h"
#include "obol/method/dp_sinkhorn/method.h"
#include "obol/model/scattering_classifier.h"

namespace obol::method::summit {
namespace {

using torch::Tensor;

int order_of(const MethodOptions& method) {
  return method.has_teacher() ? model::ScatteringClassifier::kOrder
                              : static_cast<int>(method.order);
}

// What the record barrier's step is told.
dp_sinkhorn::Options transport_options(const Options& options) {
  dp_sinkhorn::Options transport{.method = {},
                                 .optimizer = options.optimizer,
                                 .generator = options.generator,
                                 .barrier = Barrier::kRecord,
                                 .sampling_rate = options.sampling_rate,
                                 .noise_multiplier = options.transport_noise,
                                 .generated_batch = options.generated_batch,
                                 .steps = options.total_steps(),
                                 .histogram_noise = options.histogram_noise};
  static_cast<dp_sinkhorn::RecordStepOptions&>(transport.method) = options.method;
  transport.method.clip_norm = options.method.clip_norm;
  transport.method.regularization = options.method.regularization;
  return transport;
}

}  // namespace

void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places) {
  const std::int64_t classes = classes_of(facts);
  recipe::located(places, "generator.output", [&] {
    if (options.generator.output != "sigmoid")
      throw InvalidArgument(violation("generator.output", "\"sigmoid\" with method summit",
                                      options.generator.output));
  });
  recipe::located(places, "method.batch", [&] {
    const std::int64_t batch = options.method.batch;
    if (batch % (2 * classes) != 0)
      throw InvalidArgument(violation(
          "method.batch", fmt::format("a multiple of twice the {} classes", classes), batch));
  });
  const auto divides = [&](const char* key, const char* list, std::int64_t count,
                           const std::string& text) {
    recipe::located(places, key, [&] {
      const auto bandwidths = static_cast<std::int64_t>(frequencies_of(list, text).size());
      if (count % bandwidths != 0)
        throw InvalidArgument(violation(
            key, fmt::format("a multiple of the {} numbers in {}", bandwidths, list), count));
    });
  };
  divides("method.frequencies", "method.frequency", options.method.frequencies,
          options.method.frequency);
  divides("method.patches", "method.patch_frequency", options.method.patches,
          options.method.patch_frequency);
  recipe::located(places, "method.teacher_share", [&] {
    if (options.method.has_teacher() && classes < 2)
      throw InvalidArgument(violation("method.teacher_share", "0 where the data have no classes",
                                      options.method.teacher_share));
  });
  recipe::located(places, "data", [&] {
    if (facts.declared_size > barrier::kMostOuterProducts)
      throw InvalidArgument(violation("the number of records", "at most 2^25 with method summit",
                                      facts.declared_size));
  });
  if (!options.method.has_transport()) {
    recipe::located(places, "generator.architecture", [&] {
      model::make_generator(options.generator, facts.shape, facts.num_classes);
    });
    return;
  }
  recipe::located(places, "method.steps", [&] {
    if (options.transport_steps > options.method.steps)
      throw InvalidArgument(
          violation("method.steps",
                    fmt::format("at least the {} steps of privacy.steps", options.transport_steps),
                    options.method.steps));
  });
  dp_sinkhorn::check(transport_options(options), facts, places);
}

Summit::Summit(const Options& options, const Private<data::Dataset>& data,
               const MethodContext& context)
    : GeneratorMethod({options.generator, options.optimizer, options.method.average},
                      data.facts().shape, data.facts().num_classes, context),
      options_(options),
      data_(data),
      shape_(data.facts().shape),
      classes_(classes_of(data.facts())),
      scattering_(shape_, {.order = order_of(options.method), .device = context.device}),
      moments_scattering_(
          shape_, {.order = static_cast<int>(options.method.order), .device = context.device}),
      transport_options_(transport_options(options)),
      labels_(torch::arange(classes_)
                  .repeat_interleave(options.method.batch / classes_)
                  .to(context.device)),
      cross_entropy_(torch::zeros({}, context.device)) {
  check(options, data.facts());
  const MethodOptions& method = options_.method;
  if (method.has_moments())
    moments_.emplace(method, shape_, moments_scattering_, classes_, context.device);
  if (method.has_teacher())
    teacher_.emplace(method, shape_, classes_, data.facts().declared_size, context.device);
  if (method.has_transport())
    transport_ = std::make_unique<dp_sinkhorn::RecordStep>(
        dp_sinkhorn::StepParts{
            .options = transport_options_, .context = this->context(), .trainee = trainee()},
        data);
}

void Summit::start() {
  if (moments_) {
    const barrier::PrivateRecords records(data_, {.device = context().device, .lowest = 0});
    moments_->release(*context().door, records, options_.moments_noise);
  }
  if (transport_) transport_->start();
}

void Summit::step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) {
  taken_ = step;
  if (step <= options_.teacher_steps()) {
    teach(step);
    return;
  }
  teacher_records_.reset();
  const std::int64_t own = step - options_.teacher_steps();
  rate_ = trainee().begin(own, options_.method.steps);
  if (transport_ && own > options_.method.steps - options_.transport_steps) {
    transport_->records().prepare(options_.sampling_rate, context().bits);
    transport_->take({.step = step, .diagnostics = diagnostics});
  }
  learn();
  trainee().finish();
}

void Summit::teach(std::int64_t step) {
  if (!teacher_records_)
    teacher_records_.emplace(
        data_,
        barrier::RecordOptions{
            .device = context().device,
            .lowest = 0,
            .features = [this](const Tensor& images) { return teacher_->of_records(images); },
            .by_class = false});
  teacher_->step(step, *context().door, *teacher_records_, options_.teacher_noise, context().bits);
}

void Summit::learn() {
  if (!moments_ && !teacher_) return;
  const Tensor images = trainee().generate(labels_, context().bits);
  const Tensor scattered = scattering_(images);
  Tensor loss = torch::zeros({}, images.options().dtype(torch::kFloat));
  if (teacher_ && options_.method.guide_weight > 0) {
    const Tensor entropy =
        torch::nn::functional::cross_entropy(teacher_->logits(scattered), labels_);
    cross_entropy_ = entropy.detach();
    loss = loss + options_.method.guide_weight * entropy;
  }
  if (moments_) {
    // The channels of each colour begin with those of the first order.
    const std::int64_t each = scattered.size(1) / shape_.channels;
    const Tensor own = scattered.view({scattered.size(0), shape_.channels, each, -1})
                           .narrow(2, 0, moments_scattering_.channels() / shape_.channels);
    loss =
        loss + moments_->loss(moments_->embed(images.flatten(1), own.reshape({own.size(0), -1})));
  }
  loss.backward();
}

std::optional<std::string> Summit::teacher() {
  if (!options_.method.relabels() || !teacher_->has_learnt()) return std::nullopt;
  return teacher_->classifier().bytes();
}

void Summit::save_more(run::Sections& sections) {
  if (moments_) moments_->save(sections);
  if (teacher_) teacher_->save(sections);
  if (transport_) transport_->save(sections);
}

void Summit::load_more(const run::Sections& sections) {
  if (moments_) moments_->load(sections);
  if (teacher_) teacher_->load(sections);
  if (transport_) transport_->load(sections);
}

std::vector<run::Metric> Summit::metrics() {
  std::vector<run::Metric> metrics{
      {"learning_rate", run::Public(rate_, run::Origin::kSyntheticOnly)}};
  if (taken_ <= options_.teacher_steps()) return metrics;
  if (moments_)
    metrics.push_back({"distance", run::Public(moments_->distance(), run::Origin::kReleased)});
  if (teacher_)
    metrics.push_back(
        {"cross_entropy", run::Public(cross_entropy_.item<double>(), run::Origin::kReleased)});
  return metrics;
}

}  // namespace obol::method::summit
