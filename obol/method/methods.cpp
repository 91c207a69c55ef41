#include "obol/method/methods.h"

#include <algorithm>

#include "obol/base/error.h"
#include "obol/method/list.h"

namespace obol::method {
namespace {

template <class... Entry>
std::vector<MethodInfo> infos_of(MethodList<Entry...> /*list*/) {
  return {Entry::info()...};
}

struct MethodName {
  std::string name{methods().front().name};

  void describe(recipe::Fields& fields) {
    recipe::Choices names;
    for (const MethodInfo& info : methods()) names.emplace_back(info.name);
    fields.text("name", name, names, "the method");
  }
};

struct AnyName {
  std::optional<std::string> name;

  void describe(recipe::Fields& fields) { fields.text("name", name, {}, "the method"); }
};

}  // namespace

const std::vector<MethodInfo>& methods() {
  static const std::vector<MethodInfo> kAll = infos_of(AllMethods{});
  return kAll;
}

const MethodInfo* find_method(std::string_view name) {
  const auto& all = methods();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const MethodInfo& info) { return info.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> names_with_papers() {
  std::vector<std::string> names;
  for (const MethodInfo& info : methods())
    if (!info.paper.empty()) names.emplace_back(info.name);
  return names;
}

std::optional<std::string> method_named_in(recipe::Recipe recipe) {
  return recipe.read<AnyName>("method").name;
}

const MethodInfo& method_of(const recipe::Recipe& recipe) {
  // A copy is read, since the method's own options have the key as well.
  return *find_method(recipe::Recipe(recipe).read<MethodName>("method").name);
}

Experiment read_experiment(recipe::Recipe& recipe) {
  return read_experiment(recipe, method_of(recipe));
}

Experiment read_experiment(recipe::Recipe& recipe, const MethodInfo& info) {
  Experiment experiment;
  experiment.info = &info;
  static_cast<void>(recipe.read<recipe::Heading>(""));
  experiment.data = recipe.read<data::RecipeData>("data");
  static_cast<void>(experiment.data.options());  // checks sizes and ranges
  experiment.privacy = recipe.read<PrivacyOptions>("privacy");
  experiment.generator = recipe.read<model::GeneratorOptions>("generator");
  experiment.method = info.read(recipe);
  experiment.optimizer = recipe.read<OptimizerOptions>("optimizer");
  experiment.steps = recipe.read<run::Steps>("run");
  recipe.finish();
  experiment.resolved = recipe.resolved();
  experiment.places = [recipe](const std::string& key) { return recipe.where(key); };
  return experiment;
}

std::optional<privacy::Plan> price_of(const Experiment& experiment) {
  if (experiment.info->plan == nullptr) return std::nullopt;
  return recipe::located(experiment.places, "privacy",
                         [&] { return experiment.info->plan(experiment, {}); });
}

privacy::Plan plan_of(recipe::Recipe& recipe, const privacy::Accounting& how) {
  const auto options = recipe.read<PrivacyOptions>("privacy");
  recipe.finish("privacy");
  const MethodInfo& info = method_of(recipe);
  if (info.plan == nullptr)
    throw InvalidArgument(
        violation("the recipe", "one that spends privacy",
                  "for records that were privatised before: their certificate has the price"));
  const auto plan = info.plan({.privacy = options, .method = info.read(recipe)}, how);
  if (!plan)
    throw InvalidArgument(
        violation("privacy.barrier", "row, batch or record to have a price", "none"));
  return *plan;
}

}  // namespace obol::method
