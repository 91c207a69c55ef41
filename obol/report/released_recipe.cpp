#include "obol/report/released_recipe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/recipe/recipe.h"

namespace obol::report {
namespace {

// Texts that stay: each has a grammar of its own, or is what the curator wrote to be read. Any
// other text, and what a later version may add, is left out until it is named here.
constexpr auto kTexts = std::to_array<std::string_view>({"title",
                                                         "summary",
                                                         "data.split",
                                                         "data.resize",
                                                         "data.range",
                                                         "data.class_names",
                                                         "data.size",
                                                         "data.outside",
                                                         "generator.architecture",
                                                         "generator.latent_law",
                                                         "generator.activation",
                                                         "generator.output",
                                                         "generator.precision",
                                                         "images.shape",
                                                         "method.cost",
                                                         "method.features",
                                                         "method.loss",
                                                         "method.name",
                                                         "method.perturb",
                                                         "method.solver",
                                                         "optimizer.decay",
                                                         "optimizer.kind",
                                                         "privacy.barrier",
                                                         "privacy.follows",
                                                         "privacy.schedule"});

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string_view::npos;
}

bool is_number_or_flag(std::string_view value) {
  return value == "true" || value == "false" || parse_number(value) || parse_integer(value);
}

// One text in double quotes, with nothing behind it.
bool is_text(std::string_view value) {
  if (value.size() < 2 || value.front() != '"') return false;
  std::size_t at = 1;
  while (at < value.size() && value[at] != '"') at += value[at] == '\\' ? 2 : 1;
  return at + 1 == value.size();
}

}  // namespace

std::string released_recipe(std::string_view recipe, PublicData data, const std::string& where) {
  const auto may_stay = [&](const std::string& key) {
    return std::find(kTexts.begin(), kTexts.end(), key) != kTexts.end() ||
           (key == "data.source" && data == PublicData::kYes);
  };
  std::string section;
  std::vector<std::string> lines = split(recipe, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string& line = lines[i];
    const auto equals = line.find(" = ");
    const std::string_view name = std::string_view(line).substr(0, equals);
    if (line.starts_with('[') && line.ends_with(']') &&
        is_name(std::string_view(line).substr(1, line.size() - 2))) {
      section = line.substr(1, line.size() - 2) + '.';
    } else if (line.starts_with('#')) {
      line = "# left out";
    } else if (equals != std::string::npos && is_name(name)) {
      const std::string_view value = std::string_view(line).substr(equals + 3);
      if (!is_number_or_flag(value) && !is_text(value))
        throw DataError(violation(fmt::format("{}{}", section, name),
                                  "a number, a truth value or a text on one line", "something else",
                                  fmt::format("{}:{}", where, i + 1)));
      if (is_text(value) && !may_stay(section + std::string(name)))
        line = fmt::format("# {}: left out", name);
    } else if (!line.empty()) {
      throw DataError(violation("a line of the recipe", "a section or one key", "something else",
                                fmt::format("{}:{}", where, i + 1)));
    }
  }
  std::string text = join(lines, "\n");
  static_cast<void>(recipe::Recipe::parse(text, where));  // it is a recipe still
  return text;
}

}  // namespace obol::report
