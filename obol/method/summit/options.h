// What a recipe says about the summit method, besides the price ([privacy]) and the network
// ([generator]).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/method/dp_sinkhorn/options.h"
#include "obol/recipe/fields.h"

namespace obol::method::summit {

inline constexpr const char* kName = "summit";

// Mean features of each class, released once.
struct MomentsOptions {
  double moments_share = 0.5;  // of the budget; 0: no moments
  std::int64_t order = 1;      // of the scattering
  std::int64_t frequencies = 2048;
  std::string frequency = "0.8";  // standard deviations, separated by commas
  double feature_bound = 4;       // longer scattering vectors of records are scaled down to this
  std::int64_t patches = 0;       // random projections of windows, of each of two sizes
  std::string patch_frequency = "2,4";
  double mean_weight = 10;
  double kernel_weight = 500;
  double patch_weight = 500;
  double memory = 0.8;

  void describe_moments(recipe::Fields& fields);
};

// A linear classifier on scattering features.
struct TeacherOptions {
  double teacher_share = 0.3;  // of the budget; 0: no teacher
  std::int64_t teacher_steps = 290;
  double teacher_rate = 0.1365;
  double teacher_clip_norm = 0.1;
  double teacher_gain = 30;
  double teacher_learning_rate = 8;
  double guide_weight = 1;
  bool relabel = true;  // samples have the class that the teacher sees in them

  void describe_teacher(recipe::Fields& fields);
};

// Transport with the record barrier, in the last steps. Their number is privacy.steps.
struct TransportOptions : dp_sinkhorn::RecordStepOptions {
  double transport_share = 0;  // of the budget; 0: no transport
  double clip_norm = 6;
  double regularization = 2;

  void describe_transport(recipe::Fields& fields);
};

// The section [method].
struct MethodOptions : MomentsOptions, TeacherOptions, TransportOptions {
  std::string name = kName;
  std::int64_t steps = 2000;  // of the generator's optimiser, those with transport included
  std::int64_t batch = 500;
  double average = 0;
  std::optional<std::int64_t> seed;

  void describe(recipe::Fields& fields);

  [[nodiscard]] bool has_moments() const { return moments_share > 0; }
  [[nodiscard]] bool has_teacher() const { return teacher_share > 0; }
  [[nodiscard]] bool relabels() const { return has_teacher() && relabel; }
  [[nodiscard]] bool has_transport() const { return transport_share > 0; }
};

// "0.4,0.8" as numbers. InvalidArgument unless all are finite and positive; `key` is where the text
// comes from.
std::vector<double> frequencies_of(const char* key, const std::string& text);

}  // namespace obol::method::summit
