#include "obol/method/dp_sinkhorn/method.h"

#include <cmath>

#include <fmt/format.h>

#include "obol/barrier/pull_arithmetic.h"
#include "obol/base/error.h"
#include "obol/method/state.h"
#include "obol/model/generator_file.h"
#include "obol/transport/tensor/loss.h"
#include "obol/transport/tensor/streamed.h"

namespace obol::method::dp_sinkhorn {
namespace {

using torch::Tensor;

constexpr const char* kClassSizes = "class sizes";

transport::SinkhornOptions solver_of(const MethodOptions& options) {
  transport::SinkhornOptions solver{.regularization = options.regularization,
                                    .max_iterations = options.max_iterations};
  if (options.solver == "annealed") solver.stopping = transport::Stopping::kAnnealed;
  return solver;
}

// The derivative of `loss` with respect to `at`.
Tensor gradient_of(const Tensor& loss, const Tensor& at) {
  return torch::autograd::grad({loss}, {at})[0];
}

Tensor flat_gradient(const Tensor& images, const Tensor& gradient,
                     const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  for (const Tensor& part : torch::autograd::grad({images}, parameters, {gradient.view_as(images)},
                                                  /*retain_graph=*/true))
    flat.push_back(part.flatten());
  return torch::cat(flat);
}

}  // namespace

void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places) {
  const auto located = [&](const std::string& key, const auto& call) {
    recipe::located(places, key, call);
  };
  const std::int64_t classes = classes_of(facts);
  const auto divides = [&](std::int64_t count, const std::string& key) {
    located(key, [&] {
      if (count % classes != 0)
        throw InvalidArgument(violation(
            key, fmt::format("a multiple of the {} classes with barrier record", classes), count));
    });
  };
  located("generator.architecture",
          [&] { model::make_generator(options.generator, facts.shape, facts.num_classes); });
  if (options.barrier == Barrier::kRecord) {
    divides(options.generated_batch, "privacy.generated_batch");
    divides(options.method.second_batch, "method.second_batch");
    located("privacy", [&] {
      if (classes > 1 && !options.histogram_noise)
        throw InvalidArgument(violation("privacy.histogram_noise",
                                        "given with barrier record and labelled data", "missing"));
    });
    located("method.features", [&] { parse_features(options.method.features, facts.shape); });
    located("method.clip_norm", [&] {
      const double most = barrier::kMostClippedSum /
                          static_cast<double>(std::max<std::int64_t>(1, facts.declared_size));
      if (options.method.clip_norm > most)
        throw InvalidArgument(violation("method.clip_norm",
                                        fmt::format("at most {:.4g} for so many records", most),
                                        options.method.clip_norm));
    });
    return;
  }
  located("method.cost", [&] { transport::parse_cost(options.method.cost); });
  located("method.perturb", [&] {
    if (options.method.perturb == "parameters" && options.barrier == Barrier::kRow)
      throw InvalidArgument(
          violation("method.perturb", "images with barrier row", options.method.perturb));
  });
}

DpSinkhorn::DpSinkhorn(const Options& options, const Private<data::Dataset>& data,
                       const Surroundings& surroundings)
    : options_(options),
      surroundings_(surroundings),
      shape_(data.facts().shape),
      classes_(classes_of(data.facts())),
      records_count_(data.facts().declared_size),
      features_(options.barrier == Barrier::kRecord
                    ? parse_features(options.method.features, shape_).to(surroundings.device)
                    : Features()),
      records_(data, {.device = surroundings.device,
                      .lowest = lowest_of(options.generator),
                      .features = features_.are_pixels()
                                      ? std::function<Tensor(const Tensor&)>()
                                      : [this](const Tensor& x) { return features_.of_records(x); },
                      .by_class = options.barrier == Barrier::kRecord}),
      trainee_({options.generator, options.optimizer, options.method.average}, shape_,
               data.facts().num_classes, surroundings.device),
      recorded_(surroundings.device, surroundings.door) {
  check(options, data.facts());
  const torch::Device& device = surroundings.device;
  class_sizes_ =
      torch::full({classes_}, static_cast<double>(records_count_), torch::kFloat).to(device);
  labels_ = balanced_labels(options.generated_batch);
  labels2_ = balanced_labels(options.method.second_batch);
  gradient_norm_ = torch::zeros({}, torch::TensorOptions(device));
  if (!is_on_gpu()) return;
  self_weights_ = torch::zeros({options.steps + 1});
  for (std::int64_t step = 1; step <= options.steps; ++step)
    self_weights_.data_ptr<float>()[step] =
        static_cast<float>(self_weight_at(options.method, step, options.steps));
  self_weights_ = self_weights_.to(device);
}

