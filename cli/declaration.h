// The options that declare data, in all commands that read private data.
#pragma once

#include "cli/app.h"
#include "obol/data/declaration.h"

namespace obol::cli {

// --range, --classes, --class-names, --channels, --size and --outside.
void add_declaration_options(CLI::App& command, data::DeclarationKeys& keys);

}  // namespace obol::cli
