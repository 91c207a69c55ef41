#include "obol/app/tensor/teacher.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/data/dataset.h"

namespace obol::app {

std::optional<model::ScatteringClassifier> teacher_in(const run::RunFolder& folder,
                                                      const model::Generator& generator) {
  if (!folder.has_teacher()) return std::nullopt;
  auto teacher = model::load_scattering_classifier(folder.teacher(), generator.device());
  const auto in_words = [](const data::ImageShape& shape, std::int64_t classes) {
    return fmt::format("for images of {} and {} classes", to_string(shape), classes);
  };
  const std::string wanted = in_words(generator.shape(), generator.num_classes());
  if (const std::string found = in_words(teacher.shape(), teacher.num_classes()); found != wanted)
    throw DataError(
        violation("the teacher", wanted + " as the generator", found, folder.teacher().string()));
  return teacher;
}

}  // namespace obol::app
