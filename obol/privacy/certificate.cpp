#include "obol/privacy/certificate.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/base/version.h"
#include "obol/privacy/event_json.h"
#include "obol/privacy/gaussian.h"

namespace obol::privacy {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "obol-certificate";
constexpr int kVersion = 1;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;

const std::vector<std::string>& never_covered() {
  static const std::vector<std::string> kItems = {
      "choices made by looking at the data or at earlier runs (hyper-parameters, stopping), unless "
      "those runs are accounted for together",
      "the number of records, which is treated as public",
      "what is computed from the private data outside the ledger (evaluation against it, "
      "diagnostics marked private)",
      "people whose data appear in more records than the group size says",
  };
  return kItems;
}

ordered_json event_value(const Event& event) { return ordered_json::parse(json_of(event)); }

bool is_local(const PublishedCount& count) {
  return neighbours_of(count.per_release) == Neighbours::kPerson;
}

ordered_json published_value(const PublishedEpsilon& published) {
  const bool by_formula = is_local(published.count);
  return {{"paper", published.count.paper},
          {"purpose", published.count.purpose},
          {"per_release", event_value(published.count.per_release)},
          {"releases", published.releases},
          {"accountant", by_formula ? "formula" : "rdp"},
          {"conversion", by_formula ? ordered_json(nullptr) : ordered_json("classic")},
          {"epsilon", published.epsilon},
          {"outputs_per_step", published.count.outputs_per_step},
          {"is_a_guarantee", published.count.holds}};
}

ordered_json items_value(const LedgerRecord& ledger) {
  ordered_json items = ordered_json::array();
  for (const LedgerEntry& entry : ledger.entries)
    items.push_back({{"sequence", entry.sequence},
                     {"time", entry.time},
                     {"kind", entry.kind == LedgerEntryKind::kReserve ? "reserve" : "recovered"},
                     {"purpose", entry.purpose},
                     {"event", entry.event ? event_value(*entry.event) : ordered_json(nullptr)},
                     {"used", entry.used ? ordered_json(*entry.used) : ordered_json(nullptr)}});
  return items;
}

// One record, in words.
std::string neighbours_in_words(const Guarantee& guarantee) {
  const std::string who = guarantee.group_size == 1
                              ? "any one record"
                              : fmt::format("any {} records", guarantee.group_size);
  switch (guarantee.neighbours) {
    case Neighbours::kReplaceOne:
      return fmt::format("{} another value", who);
    case Neighbours::kPerson:
      return "one person given any other input";
    default:
      return fmt::format("{} been left out, or added", who);
  }
}

// By the formulas of the mechanisms: Zhao et al. for Gaussian noise; pure, and adding up, the rest.
double claimed_locally(const Event& event, Delta delta) {
  const auto* gaussian = std::get_if<LocalGaussian>(&event);
  if (gaussian == nullptr) return account({event}, Delta{0}).epsilon;
  if (gaussian->count == 0) return 0;
  const double together =
      gaussian->noise_multiplier / std::sqrt(static_cast<double>(gaussian->count));
  return zhao_epsilon(together, delta).value();
}

const char* reason_of(const PublishedCount& count) {
  if (is_local(count))
    return "it takes the radius of the ball for the most by which two inputs differ, but two "
           "points "
           "of a ball may be further apart";
  return "it relies on which part of the data was drawn staying secret, but the "
         "critics remember when they were drawn, and the argument does not cover that";
}

// Where two JSON values first differ, as a path; epsilons may differ by rounding.
std::optional<std::string> difference(const json& expected, const json& actual,
                                      const std::string& path) {
  constexpr double kRounding = 1e-6;
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      const std::string below = path.empty() ? key : path + "." + key;
      if (!actual.contains(key)) return fmt::format("{} must be there, but is missing", below);
      if (auto found = difference(value, actual.at(key), below)) return found;
    }
    for (const auto& [key, value] : actual.items())
      if (!expected.contains(key))
        return fmt::format("{} must not be there, but is {}", path.empty() ? key : path + "." + key,
                           value.dump());
    return std::nullopt;
  }
  if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (auto found = difference(expected[i], actual[i], fmt::format("{}[{}]", path, i)))
        return found;
    return std::nullopt;
  }
  const bool is_epsilon = path.find("epsilon") != std::string::npos || path.ends_with("order") ||
                          path.ends_with("error");
  if (is_epsilon && expected.is_number() && actual.is_number()) {
    const double a = expected.get<double>();
    const double b = actual.get<double>();
    if (std::abs(a - b) <= kRounding * (1 + std::abs(a))) return std::nullopt;
  } else if (expected == actual) {
    return std::nullopt;
  }
  return violation(path, expected.dump(), actual.dump());
}

json read_certificate(const Path& run) {
  const Path path = run / kCertificateName;
  try {
    return json::parse(read_text(path, kLargestFile));
  } catch (const json::exception&) {
    throw DataError(violation(path.string(), "JSON", "not"));
  }
}

