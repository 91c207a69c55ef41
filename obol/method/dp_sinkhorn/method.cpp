#include "obol/method/dp_sinkhorn/method.h"

#include <algorithm>

#include <fmt/format.h>

#include "obol/barrier/pull_arithmetic.h"
#include "obol/base/error.h"
#include "obol/method/dp_sinkhorn/record_step.h"
#include "obol/method/dp_sinkhorn/row_step.h"
#include "obol/transport/tensor/cost.h"

namespace obol::method::dp_sinkhorn {
namespace {

std::unique_ptr<Step> make_step(const StepParts& parts, const Private<data::Dataset>& data) {
  if (parts.options.barrier == Barrier::kRecord) return std::make_unique<RecordStep>(parts, data);
  return std::make_unique<RowStep>(parts, data);
}

// What was checked.
const Options& checked(const Options& options, const data::Dataset::PublicFacts& facts) {
  check(options, facts);
  return options;
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
                       const MethodContext& context)
    : GeneratorMethod({options.generator, options.optimizer, options.method.average},
                      data.facts().shape, data.facts().num_classes, context),
      options_(checked(options, data.facts())),
      step_(
          make_step({.options = options_, .context = this->context(), .trainee = trainee()}, data)),
      recorded_(context.device, context.door) {}

void DpSinkhorn::step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) {
  learning_rate_ = trainee().begin(step, options_.steps);
  taken_ = step;
  if (step_->records().prepare(options_.sampling_rate, context().bits) == barrier::Prepared::kMoved)
    recorded_.forget();
  const auto learn = [&] {
    step_->take({.step = step, .diagnostics = diagnostics});
    trainee().finish();
  };
  // What is replayed cannot be looked at.
  if (diagnostics.is_asked_for())
    learn();
  else
    recorded_.run(learn);
}

std::vector<run::Metric> DpSinkhorn::metrics() {
  std::vector<run::Metric> metrics;
  if (taken_ > 0)
    metrics.push_back({"learning_rate", run::Public(learning_rate_, run::Origin::kSyntheticOnly)});
  for (const run::Metric& metric : step_->metrics(taken_)) metrics.push_back(metric);
  return metrics;
}

}  // namespace obol::method::dp_sinkhorn
