#include "obol/report/release.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/random.h"
#include "obol/base/sha256.h"
#include "obol/base/signature.h"
#include "obol/base/text.h"
#include "obol/data/reader.h"
#include "obol/data/writer.h"
#include "obol/method/certificates.h"
#include "obol/model/blueprint.h"
#include "obol/report/data_card.h"
#include "obol/report/report.h"

namespace obol::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSums = "SHA256SUMS";
constexpr const char* kSignature = "SHA256SUMS.sig";
constexpr const char* kSigner = "signer.pem";
constexpr const char* kCard = "DATA_CARD.md";
constexpr const char* kSamples = "samples.npz";
constexpr std::size_t kMostFiles = 100;

// Without where the images lie that were compared with.
void copy_evaluation(const Path& from, const Path& to) {
  auto found = evaluate::read_evaluation(from);
  if (!found) return;
  found->source = "not told";
  write_file(to, found->to_json() + '\n');
}

void copy_bytes(const Path& from, const Path& to) {
  const FileBytes file(from);
  AtomicFile out(to);
  std::vector<std::byte> chunk(std::size_t{1} << 20);
  while (const std::size_t count = file.read_at(out.written(), chunk))
    out.write(std::span(chunk).first(count));
  out.commit();
}

// Generator and teacher first: a ledger that is copied later has paid for them.
void copy_run(const Path& run, const Path& to) {
  const run::RunFolder folder = run::RunFolder::open(run);
  const auto require = [&](const Path& file, const char* requirement, const char* actual) {
    if (!fs::exists(file)) throw InvalidArgument(violation(run.string(), requirement, actual));
  };
  folder.require_generator();
  require(folder.ledger(), "a run with a guarantee", "one that was trained without privacy");
  require(folder.certificate(), "a run that is finished",
          "one without a certificate; 'obol train --resume' goes on with it");
  copy_bytes(folder.generator(), to / run::kGeneratorName);
  if (folder.has_teacher()) copy_bytes(folder.teacher(), to / run::kTeacherName);
  copy_bytes(folder.ledger(), to / privacy::kLedgerName);
  copy_bytes(folder.certificate(), to / privacy::kCertificateName);
  copy_bytes(run / privacy::kCertificateTextName, to / privacy::kCertificateTextName);
  copy_evaluation(folder.evaluation(), to / run::kEvaluationName);
}

// What is handed over, once its recipe is there.
void require_guarantee(const Path& run, const Path& copy) {
  const privacy::Certificate certificate = method::verify_certificate(copy);
  if (!certificate.is_private())
    throw InvalidArgument(
        violation(run.string(), "a run with a guarantee", certificate.ledger.header.randomness));
}

std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// As sha256sum writes it.
std::string sums_of(const Path& folder) {
  std::string text;
  for (const std::string& name : names_in(folder))
    text += fmt::format("{}  {}\n", sha256_of(FileBytes(folder / name)), name);
  return text;
}

void seal(const Path& folder, const std::optional<SigningKey>& key) {
  if (key) write_file(folder / kSigner, key->public_pem());
  const std::string sums = sums_of(folder);
  write_file(folder / kSums, sums);
  if (key) write_file(folder / kSignature, key->sign(sums));
}

void describe_samples(const ReleaseOptions& options, const RunFacts& facts, const Path& folder) {
  const data::Dataset samples = data::read((folder / kSamples).string());
  SeededBits bits(static_cast<std::uint64_t>(options.seed.value_or(1)));
  write_png(sample_grid(samples, {}, bits), folder / "samples.png");
  std::vector<std::string> names = names_in(folder);
  names.emplace_back(kSums);
  if (options.sign) names.insert(names.end(), {kSigner, kSignature});
  write_file(folder / kCard,
             data_card({.run = facts, .samples = samples, .seed = options.seed, .files = names}));
}

[[noreturn]] void refuse(const std::string& subject, std::string_view requirement,
                         std::string_view actual, std::string_view where = {}) {
  throw VerificationFailed(violation(subject, requirement, actual, where));
}

// Neither a path nor anything that a terminal or a shell would take for more than a name.
bool is_plain(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
             std::string_view::npos;
}

std::map<std::string, std::string> parse_sums(std::string_view text, const Path& path) {
  constexpr std::size_t kDigits = 64;
  std::map<std::string, std::string> sums;
  const std::vector<std::string> lines = split(text, '\n');
  if (!text.ends_with('\n') || lines.size() > kMostFiles + 1)
    refuse(path.string(), fmt::format("whole lines, at most {}", kMostFiles), "not");
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::string& line = lines[i];
    const std::string sum = line.substr(0, kDigits);
    const bool is_line = line.size() > kDigits + 2 && line.substr(kDigits, 2) == "  " &&
                         sum.find_first_not_of("0123456789abcdef") == std::string::npos &&
                         is_plain(line.substr(kDigits + 2));
    if (!is_line || !sums.emplace(line.substr(kDigits + 2), sum).second)
      refuse(fmt::format("{}:{}", path.string(), i + 1),
             "64 hexadecimal digits, two spaces and the plain name of a file not named before",
             "something else");
  }
  return sums;
}

