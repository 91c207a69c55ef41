// obol train | sample | export: from a recipe to a generator, and from that to images or
// TorchScript
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/data/writer.h"
#include "obol/recipe/recipe.h"
#include "obol/run/folder.h"
#include "obol/run/loop.h"

namespace obol::cli {
namespace {

Path last_picture(const run::RunFolder& folder) {
  const std::vector<std::string> names = list_folder(folder.samples());
  return names.empty() ? Path() : folder.samples() / names.back();
}

ExitCode print(const run::Outcome& outcome, const run::RunFolder& folder) {
  std::cout << run::in_words(outcome) << '\n';
  if (outcome.ending == run::Ending::kInterrupted) return ExitCode::kInterrupted;
  const Path picture = last_picture(folder);
  if (!picture.empty()) std::cout << fmt::format("samples   {}\n", picture.string());
  std::cout << fmt::format("generator {}\n", folder.generator().string());
  if (folder.has_teacher()) std::cout << fmt::format("teacher   {}\n", folder.teacher().string());
  return ExitCode::kOk;
}

void add_train(CLI::App& root, Action& action) {
  struct Arguments {
    TrainRequest request;
    std::string recipe;
    std::string out;
  };
  CLI::App* command =
      root.add_subcommand("train", "train a generator on private data, and certify what it cost");
  auto arguments = std::make_shared<Arguments>();
  TrainRequest& request = arguments->request;
  command->add_option("recipe", arguments->recipe, "a name from 'obol recipes list', or a file")
      ->required();
  command->add_option("--out", arguments->out, "the folder of the run; new, unless --resume")
      ->required();
  add_device_options(*command, request.device, request.threads);
  command->add_flag("--resume", request.resume, "go on with the run in that folder");
  command->add_option("--set", request.overrides, "section.key=value")->allow_extra_args(false);
  command->add_flag("--unsafe-diagnostics", request.unsafe_diagnostics,
                    "numbers about private data, into RUN/private: not covered by the guarantee");
  command->callback([&action, arguments] {
    action = [arguments] {
      arguments->request.recipe = recipe::find(arguments->recipe);
      arguments->request.out = arguments->out;
      const run::Outcome outcome = needed_tensor_part().train(arguments->request);
      return print(outcome, run::RunFolder::open(arguments->out));
    };
  });
}

void add_sample(CLI::App& root, Action& action) {
  struct Arguments {
    SampleRequest request;
    std::optional<std::int64_t> count;
    bool without_teacher = false;
  };
  CLI::App* command = root.add_subcommand("sample", "make images with a trained generator");
  auto arguments = std::make_shared<Arguments>();
  SampleRequest& request = arguments->request;
  command
      ->add_option("run", request.run,
                   "the folder of a run or release, or its generator.safetensors")
      ->required();
  add_whole(*command, "--count", arguments->count, "how many");
  add_whole(*command, "--label", request.label, "of this class alone; else all in turn");
  add_whole(*command, "--seed", request.seed, "for the same images again");
  command->add_flag("--no-teacher", arguments->without_teacher,
                    "labels as the generator was asked for, not as teacher.safetensors sees them");
  command
      ->add_option("--out", request.out,
                   "x.npz, 'folder/*.png' or 'folder/*-ubyte' (MNIST's format)")
      ->required();
  add_device_options(*command, request.device, request.threads);
  command->callback([&action, arguments] {
    action = [arguments] {
      SampleRequest& given = arguments->request;
      given.count = needed(arguments->count, "--count");
      given.teacher = !arguments->without_teacher;
      if (!data::format_of_path(given.out))
        throw InvalidArgument(
            violation("--out", "x.npz, 'folder/*.png' or 'folder/*-ubyte'", given.out));
      needed_tensor_part().sample(given);
      std::cout << given.out << '\n';
      return ExitCode::kOk;
    };
  });
}

void add_export(CLI::App& root, Action& action) {
  CLI::App* command =
      root.add_subcommand("export", "a trained generator as TorchScript, for PyTorch");
  auto request = std::make_shared<ExportRequest>();
  command
      ->add_option("run", request->run,
                   "the folder of a run or release, or its generator.safetensors")
      ->required();
  command->add_option("--out", request->out, "the file, such as generator.pt")->required();
  command->callback([&action, request] {
    action = [request] {
      needed_tensor_part().export_script(*request);
      std::cout << request->out << '\n';
      return ExitCode::kOk;
    };
  });
}

}  // namespace

void add_training(CLI::App& root, Action& action) {
  add_train(root, action);
  add_sample(root, action);
  add_export(root, action);
}

}  // namespace obol::cli
