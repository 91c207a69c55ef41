#include "obol/app/train.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <torch/torch.h>

#include "obol/app/tensor/device.h"
#include "obol/app/tensor/teacher.h"
#include "obol/base/console.h"
#include "obol/data/catalogue.h"
#include "obol/data/reader.h"
#include "obol/data/writer.h"
#include "obol/local/privatized.h"
#include "obol/method/fit_by_name.h"
#include "obol/method/methods.h"
#include "obol/model/generator_file.h"
#include "obol/model/sample.h"
#include "obol/model/scattering_classifier.h"
#include "obol/model/script.h"
#include "obol/run/folder.h"

namespace obol::app {
namespace {

const std::string& source_of(const method::Experiment& experiment) {
  if (!experiment.data.source)
    throw InvalidArgument(
        violation("data.source", "given", "missing", experiment.places("data.source")));
  return *experiment.data.source;
}

// Known data that are not here yet are brought.
Private<data::Dataset> read_data(const method::Experiment& experiment) {
  const data::RecipeData& described = experiment.data;
  const std::string& source = source_of(experiment);
  const data::KnownDataset* known = data::find_known(source);
  if (known != nullptr && !known->files.empty() && !data::is_present(*known)) {
    log_info("fetching {}", known->name);
    static_cast<void>(data::fetch(known->name));
  }
  return data::read_private(source, described.options());
}

// Privatised before they came here: anything else is refused, so that this side never has it.
local::Privatized read_privatized(const method::Experiment& experiment) {
  const std::string& source = source_of(experiment);
  if (data::find_known(source) != nullptr || !std::filesystem::is_regular_file(source))
    throw InvalidArgument(violation("data.source", "a file made by 'obol privatize'", source,
                                    experiment.places("data.source")));
  return local::read_privatized(source);
}

method::TrainingData data_of(const method::Experiment& experiment) {
  if (experiment.info->data == method::DataKind::kPrivatizedRecords)
    return read_privatized(experiment);
  return read_data(experiment);
}

// Nothing where the path is that of a file.
std::optional<run::RunFolder> folder_at(const Path& path) {
  if (!std::filesystem::is_directory(path)) return std::nullopt;
  return run::RunFolder::open(path);
}

// Of the folder of a run or release, or of a file.
std::shared_ptr<model::Generator> generator_in(const Path& path,
                                               const std::optional<run::RunFolder>& folder) {
  if (!folder) return model::load_generator(path);
  folder->require_generator();
  return model::load_generator(folder->generator());
}

}  // namespace

run::Outcome train(const TrainRequest& request) {
  const ReporterScope scope(request.reporter);
  const torch::Device device = use_device(request.device, request.threads);
  auto recipe = recipe::Recipe::load(request.recipe, request.overrides);
  const method::FitOptions options{.folder = request.out,
                                   .device = device,
                                   .resume = request.resume,
                                   .diagnostics = request.unsafe_diagnostics
                                                      ? run::Diagnostics::kUnsafe
                                                      : run::Diagnostics::kNone};
  const method::Experiment experiment = method::read_experiment(recipe);
  return method::fit_by_name(experiment, data_of(experiment), options);
}

void sample(const SampleRequest& request) {
  const ReporterScope scope(request.reporter);
  const torch::Device device = use_device(request.device, request.threads);
  const std::optional<run::RunFolder> folder = folder_at(request.run);
  const auto generator = generator_in(request.run, folder);
  generator->place(device);
  std::optional<model::ScatteringClassifier> teacher;
  if (folder && request.teacher) teacher = teacher_in(*folder, *generator);
  const data::Dataset images =
      model::sample(*generator, {.count = request.count,
                                 .label = request.label,
                                 .seed = request.seed,
                                 .teacher = teacher ? &*teacher : nullptr});
  data::write(images, request.out, *data::format_of_path(request.out));
}

void export_script(const ExportRequest& request) {
  write_file(request.out, model::script_bytes(*generator_in(request.run, folder_at(request.run))));
}

}  // namespace obol::app
