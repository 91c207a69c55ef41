#include "obol/base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/random.h"

namespace obol {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view verb, const Path& path, int error) {
  throw DataError(
      fmt::format("cannot {} {}: {}", verb, path.string(), std::generic_category().message(error)));
}

// A name beside `path` that nobody else uses: ".NAME.partial-0123456789abcdef".
Path aside_of(const Path& path) {
  SecureBits bits;
  return path.parent_path() / fmt::format(".{}.partial-{:016x}", path.filename().string(), bits());
}

// The file that a rename may replace: where a link leads, and never a device.
Path replaceable(const Path& path) {
  std::error_code error;
  const Path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw DataError(violation(path.string(), "a regular file or new", "something else"));
  return target;
}

Path without_trailing_slash(const Path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void synchronise_folder(const Path& folder) {
  const Path name = folder.empty() ? Path(".") : folder;
  const int descriptor = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("open", name, errno);
  const int status = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  if (status != 0 && error != EINVAL) fail("synchronise", name, error);
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
      descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) fail("read", path, errno);
  struct stat status {};
  const int error = fstat(descriptor_, &status) != 0 ? errno : 0;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    if (error != 0) fail("read", path, error);
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
    if (count < 0) fail("read", name_, errno);
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

AtomicFile::AtomicFile(const Path& path)
    : path_(replaceable(path)),
      aside_(aside_of(path_)),
      descriptor_(open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail("write", path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(aside_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kBufferSize = std::size_t{1} << 16;
  written_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() > kBufferSize) return write_through(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::rewrite(std::uint64_t offset, std::string_view text) {
  flush();
  while (!text.empty()) {
    const ssize_t count = pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path_, errno);
    text.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void AtomicFile::commit() {
  flush();
  if (fsync(descriptor_) != 0) fail("write", path_, errno);
  if (rename(aside_.c_str(), path_.c_str()) != 0) fail("write", path_, errno);
  close(std::exchange(descriptor_, -1));
  synchronise_folder(path_.parent_path());
}

void write_file(const Path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

AtomicFolder::AtomicFolder(const Path& path)
    : path_(without_trailing_slash(path)), aside_(aside_of(path_)) {
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
  if (!error) fs::create_directory(aside_, error);
  if (error) fail("write", path_, error.value());
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!aside_.empty()) fs::remove_all(aside_, ignored);
}

void AtomicFolder::commit() {
  synchronise_folder(aside_);
  if (rename(aside_.c_str(), path_.c_str()) != 0) fail("write", path_, errno);
  aside_.clear();
  synchronise_folder(path_.parent_path());
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const Path folder = fs::temp_directory_path(error);
  if (error) fail("find", "a folder for temporary files", error.value());
  std::string pattern = (folder / "obol-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail("make a folder like", pattern, errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace obol
