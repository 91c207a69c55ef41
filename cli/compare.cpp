// obol compare: several runs on one page
#include "obol/report/compare.h"

#include <iostream>
#include <memory>
#include <vector>

#include "cli/app.h"
#include "obol/base/file.h"

namespace obol::cli {
namespace {

struct CompareArguments {
  std::vector<std::string> runs;
  std::string out;
};

ExitCode run(const CompareArguments& arguments) {
  write_file(arguments.out, report::compare_html({arguments.runs.begin(), arguments.runs.end()}));
  std::cout << arguments.out << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_compare(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand("compare", "several runs side by side on one page");
  auto arguments = std::make_shared<CompareArguments>();
  command->add_option("runs", arguments->runs, "the folders of runs")->required();
  command->add_option("--out", arguments->out, "the HTML file")->required();
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace obol::cli
