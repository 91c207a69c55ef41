#include "obol/recipe/recipe.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/recipe/toml.h"

namespace obol::recipe {
namespace {

constexpr std::size_t kDeepestInclude = 8;

const char* kind_of(const Value& value) {
  constexpr std::array kNames = {"a truth value", "a whole number", "a number",
                                 "text",          "a list",         "a section"};
  return kNames[value.content.index()];
}

// A value as it would be written in TOML.
std::string written(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.content)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value.content))
    return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&value.content)) return write_number(*number);
  if (const auto* text = std::get_if<std::string>(&value.content)) return write_text(*text);
  return kind_of(value);
}

// Moves `over` onto `base`; sections are merged, anything else is replaced.
void overlay(Table& base, Table&& over) {
  for (auto& [key, value] : over) {
    auto* section = std::get_if<Table>(&value.content);
    const auto old = base.find(key);
    auto* old_section = old == base.end() ? nullptr : std::get_if<Table>(&old->second.content);
    if (section != nullptr && old_section != nullptr)
      overlay(*old_section, std::move(*section));
    else
      base.insert_or_assign(key, std::move(value));
  }
}

std::vector<std::string> included_names(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.content)) return {*text};
  const auto* list = std::get_if<Array>(&value.content);
  std::vector<std::string> names;
  for (const Value& item : list == nullptr ? Array{value} : *list) {
    const auto* text = std::get_if<std::string>(&item.content);
    if (text == nullptr)
      throw InvalidArgument(
          violation("include", "a file name or a list of them", kind_of(item), item.where));
    names.push_back(*text);
  }
  return names;
}

Table load_table(const Path& path, std::vector<Path> above) {
  std::error_code ignored;  // what cannot be resolved cannot be read either, and is refused there
  const Path canonical = std::filesystem::weakly_canonical(path, ignored);
  if (std::find(above.begin(), above.end(), canonical) != above.end())
    throw InvalidArgument(
        fmt::format("include must not lead back to the same file, but {} does", path.string()));
  if (above.size() >= kDeepestInclude)
    throw InvalidArgument(violation("include", fmt::format("at most {} deep", kDeepestInclude),
                                    "deeper", path.string()));
  above.push_back(canonical);
  Table table = parse_toml(read_text(path, kLargestRecipe), path.string());
  Table merged;
  if (auto include = table.extract("include"); !include.empty()) {
    for (const std::string& name : included_names(include.mapped())) {
      const Path other = path.parent_path() / name;
      if (!std::filesystem::exists(other, ignored))
        throw InvalidArgument(
            violation("include", "an existing file", other.string(), include.mapped().where));
      overlay(merged, load_table(other, above));
    }
  }
  overlay(merged, std::move(table));
  return merged;
}

void apply_override(Table& root, const std::string& text) {
  const auto equals = text.find('=');
  const std::string path(trim(std::string_view(text).substr(0, equals)));
  const std::string where = "--set " + path;
  if (equals == std::string::npos || path.empty())
    throw InvalidArgument(violation("--set", "section.key=value", text));
  Value value = parse_value(std::string(trim(std::string_view(text).substr(equals + 1))), where);
  Table* table = &root;
  std::vector<std::string> keys = split(path, '.');
  if (keys.size() > kDeepestKey)
    throw InvalidArgument(
        violation("a key of --set", fmt::format("at most {} parts long", kDeepestKey), "longer"));
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    Value& next = table->try_emplace(keys[i], Value{Table{}, where}).first->second;
    table = std::get_if<Table>(&next.content);
    if (table == nullptr)
      throw InvalidArgument(
          fmt::format("{} must be a section, but is {} ({})", keys[i], kind_of(next), next.where));
  }
  table->insert_or_assign(keys.back(), std::move(value));
}

std::string full_key(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

}  // namespace

// Fills the fields of one section from a table and notes what is now in force.
class Recipe::Reader final : public Fields {
 public:
  Reader(const Table* table, const std::string& section_name, Section& section)
      : table_(table), section_name_(section_name), section_(section) {}

  using Fields::integer;
  using Fields::number;
  using Fields::text;

  void flag(std::string_view key, bool& value, std::string_view /*meaning*/) override {
    if (const Value* found = find(key)) {
      const bool* given = std::get_if<bool>(&found->content);
      if (given == nullptr) refuse(key, "true or false", *found);
      value = *given;
    }
    note(key, value ? "true" : "false");
  }

  void integer(std::string_view key, std::optional<std::int64_t>& value, const Limits& limits,
               std::string_view /*meaning*/) override {
    if (const Value* found = find(key)) {
      const auto* given = std::get_if<std::int64_t>(&found->content);
      if (given == nullptr || !limits.allow(static_cast<double>(*given)))
        refuse(key, "a whole number, " + limits.words, *found);
      value = *given;
    }
    if (value) note(key, fmt::format("{}", *value));
  }

  void number(std::string_view key, std::optional<double>& value, const Limits& limits,
              std::string_view /*meaning*/) override {
    if (const Value* found = find(key)) {
      value = as_number(*found);
      if (!value || !limits.allow(*value)) refuse(key, limits.words, *found);
    }
    if (value) note(key, write_number(*value));
  }

