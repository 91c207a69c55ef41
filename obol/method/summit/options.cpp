#include "obol/method/summit/options.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "obol/base/error.h"

namespace obol::method::summit {

void MomentsOptions::describe_moments(recipe::Fields& fields) {
  constexpr double kMostFrequencies = 1e6;
  constexpr double kMostPatches = 4096;
  fields.number("moments_share", moments_share, recipe::between(0, 1),
                "moments: share of the privacy budget; 0 leaves them out");
  fields.integer("order", order, recipe::between(1, 2), "moments: order of the scattering");
  fields.integer("frequencies", frequencies, recipe::between(1, kMostFrequencies),
                 "moments: random frequencies, each with a cosine and a sine");
  fields.text("frequency", frequency, {},
              "moments: standard deviations of the frequencies, separated by commas");
  fields.number("feature_bound", feature_bound, recipe::positive(),
                "moments: bound on the length of a record's scattering vector");
  fields.integer("patches", patches, recipe::between(0, kMostPatches),
                 "moments: random projections of windows of 5x5 pixels, and as many of 9x9");
  fields.text("patch_frequency", patch_frequency, {},
              "moments: standard deviations of the projections of 5x5 pixels, separated by commas; "
              "5/9 of that for 9x9");
  fields.number("mean_weight", mean_weight, recipe::at_least(0),
                "moments: weight of the scattering means");
  fields.number("kernel_weight", kernel_weight, recipe::at_least(0),
                "moments: weight of the Fourier features' means");
  fields.number("patch_weight", patch_weight, recipe::at_least(0),
                "moments: weight of the means of patches");
  fields.number("memory", memory, recipe::between(0, 1),
                "moments: decay of the running mean of generated features");
}

void TeacherOptions::describe_teacher(recipe::Fields& fields) {
  fields.number("teacher_share", teacher_share, recipe::between(0, 1),
                "teacher: share of the privacy budget; 0 leaves it out");
  fields.integer("teacher_steps", teacher_steps, recipe::at_least(1), "teacher: gradient steps");
  fields.number("teacher_rate", teacher_rate, recipe::between(0, 1),
                "teacher: probability with which a record takes part in a step");
  fields.number("teacher_clip_norm", teacher_clip_norm, recipe::positive(),
                "teacher: l2 bound on a record's gradient");
  fields.number("teacher_gain", teacher_gain, recipe::positive(),
                "teacher: factor from the linear map to the logits");
  fields.number("teacher_learning_rate", teacher_learning_rate, recipe::positive(),
                "teacher: step size");
  fields.number("guide_weight", guide_weight, recipe::at_least(0),
                "teacher: weight of its cross-entropy on generated images");
  fields.flag("relabel", relabel,
              "teacher: written beside the generator, whose samples have the class that it sees in "
              "them");
}

void TransportOptions::describe_transport(recipe::Fields& fields) {
  fields.number("transport_share", transport_share, recipe::between(0, 1),
                "transport: share of the privacy budget; 0 leaves it out");
  fields.number("clip_norm", clip_norm, recipe::positive(),
                "transport: l2 bound on a record's pull");
  fields.number("regularization", regularization, recipe::positive(),
                "transport: temperature, in units of the cost");
  describe_records(fields);
}

void MethodOptions::describe(recipe::Fields& fields) {
  fields.text("name", name, {kName}, "the method");
  fields.integer("steps", steps, recipe::at_least(1),
                 "optimiser steps of the generator; the last privacy.steps of them use transport, "
                 "the others cost no privacy");
  fields.integer("batch", batch, recipe::at_least(2), "generated images of a step");
  fields.number("average", average, recipe::between(0, 1),
                "decay of the moving average of the weights that is released; 0: the weights");
  describe_moments(fields);
  describe_teacher(fields);
  describe_transport(fields);
  fields.integer("seed", seed, recipe::at_least(0),
                 "for tests and experiments: the run is then not private");
}

std::vector<double> frequencies_of(const char* key, const std::string& text) {
  std::vector<double> all;
  std::stringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value) ||
        value <= 0)
      throw InvalidArgument(
          violation(key, "positive numbers separated by commas, such as \"0.4,0.8\"", text));
    all.push_back(value);
  }
  if (all.empty() || text.back() == ',')
    throw InvalidArgument(violation(key, "numbers with commas between them", text));
  return all;
}

}  // namespace obol::method::summit
