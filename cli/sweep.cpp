// obol sweep: a recipe at every point of a grid, trained, evaluated, and put into one table
#include "obol/report/sweep.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/console.h"
#include "obol/base/file.h"
#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/method/methods.h"
#include "obol/recipe/grid.h"
#include "obol/run/folder.h"
#include "obol/run/loop.h"

namespace obol::cli {
namespace {

namespace fs = std::filesystem;
using method::Experiment;
using report::Sweep;
using report::SweepRun;

struct SweepArguments {
  std::string recipe;
  std::vector<std::string> grid;
  std::vector<std::string> overrides;
  std::string out;
  std::optional<std::int64_t> repeat;
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> threads;
  app::EvaluateRequest evaluation;
  bool without_evaluation = false;
};

// One training of a point, and its evaluation.
struct Task {
  TrainRequest train;
  app::EvaluateRequest evaluate;
  SweepRun& run;
};

Experiment experiment_of(const TrainRequest& request) {
  auto recipe = recipe::Recipe::load(request.recipe, request.overrides);
  return method::read_experiment(recipe);
}

bool is_of_same_settings(const evaluate::Evaluation& evaluation,
                         const app::EvaluateRequest& request) {
  const auto is_there = [&](const std::string& classifier) {
    return evaluate::find_score(evaluation, classifier) != nullptr;
  };
  return evaluation.protocol == request.protocol && evaluation.synthetic == request.count &&
         evaluation.seeds == request.seeds && evaluation.source == request.against &&
         std::all_of(request.classifiers.begin(), request.classifiers.end(), is_there);
}

// Of the generator that is there, and as it would be made now.
bool is_evaluated(const Task& task) {
  std::error_code error;
  return task.run.evaluation && is_of_same_settings(*task.run.evaluation, task.evaluate) &&
         fs::last_write_time(task.train.out / run::kEvaluationName, error) >=
             fs::last_write_time(task.train.out / run::kGeneratorName, error);
}

class Sweeper {
 public:
  // InvalidArgument where a point cannot be meant, and where a folder holds a run of another
  // recipe: before anything is trained.
  explicit Sweeper(const SweepArguments& arguments);
  ExitCode run();

 private:
  void add_task(const recipe::GridPoint& point, std::int64_t repetition, SweepRun& run);
  void read(Task& task);
  [[nodiscard]] bool is_done(const Task& task) const;
  void work_on(Task& task);
  void announce(const Task& task, std::size_t number) const;
  ExitCode finish(bool was_interrupted);

