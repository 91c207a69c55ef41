#include "obol/method/dp_sinkhorn/row_step.h"

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/tensor/loss.h"
#include "obol/transport/tensor/streamed.h"

namespace obol::method::dp_sinkhorn {
namespace {

using torch::Tensor;

transport::SinkhornOptions solver_of(const RowStepOptions& options, double regularization) {
  transport::SinkhornOptions solver{.regularization = regularization,
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

RowStep::RowStep(const StepParts& parts, const Private<data::Dataset>& data)
    : parts_(parts),
      clip_norm_(parts.options.method.clip_norm),
      regularization_(parts.options.method.regularization),
      options_(parts.options.method),
      classes_(classes_of(data.facts())),
      records_(data, {.device = parts.context.device,
                      .lowest = lowest_of(parts.options.generator),
                      .features = {},
                      .by_class = false}),
      gradient_norm_(torch::zeros({}, torch::TensorOptions(parts.context.device))) {}

transport::Problem RowStep::problem_of(const Tensor& x, const Tensor& labels_x, const Tensor& y,
                                       const Tensor& labels_y) const {
  transport::Problem problem{.x = x, .y = y, .cost = transport::parse_cost(options_.cost)};
  if (classes_ == 1) return problem;
  problem.labels_x = labels_x;
  problem.labels_y = labels_y;
  problem.label_weight = options_.label_weight;
  return problem;
}

transport::Problem RowStep::self_problem(const Tensor& rows, const Tensor& labels) const {
  const std::int64_t n = parts_.options.generated_batch;
  const std::int64_t resampled = rows.size(0) - n;
  const Tensor x = rows.slice(0, 0, n);
  const Tensor labels_x = labels.slice(0, 0, n);
  if (resampled == 0) return problem_of(x, labels_x, {}, {});
  return problem_of(x, labels_x, rows.slice(0, resampled), labels.slice(0, resampled));
}

barrier::Drawn<Tensor> RowStep::private_gradient(const Generated& generated, const Tensor& self,
                                                 const Noting& noting) {
  const auto sample = records_.draw(parts_.options.sampling_rate, parts_.context.bits);
  const Tensor all = generated.images.detach().flatten(1);
  note_losses(noting, self_problem(all, generated.labels), solver_of(options_, regularization_),
              sample);
  const Tensor rows = all.slice(0, 0, parts_.options.generated_batch);
  const Tensor labels = generated.labels.slice(0, 0, parts_.options.generated_batch);
  return sample.map([&](const barrier::Sample& records) {
    const transport::SinkhornOptions solver = solver_of(options_, regularization_);
    const Tensor own = self.slice(0, 0, rows.size(0));
    if (is_on_gpu()) {
      return transport::streamed::gradient(
                 {.x = rows,
                  .y = records.points,
                  .cost = transport::parse_cost(options_.cost),
                  .labels_x = classes_ > 1 ? labels : Tensor(),
                  .labels_y = classes_ > 1 ? records.labels() : Tensor(),
                  .label_weight = classes_ > 1 ? options_.label_weight : 0,
                  .present = records.present},
                 solver) *
                 2 +
             own;
    }
    // No record was drawn: the private part is zero.
    if (records.points.size(0) == 0) return own.clone();
    const transport::Problem problem =
        problem_of(rows.clone().requires_grad_(), labels, records.points, records.labels());
    const Tensor loss = 2 * transport::entropic_cost(problem, solver);
    return gradient_of(loss, problem.x) + own;
  });
}

Tensor RowStep::release(const barrier::Drawn<Tensor>& gradient, std::int64_t rows,
                        const Noting& noting) {
  const bool is_by_row = parts_.options.barrier == Barrier::kRow;
  if (parts_.options.barrier != Barrier::kNone && noting.diagnostics.is_asked_for())
    note_clipping(noting, gradient.value.map([&](const Tensor& values) {
      return is_by_row ? values.norm(2, {1}) : values.norm().unsqueeze(0);
    }),
                  clip_norm_);
  const barrier::BarrierOptions bounds{.clip_norm = clip_norm_,
                                       .noise_multiplier = parts_.options.noise_multiplier};
  if (is_by_row) return barrier::RowBarrier(*parts_.context.door, bounds).release(gradient, rows);
  if (parts_.options.barrier == Barrier::kBatch)
    return barrier::BatchBarrier(*parts_.context.door, bounds).release(gradient);
  return gradient.value.declassify("training without privacy", *parts_.context.disclosures)
      .value.clone();
}

Tensor RowStep::self_gradient(const Tensor& rows, const Tensor& labels) const {
  const std::int64_t resampled = rows.size(0) - parts_.options.generated_batch;
  const transport::SinkhornOptions solver = solver_of(options_, regularization_);
  if (is_on_gpu())
    return transport::streamed::self_gradient(
        {.x = rows,
         .resampled = resampled,
         .cost = transport::parse_cost(options_.cost),
         .labels = classes_ > 1 ? labels : Tensor(),
         .label_weight = classes_ > 1 ? options_.label_weight : 0},
        solver);
  const Tensor x = rows.clone().requires_grad_();
  const transport::Problem problem = self_problem(x, labels);
  return gradient_of(resampled > 0 ? transport::entropic_cost(problem, solver)
                                   : transport::entropic_self_cost(problem, solver),
                     x);
}

void RowStep::take(const Noting& noting) {
  const std::int64_t n = parts_.options.generated_batch;
  const auto resampled = static_cast<std::int64_t>(options_.resample * static_cast<double>(n));
  const Tensor labels = torch::randint(
      classes_, {n}, torch::TensorOptions(parts_.context.device).dtype(torch::kLong));
  const Tensor all = torch::cat({labels, labels.slice(0, 0, resampled)});
  const Generated generated{parts_.trainee.generate(all, parts_.context.bits), all};
  const Tensor rows = generated.images.detach().flatten(1);
  // The self term: generated rows alone, each on one side or on both.
  const Tensor self = -self_gradient(rows, generated.labels);
  const auto gradient = private_gradient(generated, self, noting);
  if (is_by_parameters()) {
    backward_by_parameters(generated, self, gradient, noting);
    return;
  }
  // Rows beyond n stand in the self term alone: they are clipped like the others, and need no
  // noise.
  const Tensor released = release(gradient, n, noting);
  const bool is_clipped = parts_.options.barrier != Barrier::kNone;
  const Tensor beyond = self.slice(0, n);
  gradient_norm_.copy_(released.norm());
  const Tensor whole =
      torch::cat({released, is_clipped ? barrier::clip_rows(beyond, clip_norm_) : beyond});
  generated.images.backward(whole.view_as(generated.images));
}

void RowStep::backward_by_parameters(const Generated& generated, const Tensor& self,
                                     const barrier::Drawn<Tensor>& gradient, const Noting& noting) {
  const std::int64_t n = parts_.options.generated_batch;
  const std::vector<Tensor> parameters = parts_.trainee.parameters();
  const auto flat = gradient.map([&](const Tensor& rows) {
    return flat_gradient(generated.images, torch::cat({rows, self.slice(0, n)}), parameters);
  });
  const Tensor released = release(flat, n, noting);
  std::int64_t from = 0;
  for (const Tensor& parameter : parameters) {
    parameter.mutable_grad() =
        released.slice(0, from, from + parameter.numel()).view_as(parameter).clone();
    from += parameter.numel();
  }
}

void RowStep::load(const run::Sections& sections) {
  constexpr const char* kOfRecords = "second batch";
  if (sections.contains(kOfRecords))
    throw DataError(fmt::format(
        "a checkpoint must have the section \"{}\" with barrier record only, but has it",
        kOfRecords));
}

std::vector<run::Metric> RowStep::metrics(std::int64_t /*step*/) const {
  if (is_by_parameters()) return {};
  return {{"gradient_norm", run::Public(gradient_norm_.item<double>(), run::Origin::kReleased)}};
}

}  // namespace obol::method::dp_sinkhorn
