#include "obol/privacy/plan.h"

#include <cmath>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/privacy/calibrate.h"
#include "obol/privacy/stages.h"
#include "obol/privacy/turns.h"

namespace obol::privacy {
namespace {

constexpr const char* kTraining = "training";
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

template <class T>
T needed(const std::optional<T>& value, const char* key) {
  if (!value) throw InvalidArgument(violation(fmt::format("privacy.{}", key), "given", "missing"));
  return *value;
}

std::string paper_of(const std::string& follows) {
  if (follows == "dp-sinkhorn") return "DP-Sinkhorn (Cao et al. 2021)";
  return "GS-WGAN (Chen, Orekondy and Fritz 2020)";
}

// The multiplier that one step has in all: the rows of a step share its subsample, and each carries
// the noise.
double joint_multiplier(const PrivacyOptions& options, double multiplier) {
  if (options.barrier != "row") return multiplier;
  return multiplier /
         std::sqrt(static_cast<double>(needed(options.generated_batch, "generated_batch")));
}

std::vector<PlannedEvent> planned(const PrivacyOptions& options, double multiplier,
                                  std::int64_t steps) {
  std::vector<PlannedEvent> result;
  if (options.histogram_noise)
    result.push_back({"class histogram", Gaussian{*options.histogram_noise, 1}});
  if (options.validation_releases.value_or(0) > 0)
    result.push_back(
        {"validation accuracy", Gaussian{needed(options.validation_noise, "validation_noise"),
                                         *options.validation_releases}});
  const double joint = joint_multiplier(options, multiplier);
  const std::int64_t all = steps + options.spare_steps.value_or(0);
  if (options.shards) {
    // One record meets the turns of its own shard only, and who has which turn is public.
    result.push_back({kTraining, Gaussian{joint, most_uses(options.schedule.value_or("cyclic"),
                                                           *options.shards, all)}});
  } else {
    result.push_back(
        {kTraining, SampledGaussian{needed(options.sampling_rate, "sampling_rate"), joint, all}});
  }
  return result;
}

std::optional<PublishedCount> published_count(const PrivacyOptions& options, double multiplier,
                                              std::int64_t steps, std::int64_t releases) {
  if (!options.follows) return std::nullopt;
  // Only where rows are clipped one by one do several outputs of a step carry noise of their own.
  const std::int64_t rows =
      options.barrier == "row" ? needed(options.generated_batch, "generated_batch") : 1;
  PublishedCount count{.paper = paper_of(*options.follows),
                       .purpose = kTraining,
                       .per_release = {},
                       .outputs_per_step = rows,
                       .holds = *options.follows == "dp-sinkhorn" && rows == 1};
  if (*options.follows == "dp-sinkhorn") {
    count.per_release =
        SampledGaussian{needed(options.sampling_rate, "sampling_rate"), multiplier, rows};
  } else {
    // The paper counts every step, the ledger the turns of one shard.
    const double shards = static_cast<double>(needed(options.shards, "shards"));
    const double outputs = static_cast<double>(rows) * static_cast<double>(steps);
    count.per_release = FixedBatchGaussian{1 / shards, multiplier,
                                           std::llround(outputs / static_cast<double>(releases))};
  }
  return count;
}

}  // namespace

void PrivacyOptions::describe(recipe::Fields& fields) {
  fields.text("barrier", barrier, {"row", "batch", "record", "none"},
              "what is clipped: each generated row, all rows together, each private record; none: "
              "no privacy at all");
  fields.number("sampling_rate", sampling_rate, recipe::between(0, 1),
                "probability of a record to take part in a step (Poisson)");
  fields.integer("shards", shards, recipe::at_least(1),
                 "disjoint parts of the data that take turns, instead of sampling");
  fields.text("schedule", schedule, {"cyclic", "uniform"},
              "whose turn it is: each shard in order, or one that is drawn");
  fields.number("noise_multiplier", noise_multiplier, recipe::positive(),
                "standard deviation of the noise over the sensitivity");
  fields.integer("steps", steps, recipe::at_least(1), "releases of training");
  fields.integer("spare_steps", spare_steps, recipe::at_least(0),
                 "releases planned besides, for steps that a killed run repeats");
  fields.integer("generated_batch", generated_batch, recipe::at_least(1),
                 "generated rows of a step; fixed, never the drawn batch");
  fields.number("epsilon", epsilon, recipe::positive(), "the budget");
  fields.number("delta", delta, recipe::between(0, 1), "of the budget");
  fields.number("histogram_noise", histogram_noise, recipe::positive(),
                "standard deviation of the noise on the class histogram, released once");
  fields.integer("validation_releases", validation_releases, recipe::at_least(0),
                 "noisy accuracies on the private records that are planned, for obol evaluate");
  fields.number("validation_noise", validation_noise, recipe::positive(),
                "standard deviation of the noise on each of them, in records");
  fields.text("follows", follows, {"dp-sinkhorn", "gs-wgan"},
              "a paper whose own count is shown beside the guarantee");
}

std::vector<Event> Plan::events() const { return events_of(planned); }

std::vector<PlannedEvent> within_budget(const Plan& plan, const Accounting& how) {
  if (!plan.budget || account(plan.events(), plan.delta, how).epsilon <= plan.budget->value())
    return plan.planned;
  std::vector<PlannedEvent> planned = plan.planned;
  Event& training = planned.back().event;
  const std::int64_t most = most_steps(
      {*plan.budget, plan.delta},
      [&](std::int64_t count) {
        training = with_count(training, count);
        return events_of(planned);
      },
      count_of(training), how);
  if (most == 0)
    throw BudgetExceeded(
        fmt::format("epsilon must be enough for one step, but {} is not at noise_multiplier {}",
                    plan.budget->value(), plan.noise_multiplier));
  training = with_count(training, most);
  return planned;
}

Plan plan_of(const PrivacyOptions& options, const Accounting& how) {
  if (needed(options.barrier, "barrier") == "none")
    throw InvalidArgument(
        violation("privacy.barrier", "row, batch or record to have a price", "none"));
  if (options.shards && options.sampling_rate)
    throw InvalidArgument(
        "privacy.sampling_rate and privacy.shards must not both be given: records are sampled, or "
        "shards take turns");
  if (options.validation_noise && !options.validation_releases)
    static_cast<void>(needed(options.validation_releases, "validation_releases"));
  if (options.shards && options.histogram_noise)
    throw InvalidArgument(
        "privacy.histogram_noise must not be given with privacy.shards: a class histogram has "
        "another sensitivity where a record is replaced, and no method releases one");
  if (options.schedule == "uniform") static_cast<void>(needed(options.steps, "steps"));
  // The answer of a shard is clipped as a whole, and its noise covers its replacement.
  Plan plan{.planned = {},
            .neighbours = options.shards ? Neighbours::kReplaceOne : Neighbours::kAddRemove,
            .delta = Delta{needed(options.delta, "delta")},
            .budget = std::nullopt,
            .published = std::nullopt,
            .if_amplified = std::nullopt,
            .noise_multiplier = 0,
            .steps = options.steps.value_or(0),
            .releases = 0,
            .calibrated = std::nullopt};
  if (options.epsilon) plan.budget = Epsilon{*options.epsilon};
  double multiplier = options.noise_multiplier.value_or(0);
  const bool has_both = options.noise_multiplier && options.steps;
  if (!has_both) {
    if (!options.steps) static_cast<void>(needed(options.noise_multiplier, "noise_multiplier"));
    const Budget budget{Epsilon{needed(options.epsilon, "epsilon")}, plan.delta};
    if (!options.noise_multiplier) {
      multiplier = smallest_noise(
          budget, [&](double noise) { return events_of(planned(options, noise, plan.steps)); },
          how);
      plan.calibrated =
          fmt::format("noise_multiplier {}, the least for the budget", rounded_up(multiplier));
    } else {
      plan.steps = most_steps(
          budget,
          [&](std::int64_t steps) { return events_of(planned(options, multiplier, steps)); },
          kMostSteps, how);
      if (plan.steps == 0)
        throw BudgetExceeded(
            fmt::format("epsilon must be enough for one step, but {} is not at noise_multiplier {}",
                        *options.epsilon, multiplier));
      plan.calibrated = fmt::format("{} steps, the most for the budget",
                                    with_thousands(static_cast<std::uint64_t>(plan.steps)));
    }
  }
  plan.noise_multiplier = multiplier;
  plan.planned = planned(options, multiplier, plan.steps);
  plan.releases = count_of(plan.planned.back().event);
  const std::int64_t without_spare =
      options.shards ? most_uses(options.schedule.value_or("cyclic"), *options.shards, plan.steps)
                     : plan.steps;
  plan.published = published_count(options, multiplier, plan.steps, without_spare);
  if (options.schedule == "uniform")
    plan.if_amplified = ShardGaussian{1 / static_cast<double>(needed(options.shards, "shards")),
                                      joint_multiplier(options, multiplier), plan.steps};
  return plan;
}

}  // namespace obol::privacy
