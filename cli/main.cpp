#include <algorithm>
#include <exception>
#include <iostream>
#include <new>

#include <fmt/format.h>

#include "cli/app.h"
#include "obol/app/request.h"
#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/base/version.h"

namespace obol::cli {
namespace {

constexpr const char* kFooter = R"(
Exit codes: 0 ok, 2 usage, 3 bad data, 4 budget exceeded, 5 internal, 6 network,
            7 verification failed, 130 interrupted.
Start with: obol data get fashion-mnist && obol data info fashion-mnist)";

// The words that could have stood where a wrong one does: subcommands and options of the deepest
// subcommand that was understood.
std::vector<std::string> possible_words(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  std::vector<std::string> words;
  for (const CLI::App* sub : app->get_subcommands(nullptr)) words.push_back(sub->get_name());
  for (const CLI::Option* option : app->get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

ExitCode report_usage(const CLI::App& root, const CLI::ParseError& error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  const bool is_unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                          dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (is_unknown && !root.remaining(true).empty()) {
    const std::string word = root.remaining(true).front();
    message = violation("a word on the command line", "known there", word) +
              did_you_mean(word, possible_words(root));
  }
  log_line(LogLevel::kError, message);
  return ExitCode::kUsage;
}

ExitCode run(int argc, char** argv) {
  CLI::App app("Obol trains generative models on private data, and proves what it cost.", "obol");
  app.set_version_flag("--version", fmt::format("obol {} ({})", version(), commit()));
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  ConsoleSettings settings;
  app.add_flag(
      "--no-progress", [&](std::int64_t) { settings.progress = ProgressStyle::kLines; },
      "plain lines instead of one that changes");
  app.add_flag(
      "--quiet", [&](std::int64_t) { settings.level = LogLevel::kError; }, "errors only");
  app.fallthrough();  // --quiet also after a command
  Action action;
  add_data(app, action);
  add_privatize(app, action);
  add_denoise(app, action);
  add_recipes(app, action);
  add_training(app, action);
  add_federate(app, action);
  add_evaluate(app, action);
  add_sweep(app, action);
  add_plot(app, action);
  add_report(app, action);
  add_compare(app, action);
  add_release(app, action);
  add_account(app, action);
  add_calibrate(app, action);
  add_certify(app, action);
  add_transport(app, action);
  add_doctor(app, action);
  add_completion(app, action);
  app.footer(kFooter);  // after the subcommands, which would inherit it
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success);
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  set_console(settings);
  return action();
}

// Options are named as the fields of requests are.
std::string option_of(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

ExitCode guarded(int argc, char** argv) {
  try {
    const ExitCode code = run(argc, argv);
    std::cout.flush();
    if (!std::cout) throw DataError("cannot write to the standard output");
    return code;
  } catch (const app::BadRequest& error) {
    log_line(LogLevel::kError, option_of(error.field()) + error.rest());
    return error.exit_code();
  } catch (const Error& error) {
    log_line(LogLevel::kError, error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    log_line(LogLevel::kError, "the memory must suffice, but did not");
  } catch (const std::exception& error) {
    log_line(LogLevel::kError, fmt::format("internal: {}", error.what()));
  }
  return ExitCode::kInternal;
}

}  // namespace
}  // namespace obol::cli

int main(int argc, char** argv) {
  obol::catch_interrupts();
  const obol::PrintableOutput output;
  return static_cast<int>(obol::cli::guarded(argc, argv));
}
