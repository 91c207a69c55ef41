#include "tests/faults/calls.h"

#include <cerrno>
#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

namespace obol::faults {
namespace {

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// What happens at this call.
Fault due() {
  if (plan().call < 0) return Fault::kNone;
  return plan().call-- == 0 ? plan().fault : Fault::kNone;
}

// A call without halves.
template <class Real>
int faulty(const Real& real) {
  const Fault fault = due();
  if (fault == Fault::kDieBefore || fault == Fault::kDieHalfway) die();
  if (fault == Fault::kFail || fault == Fault::kFailHalfway) {
    errno = EIO;
    return -1;
  }
  if (fault == Fault::kInterrupt) {
    errno = EINTR;
    return -1;
  }
  const int result = static_cast<int>(real());
  if (fault == Fault::kDieAfter) die();
  return result;
}

ssize_t faulty_write(int descriptor, const void* bytes, std::size_t size) {
  const auto real = [&](std::size_t part) { return syscall(SYS_write, descriptor, bytes, part); };
  switch (due()) {
    case Fault::kNone:
      return real(size);
    case Fault::kDieBefore:
      die();
    case Fault::kDieHalfway:
      real(size / 2);
      die();
    case Fault::kDieAfter:
      real(size);
      die();
    case Fault::kFail:
      errno = ENOSPC;
      return -1;
    case Fault::kFailHalfway:
      plan() = {.call = 0, .fault = Fault::kFail};
      return real(size / 2);
    case Fault::kInterrupt:
      errno = EINTR;
      return -1;
    case Fault::kShort:
      return real(size / 2);
  }
  return -1;
}

}  // namespace

Plan& plan() {
  static Plan the_plan;
  return the_plan;
}

}  // namespace obol::faults

extern "C" {

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  return obol::faults::faulty_write(descriptor, bytes, size);
}

int fsync(int descriptor) {
  return obol::faults::faulty([&] { return syscall(SYS_fsync, descriptor); });
}

int rename(const char* from, const char* to) noexcept {
  return obol::faults::faulty([&] { return syscall(SYS_rename, from, to); });
}
}