void DpSinkhorn::start() {
  if (options_.barrier != Barrier::kRecord || classes_ == 1) return;
  barrier::HistogramBarrier histogram(*surroundings_.door, *options_.histogram_noise);
  // A class that is hardly there must not be divided by what is left of it.
  const double least = std::max(1.0, 2 * *options_.histogram_noise);
  class_sizes_ = histogram.release(records_.class_counts())
                     .clamp_min(least)
                     .to(surroundings_.device, torch::kFloat);
}

Tensor DpSinkhorn::balanced_labels(std::int64_t count) const {
  return torch::arange(classes_).repeat_interleave(count / classes_).to(surroundings_.device);
}

DpSinkhorn::Generated DpSinkhorn::generate(const Tensor& labels) {
  return {trainee_.generate(labels, surroundings_.bits), labels};
}

Tensor DpSinkhorn::features_of(const Tensor& images) const { return features_(images.flatten(1)); }

void DpSinkhorn::step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) {
  const double rate = trainee_.begin(step, options_.steps);
  metrics_ = {{"learning_rate", run::Public(rate, run::Origin::kSyntheticOnly)}};
  const bool is_record = options_.barrier == Barrier::kRecord;
  if (is_record)
    metrics_.push_back(
        {"self_weight", run::Public(self_weight_at(options_.method, step, options_.steps),
                                    run::Origin::kSyntheticOnly)});
  if (records_.prepare(options_.sampling_rate, surroundings_.bits) == barrier::Prepared::kMoved)
    recorded_.forget();
  recorded_.run([&] {
    if (is_record)
      step_record(step);
    else
      step_rows();
    trainee_.finish();
  });
}

barrier::Sample DpSinkhorn::second_batch() {
  const torch::NoGradGuard no_grad;
  barrier::Sample second{.points = features_of(generate(labels2_).images), .class_counts = {}};
  if (is_on_gpu())
    second.present = torch::ones({labels2_.size(0)}, second.points.options());
  else
    second.class_counts.assign(static_cast<std::size_t>(classes_), labels2_.size(0) / classes_);
  return second;
}

Tensor DpSinkhorn::potentials_of(const Generated& generated, const Tensor& points) {
  const MethodOptions& method = options_.method;
  if (method.potential_iterations == 0) return torch::zeros({points.size(0)}, points.options());
  if (is_on_gpu())
    return transport::streamed::potentials(points, last_second_, classes_, method.regularization,
                                           method.potential_iterations);
  return transport::sinkhorn({.x = points,
                              .y = last_second_,
                              .labels_x = generated.labels,
                              .labels_y = labels2_,
                              .label_weight = transport::kSeparateClasses},
                             {.regularization = method.regularization,
                              .tolerance = 0,
                              .max_iterations = method.potential_iterations})
      .f.to(points.options());
}

Tensor DpSinkhorn::weighted_self(const Tensor& self, std::int64_t step) const {
  const auto n = static_cast<double>(options_.generated_batch);
  const auto n2 = static_cast<double>(options_.method.second_batch);
  if (!is_on_gpu()) return self * (self_weight_at(options_.method, step, options_.steps) * n / n2);
  return self * (self_weights_.index_select(0, trainee_.step()) * (n / n2));
}

void DpSinkhorn::note_norm(const Tensor& gradient) { gradient_norm_.copy_(gradient.norm()); }

