#include <algorithm>
#include <cstdlib>
#include <set>

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

// Every recipe, by name and without its title.
std::vector<Listed> list_files() {
  std::vector<Listed> recipes;
  std::set<std::string> seen;
  for (const Path& folder : search_folders()) {
    std::error_code ignored;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                        ignored);
    for (; at != fs::recursive_directory_iterator(); at.increment(ignored)) {
      const Path& path = at->path();
      if (path.extension() != ".toml" || !at->is_regular_file(ignored)) continue;
      const std::string name = path.lexically_relative(folder).replace_extension().generic_string();
      if (seen.insert(name).second) recipes.push_back({name, path, ""});
    }
  }
  std::sort(recipes.begin(), recipes.end(),
            [](const Listed& a, const Listed& b) { return a.name < b.name; });
  return recipes;
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
  std::vector<Listed> recipes = list_files();
  for (Listed& recipe : recipes) recipe.title = title_of(recipe.path);
  return recipes;
}

Path find(const std::string& name_or_path) {
  std::error_code ignored;  // a name too long for a file is just not one
  if (fs::is_regular_file(name_or_path, ignored)) return name_or_path;
  for (const Path& folder : search_folders()) {
    const Path path = folder / (name_or_path + ".toml");
    if (fs::is_regular_file(path, ignored)) return path;
  }
  std::vector<std::string> names;
  for (const Listed& recipe : list_files()) names.push_back(recipe.name);
  throw InvalidArgument(
      violation("a recipe", "a file or a name from 'obol recipes list'", name_or_path) +
      did_you_mean(name_or_path, names));
}

}  // namespace obol::recipe
