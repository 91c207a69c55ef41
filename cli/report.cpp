// obol report: one page about one run
#include "obol/report/report.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/app.h"
#include "obol/base/console.h"
#include "obol/base/file.h"

namespace obol::cli {
namespace {

struct ReportArguments {
  std::string run;
  std::string out;
  std::string real;
  bool without_private = false;
};

ExitCode run(const ReportArguments& arguments) {
  using report::PrivatePart;
  const auto part = arguments.without_private ? PrivatePart::kLeftOut : PrivatePart::kShown;
  std::optional<std::string> real;
  if (!arguments.real.empty()) real = arguments.real;
  const report::Report page = report::report_html(arguments.run, part, real);
  const Path out =
      arguments.out.empty() ? Path(arguments.run) / run::kReportName : Path(arguments.out);
  write_file(out, page.html);
  if (page.is_private)
    log_warning("{} holds figures computed with private records: --without-private leaves them out",
                out.string());
  std::cout << out.string() << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_report(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand("report", "one page about a run, to be looked at");
  auto arguments = std::make_shared<ReportArguments>();
  command->add_option("run", arguments->run, "the folder of a run")->required();
  command->add_option("--out", arguments->out, "the HTML file (RUN/report.html)");
  command->add_option("--real", arguments->real,
                      "real images beside the generated ones: the test split of these data (of the "
                      "recipe's, for a run of one's own)");
  command->add_flag("--without-private", arguments->without_private,
                    "leave out what was computed with private records");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace obol::cli
