#include "obol/privacy/certificate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/base/version.h"
#include "obol/privacy/disclosures.h"
#include "obol/privacy/event_json.h"

namespace obol::privacy {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "obol-certificate";
constexpr int kVersion = 1;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 28;

constexpr const char* kNotPlanned =
    "choosing what to release by looking at what was released (when to stop, for example): the "
    "ledger has no plan that was fixed before the first release";

bool has(const std::vector<std::string>& items, const std::string& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

constexpr const char* kChoices =
    "choices made by looking at the data, or at other runs on them (hyper-parameters, for "
    "example), "
    "unless those runs are accounted for together";
constexpr const char* kDeclared =
    "the size and channels of images, and the number and names of classes, which are declared and "
    "treated as public";
constexpr const char* kOutsideTheLedger =
    "what is computed from the private data outside the ledger (evaluation against it, diagnostics "
    "marked private)";

// What no certificate of such a ledger covers.
std::vector<std::string> never_covered(const LedgerRecord& ledger) {
  std::vector<std::string> items = {
      kChoices,
      "the number of records, which is treated as public",
      kDeclared,
      kOutsideTheLedger,
      "people whose data appear in more records than the group size says",
      "how long anything took, and other side channels",
      "an adversary who can break the cryptographic generator that the noise comes from",
  };
  if (ledger.header.neighbours == Neighbours::kPerson)
    items.emplace_back(
        "the radius, the transform and the share that is kept, which must not be chosen by the "
        "data");
  const auto is_unchecked = [](const LedgerEntry& entry) {
    return entry.purpose.ends_with(kNotChecked);
  };
  if (std::any_of(ledger.entries.begin(), ledger.entries.end(), is_unchecked))
    items.emplace_back(
        "that the records were privatised as their file says: this certificate repeats the file's "
        "own words, which were not checked against a certificate of 'obol privatize'");
  const std::string& randomness = ledger.header.randomness;
  if (!ledger.is_planned()) items.emplace_back(kNotPlanned);
  if (randomness.starts_with(kNotPrivate)) items.push_back("anything at all: " + randomness);
  return items;
}

ordered_json event_value(const Event& event) { return ordered_json::parse(json_of(event)); }

ordered_json published_value(const PublishedEpsilon& published) {
  const bool by_formula = neighbours_of(published.count.per_release) == Neighbours::kPerson;
  return {{"paper", published.count.paper},
          {"purpose", published.count.purpose},
          {"per_release", event_value(published.count.per_release)},
          {"releases", published.releases},
          {"accountant", by_formula ? "formula" : "rdp"},
          {"conversion", by_formula ? ordered_json(nullptr) : ordered_json("classic")},
          {"epsilon", published.epsilon},
          {"outputs_per_step", published.count.outputs_per_step},
          {"left_out", published.left_out},
          {"is_a_guarantee", published.is_a_guarantee()}};
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

ordered_json stages_value(const Certificate& certificate) {
  const std::vector<Stage> stages = stages_of(certificate.ledger);
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    ordered_json releases = ordered_json::array();
    for (const PlannedEvent& release : stages[i].releases)
      releases.push_back({{"purpose", release.purpose}, {"event", event_value(release.event)}});
    list.push_back({{"planned", stages[i].is_planned},
                    {"time", stages[i].time},
                    {"epsilon", certificate.stages[i].epsilon},
                    {"delta", certificate.stages[i].delta},
                    {"releases", releases}});
  }
  return list;
}

// What the number is about, where that is not what was used.
std::string plan_in_words(const Certificate& certificate) {
  const LedgerRecord& ledger = certificate.ledger;
  if (!ledger.is_planned()) return "";
  std::string text =
      "\n## What was planned\n\nThis is what is certified, whether it was released in the end or "
      "not: the plan was fixed before the first release, so that when to stop may depend on what "
      "was released.\n\n| when | for | what | epsilon | delta |\n| --- | --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < ledger.plans.size(); ++i)
    for (const PlannedEvent& release : ledger.plans[i].releases)
      text += fmt::format("| {} | {} | {} | {} | {} |\n", markdown(ledger.plans[i].time),
                          markdown(release.purpose), describe(release.event),
                          rounded_up(certificate.stages[i].epsilon),
                          rounded_up(certificate.stages[i].delta));
  if (ledger.plans.size() > 1)
    text +=
        "\nLater plans were made after looking at what earlier ones had released: over plans, "
        "epsilons and deltas add up.\n";
  return text;
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

// Whether a claimed number is what was recomputed, up to rounding. One that bounds the loss from
// above must not be lower, one that bounds it from below not higher.
bool is_rounding(const std::string& path, double computed, double claimed) {
  constexpr double kAcross = 1e-6;  // between processors and mathematical libraries
  constexpr double kUnsafe = 1e-9;
  const bool is_lower_bound = path.ends_with("epsilon_lower");
  const double above = is_lower_bound ? kUnsafe : kAcross;
  const double below = is_lower_bound || path.ends_with("order") ? kAcross : kUnsafe;
  return claimed >= computed - below * std::abs(computed) &&
         claimed <= computed + above * std::abs(computed);
}

bool may_be_rounded(const std::string& path) {
  return path == "guarantee.epsilon" || path == "guarantee.epsilon_lower" ||
         path == "guarantee.order" || path == "as_published.epsilon";
}

// Where two JSON values first differ, as a path; epsilons may differ by rounding.
std::optional<std::string> difference(const json& expected, const json& actual,
                                      const std::string& path) {
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
  const bool is_same = may_be_rounded(path) && expected.is_number() && actual.is_number()
                           ? is_rounding(path, expected.get<double>(), actual.get<double>())
                           : expected == actual;
  if (is_same) return std::nullopt;
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
                                       .holds = false};
    for (const json& item : object.member("not_covered"))
      terms.not_covered.push_back(item.get<std::string>());
    return terms;
  } catch (const json::exception&) {
    throw DataError(violation(where, "a certificate of Obol", "something else"));
  } catch (const InvalidArgument& error) {
    throw DataError(fmt::format("{} ({})", error.what(), where));
  }
}

// The count as the folder gives it; nothing where it gives none that is like this one.
std::optional<PublishedCount> derived(const PublishedCount& claimed, const PublishedCounts& counts,
                                      const Path& run, const LedgerRecord& ledger) {
  if (!counts) return std::nullopt;
  for (const PublishedCount& count : counts(run, ledger)) {
    if (!is_same_count(count, claimed)) continue;
    PublishedCount found = claimed;
    found.holds = count.holds;
    found.reason = count.reason;
    return found;
  }
  return std::nullopt;
}

}  // namespace

