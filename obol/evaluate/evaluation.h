// What an evaluation found out: the contents of evaluation.json, written and read back.
//
//   write_file(folder.evaluation(), evaluation.to_json() + '\n');
//   if (const auto evaluation = read_evaluation(folder.evaluation())) ...
//
// Every part may be missing. What is read is checked: the file may come from anyone. NaN is written
// as null; a null that stands alone is read as missing, one in a list as NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"

namespace obol::evaluate {

// One classifier, trained on synthetic data and tested on real.
struct ClassifierScore {
  std::string classifier;
  std::optional<double> accuracy;           // the mean over repetitions
  std::optional<double> deviation;          // over repetitions
  std::vector<double> accuracies;           // of each of them
  std::optional<double> balanced_accuracy;  // the mean over classes
  std::optional<double> balanced_deviation;
  std::optional<double> auc;  // area under the ROC curve, the mean of each class against the rest
  std::optional<double> auc_deviation;
  std::vector<std::vector<std::int64_t>> confusion;  // [true class][predicted class], of the first
  std::vector<double> per_class;                     // NaN where there was none to test
  std::optional<double> on_real;  // accuracy of the same classifier, trained on real data
  std::optional<double> balanced_on_real;
  std::optional<double> auc_on_real;
  std::optional<double> calibrated;
};

// Quality's name for the share of generated images that look like nothing of their class; see
// obol/evaluate/junk.h. More than kMuchJunk of it is worth a warning.
inline constexpr const char* kJunkRate = "junk_rate";
inline constexpr double kMuchJunk = 0.02;

struct Quality {
  std::string name;  // "classifier_fid", "precision"
  std::optional<double> value;
  std::optional<double> deviation;
  std::vector<double> per_class;
  std::optional<double> between_real;  // what it is among real images
  std::optional<std::int64_t> images_per_class;
  std::string against;  // "test", "train"
  std::optional<double> regularization;
};

// Distances to the training records over those to records that were held out.
struct MemorisationScore {
  std::optional<double> ratio;
  std::optional<double> low;
  std::optional<double> high;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> references;
  std::string closest;  // the name of a picture beside the file
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

// Classifiers of scikit-learn, and two of ours, on fewer records.
struct Suite {
  std::optional<std::int64_t> records;
  std::vector<SuiteScore> scores;
};

// How classifiers are trained. Version 1, which files do not name, had logistic regression without
// a penalty, stopped on held-out images; version 2 has scikit-learn's defaults.
inline constexpr std::int64_t kProtocolVersion = 2;

// The synthetic images have the labels that the run's teacher gave them.
inline constexpr const char* kByTeacher = "teacher";

struct Evaluation {
  std::string protocol;                          // empty for what was computed with private records
  std::optional<std::int64_t> protocol_version;  // 1 where it is missing
  std::optional<std::int64_t> synthetic;
  std::string
      labelled_by;  // kByTeacher, or empty: with the labels that the generator was asked for
  std::optional<std::int64_t> test;
  std::string against;  // what the real images are, in words
  std::string source;   // of the real images: a known name or a path
  std::optional<std::int64_t> seeds;
  std::optional<double> seconds;
  std::vector<std::string> classes;
  std::vector<ClassifierScore> classifiers;
  std::vector<Quality> quality;
  std::optional<Suite> suite;
  std::optional<Validation> validation;
  std::optional<MemorisationScore> memorisation;

  [[nodiscard]] std::string to_json() const;
  // DataError, naming `where` and the member, where the text is not an evaluation of ours.
  static Evaluation from_json(std::string_view text, const std::string& where);
};

// Nothing where there is no such file. Errors as from_json.
std::optional<Evaluation> read_evaluation(const Path& path);

const ClassifierScore* find_score(const Evaluation& evaluation, std::string_view classifier);
const Quality* find_quality(const Evaluation& evaluation, std::string_view name);

// A sentence where more than kMuchJunk of the images are junk; empty otherwise.
std::string junk_warning(const Evaluation& evaluation);

}  // namespace obol::evaluate
