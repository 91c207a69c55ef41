// A recipe at every point of a grid: trained, evaluated, and put into one table. Runs that are
// there already are resumed, so that the same call continues a sweep that was interrupted.
//
//   SweepEnd end = sweep({.recipe = "dp_sinkhorn/mnist_record_eps10_cpu",
//                         .grid = {"privacy.epsilon=1,10"}, .out = "sweeps/a"}, {train, evaluate});
//   std::cout << report::to_text(end.sweep);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "obol/app/evaluate.h"
#include "obol/app/train.h"
#include "obol/base/error.h"
#include "obol/base/reporter.h"
#include "obol/report/sweep.h"

namespace obol::app {

struct SweepRequest {
  std::string recipe;
  std::vector<std::string> grid;       // section.key=value,value
  std::vector<std::string> overrides;  // at all points
  Path out;                            // the folder of the runs
  std::int64_t repeat = 1;             // runs at each point
  bool evaluated = true;
  EvaluateRequest evaluation;    // of every run; its subject is set here, and quality left out
  Reporter* reporter = nullptr;  // null: the one in use
};

// What needs LibTorch: app::train and app::evaluate, or what stands for them.
struct SweepWork {
  std::function<run::Outcome(const TrainRequest&)> train;
  std::function<void(const EvaluateRequest&)> evaluate;
};

struct SweepEnd {
  report::Sweep sweep;
  std::size_t runs = 0;
  std::size_t done = 0;
  bool was_interrupted = false;
  ExitCode failure = ExitCode::kOk;  // the first
};

// Writes the tables into `out`. InvalidArgument where a point cannot be meant, and where a folder
// holds a run of another recipe: before anything is trained. Errors of single runs are in the
// sweep.
SweepEnd sweep(const SweepRequest& request, const SweepWork& work);

}  // namespace obol::app
