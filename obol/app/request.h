// What is wrong with a request, under the name of its field. The command line says the option
// instead.
//
//   throw BadRequest("suite_records", "at least 2", request.suite_records);
//   // suite_records must be at least 2, but is 1; from `obol`: --suite-records must be ...
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "obol/base/error.h"

namespace obol::app {

class BadRequest : public InvalidArgument {
 public:
  template <class Actual>
  BadRequest(std::string_view field, std::string_view requirement, const Actual& actual,
             std::string_view where = {})
      : InvalidArgument(violation(field, requirement, actual, where)),
        field_length_(field.size()) {}

  // Of what(): the name of the field, and what follows it.
  [[nodiscard]] std::string field() const { return std::string(what()).substr(0, field_length_); }
  [[nodiscard]] std::string rest() const { return std::string(what()).substr(field_length_); }

 private:
  std::size_t field_length_;
};

}  // namespace obol::app