CertificateTerms terms_of(const json& certificate, const std::string& where) {
  try {
    StrictObject object(certificate, "a certificate");
    const json& guarantee = object.member("guarantee");
    CertificateTerms terms{.delta = Delta{guarantee.at("delta").get<double>()},
                           .accounting = {},
                           .published = std::nullopt,
                           .not_covered = {}};
    terms.accounting.kind = accountant_from(guarantee.at("accountant").get<std::string>());
    terms.accounting.group_size = guarantee.at("group_size").get<int>();
    if (guarantee.at("conversion") == "classic") terms.accounting.conversion = Conversion::kClassic;
    const json& published = object.member("as_published");
    if (!published.is_null())
      terms.published = PublishedCount{.paper = published.at("paper").get<std::string>(),
                                       .purpose = published.at("purpose").get<std::string>(),
                                       .per_release = event_from(published.at("per_release")),
                                       .outputs_per_step = published.at("outputs_per_step"),
                                       .holds = published.at("is_a_guarantee")};
    for (const json& item : object.member("not_covered")) {
      const auto text = item.get<std::string>();
      const auto& never = never_covered();
      if (std::find(never.begin(), never.end(), text) == never.end())
        terms.not_covered.push_back(text);
    }
    return terms;
  } catch (const json::exception&) {
    throw DataError(violation(where, "a certificate of Obol", "something else"));
  } catch (const InvalidArgument& error) {
    throw DataError(fmt::format("{} ({})", error.what(), where));
  }
}

}  // namespace

bool Certificate::is_private() const {
  return !ledger.header.randomness.starts_with("not private");
}

PublishedEpsilon account_as_published(const PublishedCount& count, std::int64_t releases,
                                      Delta delta) {
  const Event all = with_count(count.per_release, count_of(count.per_release) * releases);
  if (is_local(count))
    return {.count = count, .releases = releases, .epsilon = claimed_locally(all, delta)};
  const Accounting classic{.kind = AccountantKind::kRdp, .conversion = Conversion::kClassic};
  return {.count = count,
          .releases = releases,
          .epsilon = releases == 0 ? 0.0 : account({all}, delta, classic).epsilon};
}

std::string in_words(const Guarantee& guarantee) {
  return fmt::format(
      "Had {2}, whatever was released from this run would have been at most e^{0} times as likely, "
      "or as unlikely, but for a probability of {1}. The smaller both are, the less anyone can "
      "learn about a single record.",
      rounded_up(guarantee.epsilon), rounded_up(guarantee.delta), neighbours_in_words(guarantee));
}

std::string in_words(const PublishedEpsilon& published, double guarantee) {
  const PublishedCount& count = published.count;
  const std::string start = fmt::format("As published, the count of {} gives epsilon {}",
                                        count.paper, rounded_up(published.epsilon, 4));
  if (count.holds) return start + ", which holds as well: the same releases, bounded less tightly.";
  const std::string reason =
      count.outputs_per_step > 1
          ? fmt::format(
                "it counts the {0} outputs of a step as if each had drawn a subsample of its "
                "own, but all {0} come from the same one, so that a record which is drawn is "
                "exposed {0} times at once",
                count.outputs_per_step)
          : std::string(reason_of(count));
  return fmt::format("{}. That is not a guarantee: {}. What can be proved is epsilon {}.", start,
                     reason, rounded_up(guarantee));
}

Certificate certify(const LedgerRecord& ledger, const CertificateTerms& terms) {
  Accounting how = terms.accounting;
  how.conversion = Conversion::kTight;
  Certificate result{.guarantee = account(ledger.spent(), terms.delta, how),
                     .published = std::nullopt,
                     .ledger = ledger,
                     .version = std::string(version()),
                     .commit = std::string(commit()),
                     .not_covered = never_covered()};
  result.guarantee.neighbours = ledger.header.neighbours;
  result.not_covered.insert(result.not_covered.end(), terms.not_covered.begin(),
                            terms.not_covered.end());
  if (!terms.published) return result;
  std::int64_t releases = 0;
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.purpose == terms.published->purpose && entry.event)
      releases += entry.used.value_or(count_of(*entry.event));
  result.published = account_as_published(*terms.published, releases, terms.delta);
  return result;
}

std::string to_json(const Certificate& certificate) {
  const Guarantee& guarantee = certificate.guarantee;
  const LedgerRecord& ledger = certificate.ledger;
  const bool by_rdp = guarantee.accountant == AccountantKind::kRdp;
  ordered_json value;
  value["format"] = kFormat;
  value["version"] = kVersion;
  value["guarantee"] = {
      {"holds", certificate.is_private()},
      {"epsilon", guarantee.epsilon},
      {"epsilon_lower", by_rdp ? ordered_json(nullptr) : ordered_json(guarantee.epsilon_lower)},
      {"delta", guarantee.delta},
      {"neighbours", name_of(guarantee.neighbours)},
      {"group_size", guarantee.group_size},
      {"accountant", name_of(guarantee.accountant)},
      {"conversion", by_rdp ? ordered_json("tight") : ordered_json(nullptr)},
      {"order", guarantee.order ? ordered_json(*guarantee.order) : ordered_json(nullptr)}};
  value["as_published"] =
      certificate.published ? published_value(*certificate.published) : ordered_json(nullptr);
  value["randomness"] = ledger.header.randomness;
  value["data"] = {{"records", ledger.header.records}, {"fingerprint", ledger.header.fingerprint}};
  value["ledger"] = {{"file", kLedgerName},
                     {"entries", ledger.head().entries},
                     {"head", ledger.head().hash},
                     {"torn_bytes", ledger.torn ? ledger.torn->bytes : 0},
                     {"items", items_value(ledger)}};
  value["software"] = {{"version", certificate.version}, {"commit", certificate.commit}};
  value["not_covered"] = certificate.not_covered;
  return value.dump(2) + "\n";
}

