// What the tests of this module share.
#pragma once

#include <string>
#include <string_view>

#include "obol/base/error.h"

namespace obol::run {

// The message of the Error that `call` throws; empty where it throws none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace obol::run
