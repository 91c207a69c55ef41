// What of a run may be handed over, in one folder: see obol/report/release.h for what is in it.
//
//   release({.run = "runs/a", .out = "release", .sign = "key.pem"});
//
// Implemented by the target app_tensor, which needs LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/base/reporter.h"

namespace obol::app {

struct ReleaseRequest {
  std::string run;
  std::string out;  // a new folder
  std::int64_t count = 60'000;
  std::optional<std::int64_t> seed;  // for the same images again
  std::string sign;                  // an Ed25519 private key; empty: not signed
  std::string device = "cpu";
  std::int64_t threads = 0;
  Reporter* reporter = nullptr;  // null: the one in use
};

void release(const ReleaseRequest& request);

}  // namespace obol::app
