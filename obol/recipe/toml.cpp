#include "obol/recipe/toml.h"

#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

namespace obol::recipe {
namespace {

std::string place(const std::string& name, const toml::source_region& source) {
  return source.begin ? fmt::format("{}:{}", name, source.begin.line) : name;
}

Table convert_table(const toml::table& table, const std::string& name);

Value convert(const toml::node& node, const std::string& name) {
  Value value{false, place(name, node.source())};
  if (const auto* flag = node.as_boolean()) {
    value.content = flag->get();
  } else if (const auto* whole = node.as_integer()) {
    value.content = whole->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.content = number->get();
  } else if (const auto* text = node.as_string()) {
    value.content = text->get();
  } else if (const auto* list = node.as_array()) {
    Array items;
    for (const toml::node& item : *list) items.push_back(convert(item, name));
    value.content = std::move(items);
  } else if (const auto* table = node.as_table()) {
    value.content = convert_table(*table, name);
  } else {
    throw InvalidArgument(violation("a value", "text, a number, true or false, a list or a section",
                                    "a date or time", value.where));
  }
  return value;
}

Table convert_table(const toml::table& table, const std::string& name) {
  Table converted;
  for (const auto& [key, node] : table)
    converted.emplace(std::string(key.str()), convert(node, name));
  return converted;
}

}  // namespace

Table parse_toml(std::string_view text, const std::string& name) {
  try {
    return convert_table(toml::parse(text, name), name);
  } catch (const toml::parse_error& error) {
    throw InvalidArgument(fmt::format("a recipe must be TOML, but is not: {} ({})",
                                      error.description(), place(name, error.source())));
  }
}

Value parse_value(const std::string& text, const std::string& where) {
  try {
    const toml::table table = toml::parse("value = " + text);
    if (table.size() == 1) {
      Value value = convert(*table.get("value"), where);
      value.where = where;
      return value;
    }
  } catch (const toml::parse_error&) {  // NOLINT(bugprone-empty-catch): it is plain text then
  }
  return {text, where};
}

std::string write_number(double value) {
  std::string text = fmt::format("{}", value);  // the shortest text that reads back the same
  const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

std::string write_text(std::string_view text) {
  std::ostringstream out;
  out << toml::toml_formatter(toml::value<std::string>(std::string(text)));
  return out.str();
}

}  // namespace obol::recipe
