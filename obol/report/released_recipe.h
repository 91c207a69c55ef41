// A run's recipe as it may be handed over: what describes the method, and nothing else. Numbers and
// truth values stay, and those texts that are on a list; where the data and caches are does not.
//
//   write_file("release/recipe.toml", released_recipe(text, PublicData::kNo,
//   "runs/a/recipe.toml"));
#pragma once

#include <string>
#include <string_view>

namespace obol::report {

// Whether `data.source` is the name of data that everyone has.
enum class PublicData { kNo, kYes };

// `recipe` is a resolved one: a section or one key in a line. DataError, which names `where`, on
// any other text.
std::string released_recipe(std::string_view recipe, PublicData data, const std::string& where);

}  // namespace obol::report
