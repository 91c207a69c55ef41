// obol certify | verify: certificates from ledgers, and against them
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "obol/base/console.h"
#include "obol/base/text.h"
#include "obol/privacy/certificate.h"

namespace obol::cli {
namespace {

using privacy::Certificate;
using privacy::CertificateTerms;
using privacy::kCertificateName;
using privacy::kCertificateTextName;
using privacy::name_of;
using privacy::verify_certificate;
using privacy::write_certificate;

struct CertifyArguments {
  std::string run;
  std::optional<double> delta;
  std::optional<std::int64_t> group_size;
};

ExitCode run_certify(const CertifyArguments& arguments) {
  CertificateTerms terms{.delta = Delta{needed(arguments.delta, "--delta")}};
  const std::int64_t group = arguments.group_size.value_or(1);
  if (group < 1 || group > 10000)
    throw InvalidArgument(violation("--group-size", "from 1 to 10000", group));
  terms.accounting.group_size = static_cast<int>(group);
  write_certificate(arguments.run, terms);
  const Certificate certificate = verify_certificate(arguments.run);
  std::cout << fmt::format("epsilon {} at delta {:g}\n", rounded_up(certificate.guarantee.epsilon),
                           certificate.guarantee.delta);
  log_line(LogLevel::kInfo, fmt::format("wrote {0}/{1} and {0}/{2}", arguments.run,
                                        kCertificateName, kCertificateTextName));
  return ExitCode::kOk;
}

ExitCode run_verify(const std::string& run) {
  const Certificate certificate = verify_certificate(run);
  std::cout << fmt::format("verified: epsilon {} at delta {:g} ({}), from {} ledger entries\n",
                           rounded_up(certificate.guarantee.epsilon), certificate.guarantee.delta,
                           name_of(certificate.guarantee.neighbours),
                           certificate.ledger.head().entries);
  if (!certificate.is_private())
    std::cout << fmt::format("but {}\n", certificate.ledger.header.randomness);
  return ExitCode::kOk;
}

}  // namespace

void add_certify(CLI::App& root, Action& action) {
  CLI::App* certify = root.add_subcommand("certify", "write a run's certificate from its ledger");
  auto arguments = std::make_shared<CertifyArguments>();
  certify->add_option("run", arguments->run, "the folder of a run")->required();
  add_number(*certify, "--delta", arguments->delta, "the probability that is given away");
  add_whole(*certify, "--group-size", arguments->group_size,
            "records that one person may have given (1)");
  certify->callback(
      [&action, arguments] { action = [arguments] { return run_certify(*arguments); }; });

  CLI::App* verify = root.add_subcommand("verify", "recompute a run's certificate from its ledger");
  auto run = std::make_shared<std::string>();
  verify->add_option("run", *run, "the folder of a run")->required();
  verify->callback([&action, run] { action = [run] { return run_verify(*run); }; });
}

}  // namespace obol::cli
