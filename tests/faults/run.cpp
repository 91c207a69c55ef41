#include "tests/faults/run.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <new>
#include <stdexcept>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "obol/privacy/ledger.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::faults {
namespace {

using privacy::Ledger;
using privacy::Reservation;

void execute(const Run& run) {
  const privacy::LedgerHeader header = privacy::some_header();
  Ledger ledger = std::filesystem::exists(run.path) ? Ledger::open(run.path, header)
                                                    : Ledger::create(run.path, header);
  if (run.planned > 0 && !ledger.record().is_planned())
    ledger.plan({{"training", with_count(kStep, run.planned)}});
  Reservation paid;
  for (std::int64_t step = 0; step < run.steps; ++step) {
    if (paid.left() == 0) {
      const std::int64_t count = run.planned == 0
                                     ? run.block
                                     : std::min(run.block, ledger.record().left("training", kStep));
      if (count == 0) return;  // the plan is used up
      paid = ledger.reserve("training", with_count(kStep, count));
    }
    paid.take();
    run.used->add(1);  // the release
  }
  paid.settle();
}

}  // namespace

SharedCounter::SharedCounter() {
  void* memory =
      mmap(nullptr, sizeof(*value_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  value_ = new (memory) std::atomic<std::int64_t>(0);
}

SharedCounter::~SharedCounter() { munmap(value_, sizeof(*value_)); }

Ending execute_in_child(const Run& run, const Plan& plan_of_child,
                        std::optional<std::int64_t> lifetime) {
  constexpr int kRefusedCode = 3;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    plan() = plan_of_child;
    try {
      execute(run);
    } catch (const Error&) {
      _exit(kRefusedCode);
    }
    _exit(0);
  }
  if (lifetime) {
    usleep(static_cast<useconds_t>(*lifetime));
    kill(child, SIGKILL);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return Ending::kKilled;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Ending::kStopped;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefusedCode) return Ending::kRefused;
  throw std::runtime_error("a run must stop, be refused or be killed, but ended otherwise");
}

std::int64_t recorded(const Path& path) {
  return std::filesystem::exists(path) ? privacy::times(privacy::read_ledger(path).spent(), kStep)
                                       : 0;
}

}  // namespace obol::faults
