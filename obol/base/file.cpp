#include "obol/base/file.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/random.h"

namespace obol {
namespace {

namespace fs = std::filesystem;

// Without "." and empty parts, from the root; ".." stays, because a link may stand before it.
std::vector<std::string> parts_of(const Path& path) {
  std::error_code ignored;
  std::vector<std::string> parts;
  for (const Path& part : fs::absolute(path, ignored))
    if (!part.empty() && part != ".") parts.push_back(part.string());
  return parts;
}

// A folder below which no link is followed.
struct Guarded {
  Path path;  // as it was given
  std::vector<std::string> parts;
};

struct GuardedFolders {
  std::mutex mutex;
  std::vector<Guarded> folders;
};

GuardedFolders& guarded_folders() {
  static GuardedFolders instance;
  return instance;
}

// The innermost guarded folder that `parts` lie below.
std::optional<Guarded> guard_of(const std::vector<std::string>& parts) {
  GuardedFolders& all = guarded_folders();
  const std::lock_guard lock(all.mutex);
  std::optional<Guarded> found;
  for (const Guarded& one : all.folders)
    if (one.parts.size() < parts.size() &&
        std::equal(one.parts.begin(), one.parts.end(), parts.begin()) &&
        (!found || one.parts.size() > found->parts.size()))
      found = one;
  return found;
}

[[noreturn]] void refuse_link(const Path& path) {
  throw DataError(violation(path.string(), "a file or folder of its own",
                            "a link, and none is followed inside a run or a release"));
}

// One name in an open folder. O_NOFOLLOW fails at a link with one error or another.
int open_name(int folder, const std::string& name, int flags, mode_t mode, const Path& path) {
  const int descriptor = openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  struct stat status {};
  if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
    refuse_link(path);
  errno = error;
  return -1;
}

// Closes a descriptor at the end, without touching errno.
class Open {
 public:
  explicit Open(int descriptor) : descriptor_(descriptor) {}
  ~Open() { reset(-1); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  void reset(int descriptor) {
    const int error = errno;
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = descriptor;
    errno = error;
  }

 private:
  int descriptor_;
};

int open_folder(const Path& folder) {
  return open_file(folder.empty() ? Path(".") : folder, O_RDONLY | O_DIRECTORY);
}

// A name beside that of `path` which nobody else uses: ".NAME.partial-0123456789abcdef".
std::string aside_of(const Path& path) {
  SecureBits bits;
  return fmt::format(".{}.partial-{:016x}", path.filename().string(), bits());
}

// A rename may replace a regular file or a link, but below a guarded folder no link, and no link
// to a device: whoever writes to /dev/stdout does not mean to remove it.
void require_replaceable(const Path& path) {
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(path, error));
  if (is_link && guard_of(parts_of(path))) refuse_link(path);
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw DataError(violation(path.string(), "a regular file or new", "something else"));
}

constexpr mode_t kOwnersFile = 0600;
constexpr mode_t kOwnersFolder = 0700;

Path without_trailing_slash(const Path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void fail_file(std::string_view verb, const Path& path, int error) {
  throw DataError(
      fmt::format("cannot {} {}: {}", verb, path.string(), std::generic_category().message(error)));
}

void write_all(int descriptor, std::span<const std::byte> bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file("write", path, errno);
    if (count == 0)
      fail_file("write", path, EIO);  // POSIX has no such thing, this loop no end to it
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void synchronise(int descriptor, const Path& path) {
  while (fsync(descriptor) != 0)
    if (errno != EINTR) fail_file("write", path, errno);
}

void follow_no_links_below(const Path& folder) {
  Guarded one{.path = folder, .parts = parts_of(folder)};
  GuardedFolders& all = guarded_folders();
  const std::lock_guard lock(all.mutex);
  const bool is_known = std::any_of(all.folders.begin(), all.folders.end(),
                                    [&](const Guarded& known) { return known.parts == one.parts; });
  if (!is_known) all.folders.push_back(std::move(one));
}

int open_file(const Path& path, int flags, mode_t mode) {
  const std::vector<std::string> parts = parts_of(path);
  const std::optional<Guarded> guard = guard_of(parts);
  if (!guard) return open(path.c_str(), flags | O_CLOEXEC, mode);
  Path at = guard->path;
  Open folder(open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = guard->parts.size(); i < parts.size() && folder.get() >= 0; ++i) {
    const bool is_last = i + 1 == parts.size();
    at /= parts[i];
    if (parts[i] == "..")
      throw DataError(violation(path.string(), "a path without '..' inside a run", "one with it"));
    const int next = open_name(folder.get(), parts[i], is_last ? flags : O_PATH | O_DIRECTORY,
                               is_last ? mode : 0, at);
    if (is_last) return next;
    folder.reset(next);
  }
  return -1;
}

std::vector<std::string> list_folder(const Path& folder) {
  const int descriptor = open_folder(folder);
  if (descriptor < 0 && errno == ENOENT) return {};
  DIR* const stream = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (stream == nullptr) fail_file("read", folder, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {  // NOLINT(concurrency-mt-unsafe): its own stream
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

void remove_file(const Path& path) {
  const Open folder(open_folder(path.parent_path()));
  if (folder.get() >= 0 && unlinkat(folder.get(), path.filename().c_str(), 0) == 0) return;
  if (errno != ENOENT) fail_file("remove", path, errno);
}

void make_owners_folder(const Path& folder) {
  const Open parent(open_folder(folder.parent_path()));
  if (parent.get() < 0) fail_file("make", folder, errno);
  if (mkdirat(parent.get(), folder.filename().c_str(), kOwnersFolder) != 0 && errno != EEXIST)
    fail_file("make", folder, errno);
  const Open made(open_folder(folder));
  if (made.get() < 0) fail_file("protect", folder, errno);
  // Whoever copied it may have lost them.
  if (fchmod(made.get(), kOwnersFolder) != 0) fail_file("protect", folder, errno);
}

void synchronise_folder(const Path& folder) {
  const Open opened(open_folder(folder));
  if (opened.get() < 0) fail_file("open", folder.empty() ? Path(".") : folder, errno);
  if (fsync(opened.get()) != 0 && errno != EINVAL) fail_file("synchronise", folder, errno);
}

void Bytes::read_exactly(std::uint64_t offset, std::span<std::byte> out,
                         std::string_view what) const {
  const std::size_t got = read_at(offset, out);
  if (got != out.size())
    throw DataError(fmt::format("{} must have {} bytes at offset {}, but ends after {} ({})", what,
                                out.size(), offset, got, name()));
}

FileBytes::FileBytes(const Path& path)
    : name_(path.string()),
      // Without O_NONBLOCK, a pipe that nobody writes to would never open.
      descriptor_(open_file(path, O_RDONLY | O_NONBLOCK)) {
  if (descriptor_ < 0) fail_file("read", path, errno);
  struct stat status {};
  const int error = fstat(descriptor_, &status) != 0 ? errno : 0;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    if (error != 0) fail_file("read", path, error);
    throw DataError(violation(name_, "a regular file", "something else"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

FileBytes::~FileBytes() { close(descriptor_); }

std::size_t FileBytes::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count =
        pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file("read", name_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Mapping::~Mapping() {
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // NOLINT: as it was mapped
}

std::shared_ptr<const Mapping> FileBytes::map() const {
  if (size_ == 0) return nullptr;
  void* start =
      mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (start == MAP_FAILED) return nullptr;
  return std::make_shared<const Mapping>(
      std::span(static_cast<const std::byte*>(start), static_cast<std::size_t>(size_)));
}

std::size_t MemoryBytes::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= bytes_.size()) return 0;
  const auto from = bytes_.subspan(static_cast<std::size_t>(offset));
  const std::size_t count = std::min(from.size(), out.size());
  std::copy_n(from.begin(), count, out.begin());
  return count;
}

std::vector<std::byte> read_all(const Bytes& bytes, std::uint64_t limit) {
  if (bytes.size() > limit)
    throw DataError(
        violation(bytes.name(), fmt::format("at most {} bytes long", limit), bytes.size()));
  std::vector<std::byte> all(static_cast<std::size_t>(bytes.size()));
  bytes.read_exactly(0, all, "the file");
  return all;
}

std::string read_text(const Path& path, std::uint64_t limit) {
  const std::vector<std::byte> all = read_all(FileBytes(path), limit);
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

AtomicFile::AtomicFile(const Path& path, Access access)
    : path_(path), aside_(aside_of(path)), folder_(open_folder(path.parent_path())) {
  if (folder_ < 0) fail_file("write", path_, errno);
  constexpr mode_t kAnybodys = 0666;
  try {
    require_replaceable(path_);
    descriptor_ = openat(folder_, aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                         access == Access::kOwner ? kOwnersFile : kAnybodys);
    if (descriptor_ < 0) fail_file("write", path_, errno);
  } catch (...) {
    close(folder_);
    throw;
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
    unlinkat(folder_, aside_.c_str(), 0);
  }
  close(folder_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kBufferSize = std::size_t{1} << 16;
  written_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() > kBufferSize) return write_all(descriptor_, bytes, path_);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::flush() {
  write_all(descriptor_, buffer_, path_);
  buffer_.clear();
}

void AtomicFile::rewrite(std::uint64_t offset, std::string_view text) {
  flush();
  while (!text.empty()) {
    const ssize_t count = pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file("write", path_, errno);
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void AtomicFile::commit() {
  flush();
  synchronise(descriptor_, path_);
  if (renameat(folder_, aside_.c_str(), folder_, path_.filename().c_str()) != 0)
    fail_file("write", path_, errno);
  close(std::exchange(descriptor_, -1));
  if (fsync(folder_) != 0 && errno != EINVAL) fail_file("synchronise", path_.parent_path(), errno);
}

void write_file(const Path& path, std::string_view text, Access access) {
  AtomicFile file(path, access);
  file.write(text);
  file.commit();
}

AtomicFolder::AtomicFolder(const Path& path, Access access)
    : path_(without_trailing_slash(path)), aside_(path_.parent_path() / aside_of(path_)) {
  std::error_code ignored;
  if (path_.filename() == "." || path_.filename() == "..")  // cannot be renamed to
    throw DataError(violation(path_.string(), "a new or empty folder given by its name", "not"));
  const bool exists = fs::exists(path_, ignored);
  if (exists && !fs::is_directory(path_, ignored))
    throw DataError(violation(path_.string(), "a new or empty folder", "a file"));
  if (exists && !fs::is_empty(path_, ignored))
    throw DataError(violation(path_.string(), "a new or empty folder", "not empty"));
  std::error_code error;
  if (!path_.parent_path().empty()) fs::create_directories(path_.parent_path(), error);
  constexpr mode_t kAnybodys = 0777;
  if (!error && mkdir(aside_.c_str(), access == Access::kOwner ? kOwnersFolder : kAnybodys) != 0)
    error.assign(errno, std::generic_category());
  if (error) fail_file("write", path_, error.value());
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!aside_.empty()) fs::remove_all(aside_, ignored);
}

void AtomicFolder::commit() {
  synchronise_folder(aside_);
  if (rename(aside_.c_str(), path_.c_str()) != 0) fail_file("write", path_, errno);
  aside_.clear();
  synchronise_folder(path_.parent_path());
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const Path folder = fs::temp_directory_path(error);
  if (error) fail_file("find", "a folder for temporary files", error.value());
  std::string pattern = (folder / "obol-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail_file("make a folder like", pattern, errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace obol
