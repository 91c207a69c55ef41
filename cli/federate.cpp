// obol federate serve | join | certs: one generator, data that stay where they are
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/declaration.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/text.h"
#include "obol/recipe/recipe.h"
#include "obol/run/folder.h"
#include "obol/run/loop.h"

namespace obol::cli {
namespace {

const TensorPart& needed_part() {
  const TensorPart& part = needed_tensor_part();
  if (part.serve == nullptr) throw InvalidArgument(kNoFederation);
  return part;
}

void add_identity(CLI::App& command, IdentityFiles& files) {
  command.add_option("--ca", files.ca, "certificate of who vouches for the other side")->required();
  command.add_option("--cert", files.certificate, "own certificate")->required();
  command.add_option("--key", files.key, "its private key")->required();
}

ExitCode print_federated(const run::Outcome& outcome, const run::RunFolder& folder) {
  std::cout << run::in_words(outcome) << '\n';
  if (outcome.ending == run::Ending::kInterrupted) return ExitCode::kInterrupted;
  std::cout << fmt::format("generator {}\n", folder.generator().string());
  return ExitCode::kOk;
}

void add_serve(CLI::App& root, Action& action) {
  struct Arguments {
    ServeRequest request;
    std::string recipe;
    std::string out;
    std::optional<std::int64_t> clients;
  };
  CLI::App* command =
      root.add_subcommand("serve", "hold the generator, and ask clients to improve it");
  auto arguments = std::make_shared<Arguments>();
  ServeRequest& request = arguments->request;
  command->add_option("recipe", arguments->recipe, "a name from 'obol recipes list', or a file")
      ->required();
  command->add_option("--listen", request.listen, "HOST:PORT, such as 0.0.0.0:7000")->required();
  command->add_option("--out", arguments->out, "the folder of the run; new, unless --resume")
      ->required();
  add_identity(*command, request.identity);
  add_whole(*command, "--clients", arguments->clients, "how many take part; else privacy.shards");
  command->add_option("--shape", request.shape, "of the images: HEIGHTxWIDTH[xCHANNELS]; 28x28");
  add_whole(*command, "--classes", request.classes, "of the labels; 10");
  add_number(*command, "--deadline", request.deadline, "seconds that an answer may take; 60");
  command->add_flag("--resume", request.resume, "go on with the run in that folder");
  command->add_option("--set", request.overrides, "section.key=value")->allow_extra_args(false);
  add_device_options(*command, request.device, request.threads);
  command->callback([&action, arguments] {
    action = [arguments] {
      ServeRequest& given = arguments->request;
      given.recipe = recipe::find(arguments->recipe);
      given.out = arguments->out;
      if (!(given.deadline > 0))
        throw InvalidArgument(violation("--deadline", "positive", given.deadline));
      if (arguments->clients)
        given.overrides.push_back(fmt::format("privacy.shards={}", *arguments->clients));
      const run::Outcome outcome = needed_part().serve(given);
      return print_federated(outcome, run::RunFolder::open(arguments->out));
    };
  });
}

void add_join(CLI::App& root, Action& action) {
  struct Arguments {
    JoinRequest request;
    data::DeclarationKeys declared;
    std::string out;
  };
  CLI::App* command = root.add_subcommand(
      "join", "answer a server's questions about private data, within a budget");
  auto arguments = std::make_shared<Arguments>();
  JoinRequest& request = arguments->request;
  command->add_option("server", request.server, "HOST:PORT, as in the server's certificate")
      ->required();
  command->add_option("--data", request.data, "the private images; they stay here")->required();
  add_declaration_options(*command, arguments->declared);
  command
      ->add_option("--out", arguments->out,
                   "ledger, certificate and critic; a folder that is there is gone on with")
      ->required();
  add_identity(*command, request.identity);
  add_number(*command, "--epsilon", request.epsilon, "budget of these data")->required();
  add_number(*command, "--delta", request.delta, "likewise")->required();
  add_number(*command, "--least-noise", request.least_noise,
             "refuse answers with a smaller noise multiplier");
  add_whole(*command, "--answers", request.answers,
            "planned at most, and certified; else this client's share of the steps");
  add_number(*command, "--patience", request.patience,
             "seconds to wait for a server that is not there; 60");
  add_device_options(*command, request.device, request.threads);
  command->callback([&action, arguments] {
    action = [arguments] {
      JoinRequest& given = arguments->request;
      given.out = arguments->out;
      given.declared = to_toml(arguments->declared.declaration());
      const JoinAnswer answer = needed_part().join(given);
      std::cout << fmt::format("{} {} answers: epsilon {}\n", answer.ending, answer.answers,
                               rounded_up(answer.epsilon));
      return answer.is_interrupted ? ExitCode::kInterrupted : ExitCode::kOk;
    };
  });
}

}  // namespace

void add_federate(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "federate", "train with data that stay where they are: serve, join, certs");
  command->require_subcommand(1);
  add_serve(*command, action);
  add_join(*command, action);
  add_certs(*command, action);
}

}  // namespace obol::cli
