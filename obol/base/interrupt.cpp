#include "obol/base/interrupt.h"

#include <csignal>

#include "obol/base/error.h"
#include "obol/base/reporter.h"

namespace obol {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

extern "C" void remember_signal(int signal) {
  signal_seen = signal;
  std::signal(SIGINT, SIG_DFL);  // the second one is not asked for politely
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
}

bool signalled() noexcept { return signal_seen != 0; }

bool interrupted() noexcept { return reporter().interrupted(); }

void check_interrupt() {
  if (interrupted()) throw Interrupted("interrupted; nothing was left half done");
}

}  // namespace obol
