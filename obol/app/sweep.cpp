#include "obol/app/sweep.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "obol/app/request.h"
#include "obol/base/console.h"
#include "obol/base/file.h"
#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/method/methods.h"
#include "obol/recipe/grid.h"
#include "obol/run/folder.h"
#include "obol/run/loop.h"

namespace obol::app {
namespace {

namespace fs = std::filesystem;
using method::Experiment;
using report::SweepRun;

// One training of a point, and its evaluation.
struct Task {
  TrainRequest train;
  EvaluateRequest evaluate;
  SweepRun& run;
};

Experiment experiment_of(const TrainRequest& request) {
  auto recipe = recipe::Recipe::load(request.recipe, request.overrides);
  return method::read_experiment(recipe);
}

// `has_teacher`: the run that is evaluated.
bool is_of_same_settings(const evaluate::Evaluation& evaluation, const EvaluateRequest& request,
                         bool has_teacher) {
  const auto is_there = [&](const std::string& classifier) {
    return evaluate::find_score(evaluation, classifier) != nullptr;
  };
  return evaluation.protocol == request.protocol && evaluation.synthetic == request.count &&
         evaluation.seeds == request.seeds && evaluation.source == request.against &&
         (evaluation.labelled_by == evaluate::kByTeacher) == (request.teacher && has_teacher) &&
         std::all_of(request.classifiers.begin(), request.classifiers.end(), is_there);
}

// Of the generator that is there, and as it would be made now.
bool is_evaluated(const Task& task) {
  std::error_code error;
  const bool has_teacher = fs::exists(task.train.out / run::kTeacherName, error);
  return task.run.evaluation &&
         is_of_same_settings(*task.run.evaluation, task.evaluate, has_teacher) &&
         fs::last_write_time(task.train.out / run::kEvaluationName, error) >=
             fs::last_write_time(task.train.out / run::kGeneratorName, error);
}

class Sweeper {
 public:
  Sweeper(const SweepRequest& request, const SweepWork& work);
  SweepEnd run();

 private:
  void add_task(const recipe::GridPoint& point, std::int64_t repetition, SweepRun& run);
  void read(Task& task);
  [[nodiscard]] bool is_done(const Task& task) const;
  void work_on(Task& task);
  // The error, or nothing. Interrupted where that was so.
  std::string try_to_work_on(Task& task);
  void announce(const Task& task, std::size_t number) const;
  SweepEnd finish();

