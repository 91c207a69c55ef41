#include "obol/privacy/event.h"

#include <array>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::privacy {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Event>> kEventNames = {
    "SampledGaussian", "SampledLaplace",     "Gaussian",
    "Laplace",         "FixedBatchGaussian", "ShardGaussian",
    "LocalGaussian",   "LocalLaplace",       "LocalRandomizedResponse"};

constexpr std::array<std::string_view, 4> kNeighbourNames = {"add-remove", "replace-one", "person",
                                                             "as-stated"};

void check_positive(const char* name, double value) {
  if (!std::isfinite(value) || value <= 0)
    throw InvalidArgument(violation(name, "finite and positive", value));
}

void check_rate(double value) {
  if (!(value > 0 && value <= 1))
    throw InvalidArgument(violation("sampling_rate", "above 0 and at most 1", value));
}

void check_response(double epsilon, std::int64_t classes) {
  check_positive("epsilon", epsilon);
  if (classes < 2) throw InvalidArgument(violation("classes", "at least 2", classes));
}

}  // namespace

std::string_view name_of(Neighbours neighbours) {
  return kNeighbourNames.at(static_cast<std::size_t>(neighbours));
}

Neighbours neighbours_from(std::string_view name) {
  for (std::size_t i = 0; i < kNeighbourNames.size(); ++i)
    if (kNeighbourNames.at(i) == name) return static_cast<Neighbours>(i);
  throw InvalidArgument(
      violation("neighbours", "add-remove, replace-one, person or as-stated", name));
}

Neighbours common_neighbours(Neighbours first, Neighbours second) {
  if (first == second || second == Neighbours::kAsStated) return first;
  if (first == Neighbours::kAsStated) return second;
  throw UnsupportedEvent(
      fmt::format("events that are composed must have the same neighbours, but one has {} and "
                  "another {}",
                  name_of(first), name_of(second)));
}

Neighbours neighbours_of(const Event& event) {
  return std::visit(
      [](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, SampledGaussian> || std::is_same_v<T, SampledLaplace>)
          return Neighbours::kAddRemove;
        else if constexpr (std::is_same_v<T, FixedBatchGaussian> ||
                           std::is_same_v<T, ShardGaussian>)
          return Neighbours::kReplaceOne;
        else if constexpr (std::is_same_v<T, LocalGaussian> || std::is_same_v<T, LocalLaplace> ||
                           std::is_same_v<T, LocalRandomizedResponse>)
          return Neighbours::kPerson;
        else
          return Neighbours::kAsStated;
      },
      event);
}

std::string_view name_of(const Event& event) { return kEventNames.at(event.index()); }

std::string describe(const Event& event) {
  return std::visit(
      [&](const auto& one) {
        std::string text = fmt::format(
            "{} x {}", with_thousands(static_cast<std::uint64_t>(one.count)), name_of(event));
        if constexpr (requires { one.sampling_rate; })
          text += fmt::format(", sampling rate {}", rounded_up(one.sampling_rate));
        if constexpr (requires { one.scale; })
          text += fmt::format(", scale {}", rounded_down(one.scale));
        else if constexpr (requires { one.epsilon; })
          text += fmt::format(", epsilon {}, {} classes", rounded_up(one.epsilon), one.classes);
        else
          text += fmt::format(", noise multiplier {}", rounded_down(one.noise_multiplier));
        return text;
      },
      event);
}

std::int64_t count_of(const Event& event) {
  return std::visit([](const auto& one) { return one.count; }, event);
}

Event with_count(Event event, std::int64_t count) {
  std::visit([&](auto& one) { one.count = count; }, event);
  return event;
}

double joint(double noise_multiplier, double outputs) {
  return noise_multiplier / std::sqrt(outputs);
}

Event with_noise(Event event, double noise_multiplier) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.noise_multiplier; })
          one.noise_multiplier = noise_multiplier;
        else if constexpr (requires { one.scale; })
          one.scale = noise_multiplier;
        else
          throw InvalidArgument(violation("an event whose noise is to be found",
                                          "one that adds noise", name_of(Event(one))));
      },
      event);
  return event;
}

bool same_mechanism(const Event& first, const Event& second) {
  if (first.index() != second.index()) return false;
  return std::visit(
      [&](const auto& one) {
        const auto& other = std::get<std::decay_t<decltype(one)>>(second);
        if constexpr (requires { one.sampling_rate; })
          if (one.sampling_rate != other.sampling_rate) return false;
        if constexpr (requires { one.scale; })
          return one.scale == other.scale;
        else if constexpr (requires { one.epsilon; })
          return one.epsilon == other.epsilon && one.classes == other.classes;
        else
          return one.noise_multiplier == other.noise_multiplier;
      },
      first);
}

void check(const Event& event) {
  std::visit(
      [](const auto& one) {
        if constexpr (requires { one.sampling_rate; }) check_rate(one.sampling_rate);
        if constexpr (requires { one.scale; })
          check_positive("scale", one.scale);
        else if constexpr (requires { one.epsilon; })
          check_response(one.epsilon, one.classes);
        else
          check_positive("noise_multiplier", one.noise_multiplier);
        if (one.count < 0) throw InvalidArgument(violation("count", "not negative", one.count));
      },
      event);
}

}  // namespace obol::privacy
