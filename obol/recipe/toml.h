// TOML text to values that know their line, and back. The only place that knows the TOML library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "obol/recipe/recipe.h"

namespace obol::recipe {

inline constexpr std::uint64_t kLargestRecipe = std::uint64_t{1} << 20;

// The most parts a key may have ("a.b" has two).
inline constexpr std::size_t kDeepestKey = 16;

Table parse_toml(std::string_view text, const std::string& name);

// A value as given to --set: TOML where it is TOML, otherwise the text itself.
Value parse_value(const std::string& text, const std::string& where);

std::string write_number(double value);
std::string write_text(std::string_view text);

}  // namespace obol::recipe
