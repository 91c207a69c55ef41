#include "obol/privacy/durable_log.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/random.h"

namespace obol::privacy {
namespace {

// `name` is what messages call it.
int open_or_throw(const Path& path, int flags, const Path& name) {
  // Without O_NONBLOCK, a pipe could keep us waiting for its other end.
  const int descriptor = open_file(path, flags | O_APPEND | O_NONBLOCK);
  if (descriptor < 0) fail_file("write", name, errno);
  return descriptor;
}

// Renames unless the new name is taken; a link and an unlink where the file system has no such
// call. Zero, or the error's number.
int rename_to_new(const Path& from, const Path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(from.c_str(), to.c_str()) != 0) return errno;
  unlink(from.c_str());
  return 0;
}

// Removes a file at the end unless told to keep it.
class Aside {
 public:
  explicit Aside(const Path& of) {
    SecureBits bits;
    path_ = of.parent_path() / fmt::format(".{}.partial-{:016x}", of.filename().string(), bits());
  }
  ~Aside() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  [[nodiscard]] const Path& path() const noexcept { return path_; }
  void forget() { path_.clear(); }

 private:
  Path path_;
};

}  // namespace

DurableLog::DurableLog(const Path& path, int descriptor) : path_(path), descriptor_(descriptor) {}

DurableLog::~DurableLog() {
  if (descriptor_ >= 0) close(descriptor_);  // which ends the lock
}

DurableLog::DurableLog(DurableLog&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      is_broken_(other.is_broken_) {}

DurableLog& DurableLog::operator=(DurableLog&& other) noexcept {
  path_ = std::move(other.path_);
  std::swap(descriptor_, other.descriptor_);
  size_ = other.size_;
  is_broken_ = other.is_broken_;
  return *this;
}

// Written aside, so that whoever dies here leaves no half of a first line that would be in the way
// of both creating and opening. Locked from the start: the name never leads to a file without.
DurableLog DurableLog::create(const Path& path, std::string_view first_line) {
  Aside aside(path);
  DurableLog log(path, open_or_throw(aside.path(), O_WRONLY | O_CREAT | O_EXCL, path));
  log.lock();
  log.append(first_line);
  if (const int error = rename_to_new(aside.path(), path); error == EEXIST)
    throw DataError(violation(path.string(), "new", "there already"));
  else if (error != 0)
    fail_file("write", path, error);
  aside.forget();
  synchronise_folder(path.parent_path());
  return log;
}

DurableLog DurableLog::open(const Path& path) {
  DurableLog log(path, open_or_throw(path, O_RDWR, path));
  log.lock();
  struct stat status {};
  if (fstat(log.descriptor_, &status) != 0) log.fail("read", errno);
  if (!S_ISREG(status.st_mode))
    throw DataError(violation(path.string(), "a regular file", "something else"));
  log.size_ = static_cast<std::uint64_t>(status.st_size);
  log.require_untouched();  // another may have replaced it between open and lock
  synchronise(log.descriptor_, log.path_);
  synchronise_folder(log.path_.parent_path());
  return log;
}

void DurableLog::replace(std::string_view lines) {
  require_intact();
  require_untouched();
  is_broken_ = true;
  Aside aside(path_);
  DurableLog log(path_, open_or_throw(aside.path(), O_RDWR | O_CREAT | O_EXCL, path_));
  log.lock();
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || fchmod(log.descriptor_, status.st_mode) != 0)
    fail("write", errno);
  write_all(log.descriptor_, lines, path_);
  synchronise(log.descriptor_, log.path_);
  if (rename(aside.path().c_str(), path_.c_str()) != 0) fail("write", errno);
  aside.forget();
  synchronise_folder(path_.parent_path());
  log.size_ = lines.size();
  *this = std::move(log);
}

void DurableLog::lock() {
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      throw DataError(
          violation(path_.string(), "written by one process at a time", "open in another"));
    if (errno != EINTR) fail("lock", errno);
  }
}

void DurableLog::append(std::string_view line) {
  require_intact();
  require_untouched();
  // Until all has gone well, what is on disk is unknown, whatever throws.
  is_broken_ = true;
  write_all(descriptor_, std::string(line) + '\n', path_);
  synchronise(descriptor_, path_);
  size_ += line.size() + 1;
  is_broken_ = false;
}

void DurableLog::require_intact() const {
  if (is_broken_)
    throw DataError(
        fmt::format("{} must be opened anew: a write to it failed, and what is on disk is unknown",
                    path_.string()));
}

// The lock binds only those who ask for it. A file that others wrote to, cut or removed is no
// longer the one whose chain is being continued.
void DurableLog::require_untouched() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail("read", errno);
  if (static_cast<std::uint64_t>(status.st_size) == size_ && status.st_nlink > 0) return;
  is_broken_ = true;
  throw DataError(status.st_nlink > 0
                      ? violation(path_.string(), fmt::format("{} bytes long", size_),
                                  status.st_size, "changed by another process")
                      : violation(path_.string(), "kept while it is written to", "removed"));
}

void DurableLog::fail(std::string_view verb, int error) {
  is_broken_ = true;
  fail_file(verb, path_, error);
}

}  // namespace obol::privacy
