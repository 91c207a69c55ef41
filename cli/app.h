// What the subcommands share. Each file in this folder adds one of them; it parses and prints, and
// computes nothing.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "obol/base/error.h"

namespace obol::cli {

// A command runs after the whole line is parsed: main calls what the chosen subcommand left here.
using Action = std::function<ExitCode()>;

void add_account(CLI::App& root, Action& action);
void add_calibrate(CLI::App& root, Action& action);
void add_certify(CLI::App& root, Action& action);  // and verify
void add_certs(CLI::App& federate, Action& action);
void add_compare(CLI::App& root, Action& action);
void add_completion(CLI::App& root, Action& action);
void add_data(CLI::App& root, Action& action);
void add_denoise(CLI::App& root, Action& action);
void add_doctor(CLI::App& root, Action& action);
void add_evaluate(CLI::App& root, Action& action);
void add_federate(CLI::App& root, Action& action);
void add_plot(CLI::App& root, Action& action);
void add_privatize(CLI::App& root, Action& action);
void add_recipes(CLI::App& root, Action& action);
void add_release(CLI::App& root, Action& action);
void add_report(CLI::App& root, Action& action);
void add_sweep(CLI::App& root, Action& action);
void add_training(CLI::App& root, Action& action);  // train, sample and export
void add_transport(CLI::App& root, Action& action);

}  // namespace obol::cli
