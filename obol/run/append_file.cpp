#include "obol/run/append_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace obol::run {

AppendFile::AppendFile(const Path& path)
    : path_(path),
      // Without O_NONBLOCK, a pipe that nobody reads would never open.
      descriptor_(open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK)) {
  if (descriptor_ < 0) fail_file("write", path_, errno);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

void AppendFile::append(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

void AppendFile::synchronise() { obol::synchronise(descriptor_, path_); }

}  // namespace obol::run
