#pragma once

#include "obol/app/tensor/device.h"

namespace obol::cli {

using app::use_device;

}  // namespace obol::cli
