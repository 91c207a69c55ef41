// The training loop of any method: it knows steps, and leaves what a step does to the method.
//
//   RunFolder folder = RunFolder::create("runs/a", recipe.resolved(), header);   // or resume
//   privacy::Ledger ledger = privacy::Ledger::open(folder.ledger(), header);
//   privacy::BudgetGuard guard(ledger, budget);
//   Payment payment{.ledger = ledger, .guard = guard, .terms = {.delta = budget.delta}};
//   Outcome outcome = train(method, folder, {.total = 20'000}, &payment);
//   log_info("{}", in_words(outcome));
//
// A folder with a checkpoint is gone on with from there. Killed at any instant, a run leaves a
// ledger that counts at least what was released: the guard's payment for a step is on disk before
// the step, and the checkpoint that holds the step's result comes after. So a resumed run repeats
// the steps since the checkpoint and pays for them again; it may then reach the budget, or the end
// of its plan, before its last step, which is an end like any other.
//
// After SIGINT or SIGTERM (catch_interrupts in main) the step under way is finished, a checkpoint
// written, and what was reserved ahead is given back; after an error the last alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/ledger.h"
#include "obol/recipe/fields.h"
#include "obol/run/checkpoint.h"
#include "obol/run/folder.h"
#include "obol/run/grid.h"
#include "obol/run/metrics.h"

namespace obol::run {

// The section [run] of a recipe, and how many steps there are.
struct Steps {
  std::int64_t total = 0;
  std::int64_t checkpoint_every = 1000;  // 0: never, here and below
  double checkpoint_seconds = 300;       // ... or when this has passed, whichever is first
  std::int64_t sample_every = 1000;
  std::int64_t metrics_every = 100;

  void describe(recipe::Fields& fields);
};

// What a method does for the loop. The first step is 1.
class Method {
 public:
  virtual ~Method() = default;

  // Before the first step of a new run, never of a resumed one: releases that are made once.
  virtual void start() {}
  // Pays the guard for everything it is going to release before it changes anything: where
  // BudgetExceeded or Interrupted leaves it, the state is that after the step before.
  virtual void step(std::int64_t step, UnsafeDiagnostics& diagnostics) = 0;

  // Everything that the next step depends on, and back.
  virtual Sections save() = 0;
  virtual void load(const Sections& sections) = 0;

  // As of the last step.
  virtual std::vector<Metric> metrics() { return {}; }
  // Shown beside the progress where nothing is paid.
  [[nodiscard]] virtual std::string note() const { return "not private"; }
  // To be looked at; nothing where there is nothing to see.
  virtual std::optional<Samples> samples() { return std::nullopt; }
  // The bytes of generator.safetensors.
  virtual std::string generator() = 0;
  // Those of teacher.safetensors, where the method has a classifier that labels the generator's
  // images.
  virtual std::optional<std::string> teacher() { return std::nullopt; }
};

enum class Ending {
  kFinished,
  kBudget,  // the budget does not allow the next step
  kPlan,    // steps that were repeated used up what was planned
  kInterrupted
};

// Who pays. All of it is the caller's.
struct Payment {
  privacy::Ledger& ledger;
  privacy::BudgetGuard& guard;
  privacy::CertificateTerms terms;
  std::optional<Epsilon> budget = std::nullopt;  // to be shown
  Ending when_refused = Ending::kBudget;         // where the guard refuses a step
};

enum class Diagnostics { kNone, kUnsafe };

struct Outcome {
  Ending ending;
  std::int64_t steps;  // taken, those before a resumption included
  std::int64_t total;
  double seconds;                 // of training, likewise
  std::optional<double> epsilon;  // of the certificate
};

// What outcome.json says of the last training in that folder; nothing where it did not come to an
// end, not even by an interruption. DataError where the file is none of ours.
std::optional<Outcome> read_outcome(const RunFolder& folder);

// "stopped by the budget after step 4,210 of 5,000: epsilon 9.99, 3 min 4 s"
std::string in_words(const Outcome& outcome);

// Without `payment` nothing is paid and nothing certified: the data must not be private. DataError
// where the ledger does not extend that of the checkpoint, or the checkpoint is of another recipe.
Outcome train(Method& method, const RunFolder& folder, const Steps& steps, Payment* payment,
              Diagnostics diagnostics = Diagnostics::kNone);

}  // namespace obol::run
