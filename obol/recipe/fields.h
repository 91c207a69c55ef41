// How an options struct tells its keys, limits and meanings, once, to whoever asks: the recipe
// reader, the writer of resolved recipes, the documentation.
//
//   struct Options {
//     double learning_rate = 1e-3;
//     std::optional<double> epsilon;   // buys privacy: no default
//     void describe(recipe::Fields& fields) {
//       fields.number("learning_rate", learning_rate, recipe::positive(), "step size of Adam");
//       fields.number("epsilon", epsilon, recipe::positive(), "the budget");
//     }
//   };
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace obol::recipe {

// An interval, and the words for it in a message ("finite and positive").
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_open = false;
  bool high_is_open = false;
  std::string words = "finite";

  [[nodiscard]] bool allow(double value) const;
};

Limits any_number();
Limits positive();
Limits at_least(double low);
Limits between(double low, double high);

using Choices = std::vector<std::string>;

// Visits the fields of one section, in order. A std::optional field may be absent; any other
// keeps the value it has when the recipe does not name it.
class Fields {
 public:
  virtual ~Fields() = default;

  virtual void flag(std::string_view key, bool& value, std::string_view meaning) = 0;
  virtual void integer(std::string_view key, std::optional<std::int64_t>& value,
                       const Limits& limits, std::string_view meaning) = 0;
  virtual void number(std::string_view key, std::optional<double>& value, const Limits& limits,
                      std::string_view meaning) = 0;
  // `choices` empty: any text.
  virtual void text(std::string_view key, std::optional<std::string>& value, const Choices& choices,
                    std::string_view meaning) = 0;

  // A word for each value of an enumeration, in its order.
  template <class Enum, std::size_t kCount>
  void choice(std::string_view key, std::optional<Enum>& value,
              const std::array<std::string_view, kCount>& words, std::string_view meaning) {
    std::optional<std::string> word;
    if (value) word = words.at(static_cast<std::size_t>(*value));
    text(key, word, Choices(words.begin(), words.end()), meaning);
    if (word)
      value = static_cast<Enum>(std::find(words.begin(), words.end(), *word) - words.begin());
  }

  void integer(std::string_view key, std::int64_t& value, const Limits& limits,
               std::string_view meaning) {
    std::optional<std::int64_t> held = value;
    integer(key, held, limits, meaning);
    value = *held;
  }
  void number(std::string_view key, double& value, const Limits& limits, std::string_view meaning) {
    std::optional<double> held = value;
    number(key, held, limits, meaning);
    value = *held;
  }
  void text(std::string_view key, std::string& value, const Choices& choices,
            std::string_view meaning) {
    std::optional<std::string> held = std::move(value);
    text(key, held, choices, meaning);
    value = std::move(*held);
  }
};

}  // namespace obol::recipe
