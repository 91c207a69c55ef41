// Where in a recipe a value stands, for what is checked after reading: against the data, say.
//
//   Places places = [recipe](const std::string& key) { return recipe.where(key); };
//   located(places, "generator.architecture", [&] { make_generator(options, shape, classes); });
//   // the image size for a biggan generator must be 32x32, but is 28x28 (a.toml:9)
#pragma once

#include <functional>
#include <string>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::recipe {

// From "section.key" to its place. An empty function: there is no recipe.
using Places = std::function<std::string(const std::string& key)>;

// What `call` gives, or refuses, with the place.
template <class Call>
auto located(const Places& places, const std::string& key, const Call& call) {
  try {
    return call();
  } catch (const InvalidArgument& error) {
    if (!places) throw;
    throw InvalidArgument(fmt::format("{} ({})", error.what(), places(key)));
  }
}

}  // namespace obol::recipe
