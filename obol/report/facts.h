// What a run folder holds, read once for whoever shows it. Nothing is trained or measured anew; the
// certificate is recomputed from the ledger, so that what is shown is true.
//
//   RunFacts facts = read_facts("runs/a", PrivatePart::kLeftOut);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/data/picture.h"
#include "obol/data/reader.h"
#include "obol/evaluate/evaluation.h"
#include "obol/method/privacy_options.h"
#include "obol/privacy/certificate.h"
#include "obol/recipe/recipe.h"
#include "obol/report/html.h"
#include "obol/run/folder.h"
#include "obol/run/metrics.h"

namespace obol::report {

using evaluate::ClassifierScore;
using evaluate::Evaluation;
using evaluate::Quality;

// Whether numbers from private/ are shown, in a box that says what they are; and whether a page
// says where the private data are, and shows records of their test split. What the catalogue has is
// public, its records and its name.
enum class PrivatePart { kShown, kLeftOut };

// A PNG file as it is.
struct PngFile {
  std::vector<std::byte> bytes;
  data::ImageShape shape;
};

struct RunFacts {
  run::RunFolder folder;
  PrivatePart part;
  std::string name;  // of the folder
  recipe::Heading heading;
  data::RecipeData data;
  method::PrivacyOptions privacy;
  std::string recipe;  // its text; as it may be handed over, where the private part is left out
  std::string method;
  std::optional<privacy::Certificate> certificate;
  bool has_ledger;
  bool has_teacher;  // which labels what the generator makes
  std::vector<run::MetricsRow> metrics;
  std::int64_t samples_step = 0;   // of the last picture
  std::optional<PngFile> samples;  // a row for each class
  std::optional<Evaluation> evaluation;
  std::optional<Evaluation> private_evaluation;

  [[nodiscard]] const std::string& title() const { return heading.title ? *heading.title : name; }
  // The catalogue has it.
  [[nodiscard]] bool has_public_data() const;
  // The known data set that it was trained on ("mnist"), or what the recipe calls its data.
  [[nodiscard]] std::string data_name() const;
  // Trained on records that were privatised before.
  [[nodiscard]] bool is_local() const;
  [[nodiscard]] bool has_classes() const;
  // As evaluated, or of a known data set; none where neither is there.
  [[nodiscard]] std::vector<std::string> class_names() const;
};

// InvalidArgument where it is no run; DataError, VerificationFailed where a file in it is not what
// it must be.
RunFacts read_facts(const Path& run, PrivatePart part);

// Real pictures that were never trained on, laid out as the generated ones.
struct RealSamples {
  std::optional<data::Picture> picture;
  std::vector<std::string> class_names;
  std::string why_none;
};
// From `source` where that is given; else from what the recipe names, for runs of one's own and for
// data of the catalogue: a recipe that came from elsewhere does not decide what is opened here.
RealSamples real_samples(const RunFacts& facts, const std::optional<std::string>& source);

// A grid with the names of its rows beside it.
Html grid_figure(const PngFile& png, const std::vector<std::string>& names,
                 std::string_view description, std::string_view caption);

// "95.1%", "95.1% ± 0.2"; "12.3"
std::string percent(double share);
std::string percent(double share, std::optional<double> deviation);
std::string figure_text(double value);

}  // namespace obol::report
