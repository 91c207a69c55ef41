#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/recipe/recipe.h"
#include "obol/recipe/toml.h"

namespace obol::recipe {
namespace {

namespace fs = std::filesystem;

// PREFIX/bin/obol has its recipes in PREFIX/share/obol/recipes, installed or in the build tree.
Path beside_program() {
  std::error_code ignored;
  const Path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "share" / "obol" / "recipes";
}

std::string title_of(const Path& path) {
  const Table table = parse_toml(read_text(path, kLargestRecipe), path.string());
  const auto title = table.find("title");
  if (title == table.end()) return "";
  const auto* text = std::get_if<std::string>(&title->second.content);
  return text == nullptr ? "" : *text;
}

}  // namespace

std::vector<Path> search_folders() {
  std::vector<Path> folders;
  if (const char* given = std::getenv("OBOL_RECIPES")) folders.emplace_back(given);
  folders.emplace_back("recipes");
  folders.push_back(beside_program());
  return folders;
}

std::vector<Listed> list() {
  std::vector<Listed> recipes;
  std::set<std::string> seen;
  for (const Path& folder : search_folders()) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      const std::string name =
          entry.path().lexically_relative(folder).replace_extension().generic_string();
      if (seen.insert(name).second) recipes.push_back({name, entry.path(), title_of(entry.path())});
    }
  }
  std::sort(recipes.begin(), recipes.end(),
            [](const Listed& a, const Listed& b) { return a.name < b.name; });
  return recipes;
}

Path find(const std::string& name_or_path) {
  if (fs::is_regular_file(name_or_path)) return name_or_path;
  for (const Path& folder : search_folders()) {
    const Path path = folder / (name_or_path + ".toml");
    if (fs::is_regular_file(path)) return path;
  }
  std::vector<std::string> names;
  for (const Listed& recipe : list()) names.push_back(recipe.name);
  throw InvalidArgument(violation("a recipe", "a file or a name from 'obol recipes list'",
                                  name_or_path) +
                        did_you_mean(name_or_path, names));
}

}  // namespace obol::recipe