// The names of what is there: regular files and nothing else, so that no link leads elsewhere.
std::set<std::string> listed(const Path& folder) {
  constexpr std::uintmax_t kLargest = std::uintmax_t{1} << 36;  // 64 GiB
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_plain(name)) refuse("every file of a release", "one with a plain name", "not");
    const bool is_file = fs::is_regular_file(at->symlink_status(error)) && !error;
    if (!is_file) refuse((folder / name).string(), "a regular file", "something else");
    if (at->file_size(error) > kLargest && !error)
      refuse((folder / name).string(), "at most 64 GiB large", "larger");
    names.insert(name);
    if (names.size() > kMostFiles)
      refuse(folder.string(), fmt::format("a folder of at most {} files", kMostFiles), "larger");
  }
  if (error) throw DataError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return names;
}

Signer check_signature(const Path& folder, const std::set<std::string>& names,
                       std::string_view sums, const std::optional<Path>& key) {
  constexpr std::uint64_t kLargest = 1000;
  if (!names.contains(kSignature)) {
    if (key || names.contains(kSigner)) refuse((folder / kSignature).string(), "there", "missing");
    return Signer::kNobody;
  }
  const Path of = key.value_or(folder / kSigner);
  if (!VerifyingKey(of).has_signed(sums, read_text(folder / kSignature, kLargest)))
    refuse((folder / kSignature).string(),
           fmt::format("a signature of {} by the key of {}", kSums, of.string()), "none");
  return key ? Signer::kGivenKey : Signer::kKeyInside;
}

void check_names(const Path& folder, const std::set<std::string>& names,
                 const std::map<std::string, std::string>& sums) {
  const std::string where = (folder / kSums).string();
  for (const auto& [name, sum] : sums)
    if (!names.contains(name)) refuse((folder / name).string(), "there", "missing", where);
  for (const std::string& name : names)
    if (name != kSums && name != kSignature && !sums.contains(name))
      refuse((folder / name).string(), "named among the sums", "not", where);
}

// What `read` takes from the file.
template <class Read>
auto checked(const Path& path, const Read& read) {
  constexpr std::uint64_t kLargest = std::uint64_t{8} << 30;  // 8 GiB
  const std::vector<std::byte> bytes = read_all(FileBytes(path), kLargest);
  try {
    return read(TensorFile(bytes, path.string()));
  } catch (const DataError& error) {
    throw VerificationFailed(error.what());
  }
}

// Those that are there must be numbers that fit, each other too.
void check_networks(const Path& folder, const std::set<std::string>& names) {
  std::optional<model::Blueprint> generator;
  if (names.contains(run::kGeneratorName))
    generator = checked(folder / run::kGeneratorName, model::read_blueprint);
  if (!names.contains(run::kTeacherName)) return;
  const Path path = folder / run::kTeacherName;
  const model::ClassifierBlueprint teacher = checked(path, model::read_classifier_blueprint);
  if (generator && !teacher.fits(*generator))
    refuse(path.string(), "for the images and classes of the generator", "for others");
}

}  // namespace

void write_release(const ReleaseOptions& options, const UseGenerator& use) {
  std::optional<SigningKey> key;
  if (options.sign) key.emplace(*options.sign);
  AtomicFolder folder(options.out);
  const Path& inside = folder.inside();
  copy_run(options.run, inside);
  const RunFacts facts = read_facts(options.run, PrivatePart::kLeftOut);
  write_file(inside / run::kRecipeName, facts.recipe);
  require_guarantee(options.run, inside);
  write_file(inside / run::kReportName, report_html(options.run, PrivatePart::kLeftOut).html);
  use(inside, {.samples = inside / kSamples, .script = inside / run::kScriptName});
  describe_samples(options, facts, inside);
  seal(inside, key);
  folder.commit();
}

bool is_release(const Path& folder) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(folder / kSums, ignored)) ||
         fs::exists(fs::symlink_status(folder / kSignature, ignored)) ||
         fs::exists(fs::symlink_status(folder / kCard, ignored));
}

ReleaseCheck verify_release(const Path& folder, const std::optional<Path>& key) {
  constexpr std::uint64_t kLargestSums = std::uint64_t{1} << 16;
  follow_no_links_below(folder);
  const std::set<std::string> names = listed(folder);
  if (!names.contains(kSums)) refuse((folder / kSums).string(), "there", "missing");
  const std::string text = read_text(folder / kSums, kLargestSums);
  const Signer signer = check_signature(folder, names, text, key);
  const std::map<std::string, std::string> sums = parse_sums(text, folder / kSums);
  check_names(folder, names, sums);
  for (const auto& [name, sum] : sums)
    if (const std::string found = sha256_of(FileBytes(folder / name)); found != sum)
      refuse(fmt::format("the SHA-256 sum of {}", (folder / name).string()), sum, found,
             (folder / kSums).string());
  check_networks(folder, names);
  return {.files = sums.size(),
          .signer = signer,
          .has_script = names.contains(run::kScriptName),
          .certificate = method::verify_certificate(folder)};
}

}  // namespace obol::report
