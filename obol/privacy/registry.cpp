#include "obol/privacy/registry.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/random.h"
#include "obol/base/sha256.h"
#include "obol/base/text.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/durable_log.h"
#include "obol/privacy/event_json.h"

namespace obol::privacy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kKeyFile = "key";
constexpr std::string_view kFirstLine = R"({"format":"obol-uses","version":1})";
constexpr std::uint64_t kLargestRegistry = std::uint64_t{256} << 20;

void require_no_link(const Path& path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored))
    throw DataError(violation(path.string(), "a file of its own", "a link"));
}

// Waits for others, who hold it for the time of one record.
std::shared_ptr<void> lock_folder(const Path& folder) {
  const Path path = folder / ".lock";
  constexpr mode_t kOwner = 0600;
  const int descriptor =
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kOwner);
  if (descriptor < 0) fail_file("lock", path, errno);
  std::shared_ptr<void> held(nullptr, [descriptor](void*) { close(descriptor); });
  while (flock(descriptor, LOCK_EX) != 0)
    if (errno != EINTR) fail_file("lock", path, errno);
  return held;
}

// Appears whole or not at all: under the lock, and renamed.
void make_key(const Path& path) {
  std::array<std::uint64_t, 4> words{};
  SecureBits().fill(words);
  const auto bytes = std::as_bytes(std::span(words));
  const mode_t before = umask(0077);
  try {
    write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (...) {
    umask(before);
    throw;
  }
  umask(before);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

ordered_json value_of(const Use& use) {
  ordered_json stages = ordered_json::array();
  for (const Stage& stage : use.stages) {
    ordered_json releases = ordered_json::array();
    for (const PlannedEvent& release : stage.releases)
      releases.push_back(
          {{"purpose", release.purpose}, {"event", ordered_json::parse(json_of(release.event))}});
    stages.push_back({{"planned", stage.is_planned}, {"time", stage.time}, {"releases", releases}});
  }
  return {{"id", use.id},
          {"time", use.time},
          {"folder", use.folder.string()},
          {"neighbours", name_of(use.neighbours)},
          {"delta", use.delta},
          {"head", use.head.hash},
          {"entries", use.head.entries},
          {"stages", stages}};
}

Stage stage_from(const json& value) {
  StrictObject object(value, "a stage");
  const json& planned = object.member("planned");
  if (!planned.is_boolean())
    throw InvalidArgument(violation("planned", "true or false", planned.dump()));
  Stage stage{.releases = {}, .is_planned = planned.get<bool>(), .time = object.text("time")};
  const json& releases = object.member("releases");
  if (!releases.is_array())
    throw InvalidArgument(violation("releases", "a JSON array", releases.type_name()));
  for (const json& one : releases) {
    StrictObject release(one, "a release");
    stage.releases.push_back(
        {.purpose = release.text("purpose"), .event = event_from(release.member("event"))});
    release.finish();
  }
  object.finish();
  return stage;
}

Use use_from(const json& value) {
  StrictObject object(value, "a use of the data");
  Use use{.id = object.text("id"),
          .time = object.text("time"),
          .folder = object.text("folder"),
          .neighbours = neighbours_from(object.text("neighbours")),
          .delta = Delta{object.number("delta")}.value(),
          .head = {.hash = object.text("head"), .entries = object.integer("entries")},
          .stages = {}};
  const json& stages = object.member("stages");
  if (!stages.is_array())
    throw InvalidArgument(violation("stages", "a JSON array", stages.type_name()));
  for (const json& stage : stages) use.stages.push_back(stage_from(stage));
  object.finish();
  return use;
}

bool has_ledger(const Path& folder, const std::string& id) {
  std::error_code ignored;
  if (!fs::exists(folder / kLedgerName, ignored)) return false;
  try {
    return read_ledger(folder / kLedgerName).hashes.front() == id;
  } catch (const Error&) {
    return false;
  }
}

// A last line without its newline: its record was not used, for it had not returned.
std::string_view whole_lines(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

}  // namespace

Use use_of(const Path& folder, const LedgerRecord& ledger, const std::vector<Stage>& stages,
           Delta delta) {
  return {.id = ledger.hashes.front(),
          .time = utc_now(),
          .folder = fs::weakly_canonical(fs::absolute(folder)),
          .neighbours = ledger.header.neighbours,
          .delta = delta.value(),
          .head = ledger.head(),
          .stages = stages};
}

std::optional<Registry> Registry::open() {
  const char* given = std::getenv("OBOL_LEDGERS");
  const char* home = std::getenv("HOME");
  const auto is_set = [](const char* text) { return text != nullptr && *text != '\0'; };
  try {
    if (is_set(given)) return Registry(given);
    if (!is_set(home))
      throw InvalidArgument(
          violation("OBOL_LEDGERS", "set where there is no home folder", "not set"));
    return Registry(Path(home) / ".local" / "share" / "obol" / "ledgers");
  } catch (const Error& error) {
    static bool is_told = false;
    if (!is_told)
      log_warning("what these data have cost is not kept on this machine: {}", error.what());
    is_told = true;
    return std::nullopt;
  }
}

Registry::Registry(const Path& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail_file("make", folder_, error.value());
  fs::permissions(folder_, fs::perms::owner_all, error);
  if (error) fail_file("protect", folder_, error.value());
  const Path path = folder_ / kKeyFile;
  const std::shared_ptr<void> held = lock_folder(folder_);
  require_no_link(path);
  if (!fs::exists(path, error)) make_key(path);
  const FileBytes file(path);
  file.read_exactly(0, key_, "the key of the fingerprints");
}

Path Registry::file_of(const std::string& fingerprint) const {
  Sha256 hash;  // whatever its letters are
  hash.update(fingerprint);
  constexpr std::size_t kDigits = 32;
  return folder_ / (hash.hex().substr(0, kDigits) + ".jsonl");
}

std::vector<Use> Registry::uses(const std::string& fingerprint) const {
  const Path path = file_of(fingerprint);
  std::error_code ignored;
  require_no_link(path);
  if (!fs::exists(path, ignored)) return {};
  const std::string text = read_text(path, kLargestRegistry);
  std::vector<Use> all;
  std::size_t number = 0;
  for (const std::string& line : split(whole_lines(text), '\n')) {
    ++number;
    if (line.empty() || (number == 1 && line == kFirstLine)) continue;
    try {
      const json value = json::parse(line, nullptr, false);
      if (number == 1 || value.is_discarded())
        throw InvalidArgument(violation("a line", "a use of the data, in JSON", "something else"));
      Use use = use_from(value);
      const auto before = std::find_if(all.begin(), all.end(),
                                       [&](const Use& other) { return other.id == use.id; });
      if (before == all.end()) {
        all.push_back(std::move(use));
      } else {
        use.time = before->time;
        *before = std::move(use);
      }
    } catch (const Error& error) {
      throw DataError(fmt::format("{} ({}:{})", error.what(), path.string(), number));
    }
  }
  return all;
}

void Registry::record(const std::string& fingerprint, const Use& use) const {
  const std::shared_ptr<void> held = lock_folder(folder_);
  const Path path = file_of(fingerprint);
  std::error_code ignored;
  require_no_link(path);
  if (!fs::exists(path, ignored)) {
    DurableLog log = DurableLog::create(path, kFirstLine);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    log.append(value_of(use).dump());
    return;
  }
  DurableLog log = DurableLog::open(path);
  const std::string text = read_text(path, kLargestRegistry);
  const std::string_view whole = whole_lines(text);
  if (whole.size() != text.size()) log.replace(whole);
  log.append(value_of(use).dump());
}

void Registry::require_only_copy(const std::string& fingerprint, const Path& folder,
                                 const LedgerRecord& ledger) const {
  const std::vector<Use> all = uses(fingerprint);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Use& use) { return use.id == ledger.hashes.front(); });
  if (found == all.end()) return;
  const Path here = fs::weakly_canonical(fs::absolute(folder));
  const bool is_elsewhere = here != found->folder && has_ledger(found->folder, found->id);
  if (!is_elsewhere && ledger.extends(found->head)) return;
  if (here == found->folder)
    throw DataError(fmt::format(
        "{} must have the ledger that its run went on with, but lines of it are missing "
        "or others: an older copy cannot go on",
        folder.string()));
  throw DataError(fmt::format(
      "{} must be the one place where its run goes on, but is a copy of a run that {} {}: go on "
      "there, or start a new run, which is counted on its own",
      folder.string(), is_elsewhere ? "is at" : "went on at", found->folder.string()));
}

