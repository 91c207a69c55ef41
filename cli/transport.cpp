// obol transport X.npy Y.npy: what it costs to carry one set of points to another.
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/console.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

using nlohmann::ordered_json;

struct TransportArguments {
  TransportRequest request;
  std::optional<double> regularization;
  std::optional<double> label_weight;
  bool as_json = false;
};

constexpr double kLabelWeight = 15;

void refuse(bool both, std::string_view what, std::string_view why) {
  if (both) throw InvalidArgument(fmt::format("{} must not be given with --exact, {}", what, why));
}

TransportRequest request_of(const TransportArguments& arguments) {
  TransportRequest request = arguments.request;
  refuse(request.exact && request.debiased, "--debiased", "which has no bias to take away");
  refuse(request.exact && request.annealed, "--annealed", "which has no regularization");
  if (!request.exact) request.regularization = needed(arguments.regularization, "--regularization");
  if (request.labels_x.empty() != request.labels_y.empty())
    throw InvalidArgument(violation("--labels-x and --labels-y", "given together", "one alone"));
  const bool has_labels = !request.labels_x.empty();
  if (arguments.label_weight && !has_labels)
    throw InvalidArgument("--label-weight must be given with --labels-x and --labels-y only");
  request.label_weight = has_labels ? arguments.label_weight.value_or(kLabelWeight) : 0;
  return request;
}

void warn(const TransportRequest& request, const TransportAnswer& answer) {
  if (answer.converged) return;
  if (request.exact)
    log_warning(
        "the plan must be proved to be the best, but rounding leaves {:.2g} between it and "
        "the bound",
        answer.value - answer.dual);
  else
    log_warning(
        "the marginals must be met within {:g}, but are off by {:.2g} after {} iterations: {}",
        request.tolerance, answer.marginal_error, answer.iterations,
        request.annealed ? "leave out --annealed, or raise --tolerance"
                         : "raise --max-iterations, --regularization or --tolerance");
}

void print(const TransportRequest& request, const TransportAnswer& answer) {
  const auto count = [](std::int64_t number) {
    return with_thousands(static_cast<std::uint64_t>(number));
  };
  const char* what = request.debiased ? "divergence" : "value";
  std::cout << fmt::format("{} points to {}, {} coordinates in {}, cost {}\n", count(answer.n),
                           count(answer.m), count(answer.coordinates), answer.precision,
                           answer.cost);
  std::cout << fmt::format("{} {:.10g}{}\n", what, answer.value,
                           request.debiased ? "" : fmt::format(" (dual {:.10g})", answer.dual));
  std::cout << fmt::format("{} {} iterations, in {}\n",
                           answer.converged ? "converged after" : "not converged after",
                           count(answer.iterations), human_seconds(answer.seconds));
  if (!request.plan.empty()) std::cout << fmt::format("the plan is in {}\n", request.plan);
}

ExitCode run_transport(const TransportArguments& arguments) {
  const TransportRequest request = request_of(arguments);
  const TransportAnswer answer = needed_tensor_part().transport(request);
  if (arguments.as_json) {
    const ordered_json value = {{"value", answer.value},
                                {"dual", answer.dual},
                                {"converged", answer.converged},
                                {"iterations", answer.iterations},
                                {"marginal_error", answer.marginal_error},
                                {"seconds", answer.seconds}};
    std::cout << value.dump() << '\n';
  } else {
    print(request, answer);
  }
  warn(request, answer);
  return ExitCode::kOk;
}

void add_label_options(CLI::App& command, TransportArguments& arguments) {
  command.add_option("--labels-x", arguments.request.labels_x, "whole numbers, one per point of X");
  command.add_option("--labels-y", arguments.request.labels_y, "and of Y");
  command.add_option_function<std::string>(
      "--label-weight",
      [&weight = arguments.label_weight](const std::string& text) {
        weight = text == "inf" ? std::numeric_limits<double>::infinity() : parse_number(text);
        if (!weight) throw InvalidArgument(violation("--label-weight", "a number or inf", text));
      },
      "of one-hot labels as further coordinates (15); inf separates classes");
}

}  // namespace

void add_transport(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "transport", "what it costs to carry one set of points to another: optimal transport");
  auto arguments = std::make_shared<TransportArguments>();
  TransportRequest& request = arguments->request;
  request.cost = "l2sq";
  request.device = "cpu";
  command->add_option("x", request.x, "an .npy file of floats, one point a row")->required();
  command->add_option("y", request.y, "another, of the same type")->required();
  command->add_option("--cost", request.cost, "l2sq (the default), l1, mixture:M, lp:P");
  add_number(*command, "--regularization", arguments->regularization,
             "the weight of the entropy, in units of the cost");
  command->add_flag("--debiased", request.debiased,
                    "the divergence 2 W(x,y) - W(x,x) - W(y,y) instead of W(x,y)");
  command->add_flag("--exact", request.exact, "without regularization, with a proof");
  command->add_flag("--annealed", request.annealed,
                    "halve the regularization down to its target, one sweep at each, and stop");
  add_label_options(*command, *arguments);
  add_number(*command, "--tolerance", request.tolerance,
             "how far row sums of the plan may be off, in all (1e-6)");
  add_whole(*command, "--max-iterations", request.max_iterations, "stop there (10000)");
  command->add_option("--plan", request.plan, "writes the plan there, as .npy");
  command->add_option("--device", request.device, "cpu (the default) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback(
      [&action, arguments] { action = [arguments] { return run_transport(*arguments); }; });
}

}  // namespace obol::cli
