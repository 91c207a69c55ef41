// Other programs, without a shell between.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"

namespace obol {

// Runs a program from PATH in `folder`, its output thrown away. The exit status; 127 where the
// program is not there, 128 + signal where a signal ended it.
int run_quietly(const std::vector<std::string>& arguments, const Path& folder);

// The same, but `read` is given each line of its output while it runs, without the newline.
int run_reading(const std::vector<std::string>& arguments, const Path& folder,
                const std::function<void(std::string_view line)>& read);

}  // namespace obol
