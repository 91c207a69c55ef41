// Other programs, without a shell between.
#pragma once

#include <string>
#include <vector>

#include "obol/base/file.h"

namespace obol {

// Runs a program from PATH in `folder`, its output thrown away. The exit status; 127 where the
// program is not there, 128 + signal where a signal ended it.
int run_quietly(const std::vector<std::string>& arguments, const Path& folder);

}  // namespace obol
