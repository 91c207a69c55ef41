// For the tests of this module: options of every kind, and the messages of refusals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/recipe/recipe.h"

namespace obol::recipe::testing {

// One field of every kind, with a default and without.
struct Everything {
  bool shuffle = true;
  std::int64_t size = 64;
  std::optional<std::int64_t> seed;
  double rate = 0.5;
  std::optional<double> epsilon;
  std::string name = "mnist";
  std::optional<std::string> note;

  void describe(Fields& fields) {
    fields.flag("shuffle", shuffle, "");
    fields.integer("size", size, at_least(1), "");
    fields.integer("seed", seed, any_number(), "");
    fields.number("rate", rate, between(0, 1), "");
    fields.number("epsilon", epsilon, positive(), "");
    fields.text("name", name, {"mnist", "fashion-mnist", "cifar10"}, "");
    fields.text("note", note, {}, "");
  }
};

struct OneNumber {
  std::optional<double> value;
  void describe(Fields& fields) { fields.number("value", value, any_number(), ""); }
};

struct OneText {
  std::optional<std::string> value;
  void describe(Fields& fields) { fields.text("value", value, {}, ""); }
};

inline std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

inline Everything read_data(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
  auto recipe = Recipe::parse(text, "a.toml", overrides);
  auto options = recipe.read<Everything>("data");
  recipe.finish();
  return options;
}

inline std::string refusal_of_data(const std::string& text,
                                   const std::vector<std::string>& overrides = {}) {
  return refusal_of([&] { read_data(text, overrides); });
}

inline std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace obol::recipe::testing
