#include "obol/method/generator_method.h"

#include "obol/model/generator_file.h"

namespace obol::method {

GeneratorMethod::GeneratorMethod(const TraineeOptions& options, const data::ImageShape& shape,
                                 std::int64_t num_classes, const MethodContext& context)
    : context_(context), trainee_(options, shape, num_classes, context.device) {}

run::Sections GeneratorMethod::save() {
  run::Sections sections;
  save_more(sections);
  trainee_.save(sections);
  return sections;
}

void GeneratorMethod::load(const run::Sections& sections) {
  trainee_.load(sections);
  load_more(sections);
}

std::string GeneratorMethod::generator() { return model::generator_bytes(*released()); }

}  // namespace obol::method