  const SweepArguments& arguments_;
  const Path recipe_;
  const Path out_;
  Sweep sweep_;
  std::vector<Task> tasks_;
  std::size_t worked_on_ = 0;
  double seconds_ = 0;                // that took
  ExitCode failure_ = ExitCode::kOk;  // the first
};

Sweeper::Sweeper(const SweepArguments& arguments)
    : arguments_(arguments), recipe_(recipe::find(arguments.recipe)), out_(arguments.out) {
  const std::int64_t repeat = arguments.repeat.value_or(1);
  constexpr std::int64_t kMost = 1000;
  if (repeat < 1 || repeat > kMost)
    throw InvalidArgument(violation("--repeat", fmt::format("from 1 to {}", kMost), repeat));
  const std::int64_t count = arguments.evaluation.count.value_or(1);
  if (count < 1) throw InvalidArgument(violation("--count", "at least 1", count));
  const std::int64_t seeds = arguments.seeds.value_or(1);
  if (seeds < 1) throw InvalidArgument(violation("--seeds", "at least 1", seeds));
  if (run::RunFolder::is_run(out_))
    throw InvalidArgument(violation("--out", "a folder for several runs", "a run", arguments.out));
  const recipe::Grid grid(arguments.grid);
  sweep_ = {.recipe = arguments.recipe,
            .overrides = arguments.overrides,
            .keys = grid.keys(),
            .classifiers = arguments.without_evaluation ? std::vector<std::string>()
                                                        : arguments.evaluation.classifiers,
            .points = {}};
  const std::vector<recipe::GridPoint> points = grid.points();
  for (const recipe::GridPoint& point : points)
    sweep_.points.push_back(
        {point.values, std::vector<SweepRun>(static_cast<std::size_t>(repeat))});
  for (std::size_t p = 0; p < points.size(); ++p)
    for (std::int64_t k = 0; k < repeat; ++k)
      add_task(points[p], k, sweep_.points[p].runs[static_cast<std::size_t>(k)]);
}

void Sweeper::add_task(const recipe::GridPoint& point, std::int64_t repetition, SweepRun& run) {
  run.folder = point.name + (repetition == 0 ? "" : fmt::format(",run={}", repetition + 1));
  Task task{.train = {.recipe = recipe_,
                      .overrides = arguments_.overrides,
                      .out = out_ / run.folder,
                      .device = arguments_.evaluation.device,
                      .threads = arguments_.threads.value_or(0)},
            .evaluate = arguments_.evaluation,
            .run = run};
  task.train.overrides.insert(task.train.overrides.end(), point.overrides.begin(),
                              point.overrides.end());
  const Experiment experiment = experiment_of(task.train);
  if (repetition > 0 && experiment.method.seed)
    throw InvalidArgument(
        violation("--repeat", "1 with method.seed: all runs would be the same", repetition + 1));
  if (fs::exists(task.train.out))
    static_cast<void>(run::RunFolder::resume(task.train.out, experiment.resolved));
  constexpr std::int64_t kCount = 60'000;
  task.evaluate.subject = task.train.out.string();
  task.evaluate.count = task.evaluate.count.value_or(kCount);
  task.evaluate.seeds = arguments_.seeds.value_or(1);
  task.evaluate.quality = false;
  task.evaluate.threads = task.train.threads;
  if (task.evaluate.against.empty()) task.evaluate.against = experiment.data.source.value_or("");
  read(task);
  tasks_.push_back(task);
}

void Sweeper::read(Task& task) {
  task.run = report::read_sweep_run(out_, task.run.folder);
  if (!is_evaluated(task)) task.run.evaluation.reset();
}

bool Sweeper::is_done(const Task& task) const {
  return task.run.is_trained() && (arguments_.without_evaluation || task.run.evaluation);
}

// Goes on with what has begun. Interrupted where that was so.
void Sweeper::work_on(Task& task) {
  if (!task.run.is_trained()) {
    task.train.resume = fs::exists(task.train.out);
    const run::Outcome outcome = needed_tensor_part().train(task.train);
    if (outcome.ending == run::Ending::kInterrupted) throw Interrupted("interrupted");
    log_info("{}", run::in_words(outcome));
  }
  check_interrupt();
  if (!arguments_.without_evaluation)
    static_cast<void>(needed_tensor_part().evaluate(task.evaluate));
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

ExitCode Sweeper::run() {
  using Clock = std::chrono::steady_clock;
  fs::create_directories(out_);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (interrupted()) return finish(true);
    if (is_done(task)) continue;
    announce(task, i + 1);
    const auto start = Clock::now();
    std::string error;
    try {
      work_on(task);
    } catch (const Interrupted&) {
      read(task);
      return finish(true);
    } catch (const Error& failure) {
      error = failure.what();
      if (failure_ == ExitCode::kOk) failure_ = failure.exit_code();
    } catch (const std::bad_alloc&) {
      error = "the memory must suffice, but did not";
    } catch (const std::exception& failure) {  // LibTorch's are long after the first line
      error = fmt::format("internal: {}", split(failure.what(), '\n').front());
    }
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    ++worked_on_;
    read(task);
    if (error.empty()) continue;
    task.run.error = error;
    if (failure_ == ExitCode::kOk) failure_ = ExitCode::kInternal;
    log_warning("{}: {}", task.run.folder, error);
  }
  return finish(false);
}

ExitCode Sweeper::finish(bool was_interrupted) {
  write_sweep(sweep_, out_);
  std::cout << to_text(sweep_) << '\n' << wrapped(report::not_covered_by_sweep(out_), 100) << '\n';
  if (!was_interrupted) {
    const bool any_is_damaged = std::any_of(
        tasks_.begin(), tasks_.end(), [](const Task& task) { return !task.run.error.empty(); });
    return failure_ == ExitCode::kOk && any_is_damaged ? ExitCode::kBadData : failure_;
  }
  const auto done =
      std::count_if(tasks_.begin(), tasks_.end(), [&](const Task& task) { return is_done(task); });
  std::cout << fmt::format("\ninterrupted with {} of {} runs done; the same command goes on\n",
                           done, tasks_.size());
  return ExitCode::kInterrupted;
}

}  // namespace

void add_sweep(CLI::App& root, Action& action) {
  CLI::App* command =
      root.add_subcommand("sweep", "a recipe at every point of a grid: runs, one table, a plot");
  auto arguments = std::make_shared<SweepArguments>();
  app::EvaluateRequest& evaluation = arguments->evaluation;
  command->add_option("recipe", arguments->recipe, "a name from 'obol recipes list', or a file")
      ->required();
  command->add_option("--grid", arguments->grid, "section.key=value,value,...; once for each key")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--out", arguments->out, "the folder of the runs; those in it are gone on with")
      ->required();
  command->add_option("--set", arguments->overrides, "section.key=value, at all points")
      ->allow_extra_args(false);
  add_whole(*command, "--repeat", arguments->repeat, "runs at each point (1)");
  command->add_flag("--no-evaluate", arguments->without_evaluation, "train alone");
  command->add_option("--classifiers", evaluation.classifiers, "logreg, mlp, cnn (all three)")
      ->delimiter(',')
      ->check(CLI::IsMember({"logreg", "mlp", "cnn"}));
  add_whole(*command, "--count", evaluation.count, "synthetic images that they train on (60000)");
  add_whole(*command, "--seeds", arguments->seeds, "repetitions of the evaluation (1)");
  command->add_option("--against", evaluation.against,
                      "real data: its test split, or all of it (the test split of the recipe's)");
  add_device_options(*command, evaluation.device, arguments->threads);
  command->callback(
      [&action, arguments] { action = [arguments] { return Sweeper(*arguments).run(); }; });
}

}  // namespace obol::cli
