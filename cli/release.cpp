// obol release: what of a run may be handed over, in one folder
#include "obol/report/release.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/console.h"

namespace obol::cli {
namespace {

struct ReleaseArguments {
  SampleRequest request{.count = 60'000};
  std::string run;
  std::string out;
  std::string sign;
};

ExitCode run(const ReleaseArguments& arguments) {
  const TensorPart& tensors = needed_tensor_part();
  const auto use = [&](const Path& generator, const report::MadeFiles& made) {
    tensors.export_script({.run = generator.string(), .out = made.script.string()});
    SampleRequest request = arguments.request;
    request.run = generator.string();
    request.out = made.samples.string();
    tensors.sample(request);
  };
  report::ReleaseOptions options{
      .run = arguments.run, .out = arguments.out, .seed = arguments.request.seed, .sign = {}};
  if (!arguments.sign.empty()) options.sign = arguments.sign;
  report::write_release(options, use);
  if (!options.sign)
    log_info("not signed: whoever has it cannot tell who made it; --sign KEY signs");
  std::cout << arguments.out << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_release(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "release", "what of a run may be handed over, in one folder, with sums and a data card");
  auto arguments = std::make_shared<ReleaseArguments>();
  command->add_option("run", arguments->run, "the folder of a run")->required();
  command->add_option("--out", arguments->out, "the new folder")->required();
  add_whole(*command, "--count", arguments->request.count, "images (60000)");
  add_whole(*command, "--seed", arguments->request.seed, "for the same images again");
  command->add_option("--sign", arguments->sign,
                      "an Ed25519 key, as 'openssl genpkey -algorithm ed25519' makes it");
  add_device_options(*command, arguments->request.device, arguments->request.threads);
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace obol::cli
