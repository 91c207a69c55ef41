// From a recipe to a generator, and from that to images or TorchScript.
//
//   run::Outcome outcome = train({.recipe = "my.toml", .out = "runs/a"});
//   sample({.run = "runs/a", .count = 60'000, .out = "synthetic.npz"});
//
// Implemented by the target app_tensor, which needs LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/base/reporter.h"
#include "obol/run/loop.h"

namespace obol::app {

struct TrainRequest {
  Path recipe;
  std::vector<std::string> overrides;
  Path out;
  std::string device = "cpu";
  std::int64_t threads = 0;  // 0: all
  bool resume = false;
  bool unsafe_diagnostics = false;
  Reporter* reporter = nullptr;  // null: the one in use
};

struct SampleRequest {
  std::string run;  // the folder of a run or release, or its generator
  std::int64_t count = 0;
  std::optional<std::int64_t> label;
  std::optional<std::int64_t> seed;
  bool teacher = true;  // labels are those of the run's teacher, where it has one
  std::string out;
  std::string device = "cpu";
  std::int64_t threads = 0;
  Reporter* reporter = nullptr;  // null: the one in use
};

struct ExportRequest {
  std::string run;
  std::string out;
};

run::Outcome train(const TrainRequest& request);
void sample(const SampleRequest& request);
void export_script(const ExportRequest& request);

}  // namespace obol::app