void DpSinkhorn::step_record(std::int64_t step) {
  const MethodOptions& method = options_.method;
  const std::int64_t n = options_.generated_batch;
  const Generated generated = generate(labels_);
  const Tensor points = features_of(generated.images);
  if (!last_second_.defined()) last_second_ = second_batch().points;
  const barrier::Sample second = second_batch();
  // Potentials from generated rows that have no other part in this step: those of the step before.
  barrier::Rows rows{points.detach(), {}, classes_};
  rows.potentials = potentials_of(generated, rows.points);
  barrier::RecordBarrier barrier(
      *surroundings_.door,
      {.clip_norm = method.clip_norm, .noise_multiplier = options_.noise_multiplier},
      method.regularization);
  const Tensor released =
      barrier.release(rows, records_.draw(options_.sampling_rate, surroundings_.bits));
  const Tensor self = barrier::pull(rows, second, method.regularization, method.clip_norm);
  // A recorded step reads where it was recorded.
  if (is_on_gpu())
    last_second_.copy_(second.points);
  else
    last_second_ = second.points;
  // Over what a class is expected to contribute, n_c rows of it.
  const auto of_class = static_cast<double>(n) / static_cast<double>(classes_);
  const Tensor sizes = class_sizes_.index_select(0, generated.labels);
  const Tensor data_term = released * (of_class / options_.sampling_rate / sizes).unsqueeze(1);
  const Tensor gradient = data_term - weighted_self(self, step);
  note_norm(gradient);
  const Tensor unseen = features_.dropped(generated.images.detach().flatten(1));
  if (!unseen.defined()) {
    points.backward(gradient / static_cast<double>(n));
    return;
  }
  // What the features do not see, nothing would hold: it is drawn to zero, as if the private images
  // had nothing there.
  torch::autograd::backward({points, generated.images},
                            {gradient / static_cast<double>(n),
                             unseen.view_as(generated.images) / static_cast<double>(n)});
}

barrier::Drawn<Tensor> DpSinkhorn::private_gradient(const Tensor& rows, const Tensor& labels,
                                                    const Tensor& self) {
  const MethodOptions& method = options_.method;
  const auto sample = records_.draw(options_.sampling_rate, surroundings_.bits);
  return sample.map([&](const barrier::Sample& records) {
    const Tensor own = self.slice(0, 0, rows.size(0));
    if (is_on_gpu()) {
      return transport::streamed::gradient({.x = rows,
                                            .y = records.points,
                                            .cost = transport::parse_cost(method.cost),
                                            .labels_x = classes_ > 1 ? labels : Tensor(),
                                            .labels_y = classes_ > 1 ? records.labels() : Tensor(),
                                            .label_weight = classes_ > 1 ? method.label_weight : 0,
                                            .present = records.present},
                                           solver_of(method)) *
                 2 +
             own;
    }
    // Nobody was drawn: the private part is zero.
    if (records.points.size(0) == 0) return own.clone();
    transport::Problem problem{.x = rows.detach().clone().requires_grad_(),
                               .y = records.points,
                               .cost = transport::parse_cost(method.cost)};
    if (classes_ > 1) {
      problem.labels_x = labels;
      problem.labels_y = records.labels().to(labels.device());
      problem.label_weight = method.label_weight;
    }
    const Tensor loss = 2 * transport::entropic_cost(problem, solver_of(method));
    return gradient_of(loss, problem.x) + own;
  });
}

Tensor DpSinkhorn::release(const barrier::Drawn<Tensor>& gradient, std::int64_t rows) {
  const barrier::BarrierOptions bounds{.clip_norm = options_.method.clip_norm,
                                       .noise_multiplier = options_.noise_multiplier};
  if (options_.barrier == Barrier::kRow)
    return barrier::RowBarrier(*surroundings_.door, bounds).release(gradient, rows);
  if (options_.barrier == Barrier::kBatch)
    return barrier::BatchBarrier(*surroundings_.door, bounds).release(gradient);
  return gradient.value.declassify("training without privacy", *surroundings_.disclosures)
      .value.clone();
}

