#include "obol/data/declaration.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/recipe/recipe.h"
#include "obol/recipe/toml.h"

namespace obol::data {
namespace {

constexpr std::int64_t kLargestSide = 1 << 14;
constexpr std::int64_t kMostClasses = 1 << 16;
constexpr const char* kFileName = "declaration.toml";

std::vector<std::string> parse_class_names(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : split(text, ',')) {
    const std::string name(trim(part));
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end())
      throw InvalidArgument(violation(
          "class_names", "different names that are not empty, separated by commas", text));
    names.push_back(name);
  }
  return names;
}

std::string size_text(const ImageSize& size) {
  return fmt::format("{}x{}", size.width, size.height);
}

std::string range_text(const ValueRange& range) {
  return fmt::format("{},{}", range.low, range.high);
}

std::string outside_text(Outside outside) { return outside == Outside::kMap ? "map" : "refuse"; }

std::string names_text(const std::vector<std::string>& names) { return join(names, ","); }

[[noreturn]] void disagree(std::string_view key, const std::string& first,
                           const std::string& first_name, const std::string& second,
                           const std::string& second_name) {
  throw InvalidArgument(violation(fmt::format("data.{} of {}", key, first_name),
                                  fmt::format("{}, as in {}", second, second_name), first));
}

}  // namespace

ImageSize parse_image_size(const std::string& text) {
  const std::vector<std::string> sides = split(text, 'x');
  const auto width = parse_integer(sides.front());
  const auto height = parse_integer(sides.back());
  const auto good = [](const auto& side) { return side && *side >= 1 && *side <= kLargestSide; };
  if (sides.size() != 2 || !good(width) || !good(height))
    throw InvalidArgument(
        violation("a size", fmt::format("WxH with sides from 1 to {}", kLargestSide), text));
  return {.width = *width, .height = *height};
}

ValueRange parse_value_range(const std::string& text) {
  const std::vector<std::string> ends = split(text, ',');
  const auto low = parse_number(ends.front());
  const auto high = parse_number(ends.back());
  if (ends.size() != 2 || !low || !high || *low >= *high)
    throw InvalidArgument(violation("a range", "LOW,HIGH with LOW below HIGH", text));
  return {.low = *low, .high = *high};
}

std::vector<std::string> Declaration::names() const {
  if (!class_names.empty()) return class_names;
  std::vector<std::string> numbers;
  for (std::int64_t k = 0; k < classes.value_or(0); ++k) numbers.push_back(fmt::format("{}", k));
  return numbers;
}

void Declaration::fill_from(const Declaration& other) {
  if (!range) range = other.range;
  if (!classes) {
    classes = other.classes;
    class_names = other.class_names;
  }
  if (!channels) channels = other.channels;
  if (!size) size = other.size;
  if (!outside) outside = other.outside;
}

void DeclarationKeys::describe(recipe::Fields& fields) {
  fields.text("range", range, {}, "LOW,HIGH: the numbers in the file that are black and white");
  fields.integer("classes", classes, recipe::between(0, static_cast<double>(kMostClasses)),
                 "number of classes, labelled 0, 1, ...; 0: unlabelled");
  fields.text("class_names", class_names, {}, "their names, separated by commas");
  fields.integer("channels", channels, recipe::between(1, 3), "of a picture: 1 or 3");
  fields.text("size", size, {}, "WxH of the pictures as they are stored");
  fields.text("outside", outside, {"refuse", "map"}, "what happens to records that are not so");
}

Declaration DeclarationKeys::declaration() const {
  Declaration declared;
  if (range) declared.range = parse_value_range(*range);
  declared.classes = classes;
  if (classes && (*classes < 0 || *classes > kMostClasses))
    throw InvalidArgument(
        violation("classes", fmt::format("from 0 to {}", kMostClasses), *classes));
  if (class_names) {
    declared.class_names = parse_class_names(*class_names);
    const auto count = static_cast<std::int64_t>(declared.class_names.size());
    if (classes && *classes != count)
      throw InvalidArgument(
          violation("classes", fmt::format("{}, the number of class_names", count), *classes));
    declared.classes = count;
  }
  if (channels && *channels != 1 && *channels != 3)
    throw InvalidArgument(violation("channels", "1 or 3", *channels));
  declared.channels = channels;
  if (size) declared.size = parse_image_size(*size);
  if (outside) {
    if (*outside != "refuse" && *outside != "map")
      throw InvalidArgument(violation("outside", "refuse or map", *outside));
    declared.outside = *outside == "map" ? Outside::kMap : Outside::kRefuse;
  }
  return declared;
}

