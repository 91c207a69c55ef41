// What it costs to carry one set of points to another, both from .npy files.
//
//   TransportAnswer found = solve_transport({.x = "a.npy", .y = "b.npy", .exact = true});
//
// Implemented by the target app_tensor, which needs LibTorch.
#pragma once

#include <cstdint>
#include <string>

#include "obol/base/reporter.h"

namespace obol::app {

// Paths may be empty where optional.
struct TransportRequest {
  std::string x;
  std::string y;
  std::string labels_x;
  std::string labels_y;
  std::string plan;  // to write
  std::string cost;
  std::string device;
  double regularization = 0;
  double label_weight = 0;
  double tolerance = 1e-6;
  std::int64_t max_iterations = 10'000;
  bool debiased = false;
  bool exact = false;
  bool annealed = false;
  Reporter* reporter = nullptr;  // null: the one in use
};

struct TransportAnswer {
  std::int64_t n = 0;
  std::int64_t m = 0;
  std::int64_t coordinates = 0;
  std::string precision;  // float32 or float64
  std::string cost;
  double value = 0;
  double dual = 0;
  double marginal_error = 0;
  std::int64_t iterations = 0;
  bool converged = false;
  double seconds = 0;  // without files
};

TransportAnswer solve_transport(const TransportRequest& request);

}  // namespace obol::app