Tensor DpSinkhorn::self_gradient(const Tensor& rows, const Tensor& labels) const {
  const MethodOptions& method = options_.method;
  const std::int64_t n = options_.generated_batch;
  const std::int64_t resampled = rows.size(0) - n;
  if (is_on_gpu())
    return transport::streamed::self_gradient(
        {.x = rows,
         .resampled = resampled,
         .cost = transport::parse_cost(method.cost),
         .labels = classes_ > 1 ? labels : Tensor(),
         .label_weight = classes_ > 1 ? method.label_weight : 0},
        solver_of(method));
  const Tensor x = rows.clone().requires_grad_();
  transport::Problem problem{.x = x.slice(0, 0, n), .y = x.slice(0, resampled, n + resampled)};
  problem.cost = transport::parse_cost(method.cost);
  if (classes_ > 1) {
    problem.labels_x = labels.slice(0, 0, n);
    problem.labels_y = labels.slice(0, resampled, n + resampled);
    problem.label_weight = method.label_weight;
  }
  return gradient_of(resampled > 0 ? transport::entropic_cost(problem, solver_of(method))
                                   : transport::entropic_self_cost(problem, solver_of(method)),
                     x);
}

void DpSinkhorn::step_rows() {
  const MethodOptions& method = options_.method;
  const std::int64_t n = options_.generated_batch;
  const auto resampled = static_cast<std::int64_t>(method.resample * static_cast<double>(n));
  const Tensor labels = torch::randint(classes_, {n}, labels_.options());
  const Generated generated = generate(torch::cat({labels, labels.slice(0, 0, resampled)}));
  const Tensor rows = generated.images.detach().flatten(1);
  // The self term: generated rows alone, each on one side or on both.
  const Tensor self = -self_gradient(rows, generated.labels);
  const auto gradient = private_gradient(rows.slice(0, 0, n), labels, self);
  if (method.perturb == "parameters") {
    backward_by_parameters(generated, self, gradient);
    return;
  }
  // Rows beyond n stand in the self term alone: they are clipped like the others, and need no
  // noise.
  const Tensor released = release(gradient, n);
  const bool is_clipped = options_.barrier != Barrier::kNone;
  const Tensor beyond = self.slice(0, n);
  note_norm(released);
  const Tensor whole =
      torch::cat({released, is_clipped ? barrier::clip_rows(beyond, method.clip_norm) : beyond});
  generated.images.backward(whole.view_as(generated.images));
}

void DpSinkhorn::backward_by_parameters(const Generated& generated, const Tensor& self,
                                        const barrier::Drawn<Tensor>& gradient) {
  const std::int64_t n = options_.generated_batch;
  const std::vector<Tensor> parameters = trainee_.parameters();
  const auto flat = gradient.map([&](const Tensor& rows) {
    return flat_gradient(generated.images, torch::cat({rows, self.slice(0, n)}), parameters);
  });
  const Tensor released = release(flat, n);
  std::int64_t from = 0;
  for (const Tensor& parameter : parameters) {
    parameter.mutable_grad() =
        released.slice(0, from, from + parameter.numel()).view_as(parameter).clone();
    from += parameter.numel();
  }
}

run::Sections DpSinkhorn::save() {
  run::Sections sections{{kClassSizes, saved(class_sizes_)}};
  trainee_.save(sections);
  return sections;
}

void DpSinkhorn::load(const run::Sections& sections) {
  restore(sections, kClassSizes, class_sizes_);
  trainee_.load(sections);
}

std::vector<run::Metric> DpSinkhorn::metrics() {
  std::vector<run::Metric> metrics = metrics_;
  if (options_.method.perturb != "parameters" || options_.barrier == Barrier::kRecord)
    metrics.push_back(
        {"gradient_norm", run::Public(gradient_norm_.item<double>(), run::Origin::kReleased)});
  return metrics;
}

std::shared_ptr<model::Generator> DpSinkhorn::released() {
  return trainee_.released(surroundings_.bits);
}

std::optional<run::Samples> DpSinkhorn::samples() { return trainee_.samples(surroundings_.bits); }

std::string DpSinkhorn::generator() { return model::generator_bytes(*released()); }

}  // namespace obol::method::dp_sinkhorn
