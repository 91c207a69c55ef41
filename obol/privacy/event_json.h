// Events as JSON, in the one form that ledgers and certificates use, and the strict reading of
// JSON objects that goes with it.
//
//   json_of(Gaussian{.noise_multiplier = 0.8, .count = 3})
//   // {"mechanism":"Gaussian","noise_multiplier":0.8,"count":3}
//
// Numbers are written as std::to_chars does: the fewest digits that lead back to the same double,
// in a form that the standard fixes. One event thus has one text, and texts can be compared.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "obol/privacy/event.h"

namespace obol::privacy {

// Takes the members of a JSON object one by one. InvalidArgument on a member that is missing or of
// another type, and on finish() where one was left over: what is not understood is not skipped.
class StrictObject {
 public:
  // `what` names the object in messages; `value` must outlive this.
  StrictObject(const nlohmann::json& value, std::string_view what);

  const nlohmann::json& member(const std::string& key);
  std::string text(const std::string& key);
  std::int64_t integer(const std::string& key);
  double number(const std::string& key);
  void finish() const;

 private:
  const nlohmann::json& value_;
  std::string what_;
  std::set<std::string> taken_;
};

// A number; a text, in quotation marks, which must be UTF-8 (InvalidArgument).
std::string json_of(double number);
std::string json_of(std::string_view text);

std::string json_of(const Event& event);

// InvalidArgument unless it is an event whose parameters can all be meant (check in event.h).
Event event_from(const nlohmann::json& value);

}  // namespace obol::privacy
