#include "obol/privacy/event_json.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

using nlohmann::json;

// One event of every kind, so that a name can be looked up.
template <std::size_t... kIndex>
std::array<Event, sizeof...(kIndex)> prototypes(std::index_sequence<kIndex...> /*all*/) {
  return {Event(std::in_place_index<kIndex>)...};
}

Event prototype_of(const std::string& name) {
  for (const Event& event : prototypes(std::make_index_sequence<std::variant_size_v<Event>>()))
    if (name_of(event) == name) return event;
  throw InvalidArgument(violation("the mechanism", "one of the known events", json_of(name)));
}

}  // namespace

StrictObject::StrictObject(const json& value, std::string_view what) : value_(value), what_(what) {
  if (!value.is_object())
    throw InvalidArgument(violation(what_, "a JSON object", value.type_name()));
}

const json& StrictObject::member(const std::string& key) {
  const auto found = value_.find(key);
  if (found == value_.end())
    throw InvalidArgument(fmt::format("{} must have the key {}, but has not", what_, key));
  taken_.insert(key);
  return *found;
}

std::string StrictObject::text(const std::string& key) {
  const json& value = member(key);
  if (!value.is_string()) throw InvalidArgument(violation(key, "a text", value.type_name()));
  return value.get<std::string>();
}

std::int64_t StrictObject::integer(const std::string& key) {
  const json& value = member(key);
  // A whole number beyond 64 bits arrives here as one with a fraction.
  if (!value.is_number_integer())
    throw InvalidArgument(violation(key, "a whole number of 64 bits", value.dump()));
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    throw InvalidArgument(violation(key, "below 2^63", value.get<std::uint64_t>()));
  return value.get<std::int64_t>();
}

double StrictObject::number(const std::string& key) {
  const json& value = member(key);
  if (!value.is_number()) throw InvalidArgument(violation(key, "a number", value.type_name()));
  return value.get<double>();
}

void StrictObject::finish() const {
  for (const auto& [key, value] : value_.items())
    if (!taken_.contains(key))
      throw InvalidArgument(fmt::format("{} must have no key but {}, but has {}", what_,
                                        fmt::join(taken_, ", "), json_of(key)));
}

std::string json_of(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end.ptr};
}

std::string json_of(std::string_view text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw InvalidArgument(violation("a text", "UTF-8", "not"));
  }
}

std::string json_of(const Event& event) {
  return std::visit(
      [&](const auto& one) {
        std::string text = fmt::format(R"({{"mechanism":"{}")", name_of(event));
        if constexpr (requires { one.sampling_rate; })
          text += fmt::format(R"(,"sampling_rate":{})", json_of(one.sampling_rate));
        if constexpr (requires { one.scale; })
          text += fmt::format(R"(,"scale":{})", json_of(one.scale));
        else if constexpr (requires { one.epsilon; })
          text += fmt::format(R"(,"epsilon":{},"classes":{})", json_of(one.epsilon), one.classes);
        else
          text += fmt::format(R"(,"noise_multiplier":{})", json_of(one.noise_multiplier));
        return text + fmt::format(R"(,"count":{}}})", one.count);
      },
      event);
}

Event event_from(const json& value) {
  StrictObject object(value, "an event");
  Event event = prototype_of(object.text("mechanism"));
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.sampling_rate; })
          one.sampling_rate = object.number("sampling_rate");
        if constexpr (requires { one.scale; }) {
          one.scale = object.number("scale");
        } else if constexpr (requires { one.epsilon; }) {
          one.epsilon = object.number("epsilon");
          one.classes = object.integer("classes");
        } else {
          one.noise_multiplier = object.number("noise_multiplier");
        }
        one.count = object.integer("count");
      },
      event);
  object.finish();
  check(event);
  return event;
}

}  // namespace obol::privacy