bool Certificate::is_private() const { return privacy::is_private(ledger.header); }

std::string in_words(const Guarantee& guarantee) {
  return fmt::format(
      "Had {2}, whatever was released from this run would have been at most e^{0} times as likely, "
      "or as unlikely, but for a probability of {1}. The smaller both are, the less anyone can "
      "learn about a single record.",
      rounded_up(guarantee.epsilon), rounded_up(guarantee.delta), neighbours_in_words(guarantee));
}

Certificate certify(const LedgerRecord& ledger, const CertificateTerms& terms) {
  Accounting how = terms.accounting;
  how.conversion = Conversion::kTight;
  StagedGuarantee staged = account_stages(stages_of(ledger), terms.delta, how);
  Certificate result{.guarantee = staged.total,
                     .stages = std::move(staged.stages),
                     .published = std::nullopt,
                     .ledger = ledger,
                     .version = std::string(version()),
                     .commit = std::string(commit()),
                     .not_covered = never_covered(ledger)};
  result.guarantee.neighbours = ledger.header.neighbours;
  for (const std::string& item : terms.not_covered)
    if (!has(result.not_covered, item)) result.not_covered.push_back(item);
  // A paper's count is for one record.
  if (terms.published && how.group_size == 1)
    result.published = account_as_published(*terms.published, released_in(ledger), terms.delta);
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
      {"order", guarantee.order ? ordered_json(*guarantee.order) : ordered_json(nullptr)},
      {"stages", stages_value(certificate)}};
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
        "**Not private: no guarantee holds ({}).** The figures below would hold if that were not "
        "so.\n\n",
        markdown(ledger.header.randomness));
  text += fmt::format("**Epsilon {} at delta {}.** {}\n\n", rounded_up(guarantee.epsilon),
                      rounded_up(guarantee.delta), in_words(guarantee));
  if (certificate.published)
    text += markdown(in_words(*certificate.published, guarantee.epsilon)) + "\n\n";
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
      fmt::format("`{}`", markdown(fingerprint)));
  row("randomness", markdown(ledger.header.randomness));
  row("ledger", fmt::format("`{}`, {} entries, head `{}`", kLedgerName, ledger.head().entries,
                            ledger.head().hash));
  row("software",
      fmt::format("obol {} ({})", markdown(certificate.version), markdown(certificate.commit)));
  text += plan_in_words(certificate);
  text += "\n## What was released\n\n| when | for | what | used |\n| --- | --- | --- | --- |\n";
  for (const LedgerEntry& entry : ledger.entries)
    text +=
        fmt::format("| {} | {} | {} | {} |\n", markdown(entry.time),
                    entry.kind == LedgerEntryKind::kRecovered ? "recovered after a crash"
                                                              : markdown(entry.purpose),
                    entry.event ? describe(*entry.event) : "nothing",
                    entry.used ? with_thousands(static_cast<std::uint64_t>(*entry.used)) : "all");
  if (ledger.torn)
    text += fmt::format("\nThe last {} bytes of the ledger are torn; {} is counted for them.\n",
                        ledger.torn->bytes,
                        ledger.torn->counted ? describe(*ledger.torn->counted) : "nothing");
  text += "\n## What is not covered\n\n";
  for (const std::string& item : certificate.not_covered)
    text += fmt::format("- {}\n", markdown(item));
  text += "\nTo check all this against the ledger: `obol verify RUN`.\n";
  return text;
}

