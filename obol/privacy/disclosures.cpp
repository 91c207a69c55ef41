#include "obol/privacy/disclosures.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "obol/base/text.h"

namespace obol::privacy {

std::vector<std::string> read_disclosures(const Path& run) {
  constexpr std::uint64_t kLargestLog = std::uint64_t{64} << 20;
  std::error_code ignored;
  std::vector<std::string> reasons;
  const Path path = run / kDisclosuresName;
  if (!std::filesystem::exists(path, ignored)) return reasons;
  for (const std::string& line : split(read_text(path, kLargestLog), '\n')) {
    const auto value = nlohmann::json::parse(line, nullptr, false);
    if (!value.is_object() || !value.contains("reason") || !value["reason"].is_string()) continue;
    std::string reason = value["reason"];
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::string not_covered_by(const std::string& reason) { return "what was opened: " + reason; }

}  // namespace obol::privacy
