// Whatever happens to a training, its ledger counts at least what was released, and resuming it
// leads to the same model as if nothing had happened.
//
// OBOL_KILLS: how many trainings to kill at random instants.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <optional>
#include <stdexcept>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "obol/base/console.h"
#include "obol/base/random.h"
#include "obol/base/text.h"
#include "obol/privacy/ledger_testing.h"
#include "obol/run/loop.h"
#include "obol/run/testing.h"
#include "tests/faults/calls.h"

namespace obol::run {
namespace {

namespace fs = std::filesystem;
using faults::Fault;

constexpr std::string_view kRecipe = "title = \"t\"\n";
constexpr std::int64_t kBlock = 5;
const privacy::Budget kPlenty{Epsilon{1000}, Delta{1e-5}};

// The releases, one byte each, on disk before they are used. By system calls, because the library's
// are counted and fail here.
void log_release(const Path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || syscall(SYS_write, file, "x", 1) != 1 || syscall(SYS_fsync, file) != 0)
    std::_Exit(4);
  close(file);
}

enum class End { kDone, kRefused, kKilled };

struct Fate {
  faults::Plan plan = {};
  std::optional<std::int64_t> lifetime = std::nullopt;  // microseconds
};

class Trainings : public testing::Test {
 protected:
  // A kill takes nothing from the kernel, so that a file system in memory will do.
  Trainings() {
    if (fs::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 1);
    set_console({.level = LogLevel::kError});
  }
  ~Trainings() override { set_console({}); }
};

struct Life {
  Steps steps;
  TemporaryFolder temporary = {};
  Path path = temporary.path() / "a";
  Path releases = temporary.path() / "releases";
  std::int64_t cuts = 0;

  // What a process does: create the run or go on with it.
  void live() const {
    const privacy::LedgerHeader header = privacy::some_header();
    const RunFolder folder = fs::exists(path) ? RunFolder::resume(path, kRecipe)
                                              : RunFolder::create(path, kRecipe, header);
    privacy::Ledger ledger = privacy::Ledger::open(folder.ledger(), header);
    privacy::BudgetGuard guard(ledger, kPlenty, {.block = kBlock, .accounting = kFast});
    Payment payment{
        .ledger = ledger, .guard = guard, .terms = {.delta = kPlenty.delta, .accounting = kFast}};
    Chain method(&guard, [&](std::int64_t) { log_release(releases); });
    train(method, folder, steps, &payment);
  }

  End live_in_child(const Fate& fate) {
    constexpr int kRefusedCode = 3;
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
      faults::plan() = fate.plan;
      try {
        live();
      } catch (const Error&) {
        std::_Exit(kRefusedCode);
      }
      std::_Exit(0);
    }
    if (fate.lifetime) {
      usleep(static_cast<useconds_t>(*fate.lifetime));
      kill(child, SIGKILL);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return End::kDone;
    ++cuts;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kRefusedCode) return End::kRefused;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return End::kKilled;
    throw std::runtime_error("a training must end, be refused or be killed, but did otherwise");
  }

  [[nodiscard]] std::int64_t released() const {
    return fs::exists(releases) ? static_cast<std::int64_t>(fs::file_size(releases)) : 0;
  }
  [[nodiscard]] std::int64_t recorded() const {
    if (!fs::exists(path)) return 0;
    return privacy::times(privacy::read_ledger(path / "ledger.jsonl").spent(), kStep);
  }

  void expect_paid(const std::string& name) const {
    EXPECT_GE(recorded(), released()) << name;
    EXPECT_LE(recorded(), released() + cuts * kBlock) << name;
  }
  void expect_done(const std::string& name) const {
    expect_paid(name);
    const std::string state = std::to_string(Chain::after(steps.total));
    const Checkpoint checkpoint = read_checkpoint(path / "checkpoint.pt");
    EXPECT_EQ(checkpoint.step, steps.total) << name;
    EXPECT_EQ(checkpoint.sections.at("state"), state) << name;
    EXPECT_EQ(read_text(path / kGeneratorName, 1000), "generator " + state) << name;
    EXPECT_NO_THROW(privacy::verify_certificate(path)) << name;
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(steps.total));
    std::iota(wanted.begin(), wanted.end(), 1);
    std::vector<std::int64_t> found;
    for (const MetricsRow& row : read_metrics(path / "metrics.jsonl")) found.push_back(row.step);
    EXPECT_EQ(found, wanted) << name;
  }
};

// One training in which the `call`-th write, fsync or rename goes wrong, then one without. True:
// the call came up, so a later one may too.
bool survives(Fault fault, std::int64_t call) {
  Life life{.steps = {.total = 6, .checkpoint_every = 2, .sample_every = 0, .metrics_every = 1}};
  const std::string name = fmt::format("fault {} at call {}", static_cast<int>(fault), call);
  const End end = life.live_in_child({.plan = {.call = call, .fault = fault}});
  life.expect_paid(name);
  const End again = life.live_in_child({});
  EXPECT_EQ(again, End::kDone) << name;
  if (again == End::kDone) life.expect_done(name);
  return end != End::kDone;
}

TEST_F(Trainings, GoOnWhereverTheyDieOrTheDiskFails) {
  constexpr std::int64_t kFewest = 50;  // calls in such a run; the test must reach them
  for (const Fault fault : {Fault::kDieBefore, Fault::kDieHalfway, Fault::kDieAfter, Fault::kFail,
                            Fault::kFailHalfway}) {
    std::int64_t call = 0;
    while (!HasFailure() && survives(fault, call)) ++call;
    EXPECT_GT(call, kFewest);
  }
}

std::int64_t kills_wanted() {
  constexpr std::int64_t kFew = 150;
  const char* text = std::getenv("OBOL_KILLS");
  return text == nullptr ? kFew : parse_integer(text).value_or(kFew);
}

TEST_F(Trainings, GoOnWhenKilledAtRandomInstants) {
  constexpr std::uint64_t kLongest = 12'000;  // microseconds
  SeededBits bits(1);
  std::int64_t kills = 0;
  std::int64_t runs = 0;
  std::int64_t repeated = 0;
  while (kills < kills_wanted() && !HasFailure()) {
    Life life{
        .steps = {.total = 60, .checkpoint_every = 7, .sample_every = 20, .metrics_every = 1}};
    End end = End::kKilled;
    while (end == End::kKilled && !HasFailure()) {
      // Longer with every kill, so that a slow machine gets there too.
      const std::uint64_t longest = kLongest * static_cast<std::uint64_t>(1 + life.cuts / 10);
      end = life.live_in_child({.lifetime = static_cast<std::int64_t>(bits.below(longest))});
      life.expect_paid(fmt::format("run {}, after kill {}", runs, life.cuts));
    }
    ASSERT_EQ(end, End::kDone);
    life.expect_done(fmt::format("run {}", runs));
    kills += life.cuts;
    repeated += life.released() - life.steps.total;
    ++runs;
  }
  std::cout << fmt::format("{} trainings killed {} times; {} steps repeated and paid again\n", runs,
                           kills, repeated);
}

}  // namespace
}  // namespace obol::run
