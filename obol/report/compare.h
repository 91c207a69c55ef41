// One HTML file about several runs: their figures and pictures side by side, and utility against
// privacy, beside what others have published on the same data.
//
//   write_file("compare.html", compare_html({"runs/a", "runs/b"}));
#pragma once

#include <string>
#include <vector>

#include "obol/base/file.h"

namespace obol::report {

// Errors as read_facts; InvalidArgument without runs.
std::string compare_html(const std::vector<Path>& runs);

}  // namespace obol::report
