#include "obol/method/fit_by_name.h"

#include <string>
#include <string_view>

#include "obol/base/error.h"
#include "obol/method/list.h"

namespace obol::method {
namespace {

using Fit = run::Outcome (*)(const Experiment&, const TrainingData&, const FitOptions&);

template <class Entry>
run::Outcome fit_with(const Experiment& experiment, const TrainingData& data,
                      const FitOptions& options) {
  const auto* own = std::get_if<typename Entry::Data>(&data);
  if (own == nullptr)
    throw InvalidArgument(violation("the data", "of the kind that the method learns from",
                                    "of another", std::string(Entry::info().name)));
  return Entry::fit(experiment, *own, options);
}

struct NamedFit {
  std::string_view name;
  Fit fit;
};

template <class... Entry>
Fit find_fit(std::string_view name, MethodList<Entry...> /*list*/) {
  for (const NamedFit& one : {NamedFit{Entry::info().name, fit_with<Entry>}...})
    if (one.name == name) return one.fit;
  throw Error(violation("the method of a recipe", "one of the table", std::string(name)));
}

}  // namespace

run::Outcome fit_by_name(const Experiment& experiment, const TrainingData& data,
                         const FitOptions& options) {
  return find_fit(experiment.info->name, AllMethods{})(experiment, data, options);
}

}  // namespace obol::method
