// Noise before anything leaves its owner, and the attempt to remove it.
//
//   PrivatizeOutcome made = privatize({.source = data, .options = options, .out = "private.npz"});
//   denoise({.path = "private.npz", .clean = data, .out = "denoised.npz"});
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/base/reporter.h"
#include "obol/data/reader.h"
#include "obol/local/privatize.h"
#include "obol/local/wavelet.h"

namespace obol::app {

struct PrivatizeRequest {
  data::RecipeData source;
  local::PrivatizeOptions options;
  std::string out;  // FILE.npz; FILE-certificate is written beside it
  std::optional<std::int64_t> count = std::nullopt;  // the first so many; for experiments
  std::optional<std::uint64_t> seed = std::nullopt;  // for experiments: not private
  Reporter* reporter = nullptr;                      // null: the one in use
};

// What can be refused without the data is refused before they are read.
local::PrivatizeOutcome privatize(const PrivatizeRequest& request);

// Either levels and threshold are given, or clean data to choose them by, which is not private.
struct DenoiseRequest {
  std::string path;  // what `privatize` wrote
  std::optional<local::Wavelet> wavelet = std::nullopt;
  std::optional<std::int64_t> levels = std::nullopt;
  std::optional<double> threshold = std::nullopt;
  data::RecipeData clean = {};
  std::string out;
  Reporter* reporter = nullptr;  // null: the one in use
};

// Mean squared distances to the clean images.
struct DenoiseGain {
  double before;
  double after;
};

struct DenoiseAnswer {
  std::string how;
  std::optional<DenoiseGain> gain = std::nullopt;  // where there were clean data
};

DenoiseAnswer denoise(const DenoiseRequest& request);

}  // namespace obol::app
