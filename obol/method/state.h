// Tensors, networks and optimisers as sections of a checkpoint.
//
//   sections["generator"] = saved(generator);
//   restore(sections, "generator", generator);
#pragma once

#include <sstream>
#include <string>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/base/error.h"
#include "obol/run/checkpoint.h"

namespace obol::method {

// As bytes of torch::save.
template <class T>
std::string saved(const T& value) {
  std::ostringstream out;
  torch::save(value, out);
  return out.str();
}

// DataError where there is no such section, or torch cannot read it.
template <class T>
void restore(const run::Sections& sections, const char* name, T& value) {
  const auto found = sections.find(name);
  if (found == sections.end())
    throw DataError(fmt::format("a checkpoint must have the section \"{}\", but has none", name));
  std::istringstream in(found->second);
  try {
    torch::load(value, in);
  } catch (const c10::Error& error) {
    throw DataError(
        fmt::format("the section \"{}\" of a checkpoint must be readable, but is not "
                    "({})",
                    name, error.what_without_backtrace()));
  }
}

}  // namespace obol::method
