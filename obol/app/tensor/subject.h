// What `obol evaluate` looks at: images of a run's generator or of a file, and the real images that
// they are compared with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <torch/torch.h>

#include "obol/app/evaluate.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/data/reader.h"
#include "obol/evaluate/downstream.h"
#include "obol/model/generator.h"
#include "obol/model/scattering_classifier.h"
#include "obol/run/folder.h"

namespace obol::app {

// After something was opened: the certificate of the run, where it has one, lists all of that.
void renew_certificate(const run::RunFolder& folder);

class Subject {
 public:
  // DataError or InvalidArgument, in one sentence, where the images cannot be compared.
  Subject(const EvaluateRequest& request, const torch::Device& device);

  // Whether the synthetic images have labels. Real ones do.
  [[nodiscard]] bool is_labelled() const;
  // Who gave the labels, for the evaluation: "teacher", or nothing.
  [[nodiscard]] std::string labelled_by() const;
  // Of a generator other images for every seed; of a file always the same.
  [[nodiscard]] data::Dataset synthetic(std::int64_t seed) const;
  [[nodiscard]] const data::Dataset& real() const noexcept { return real_; }
  // What the real images are, in words.
  [[nodiscard]] const std::string& against() const noexcept { return against_; }
  // Where they were read from.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

  // InvalidArgument, naming the option that asked, where the subject is not a run.
  [[nodiscard]] const run::RunFolder& run(const std::string& field) const;
  [[nodiscard]] bool is_run() const noexcept { return folder_.has_value(); }
  // What the run was trained on.
  [[nodiscard]] Private<data::Dataset> training() const;

 private:
  // A recipe that came from elsewhere does not decide which files are opened here.
  [[nodiscard]] bool may_open_data() const;
  void read_real(const EvaluateRequest& request);
  // DataError where some of the real images are those that the run was trained on.
  void check_are_others() const;
  void read_run(const EvaluateRequest& request, const torch::Device& device);
  void read_file(const EvaluateRequest& request);

  std::optional<run::RunFolder> folder_;
  data::RecipeData described_;
  std::shared_ptr<model::Generator> generator_;
  std::optional<model::ScatteringClassifier> teacher_;
  bool is_local_ = false;  // trained on privatised records
  std::int64_t count_ = 0;
  data::Dataset samples_;
  data::Dataset real_;
  std::string against_;
  std::string source_;
};

}  // namespace obol::app
