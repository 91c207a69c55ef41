// The classifier that labels the images of a run, where the run has one.
//
//   const auto teacher = teacher_in(folder, *generator);
//   model::sample(*generator, {.count = 100, .teacher = teacher ? &*teacher : nullptr});
#pragma once

#include <optional>

#include "obol/model/generator.h"
#include "obol/model/scattering_classifier.h"
#include "obol/run/folder.h"

namespace obol::app {

// Where the generator is. DataError on a file that is none, or one for images that this generator
// does not make: the folder may come from anyone.
std::optional<model::ScatteringClassifier> teacher_in(const run::RunFolder& folder,
                                                      const model::Generator& generator);

}  // namespace obol::app
