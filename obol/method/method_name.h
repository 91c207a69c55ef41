// Which method a recipe is for.
//
//   if (method_of(recipe) == "gs-wgan") ...
#pragma once

#include <string>

#include "obol/recipe/recipe.h"

namespace obol::method {

struct MethodName {
  std::string name = "dp-sinkhorn";

  void describe(recipe::Fields& fields) {
    fields.text("name", name, {"dp-sinkhorn", "gs-wgan", "ldp-wgan"}, "the method");
  }
};

// A copy is read, since the method's own options have the key as well.
inline std::string method_of(recipe::Recipe recipe) {
  return recipe.read<MethodName>("method").name;
}

}  // namespace obol::method
