// A recipe of whichever method, for programs that only need to know that it is sound.
//
//   Experiment experiment = experiment_of(recipe);   // [method] is read and dropped
#pragma once

#include "obol/method/dp_sinkhorn/options.h"
#include "obol/method/experiment.h"
#include "obol/method/gs_wgan/options.h"
#include "obol/method/ldp_wgan/options.h"
#include "obol/method/method_name.h"

namespace obol::method {

inline Experiment experiment_of(recipe::Recipe& recipe) {
  const std::string name = method_of(recipe);
  if (name == "gs-wgan") return read_experiment<gs_wgan::MethodOptions>(recipe);
  if (name == "ldp-wgan") return read_experiment<ldp_wgan::MethodOptions>(recipe);
  return read_experiment<dp_sinkhorn::MethodOptions>(recipe);
}

}  // namespace obol::method
