// obol certify | verify: certificates from ledgers, and against them; releases against their sums
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "obol/base/console.h"
#include "obol/base/file.h"
#include "obol/base/text.h"
#include "obol/method/certificates.h"
#include "obol/privacy/certificate.h"
#include "obol/report/release.h"

namespace obol::cli {
namespace {

using method::published_counts;
using method::read_terms;
using method::verify_certificate;
using privacy::Certificate;
using privacy::CertificateTerms;
using privacy::kCertificateName;
using privacy::kCertificateTextName;
using privacy::kLedgerName;
using privacy::name_of;
using privacy::read_ledger;
using privacy::write_certificate;

struct CertifyArguments {
  std::string run;
  std::optional<double> delta;
  std::optional<std::int64_t> group_size;
};

// The count of the folder's recipe, and what an earlier certificate says beyond the ledger.
CertificateTerms terms_of(const Path& run, Delta delta) {
  CertificateTerms terms{.delta = delta};
  std::error_code ignored;
  if (std::filesystem::exists(run / kCertificateName, ignored)) {
    try {
      const CertificateTerms before = read_terms(run);
      terms.published = before.published;
      terms.not_covered = before.not_covered;
    } catch (const DataError& error) {
      log_warning("the certificate that was there is replaced: {}", error.what());
    }
  }
  const auto counts = published_counts(run, read_ledger(run / kLedgerName));
  if (counts.size() == 1) terms.published = counts.front();
  return terms;
}

ExitCode run_certify(const CertifyArguments& arguments) {
  follow_no_links_below(arguments.run);
  CertificateTerms terms = terms_of(arguments.run, Delta{needed(arguments.delta, "--delta")});
  const std::int64_t group = arguments.group_size.value_or(1);
  if (group < 1 || group > 10000)
    throw InvalidArgument(violation("--group-size", "from 1 to 10000", group));
  terms.accounting.group_size = static_cast<int>(group);
  write_certificate(arguments.run, terms);
  const Certificate certificate = verify_certificate(arguments.run);
  std::cout << fmt::format("epsilon {} at delta {}\n", rounded_up(certificate.guarantee.epsilon),
                           rounded_up(certificate.guarantee.delta));
  log_line(LogLevel::kInfo, fmt::format("wrote {0}/{1} and {0}/{2}", arguments.run,
                                        kCertificateName, kCertificateTextName));
  return ExitCode::kOk;
}

struct VerifyArguments {
  std::string folder;
  std::string key;
};

const char* in_words(report::Signer signer) {
  switch (signer) {
    case report::Signer::kGivenKey:
      return "signed by the key that was given";
    case report::Signer::kKeyInside:
      return "signed by the key inside, so that nothing has changed since; not by whom: --key pins "
             "the signer's public key";
    default:
      return "not signed: sums show damage, not who made it";
  }
}

// A release's sums and signature first, where it is one.
Certificate verified(const VerifyArguments& arguments) {
  if (!report::is_release(arguments.folder)) {
    if (!arguments.key.empty())
      throw InvalidArgument(violation("--key", "given with a release", "given with something else",
                                      arguments.folder));
    return verify_certificate(arguments.folder);
  }
  std::optional<Path> key;
  if (!arguments.key.empty()) key = arguments.key;
  report::ReleaseCheck found = report::verify_release(arguments.folder, key);
  std::cout << fmt::format("verified: {} files by their SHA-256 sums\n{}\n", found.files,
                           in_words(found.signer));
  if (found.has_script)
    std::cout << "not checked: generator.pt, a program for PyTorch; 'obol export' makes one of "
                 "generator.safetensors\n";
  return std::move(found.certificate);
}

ExitCode run_verify(const VerifyArguments& arguments) {
  follow_no_links_below(arguments.folder);
  const Certificate certificate = verified(arguments);
  std::cout << fmt::format(
      "verified: epsilon {} at delta {} ({}), from {} ledger entries\n",
      rounded_up(certificate.guarantee.epsilon), rounded_up(certificate.guarantee.delta),
      name_of(certificate.guarantee.neighbours), certificate.ledger.head().entries);
  if (!certificate.is_private())
    std::cout << fmt::format("but {}\n", printable(certificate.ledger.header.randomness));
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

  CLI::App* verify = root.add_subcommand(
      "verify", "recompute the certificate of a run or release; check a release's sums");
  auto checked = std::make_shared<VerifyArguments>();
  verify->add_option("folder", checked->folder, "of a run, or of a release")->required();
  verify->add_option("--key", checked->key, "the public key that must have signed the release");
  verify->callback([&action, checked] { action = [checked] { return run_verify(*checked); }; });
}

}  // namespace obol::cli
