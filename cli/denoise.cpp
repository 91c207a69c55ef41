// obol denoise: the attempt to remove the noise of privatised images
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "obol/app/privatize.h"

namespace obol::cli {
namespace {

struct DenoiseArguments {
  app::DenoiseRequest request;
  std::string wavelet;
};

ExitCode run_denoise(DenoiseArguments& arguments) {
  app::DenoiseRequest& request = arguments.request;
  if (!arguments.wavelet.empty()) request.wavelet = local::wavelet_from(arguments.wavelet);
  const app::DenoiseAnswer answer = app::denoise(request);
  if (answer.gain)
    std::cout << fmt::format("mean squared distance to the clean images {:.4g}, before {:.4g}\n",
                             answer.gain->after, answer.gain->before);
  std::cout << fmt::format("{}: {}\n", request.out, answer.how);
  return ExitCode::kOk;
}

}  // namespace

void add_denoise(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "denoise", "wavelet denoising of privatised images: a baseline for training from them");
  auto arguments = std::make_shared<DenoiseArguments>();
  app::DenoiseRequest& request = arguments->request;
  command->add_option("path", request.path, "what 'obol privatize' wrote")->required();
  command->add_option("--wavelet", arguments->wavelet, "haar, db2 or db4")
      ->check(CLI::IsMember({"haar", "db2", "db4"}));
  add_whole(*command, "--levels", request.levels, "how often the image is halved");
  add_number(*command, "--threshold", request.threshold, "by which details shrink");
  command->add_option("--oracle", request.clean.source,
                      "the clean data: levels and threshold (and wavelet) with the least error to "
                      "them; not private");
  command->add_option("--split", request.clean.split, "of the clean data (train)")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  command->add_option("--resize", request.clean.resize, "of the clean data, WxH");
  command->add_option("--range", request.clean.declared.range, "of the clean data, LOW,HIGH");
  command->add_option("--out", request.out, "FILE.npz")->required();
  command->callback(
      [&action, arguments] { action = [arguments] { return run_denoise(*arguments); }; });
}

}  // namespace obol::cli
