// Private<T>: a value that depends on private records. It gives nothing away but what its type
// declares to be public, and it has three doors:
//
//   release     only a barrier::Mechanism makes the key; it pays, clips, adds noise
//   map         computes inside: Private<T> in, Private<U> out; `use` is for effects inside
//   declassify  opens for evaluation against private data; the reason is recorded in the run, and
//               whatever it feeds is outside the guarantee
//
//   Private<Dataset> data = ...;
//   Private<double> mean = data.map([](const Dataset& d) { return mean_pixel(d); });
//   data.facts().shape;                     // public by declaration
//
// The function given to map or use must not carry values out through captured references; the
// compiler cannot see that, so reviewers must. tests/compile_fail has what the compiler does see.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "obol/base/error.h"

namespace at {
class Tensor;  // torch::Tensor; this header needs no more of it
}

namespace obol {

template <class T>
class Private;

namespace barrier {

class Door;      // obol/barrier/door.h
struct Release;  // obol/barrier/mechanism.h

// The right to open a private value. Its one friend is defined below, so that no other file can
// define a class of that name and make keys.
class Key {
 public:
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

 private:
  friend class Mechanism;
  Key() = default;
};

// The base of everything that releases private tensors: obol/barrier/mechanism.h says how it is
// used. Whatever derives from it can release, and only by paying first.
class Mechanism {
 protected:
  Mechanism() = default;
  ~Mechanism() = default;
  Mechanism(const Mechanism&) = default;
  Mechanism& operator=(const Mechanism&) = default;

  // Pays, opens, clips and adds the noise of the event. BudgetExceeded, and nothing is opened,
  // where the budget does not allow it.
  static at::Tensor release(Door& door, const Release& what, const Private<at::Tensor>& values);

  // Releases of disjoint parts of the records: a record meets those of its own part alone, so that
  // the use number k, from 1, of any part is paid by the first part that comes to its k-th.
  class PaidUses {
   public:
    // So many are in the ledger already.
    explicit PaidUses(std::int64_t paid) : paid_(paid) {}

   private:
    friend class Mechanism;
    std::int64_t paid_;
  };
  static void pay(Door& door, const Release& what, PaidUses& uses, std::int64_t use);
  static at::Tensor release(Door& door, const Release& what, PaidUses& uses, std::int64_t use,
                            const Private<at::Tensor>& values);

 private:
  static at::Tensor open(Door& door, const Release& what, const Private<at::Tensor>& values);
};

}  // namespace barrier

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

  // ... for what it does inside: private files, tensors that are private themselves.
  template <class Function>
  void use(Function&& function) const {
    static_assert(std::is_void_v<std::invoke_result_t<Function, const T&>>,
                  "what is computed inside stays inside: map keeps it");
    std::forward<Function>(function)(value_);
  }

  // ... of two at once: what comes out of one goes straight back inside.
  template <class Other, class Function>
  [[nodiscard]] auto map_with(const Private<Other>& other, const Function& function) const {
    using Result = std::invoke_result_t<Function, const T&, const Other&>;
    std::optional<Result> result;
    use_with(other,
             [&](const T& mine, const Other& theirs) { result.emplace(function(mine, theirs)); });
    return Private<Result>(std::move(*result));
  }
  template <class Other, class Function>
  void use_with(const Private<Other>& other, const Function& function) const {
    use([&](const T& mine) { other.use([&](const Other& theirs) { function(mine, theirs); }); });
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
