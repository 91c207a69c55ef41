// obol release: what of a run may be handed over, in one folder
#include <iostream>
#include <memory>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/console.h"

namespace obol::cli {
namespace {

ExitCode run(const app::ReleaseRequest& request) {
  needed_tensor_part().release(request);
  if (request.sign.empty())
    log_info("not signed: whoever has it cannot tell who made it; --sign KEY signs");
  std::cout << request.out << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_release(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "release", "what of a run may be handed over, in one folder, with sums and a data card");
  auto request = std::make_shared<app::ReleaseRequest>();
  command->add_option("run", request->run, "the folder of a run")->required();
  command->add_option("--out", request->out, "the new folder")->required();
  add_whole(*command, "--count", request->count, "images (60000)");
  add_whole(*command, "--seed", request->seed, "for the same images again");
  command->add_option("--sign", request->sign,
                      "an Ed25519 key, as 'openssl genpkey -algorithm ed25519' makes it");
  add_device_options(*command, request->device, request->threads);
  command->callback([&action, request] { action = [request] { return run(*request); }; });
}

}  // namespace obol::cli