CertificateTerms read_terms(const Path& run, const PublishedCounts& counts) {
  CertificateTerms terms = terms_of(read_certificate(run), (run / kCertificateName).string());
  if (terms.published)
    terms.published = derived(*terms.published, counts, run, read_ledger(run / kLedgerName));
  return terms;
}

void write_certificate(const Path& run, const CertificateTerms& terms) {
  CertificateTerms all = terms;
  for (const std::string& reason : read_disclosures(run))
    all.not_covered.push_back(not_covered_by(reason));
  const Certificate certificate = certify(read_ledger(run / kLedgerName), all);
  write_file(run / kCertificateTextName, to_markdown(certificate));
  write_file(run / kCertificateName, to_json(certificate));
}

Certificate verify_certificate(const Path& run, const PublishedCounts& counts) {
  const std::string where = (run / kCertificateName).string();
  const json claimed = read_certificate(run);
  const LedgerRecord ledger = read_ledger(run / kLedgerName);
  CertificateTerms terms = terms_of(claimed, where);
  if (terms.published) {
    terms.published = derived(*terms.published, counts, run, ledger);
    if (!terms.published)
      throw VerificationFailed(violation(
          "as_published", "the count that follows from the recipe beside it", "another", where));
  }
  for (const std::string& reason : read_disclosures(run))
    if (!has(terms.not_covered, not_covered_by(reason)))
      throw VerificationFailed(
          violation("not_covered",
                    fmt::format("a list with \"{}\" ({})", not_covered_by(reason),
                                (run / kDisclosuresName).string()),
                    "one without it", where));
  Certificate computed = certify(ledger, terms);
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
