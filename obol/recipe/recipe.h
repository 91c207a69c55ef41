// Recipes: one readable TOML file per experiment, read into options structs.
//
//   auto recipe = Recipe::load("recipes/data/mnist.toml", {"data.resize=14x14"});
//   auto options = recipe.read<DataOptions>("data");
//   recipe.finish();                                  // refuses keys that nobody read
//   write_file(run / "recipe.toml", recipe.resolved());
//
// `include = "base.toml"` (or a list) at the top of a file reads the others first; a key in the
// including file wins. An error names file and line, and the nearest valid key.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "obol/base/file.h"
#include "obol/recipe/fields.h"

namespace obol::recipe {

struct Value;
using Table = std::map<std::string, Value, std::less<>>;
using Array = std::vector<Value>;

// One TOML value and the place it came from ("mnist.toml:14", "--set data.resize").
struct Value {
  std::variant<bool, std::int64_t, double, std::string, Array, Table> content;
  std::string where;
};

class Recipe {
 public:
  // `overrides` are "section.key=value", as given to --set.
  static Recipe load(const Path& path, const std::vector<std::string>& overrides = {});
  // For tests and fuzzing: text instead of a file; includes are refused.
  static Recipe parse(std::string_view text, const std::string& name,
                      const std::vector<std::string>& overrides = {});

  // The section at a dotted path ("data", "method.generator"; "" is the top of the file).
  template <class Options>
  Options read(const std::string& section, Options options = {}) {
    read_fields(section, [&](Fields& fields) { options.describe(fields); });
    return options;
  }

  // Whether the recipe has something there.
  [[nodiscard]] bool has(const std::string& section) const {
    return find_section(section) != nullptr;
  }

  // Where "section.key" stands ("mnist.toml:14"); where it does not, its section; else the file.
  [[nodiscard]] std::string where(const std::string& key) const;

  // Throws InvalidArgument on the first key, in the whole recipe or at and below one section, that
  // no read() asked for.
  void finish(const std::string& section = "") const;

  // Every key that was read with the value in force, as TOML; reading it again gives the same.
  [[nodiscard]] std::string resolved() const;

 private:
  // What one read() asked for: the keys it knows and the values in force.
  struct Section {
    std::vector<std::string> keys;
    std::vector<std::pair<std::string, std::string>> values;  // as written in TOML
  };
  class Reader;

  // The table at a dotted path, or null; InvalidArgument if something else stands there.
  [[nodiscard]] const Table* find_section(const std::string& section) const;
  void read_fields(const std::string& section, const std::function<void(Fields&)>& describe);

  std::string name_;
  Table root_;
  std::vector<std::pair<std::string, Section>> sections_;
};

// What stands at the top of every recipe.
struct Heading {
  std::optional<std::string> title;
  std::optional<std::string> summary;

  void describe(Fields& fields) {
    fields.text("title", title, {}, "one line for 'obol recipes list'");
    fields.text("summary", summary, {}, "what it is and what to expect");
  }
};

// A recipe by its name below a recipe folder ("data/mnist") or by its path.
struct Listed {
  std::string name;
  Path path;
  std::string title;
};

// Folders that are searched, first to last: $OBOL_RECIPES, ./recipes, the installed ones.
std::vector<Path> search_folders();
std::vector<Listed> list();
Path find(const std::string& name_or_path);

}  // namespace obol::recipe
