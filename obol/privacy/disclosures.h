// What was opened outside any guarantee: the reasons that disclosures.jsonl of a run folder has.
//
//   for (const std::string& reason : read_disclosures("runs/a")) ...
//
// A certificate that is written into the folder lists all of them as not covered, and one that does
// not is not verified.
#pragma once

#include <string>
#include <vector>

#include "obol/base/file.h"

namespace obol::privacy {

inline constexpr const char* kDisclosuresName = "disclosures.jsonl";

// Each once, in order of first appearance; none where nothing was disclosed.
std::vector<std::string> read_disclosures(const Path& run);

// How a certificate says it.
std::string not_covered_by(const std::string& reason);

}  // namespace obol::privacy
