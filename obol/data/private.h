// Private<T>: a value that depends on private records. It gives nothing away but what its type
// declares to be public, and it has three doors:
//
//   release     only code in barrier/ holds the key; it clips, writes the event, adds noise
//   map         computes inside: Private<T> in, Private<U> out
//   declassify  opens for evaluation against private data; the reason is recorded in the run, and
//               whatever it feeds is outside the guarantee
//
//   Private<Dataset> data = ...;
//   Private<double> mean = data.map([](const Dataset& d) { return mean_pixel(d); });
//   data.facts().shape;                     // public by declaration
//
// The function given to map must not carry values out through captured references; the compiler
// cannot see that, so reviewers must.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "obol/base/error.h"

namespace obol::barrier {
class Key;  // made by barriers alone
}

namespace obol {

// Keeps the reasons for which private values were opened. A run writes them into its folder.
class DisclosureLog {
 public:
  virtual ~DisclosureLog() = default;
  virtual void record(std::string_view reason) = 0;
};

// A value outside the guarantee, and why it was opened.
template <class T>
struct Declassified {
  const T& value;
  std::string reason;
};

template <class T>
concept HasPublicFacts = requires(const T& value) {
  typename T::PublicFacts;
  { value.public_facts() } -> std::same_as<typename T::PublicFacts>;
};

template <class T>
class Private {
  static_assert(std::is_object_v<T>, "a reference or void would not keep anything private");

 public:
  explicit Private(T value) : value_(sound(std::move(value))) {}

  // What T declares to be public: for a data set its shape and its declared size.
  [[nodiscard]] auto facts() const
    requires HasPublicFacts<T>
  {
    return value_.public_facts();
  }

  // Door 1.
  [[nodiscard]] const T& release(const barrier::Key& /*proof*/) const& { return value_; }
  const T& release(const barrier::Key&) && = delete;  // would dangle

  // Door 2.
  template <class Function>
  [[nodiscard]] auto map(Function&& function) const {
    using Result = std::invoke_result_t<Function, const T&>;
    return Private<Result>(std::forward<Function>(function)(value_));
  }

  // ... of two at once: what comes out of one goes straight back inside.
  template <class Other, class Function>
  [[nodiscard]] auto map_with(const Private<Other>& other, const Function& function) const {
    using Result = std::invoke_result_t<Function, const T&, const Other&>;
    std::optional<Result> result;
    static_cast<void>(map([&](const T& mine) {
      return other.map([&](const Other& theirs) {
        result.emplace(function(mine, theirs));
        return true;
      });
    }));
    return Private<Result>(std::move(*result));
  }

  // Door 3.
  [[nodiscard]] Declassified<T> declassify(std::string reason, DisclosureLog& log) const& {
    if (reason.empty())
      throw InvalidArgument(violation("the reason to declassify", "given", "empty"));
    log.record(reason);
    return {value_, std::move(reason)};
  }
  Declassified<T> declassify(std::string, DisclosureLog&) && = delete;  // would dangle

 private:
  // Data made by hand may have records that would spoil others; they are made sound first.
  static T sound(T value) {
    if constexpr (requires { value.make_sound(); }) value.make_sound();
    return value;
  }

  T value_;
};

}  // namespace obol
