// The two files of `obol data`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/app.h"
#include "obol/app/data.h"

namespace obol::cli {

// Which data, and how to read them: what info, grid and convert have in common.
void add_data_options(CLI::App& command, app::DataRequest& request);

void add_data_files(CLI::App& data, Action& action);  // declare, grid and convert

}  // namespace obol::cli
