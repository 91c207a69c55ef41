#include "obol/run/loop.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/run/meter.h"
#include "obol/run/tensorboard.h"

namespace obol::run {
namespace {

bool is_due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

void check(const Steps& steps) {
  if (steps.total < 1)
    throw InvalidArgument(violation("the number of steps", "at least 1", steps.total));
  if (!(steps.checkpoint_seconds > 0))
    throw InvalidArgument(violation("checkpoint_seconds", "positive", steps.checkpoint_seconds));
}

void check_belongs(const Checkpoint& checkpoint, const RunFolder& folder, const Payment* payment,
                   const Path& path) {
  const auto refuse = [&](std::string_view requirement, std::string_view actual) {
    throw DataError(violation("the checkpoint", requirement, actual, path.string()));
  };
  if (checkpoint.recipe != folder.recipe_hash()) refuse("of the run's recipe", "of another");
  if (checkpoint.ledger.has_value() != (payment != nullptr))
    refuse(payment != nullptr ? "of a private run" : "of a run that is not private", "not");
  // A ledger that is older than the checkpoint has lost what the checkpoint's steps cost.
  if (payment != nullptr && !payment->ledger.record().extends(*checkpoint.ledger))
    refuse("older than the ledger beside it", "of a ledger that has lost lines or is another");
}

constexpr std::array kEndings = {
    std::pair(Ending::kFinished, "finished"), std::pair(Ending::kBudget, "budget"),
    std::pair(Ending::kPlan, "plan"), std::pair(Ending::kInterrupted, "interrupted")};

void write_outcome(const RunFolder& folder, const Outcome& outcome) {
  nlohmann::ordered_json value = {{"ending", nullptr},
                                  {"steps", outcome.steps},
                                  {"total", outcome.total},
                                  {"seconds", outcome.seconds},
                                  {"epsilon", nullptr}};
  for (const auto& [ending, name] : kEndings)
    if (ending == outcome.ending) value["ending"] = name;
  if (outcome.epsilon) value["epsilon"] = *outcome.epsilon;
  write_file(folder.outcome(), value.dump(2) + '\n');
}

struct Position {
  bool is_new = true;
  std::int64_t step = 0;
  double seconds = 0;
};

// Goes back to the checkpoint, if there is one.
Position resume(Method& method, const RunFolder& folder, const Payment* payment) {
  const Path path = folder.checkpoint();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const Checkpoint checkpoint = read_checkpoint(path);
  check_belongs(checkpoint, folder, payment, path);
  method.load(checkpoint.sections);
  return {.is_new = false, .step = checkpoint.step, .seconds = checkpoint.seconds};
}

// What was reserved ahead when an error came. Where that fails as well, which is likely on a full
// disk, it counts as spent: the error that came first is the one to tell.
void give_back(Payment& payment) {
  try {
    payment.guard.settle();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

class Loop {
 public:
  Loop(Method& method, const RunFolder& folder, const Steps& steps, Payment* payment,
       Diagnostics diagnostics);
  Outcome run();

 private:
  [[nodiscard]] double seconds() const { return from_.seconds + steady_seconds() - start_; }
  [[nodiscard]] std::string note();
  Ending take_steps();
  void after_step();
  void write_metrics();
  void write_samples();
  void save();
  std::optional<double> certify();

  Method& method_;
  const RunFolder& folder_;
  const Steps& steps_;
  Payment* payment_;
  const Position from_;
  const double start_ = steady_seconds();
  MetricsLog metrics_;
  TensorBoard board_;
  UnsafeDiagnostics diagnostics_;
  std::optional<EpsilonMeter> meter_;
  std::int64_t step_;  // the last one taken
  bool is_saved_;      // as the checkpoint on disk
  double saved_at_ = start_;
};

Loop::Loop(Method& method, const RunFolder& folder, const Steps& steps, Payment* payment,
           Diagnostics diagnostics)
    : method_(method),
      folder_(folder),
      steps_(steps),
      payment_(payment),
      from_(resume(method, folder, payment)),
      metrics_(folder.metrics(), from_.step),
      board_(folder.tensorboard(), from_.step),
      diagnostics_(diagnostics == Diagnostics::kUnsafe ? UnsafeDiagnostics(folder, from_.step)
                                                       : UnsafeDiagnostics()),
      step_(from_.step),
      is_saved_(!from_.is_new) {
  if (payment != nullptr)
    meter_.emplace(payment->ledger, payment->terms.delta, payment->terms.accounting);
  folder.remove_results();
  folder.remove_samples_after(step_);
}

Outcome Loop::run() {
  if (from_.is_new) {
    method_.start();
    save();  // so that what start() released is not paid for twice
  }
  const Ending ending = take_steps();
  if (ending != Ending::kInterrupted && step_ > from_.step) {
    if (!is_due(step_, steps_.metrics_every)) write_metrics();
    if (!is_due(step_, steps_.sample_every)) write_samples();
  }
  // First what is dear to lose. A reservation that is not settled only counts too much.
  if (!is_saved_) save();
  const double taken = in_tenths(seconds());
  if (const auto teacher = method_.teacher()) write_file(folder_.teacher(), *teacher);
  write_file(folder_.generator(), method_.generator());
  const Outcome outcome{.ending = ending,
                        .steps = step_,
                        .total = steps_.total,
                        .seconds = taken,
                        .epsilon = certify()};
  write_outcome(folder_, outcome);  // last: whoever finds it finds the rest
  return outcome;
}

Ending Loop::take_steps() {
  Progress progress(from_.step > 0 ? fmt::format("training from step {}", from_.step) : "training",
                    steps_.total - from_.step, "steps");
  while (step_ < steps_.total) {
    if (interrupted()) return Ending::kInterrupted;
    try {
      method_.step(step_ + 1, diagnostics_);
    } catch (const BudgetExceeded&) {
      return payment_ == nullptr ? Ending::kBudget : payment_->when_refused;
    } catch (const Interrupted&) {
      return Ending::kInterrupted;
    }
    ++step_;
    is_saved_ = false;
    after_step();
    progress.advance(1, note());
  }
  return Ending::kFinished;
}

void Loop::after_step() {
  if (is_due(step_, steps_.metrics_every)) write_metrics();
  if (is_due(step_, steps_.sample_every)) write_samples();
  if (is_due(step_, steps_.checkpoint_every) ||
      steady_seconds() - saved_at_ >= steps_.checkpoint_seconds)
    save();
}

std::string Loop::note() {
  if (!meter_) return method_.note();
  const std::string spent = "epsilon " + rounded_up(meter_->bound(), 3);
  return payment_->budget ? fmt::format("{} of {}", spent, payment_->budget->value()) : spent;
}

void Loop::write_metrics() {
  if (steps_.metrics_every == 0) return;
  std::vector<Metric> metrics = method_.metrics();
  if (const auto epsilon = meter_ ? meter_->read() : std::nullopt)
    metrics.push_back({kEpsilonName, Public(*epsilon, Origin::kReleased)});
  metrics_.append(step_, seconds(), metrics);
  board_.scalars(step_, metrics);
}

void Loop::write_samples() {
  if (OBOL_HAS_PNG == 0 || steps_.sample_every == 0) return;
  const std::optional<Samples> samples = method_.samples();
  if (!samples) return;
  const data::Picture picture = grid(*samples);
  const Path path = folder_.sample(step_);
  std::error_code ignored;  // write_png will see
  std::filesystem::create_directories(path.parent_path(), ignored);
  write_png(picture, path);
  const FileBytes png(path);
  board_.picture(step_, "samples", picture.shape, read_all(png, png.size()));
}

void Loop::save() {
  Checkpoint checkpoint{.step = step_,
                        .seconds = in_tenths(seconds()),
                        .recipe = folder_.recipe_hash(),
                        .ledger = std::nullopt,
                        .sections = method_.save()};
  if (payment_ != nullptr) checkpoint.ledger = payment_->ledger.head();
  metrics_.synchronise();  // rows up to here are not written again
  write_checkpoint(folder_.checkpoint(), checkpoint);
  is_saved_ = true;
  saved_at_ = steady_seconds();
}

std::optional<double> Loop::certify() {
  if (payment_ == nullptr) return std::nullopt;
  payment_->guard.settle();
  write_certificate(folder_.path(), payment_->terms);
  return privacy::certify(payment_->ledger.record(), payment_->terms).guarantee.epsilon;
}

}  // namespace

void Steps::describe(recipe::Fields& fields) {
  const recipe::Limits count = recipe::at_least(0);
  fields.integer("checkpoint_every", checkpoint_every, count, "steps between checkpoints; 0: none");
  fields.number("checkpoint_seconds", checkpoint_seconds, recipe::positive(),
                "... or when this has passed, whichever is first");
  fields.integer("sample_every", sample_every, count, "steps between pictures; 0: none");
  fields.integer("metrics_every", metrics_every, count, "steps between metrics; 0: none");
}

std::optional<Outcome> read_outcome(const RunFolder& folder) {
  constexpr std::uint64_t kLargest = 4096;
  std::error_code ignored;
  if (!std::filesystem::exists(folder.outcome(), ignored)) return std::nullopt;
  try {
    const auto value = nlohmann::json::parse(read_text(folder.outcome(), kLargest));
    Outcome outcome{.ending = Ending::kInterrupted,
                    .steps = value.at("steps"),
                    .total = value.at("total"),
                    .seconds = value.at("seconds"),
                    .epsilon = std::nullopt};
    if (!value.at("epsilon").is_null()) outcome.epsilon = value.at("epsilon").get<double>();
    for (const auto& [ending, name] : kEndings)
      if (value.at("ending") == name) outcome.ending = ending;
    return outcome;
  } catch (const nlohmann::json::exception&) {
    throw DataError(
        violation(folder.outcome().string(), "the outcome of a training", "something else"));
  }
}

std::string in_words(const Outcome& outcome) {
  const auto number = [](std::int64_t steps) {
    return with_thousands(static_cast<std::uint64_t>(steps));
  };
  std::string text;
  switch (outcome.ending) {
    case Ending::kFinished:
      text = fmt::format("finished {} steps", number(outcome.steps));
      break;
    case Ending::kBudget:
      text = fmt::format("stopped by the budget after step {} of {}", number(outcome.steps),
                         number(outcome.total));
      break;
    case Ending::kPlan:
      text = fmt::format("ended after step {} of {}, when all that was planned was paid for",
                         number(outcome.steps), number(outcome.total));
      break;
    case Ending::kInterrupted:
      text = fmt::format("interrupted after step {} of {} (--resume goes on)",
                         number(outcome.steps), number(outcome.total));
      break;
  }
  if (outcome.epsilon) text += fmt::format(": epsilon {}", rounded_up(*outcome.epsilon));
  if (outcome.epsilon && outcome.ending == Ending::kInterrupted)
    text += " for all that was planned";
  return text + fmt::format(", {}", human_seconds(outcome.seconds));
}

Outcome train(Method& method, const RunFolder& folder, const Steps& steps, Payment* payment,
              Diagnostics diagnostics) {
  check(steps);
  try {
    return Loop(method, folder, steps, payment, diagnostics).run();
  } catch (...) {
    if (payment != nullptr) give_back(*payment);
    throw;
  }
}

}  // namespace obol::run