Path declaration_path(const Path& data) {
  if (std::filesystem::is_directory(data)) return data / kFileName;
  Path beside = data;
  beside += std::string(".") + kFileName;
  return beside;
}

bool is_declaration(const Path& path) {
  const std::string name = path.filename().string();
  return name == kFileName || name.ends_with(std::string(".") + kFileName);
}

Declaration parse_declaration(std::string_view text, const std::string& name) {
  auto file = recipe::Recipe::parse(text, name);
  const auto keys = file.read<DeclarationKeys>("");
  file.finish();
  try {
    return keys.declaration();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{} ({})", error.what(), name));
  }
}

std::string to_toml(const Declaration& declared) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  if (declared.range) add("range", recipe::write_text(range_text(*declared.range)));
  if (!declared.class_names.empty()) {
    for (const std::string& name : declared.class_names)
      if (name.find(',') != std::string::npos || trim(name) != name || name.empty())
        throw InvalidArgument(
            violation("a class name", "a text without commas or spaces around it", name));
    add("class_names", recipe::write_text(names_text(declared.class_names)));
  } else if (declared.classes) {
    add("classes", fmt::format("{}", *declared.classes));
  }
  if (declared.channels) add("channels", fmt::format("{}", *declared.channels));
  if (declared.size) add("size", recipe::write_text(size_text(*declared.size)));
  if (declared.outside) add("outside", recipe::write_text(outside_text(*declared.outside)));
  return text;
}

std::string in_words(const Declaration& declared) {
  std::vector<std::string> parts;
  if (declared.classes)
    parts.push_back(*declared.classes == 0   ? "unlabelled"
                    : *declared.classes == 1 ? "1 class"
                                             : fmt::format("{} classes", *declared.classes));
  if (declared.size) parts.push_back(size_text(*declared.size));
  if (declared.channels)
    parts.push_back(
        fmt::format("{} channel{}", *declared.channels, *declared.channels == 1 ? "" : "s"));
  if (declared.range)
    parts.push_back(
        fmt::format("numbers from {} to {}", declared.range->low, declared.range->high));
  return join(parts, ", ");
}

Declaration declared_at(const Path& path) {
  namespace fs = std::filesystem;
  for (const Path& file : {declaration_path(path), path.parent_path() / kFileName}) {
    if (!fs::is_regular_file(file)) {
      if (fs::is_directory(path)) break;
      continue;
    }
    return parse_declaration(read_text(file, recipe::kLargestRecipe), file.string());
  }
  return {};
}

Declaration joined(Declaration first, const std::string& first_name, const Declaration& second,
                   const std::string& second_name) {
  const auto compare = [&](std::string_view key, const auto& a, const auto& b, const auto& words) {
    if (a && b && *a != *b) disagree(key, words(*a), first_name, words(*b), second_name);
  };
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  compare("range", first.range, second.range, range_text);
  compare("classes", first.classes, second.classes, number);
  compare("channels", first.channels, second.channels, number);
  compare("size", first.size, second.size, size_text);
  compare("outside", first.outside, second.outside, outside_text);
  // Ten classes without names agree with ten that have them.
  if (first.class_names.empty())
    first.class_names = second.class_names;
  else if (!second.class_names.empty() && first.class_names != second.class_names)
    disagree("class_names", names_text(first.class_names), first_name,
             names_text(second.class_names), second_name);
  first.fill_from(second);
  return first;
}

void refuse_undeclared(std::string_view key, const std::string& path) {
  throw InvalidArgument(
      fmt::format("data.{} must be declared in the recipe or in {} ('obol data declare {}' writes "
                  "one), but is missing",
                  key, declaration_path(path).string(), path));
}

void refuse_outside(const Declaration& declared, const std::string& source) {
  throw DataError(fmt::format(
      "every record of {} must be as declared ({}), but at least one is not; data.outside = "
      "\"map\" brings such records inside the declaration",
      source, in_words(declared)));
}

void check_shape(const ImageShape& shape, const Declaration& declared, const std::string& where) {
  const ImageSize size{.width = shape.width, .height = shape.height};
  if (declared.size && *declared.size != size)
    throw DataError(violation("the size of the images", size_text(*declared.size) + " as declared",
                              size_text(size), where));
  if (declared.channels && *declared.channels != shape.channels)
    throw DataError(violation("the number of channels",
                              fmt::format("{} as declared", *declared.channels), shape.channels,
                              where));
}

}  // namespace obol::data