  const SweepRequest& request_;
  const SweepWork& work_;
  const Path recipe_;
  SweepEnd end_;
  std::vector<Task> tasks_;
  std::size_t worked_on_ = 0;
  double seconds_ = 0;  // that took
};

void require_at_least_one(const char* field, std::int64_t value) {
  if (value < 1) throw BadRequest(field, "at least 1", value);
}

Sweeper::Sweeper(const SweepRequest& request, const SweepWork& work)
    : request_(request), work_(work), recipe_(recipe::find(request.recipe)) {
  constexpr std::int64_t kMost = 1000;
  if (request.repeat < 1 || request.repeat > kMost)
    throw BadRequest("repeat", fmt::format("from 1 to {}", kMost), request.repeat);
  require_at_least_one("count", request.evaluation.count.value_or(1));
  require_at_least_one("seeds", request.evaluation.seeds);
  if (run::RunFolder::is_run(request.out))
    throw BadRequest("out", "a folder for several runs", "a run", request.out.string());
  const recipe::Grid grid(request.grid);
  report::Sweep& sweep = end_.sweep;
  sweep = {.recipe = request.recipe,
           .overrides = request.overrides,
           .keys = grid.keys(),
           .classifiers = {},
           .points = {}};
  if (request.evaluated) sweep.classifiers = request.evaluation.classifiers;
  const std::vector<recipe::GridPoint> points = grid.points();
  for (const recipe::GridPoint& point : points)
    sweep.points.push_back(
        {point.values, std::vector<SweepRun>(static_cast<std::size_t>(request.repeat))});
  for (std::size_t p = 0; p < points.size(); ++p)
    for (std::int64_t k = 0; k < request.repeat; ++k)
      add_task(points[p], k, sweep.points[p].runs[static_cast<std::size_t>(k)]);
}

void Sweeper::add_task(const recipe::GridPoint& point, std::int64_t repetition, SweepRun& run) {
  run.folder = point.name + (repetition == 0 ? "" : fmt::format(",run={}", repetition + 1));
  Task task{.train = {.recipe = recipe_,
                      .overrides = request_.overrides,
                      .out = request_.out / run.folder,
                      .device = request_.evaluation.device,
                      .threads = request_.evaluation.threads},
            .evaluate = request_.evaluation,
            .run = run};
  task.train.overrides.insert(task.train.overrides.end(), point.overrides.begin(),
                              point.overrides.end());
  const Experiment experiment = experiment_of(task.train);
  if (repetition > 0 && experiment.method.seed)
    throw BadRequest("repeat", "1 with method.seed: all runs would be the same", repetition + 1);
  if (fs::exists(task.train.out))
    static_cast<void>(run::RunFolder::resume(task.train.out, experiment.resolved));
  constexpr std::int64_t kCount = 60'000;
  task.evaluate.subject = task.train.out.string();
  task.evaluate.count = task.evaluate.count.value_or(kCount);
  task.evaluate.quality = false;
  if (task.evaluate.against.empty()) task.evaluate.against = experiment.data.source.value_or("");
  read(task);
  tasks_.push_back(task);
}

void Sweeper::read(Task& task) {
  task.run = report::read_sweep_run(request_.out, task.run.folder);
  if (!is_evaluated(task)) task.run.evaluation.reset();
}

bool Sweeper::is_done(const Task& task) const {
  return task.run.is_trained() && (!request_.evaluated || task.run.evaluation);
}

// Resumes what has begun.
void Sweeper::work_on(Task& task) {
  if (!task.run.is_trained()) {
    task.train.resume = fs::exists(task.train.out);
    const run::Outcome outcome = work_.train(task.train);
    if (outcome.ending == run::Ending::kInterrupted) throw Interrupted("interrupted");
    log_info("{}", run::in_words(outcome));
  }
  check_interrupt();
  if (request_.evaluated) work_.evaluate(task.evaluate);
}

void Sweeper::announce(const Task& task, std::size_t number) const {
  std::string left;
  if (worked_on_ > 0) {
    const auto rest = std::count_if(tasks_.begin() + static_cast<std::ptrdiff_t>(number),
                                    tasks_.end(), [&](const Task& one) { return !is_done(one); });
    left = fmt::format(", about {} left", human_seconds(seconds_ / static_cast<double>(worked_on_) *
                                                        static_cast<double>(rest + 1)));
  }
  log_info("run {} of {}{}: {}", number, tasks_.size(), left, task.run.folder);
}

std::string Sweeper::try_to_work_on(Task& task) {
  const auto fail = [&](ExitCode code, std::string error) {
    if (end_.failure == ExitCode::kOk) end_.failure = code;
    return error;
  };
  try {
    work_on(task);
    return "";
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& failure) {
    return fail(failure.exit_code(), failure.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::kInternal, "the memory must suffice, but did not");
  } catch (const std::exception& failure) {  // LibTorch's are long after the first line
    return fail(ExitCode::kInternal,
                fmt::format("internal: {}", split(failure.what(), '\n').front()));
  }
}

SweepEnd Sweeper::run() {
  using Clock = std::chrono::steady_clock;
  fs::create_directories(request_.out);
  for (std::size_t i = 0; i < tasks_.size() && !end_.was_interrupted; ++i) {
    Task& task = tasks_[i];
    if (interrupted()) end_.was_interrupted = true;
    if (end_.was_interrupted || is_done(task)) continue;
    announce(task, i + 1);
    const auto start = Clock::now();
    std::string error;
    try {
      error = try_to_work_on(task);
    } catch (const Interrupted&) {
      end_.was_interrupted = true;
    }
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    ++worked_on_;
    read(task);
    if (error.empty()) continue;
    task.run.error = error;
    log_warning("{}: {}", task.run.folder, error);
  }
  return finish();
}

SweepEnd Sweeper::finish() {
  write_sweep(end_.sweep, request_.out);
  end_.runs = tasks_.size();
  for (const Task& task : tasks_) {
    if (is_done(task)) ++end_.done;
    if (end_.failure == ExitCode::kOk && !task.run.error.empty())
      end_.failure = ExitCode::kBadData;  // of a folder that was there
  }
  return end_;
}

}  // namespace

SweepEnd sweep(const SweepRequest& request, const SweepWork& work) {
  const ReporterScope scope(request.reporter);
  return Sweeper(request, work).run();
}

}  // namespace obol::app
