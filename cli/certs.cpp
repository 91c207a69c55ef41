// obol federate certs: certificates for a trial
#include <iostream>
#include <memory>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#if OBOL_HAS_FEDERATED
#include "obol/federated/certificates.h"
#endif

namespace obol::cli {

void add_certs(CLI::App& root, Action& action) {
  struct Arguments {
    std::string out;
    std::int64_t clients = 0;
    std::int64_t days = 30;
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
      if (arguments->days < 1)
        throw InvalidArgument(violation("--days", "at least 1", arguments->days));
      federated::write_test_certificates(
          arguments->out,
          {.clients = arguments->clients, .days = arguments->days, .hosts = arguments->hosts});
      std::cout << arguments->out << '\n';
      return ExitCode::kOk;
#else
      throw InvalidArgument(kNoFederation);
#endif
    };
  });
}

}  // namespace obol::cli