  void text(std::string_view key, std::optional<std::string>& value, const Choices& choices,
            std::string_view /*meaning*/) override {
    if (const Value* found = find(key)) {
      const auto* given = std::get_if<std::string>(&found->content);
      if (given == nullptr) refuse(key, "text", *found);
      const bool known =
          choices.empty() || std::find(choices.begin(), choices.end(), *given) != choices.end();
      if (!known)
        refuse(key, "one of " + join(choices, ", "), *found, did_you_mean(*given, choices));
      value = *given;
    }
    if (value) note(key, write_text(*value));
  }

 private:
  const Value* find(std::string_view key) {
    section_.keys.emplace_back(key);
    if (table_ == nullptr) return nullptr;
    const auto at = table_->find(key);
    return at == table_->end() ? nullptr : &at->second;
  }

  // Whole numbers and fractions written as text ("1/1200") are numbers too.
  static std::optional<double> as_number(const Value& value) {
    if (const auto* number = std::get_if<double>(&value.content)) return *number;
    if (const auto* whole = std::get_if<std::int64_t>(&value.content))
      return static_cast<double>(*whole);
    if (const auto* text = std::get_if<std::string>(&value.content)) return parse_number(*text);
    return std::nullopt;
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view requirement, const Value& found,
                           std::string_view hint = {}) const {
    throw InvalidArgument(
        violation(full_key(section_name_, key), requirement, written(found), found.where) +
        std::string(hint));
  }

  void note(std::string_view key, std::string_view value) {
    auto& values = section_.values;
    const auto at = std::find_if(values.begin(), values.end(),
                                 [&](const auto& held) { return held.first == key; });
    if (at == values.end())
      values.emplace_back(key, value);
    else
      at->second = value;
  }

  const Table* table_;
  const std::string& section_name_;
  Section& section_;
};

Recipe Recipe::load(const Path& path, const std::vector<std::string>& overrides) {
  Recipe recipe;
  recipe.name_ = path.string();
  recipe.root_ = load_table(path, {});
  for (const std::string& text : overrides) apply_override(recipe.root_, text);
  return recipe;
}

Recipe Recipe::parse(std::string_view text, const std::string& name,
                     const std::vector<std::string>& overrides) {
  Recipe recipe;
  recipe.name_ = name;
  recipe.root_ = parse_toml(text, name);
  if (recipe.root_.contains("include"))
    throw InvalidArgument(violation("include", "in a file", "in text", name));
  for (const std::string& one : overrides) apply_override(recipe.root_, one);
  return recipe;
}

const Table* Recipe::find_section(const std::string& section) const {
  const Table* table = &root_;
  if (section.empty()) return table;
  for (const std::string& key : split(section, '.')) {
    const auto at = table->find(key);
    if (at == table->end()) return nullptr;
    table = std::get_if<Table>(&at->second.content);
    if (table == nullptr)
      throw InvalidArgument(violation(section, "a section", written(at->second), at->second.where));
  }
  return table;
}

std::string Recipe::where(const std::string& key) const {
  std::string place = name_;
  const Table* table = &root_;
  for (const std::string& part : split(key, '.')) {
    const auto at = table->find(part);
    if (at == table->end()) break;
    place = at->second.where;
    table = std::get_if<Table>(&at->second.content);
    if (table == nullptr) break;
  }
  return place;
}

void Recipe::read_fields(const std::string& section, const std::function<void(Fields&)>& describe) {
  const Table* table = find_section(section);
  // One section may be read by several structs, and still is written once.
  auto at = std::find_if(sections_.begin(), sections_.end(),
                         [&](const auto& read) { return read.first == section; });
  Section read = at == sections_.end() ? Section{} : at->second;
  Reader reader(table, section, read);
  describe(reader);
  if (at == sections_.end())
    sections_.emplace_back(section, std::move(read));
  else
    at->second = std::move(read);
}

void Recipe::finish(const std::string& section) const {
  const std::function<void(const Table&, const std::string&)> check = [&](const Table& table,
                                                                          const std::string& path) {
    std::vector<std::string> valid;
    for (const auto& [name, read] : sections_) {
      if (name == path) valid.insert(valid.end(), read.keys.begin(), read.keys.end());
      const std::string inside = path.empty() ? "" : path + ".";
      if (name != path && name.starts_with(inside))
        valid.push_back(name.substr(inside.size(), name.find('.', inside.size()) - inside.size()));
    }
    for (const auto& [key, value] : table) {
      if (std::find(valid.begin(), valid.end(), key) == valid.end())
        throw InvalidArgument(
            fmt::format("{} must be a key that this recipe can have, but is not "
                        "({}){}",
                        full_key(path, key), value.where, did_you_mean(key, valid)));
      if (const auto* inner = std::get_if<Table>(&value.content))
        check(*inner, full_key(path, key));
    }
  };
  if (const Table* table = find_section(section)) check(*table, section);
}

std::string Recipe::resolved() const {
  const auto lines = [](const Section& section) {
    std::string text;
    for (const auto& [key, value] : section.values) text += fmt::format("{} = {}\n", key, value);
    return text;
  };
  std::string text;
  for (const auto& [name, section] : sections_)  // the top of the file comes before any section
    if (name.empty()) text += lines(section);
  for (const auto& [name, section] : sections_) {
    if (name.empty() || section.values.empty()) continue;
    text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", name, lines(section));
  }
  return text;
}

}  // namespace obol::recipe
