// The table of methods: what the rest of the program knows about each, without LibTorch.
//
//   Experiment experiment = read_experiment(recipe);          // of whichever method
//   std::optional<privacy::Plan> plan = price_of(experiment); // what its method is going to
//   release if (experiment.info->data == DataKind::kPrivatizedRecords) ...
//
// A method is a folder with an entry.h, and a line in list.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/method/experiment.h"
#include "obol/privacy/plan.h"
#include "obol/recipe/recipe.h"

namespace obol::method {

enum class DataKind {
  kPrivateImages,
  kPrivatizedRecords,  // their owners added the noise: nothing is left to be paid for
};

struct MethodInfo {
  std::string_view name;  // method.name in recipes
  DataKind data;
  std::string_view paper;  // whose count privacy.follows shows; empty: none
  MethodSection (*read)(recipe::Recipe& recipe);
  // Nothing where the recipe asks for no privacy. Null where there is nothing to be paid for.
  std::optional<privacy::Plan> (*plan)(const PricedSections& sections,
                                       const privacy::Accounting& how);
};

// In the order of list.h; the first is that of recipes which name none.
const std::vector<MethodInfo>& methods();
// Null where there is none of that name.
const MethodInfo* find_method(std::string_view name);
std::vector<std::string> names_with_papers();

// What the recipe says, which need not be a method of this program; nothing where it says nothing.
std::optional<std::string> method_named_in(recipe::Recipe recipe);
// InvalidArgument where the recipe names none of the table.
const MethodInfo& method_of(const recipe::Recipe& recipe);

// Refuses what no section knows.
Experiment read_experiment(recipe::Recipe& recipe);
Experiment read_experiment(recipe::Recipe& recipe, const MethodInfo& info);

// Nothing where the recipe asks for no privacy. InvalidArgument, at its place in the recipe, where
// a key of [privacy] is missing.
std::optional<privacy::Plan> price_of(const Experiment& experiment);

// Of a recipe that need have no more than [privacy]. InvalidArgument where it has no price.
privacy::Plan plan_of(recipe::Recipe& recipe, const privacy::Accounting& how = {});

}  // namespace obol::method
