// What a function for GPUs does in a build without CUDA, where no tensor is ever on one.
#pragma once

#include "obol/base/error.h"

namespace obol {

[[noreturn]] inline void no_cuda() { throw InvalidArgument("this build of Obol has no CUDA"); }

}  // namespace obol