std::string to_markdown(const Certificate& certificate) {
  const Guarantee& guarantee = certificate.guarantee;
  const LedgerRecord& ledger = certificate.ledger;
  std::string text = "# Privacy certificate\n\n";
  if (!certificate.is_private())
    text += fmt::format(
        "**Not private: the randomness was {}.** The figures below would hold for the same run "
        "with "
        "secure randomness.\n\n",
        ledger.header.randomness);
  text += fmt::format("**Epsilon {} at delta {}.** {}\n\n", rounded_up(guarantee.epsilon),
                      rounded_up(guarantee.delta), in_words(guarantee));
  if (certificate.published) text += in_words(*certificate.published, guarantee.epsilon) + "\n\n";
  text += "| | |\n| --- | --- |\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("| {} | {} |\n", name, value);
  };
  row("accountant", std::string(name_of(guarantee.accountant)) +
                        (guarantee.order ? fmt::format(", order {:.4g}", *guarantee.order) : ""));
  if (guarantee.accountant == AccountantKind::kPld)
    row("certified between", fmt::format("{} and {}", rounded_down(guarantee.epsilon_lower),
                                         rounded_up(guarantee.epsilon)));
  row("neighbouring data sets", std::string(name_of(guarantee.neighbours)));
  row("records that one person may have given", std::to_string(guarantee.group_size));
  row("records", with_thousands(static_cast<std::uint64_t>(ledger.header.records)));
  const std::string& fingerprint = ledger.header.fingerprint;
  row(fingerprint.starts_with("sha256:") ? "fingerprint of what was released"
                                         : "fingerprint of the data (keyed)",
      fmt::format("`{}`", fingerprint));
  row("randomness", ledger.header.randomness);
  row("ledger", fmt::format("`{}`, {} entries, head `{}`", kLedgerName, ledger.head().entries,
                            ledger.head().hash));
  row("software", fmt::format("obol {} ({})", certificate.version, certificate.commit));
  text += "\n## What was released\n\n| when | for | what | used |\n| --- | --- | --- | --- |\n";
  for (const LedgerEntry& entry : ledger.entries)
    text += fmt::format(
        "| {} | {} | {} | {} |\n", entry.time,
        entry.kind == LedgerEntryKind::kRecovered ? "recovered after a crash" : entry.purpose,
        entry.event ? describe(*entry.event) : "nothing",
        entry.used ? with_thousands(static_cast<std::uint64_t>(*entry.used)) : "all");
  if (ledger.torn)
    text += fmt::format("\nThe last {} bytes of the ledger are torn; {} is counted for them.\n",
                        ledger.torn->bytes,
                        ledger.torn->counted ? describe(*ledger.torn->counted) : "nothing");
  text += "\n## What is not covered\n\n";
  for (const std::string& item : certificate.not_covered) text += fmt::format("- {}\n", item);
  text += "\nTo check all this against the ledger: `obol verify RUN`.\n";
  return text;
}

CertificateTerms read_terms(const Path& run) {
  return terms_of(read_certificate(run), (run / kCertificateName).string());
}

void write_certificate(const Path& run, const CertificateTerms& terms) {
  const Certificate certificate = certify(read_ledger(run / kLedgerName), terms);
  write_file(run / kCertificateTextName, to_markdown(certificate));
  write_file(run / kCertificateName, to_json(certificate));
}

Certificate verify_certificate(const Path& run) {
  const std::string where = (run / kCertificateName).string();
  const json claimed = read_certificate(run);
  const LedgerRecord ledger = read_ledger(run / kLedgerName);
  Certificate computed = certify(ledger, terms_of(claimed, where));
  // Which program wrote it is its own word.
  if (claimed.contains("software") && claimed["software"].is_object()) {
    computed.version = claimed["software"].value("version", "");
    computed.commit = claimed["software"].value("commit", "");
  }
  if (const auto found = difference(json::parse(to_json(computed)), claimed, ""))
    throw VerificationFailed(fmt::format("{} ({})", *found, where));
  const Path text = run / kCertificateTextName;
  if (read_text(text, kLargestFile) != to_markdown(computed))
    throw VerificationFailed(
        violation(text.string(), fmt::format("what {} says", kCertificateName), "another text"));
  return computed;
}

}  // namespace obol::privacy
