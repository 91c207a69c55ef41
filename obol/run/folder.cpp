#include "obol/run/folder.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/sha256.h"
#include "obol/base/text.h"

namespace obol::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".lock";
constexpr std::uint64_t kLargestRecipe = std::uint64_t{1} << 20;

constexpr std::string_view kPrivateReadme =
    "PRIVATE: DO NOT RELEASE\n"
    "\n"
    "What is in this folder depends on the private data and is not covered by the certificate:\n"
    "diagnostics that were asked for as unsafe, and training state that never passed a barrier.\n"
    "Delete it, or keep it as well as the data themselves, before the run is handed on.\n";

// The lock ends with the process at the latest, however that ends.
std::shared_ptr<void> lock(const Path& folder) {
  const Path path = folder / kLockName;
  const int descriptor = open_file(path, O_RDWR | O_CREAT | O_NONBLOCK);
  if (descriptor < 0) fail_file("lock", path, errno);
  const int status = flock(descriptor, LOCK_EX | LOCK_NB);
  const int error = errno;
  std::shared_ptr<void> held(nullptr, [descriptor](void*) { close(descriptor); });
  if (status != 0 && error == EWOULDBLOCK)
    throw DataError(
        violation(folder.string(), "used by one training at a time", "in use by another process"));
  if (status != 0) fail_file("lock", path, error);
  return held;
}

void require_new_or_empty(const Path& path) {
  std::error_code ignored;
  if (fs::exists(path / kRecipeName, ignored))
    throw InvalidArgument(violation(path.string(), "a new or empty folder",
                                    "a run already; use --resume to go on with it"));
}

// Where two texts part: "line 3: `a = 1` there, `a = 2` here".
std::string first_difference(const std::string& there, std::string_view here) {
  const std::vector<std::string> first = split(there, '\n');
  const std::vector<std::string> second = split(here, '\n');
  const auto at = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  const auto shown = [](const auto& line, const auto& end) {
    return line == end ? std::string("nothing") : fmt::format("`{}`", *line);
  };
  return fmt::format("line {}: {} there, {} here", at.first - first.begin() + 1,
                     shown(at.first, first.end()), shown(at.second, second.end()));
}

// What AtomicFile writes aside, of processes that were killed: nobody else writes here now.
void remove_partials(const Path& folder) {
  std::vector<Path> partials;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') && name.find(".partial-") != std::string::npos)
      partials.push_back(at->path());
  }
  for (const Path& partial : partials) remove_file(partial);
}

bool ends_in_newline(const Path& path) {
  const FileBytes file(path);
  std::byte last{'\n'};
  if (file.size() > 0) file.read_exactly(file.size() - 1, {&last, 1}, "the file");
  return last == std::byte{'\n'};
}

}  // namespace

RunFolder::RunFolder(Path path, std::shared_ptr<void> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

RunFolder RunFolder::create(const Path& path, std::string_view recipe,
                            const std::optional<privacy::LedgerHeader>& header,
                            const std::map<std::string, std::string>& secrets) {
  require_new_or_empty(path);
  AtomicFolder folder(path);
  write_file(folder.inside() / kRecipeName, recipe);
  if (header) privacy::Ledger::create(folder.inside() / privacy::kLedgerName, *header);
  if (!secrets.empty()) {
    const Path inside = RunFolder(folder.inside(), nullptr).make_private();
    for (const auto& [name, bytes] : secrets) write_file(inside / name, bytes, Access::kOwner);
  }
  std::shared_ptr<void> held = lock(folder.inside());  // follows the rename
  folder.commit();
  follow_no_links_below(path);
  return {path, std::move(held)};
}

RunFolder RunFolder::resume(const Path& path, std::string_view recipe) {
  RunFolder folder = open(path);
  folder.lock_ = lock(path);
  if (const std::string before = folder.recipe(); before != recipe)
    throw InvalidArgument(fmt::format("the recipe must be that of the run, but differs in {} ({})",
                                      first_difference(before, recipe),
                                      (path / kRecipeName).string()));
  remove_partials(path);
  return folder;
}

RunFolder RunFolder::open(const Path& path) {
  follow_no_links_below(path);
  if (!is_run(path))
    throw InvalidArgument(
        violation(path.string(), "a run folder", fmt::format("one without {}", kRecipeName)));
  return {path, nullptr};
}

bool RunFolder::is_run(const Path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / kRecipeName, ignored);
}

std::string RunFolder::recipe() const { return read_text(path_ / kRecipeName, kLargestRecipe); }

std::string RunFolder::recipe_hash() const {
  Sha256 hash;
  hash.update(recipe());
  return hash.hex();
}

Path RunFolder::sample(std::int64_t step) const {
  return samples() / fmt::format("{:06}.png", step);
}

Path RunFolder::real_moments(const std::string& network) const {
  return path_ / fmt::format("fid-{}.npz", network);
}

void RunFolder::require_generator() const {
  std::error_code ignored;
  if (fs::exists(generator(), ignored)) return;
  if (fs::exists(path_ / kScriptName, ignored))
    throw DataError(violation(path_.string(), fmt::format("a run with {}", kGeneratorName),
                              fmt::format("one of an earlier version, whose {} "
                                          "scripts/convert-generator can convert",
                                          kScriptName)));
  throw DataError(violation(path_.string(), "a run with a generator", "one that has none yet"));
}

bool RunFolder::has_teacher() const {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(teacher(), ignored));
}

Path RunFolder::make_private() const {
  const Path folder = private_folder();
  make_owners_folder(folder);
  std::error_code error;
  if (!fs::exists(folder / "README", error)) write_file(folder / "README", kPrivateReadme);
  return folder;
}

bool RunFolder::is_own() const {
  const int descriptor = open_file(private_folder() / kOwnKeyName, O_RDONLY | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct stat status {};
  const bool is_known = fstat(descriptor, &status) == 0;
  close(descriptor);
  return is_known && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

void RunFolder::remove_results() const {
  for (const char* name : {privacy::kCertificateName, privacy::kCertificateTextName, kOutcomeName})
    remove_file(path_ / name);
  synchronise_folder(path_);
}

void RunFolder::remove_samples_after(std::int64_t step) const {
  for (const std::string& name : list_folder(samples())) {
    const auto of = parse_integer(Path(name).stem().string());
    if (of && *of > step) remove_file(samples() / name);
  }
}

void Disclosures::record(std::string_view reason) {
  if (recorded_.contains(reason)) return;
  const nlohmann::ordered_json line = {
      {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"reason", reason}};
  AppendFile file(path_);
  std::string text = ends_in_newline(path_) ? "" : "\n";  // after a line that was torn
  text += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  file.append(text);
  file.synchronise();
  synchronise_folder(path_.parent_path());
  recorded_.emplace(reason);
}

}  // namespace obol::run
