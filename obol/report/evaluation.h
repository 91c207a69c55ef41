// What `obol evaluate` found out about a run, read back: evaluation.json.
//
//   if (const auto evaluation = read_evaluation(run / "evaluation.json")) ...
//
// Every part may be missing. What is there is checked: the file may come from anyone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"

namespace obol::report {

// One classifier, trained on synthetic data and tested on real.
struct Score {
  std::string classifier;
  std::optional<double> accuracy;
  std::optional<double> deviation;  // over repetitions
  std::optional<double> on_real;    // of the same classifier, trained on real data
  std::optional<double> calibrated;
  std::vector<std::vector<std::int64_t>> confusion;  // [true class][predicted class]
  std::vector<double> per_class;
};

struct Quality {
  std::string name;  // "classifier_fid", "precision"
  std::optional<double> value;
  std::optional<double> deviation;
  std::string against;                 // "test", "train"
  std::optional<double> between_real;  // what it is among real images
  std::vector<double> per_class;
};

// Distances to the training records over those to records that were held out.
struct Memorisation {
  std::optional<double> ratio;
  std::optional<double> low;
  std::optional<double> high;
  std::optional<std::int64_t> samples;
};

// An accuracy on private images, with noise that the ledger has paid for.
struct Validation {
  std::string classifier;
  std::optional<double> accuracy;
  std::optional<double> standard_error;
};

struct SuiteScore {
  std::string classifier;
  double accuracy;
};

struct Evaluation {
  std::string protocol;
  std::optional<std::int64_t> synthetic;
  std::optional<std::int64_t> test;
  std::string source;  // of the real images: a known name or a path
  std::optional<std::int64_t> seeds;
  std::optional<double> seconds;
  std::vector<std::string> classes;
  std::vector<Score> classifiers;
  std::vector<Quality> quality;
  std::optional<Memorisation> memorisation;
  std::optional<Validation> validation;
  std::optional<std::int64_t> suite_records;
  std::vector<SuiteScore> suite;
};

// Nothing where there is no such file. DataError, naming file and member, where it is none of ours.
std::optional<Evaluation> read_evaluation(const Path& path);
Evaluation parse_evaluation(std::string_view text, const std::string& where);

const Score* find_score(const Evaluation& evaluation, std::string_view classifier);
const Quality* find_quality(const Evaluation& evaluation, std::string_view name);

}  // namespace obol::report
