// What a sweep over a grid of recipes found: a row for every point, from the folders of its runs.
//
//   SweepRun run = read_sweep_run("sweeps/a", "self_weight=0.5,epsilon=1");
//   Sweep sweep{.recipe = "dp_sinkhorn/mnist_record_eps10_cpu", .keys = grid.keys(), ...};
//   std::cout << to_text(sweep);
//   write_sweep(sweep, "sweeps/a");     // sweep.csv, sweep.json, sweep.svg
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/evaluate/evaluation.h"
#include "obol/recipe/grid.h"
#include "obol/run/loop.h"

namespace obol::report {

// All of it may be missing: a run may not have begun, have failed, or not be evaluated.
struct SweepRun {
  std::string folder;  // in that of the sweep
  std::optional<run::Outcome> outcome = std::nullopt;
  std::optional<double> epsilon = std::nullopt;  // recomputed from the ledger
  std::optional<evaluate::Evaluation> evaluation = std::nullopt;
  std::string error = {};

  // Not where it can be gone on with.
  [[nodiscard]] bool is_trained() const {
    return outcome && outcome->ending != run::Ending::kInterrupted;
  }
};

// What is wrong with a file in it is an error of the run.
SweepRun read_sweep_run(const Path& sweep, const std::string& name);

struct SweepPoint {
  std::vector<std::string> values;  // one of each key
  std::vector<SweepRun> runs;       // repetitions
};

struct Sweep {
  std::string recipe;
  std::vector<std::string> overrides;  // of all points
  std::vector<recipe::GridKey> keys;
  std::vector<std::string> classifiers;
  std::vector<SweepPoint> points;
};

// Of the values of several runs, or, where there is one, of the seeds of its evaluation.
struct Spread {
  double mean;
  std::optional<double> deviation;
};
std::optional<Spread> accuracy(const SweepPoint& point, const std::string& classifier);

// What no certificate in a sweep covers, in a sentence.
std::string not_covered_by_sweep(const Path& folder);

// A table to be read, errors below it.
std::string to_text(const Sweep& sweep);
std::string to_csv(const Sweep& sweep);
std::string to_json(const Sweep& sweep);

// The accuracy of the last classifier against epsilon, or against the first key that has numbers,
// with a line for each combination of the others; or of all classifiers, where there are no others.
// Nothing where nothing is to be drawn.
std::optional<std::string> to_svg(const Sweep& sweep);

void write_sweep(const Sweep& sweep, const Path& folder);

}  // namespace obol::report
