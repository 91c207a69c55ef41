#include "obol/run/append_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace obol::run {

AppendFile::AppendFile(const Path& path)
    : path_(path),
      // Without O_NONBLOCK, a pipe that nobody reads would never open.
      descriptor_(open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK)) {
  if (descriptor_ < 0) fail(errno);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

void AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void AppendFile::synchronise() {
  while (fsync(descriptor_) != 0)
    if (errno != EINTR) fail(errno);
}

void AppendFile::fail(int error) const {
  throw DataError(
      fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(error)));
}

}  // namespace obol::run
