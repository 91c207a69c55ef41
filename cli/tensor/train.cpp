#include "cli/tensor/train.h"

#include <filesystem>

#include <torch/torch.h>

#include "cli/tensor/device.h"
#include "obol/base/console.h"
#include "obol/data/catalogue.h"
#include "obol/data/reader.h"
#include "obol/data/writer.h"
#include "obol/method/dp_sinkhorn/fit.h"
#include "obol/method/gs_wgan/fit.h"
#include "obol/method/method_name.h"
#include "obol/model/sample.h"
#include "obol/model/script.h"
#include "obol/run/folder.h"

namespace obol::cli {
namespace {

// Known data that are not here yet are brought.
data::Dataset read_data(const method::Experiment& experiment) {
  const data::RecipeData& described = experiment.data;
  if (!described.source)
    throw InvalidArgument(
        violation("data.source", "given", "missing", experiment.places("data.source")));
  const data::KnownDataset* known = data::find_known(*described.source);
  if (known != nullptr && !known->files.empty() && !data::is_present(*known)) {
    log_info("fetching {}", known->name);
    static_cast<void>(data::fetch(known->name));
  }
  return data::read(*described.source, described.options());
}

template <class MethodOptions>
run::Outcome read_and_fit(recipe::Recipe& recipe, const method::FitOptions& options) {
  const auto experiment = method::read_experiment<MethodOptions>(recipe);
  return fit(experiment, Private<data::Dataset>(read_data(experiment)), options);
}

}  // namespace

run::Outcome run_train(const TrainRequest& request) {
  const torch::Device device = use_device(request.device, request.threads);
  auto recipe = recipe::Recipe::load(request.recipe, request.overrides);
  const method::FitOptions options{.folder = request.out,
                                   .device = device,
                                   .resume = request.resume,
                                   .diagnostics = request.unsafe_diagnostics
                                                      ? run::Diagnostics::kUnsafe
                                                      : run::Diagnostics::kNone};
  return method::method_of(recipe) == "gs-wgan"
             ? read_and_fit<method::gs_wgan::MethodOptions>(recipe, options)
             : read_and_fit<method::dp_sinkhorn::MethodOptions>(recipe, options);
}

void run_sample(const SampleRequest& request) {
  const torch::Device device = use_device(request.device, request.threads);
  Path path = request.run;
  if (std::filesystem::is_directory(path)) path = run::RunFolder::open(path).generator();
  const auto generator = model::load_generator(path);
  generator->to(device);
  const data::Dataset images = model::sample(
      *generator, {.count = request.count, .label = request.label, .seed = request.seed});
  data::write(images, request.out, *data::format_of_path(request.out));
}

}  // namespace obol::cli