std::vector<UseTotal> totals(const std::vector<Use>& uses, const std::string& ignored) {
  std::vector<UseTotal> result;
  for (const Neighbours neighbours :
       {Neighbours::kAddRemove, Neighbours::kReplaceOne, Neighbours::kPerson}) {
    UseTotal total{.neighbours = neighbours, .runs = 0, .epsilon = 0, .delta = 0};
    std::vector<Stage> stages;
    for (const Use& use : uses) {
      if (use.neighbours != neighbours || use.id == ignored) continue;
      ++total.runs;
      total.delta = std::max(total.delta, use.delta);
      stages.insert(stages.end(), use.stages.begin(), use.stages.end());
    }
    if (total.runs == 0) continue;
    std::stable_sort(stages.begin(), stages.end(),
                     [](const Stage& a, const Stage& b) { return a.time < b.time; });
    total.epsilon = sum_of(costs_of(stages, Delta{total.delta}));
    result.push_back(total);
  }
  return result;
}

std::string in_words(const std::vector<UseTotal>& totals) {
  std::string text;
  std::int64_t runs = 0;
  for (const UseTotal& total : totals) {
    runs += total.runs;
    text += fmt::format("{}epsilon at most {} at delta {:.6g} ({})", text.empty() ? "" : ", and ",
                        rounded_up(total.epsilon), total.delta, name_of(total.neighbours));
  }
  return runs == 0 ? ""
                   : fmt::format("these data were used {} before on this machine: {}",
                                 runs == 1 ? "once" : fmt::format("{} times", runs), text);
}

}  // namespace obol::privacy
