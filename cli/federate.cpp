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
#if OBOL_HAS_FEDERATED
#include "obol/federated/certificates.h"
#endif

namespace obol::cli {
namespace {

[[noreturn]] void refuse() {
  throw InvalidArgument("this command needs gRPC, but this build has none");
}

const TensorPart& needed_part() {
  const TensorPart& part = needed_tensor_part();
  if (part.serve == nullptr) refuse();
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
    std::optional<std::int64_t> classes;
    std::optional<double> deadline;
    std::optional<std::int64_t> threads;
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
  add_whole(*command, "--classes", arguments->classes, "of the labels; 10");
  add_number(*command, "--deadline", arguments->deadline, "seconds that an answer may take; 60");
  command->add_flag("--resume", request.resume, "go on with the run in that folder");
  command->add_option("--set", request.overrides, "section.key=value")->allow_extra_args(false);
  add_device_options(*command, request.device, arguments->threads);
  command->callback([&action, arguments] {
    action = [arguments] {
      ServeRequest& given = arguments->request;
      given.recipe = recipe::find(arguments->recipe);
      given.out = arguments->out;
      given.threads = arguments->threads.value_or(0);
      given.classes = arguments->classes.value_or(given.classes);
      given.deadline = arguments->deadline.value_or(given.deadline);
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
    std::optional<double> epsilon;
    std::optional<double> delta;
    std::optional<double> least_noise;
    std::optional<double> patience;
    std::optional<std::int64_t> threads;
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
  add_number(*command, "--epsilon", arguments->epsilon, "budget of these data")->required();
  add_number(*command, "--delta", arguments->delta, "likewise")->required();
  add_number(*command, "--least-noise", arguments->least_noise,
             "refuse answers with a smaller noise multiplier");
  add_whole(*command, "--answers", request.answers,
            "planned at most, and certified; else this client's share of the steps");
  add_number(*command, "--patience", arguments->patience,
             "seconds to wait for a server that is not there; 60");
  add_device_options(*command, request.device, arguments->threads);
  command->callback([&action, arguments] {
    action = [arguments] {
      JoinRequest& given = arguments->request;
      given.out = arguments->out;
      given.declared = to_toml(arguments->declared.declaration());
      given.epsilon = *arguments->epsilon;
      given.delta = *arguments->delta;
      given.least_noise = arguments->least_noise.value_or(given.least_noise);
      given.patience = arguments->patience.value_or(given.patience);
      given.threads = arguments->threads.value_or(0);
      const JoinAnswer answer = needed_part().join(given);
      std::cout << fmt::format("{} {} answers: epsilon {}\n", answer.ending, answer.answers,
                               rounded_up(answer.epsilon));
      return answer.is_interrupted ? ExitCode::kInterrupted : ExitCode::kOk;
    };
  });
}

void add_certs(CLI::App& root, Action& action) {
  struct Arguments {
    std::string out;
    std::optional<std::int64_t> clients;
    std::optional<std::int64_t> days;
    std::vector<std::string> hosts;
  };
  CLI::App* command = root.add_subcommand("certs", "certificates for a trial");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--out", arguments->out, "a new folder")->required();
  add_whole(*command, "--clients", arguments->clients, "how many")->required();
  add_whole(*command, "--days", arguments->days, "that they are valid; 30");
  command
      ->add_option("--host", arguments->hosts, "name or address of the server, besides localhost")
      ->allow_extra_args(false);
  command->callback([&action, arguments] {
    action = [arguments]() -> ExitCode {
#if OBOL_HAS_FEDERATED
      const std::int64_t days = arguments->days.value_or(30);
      if (days < 1) throw InvalidArgument(violation("--days", "at least 1", days));
      federated::write_test_certificates(
          arguments->out,
          {.clients = *arguments->clients, .days = days, .hosts = arguments->hosts});
      std::cout << arguments->out << '\n';
      return ExitCode::kOk;
#else
      refuse();
#endif
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
