#pragma once

#include "cli/tensor_part.h"

namespace obol::cli {

run::Outcome run_serve(const ServeRequest& request);
JoinAnswer run_join(const JoinRequest& request);

}  // namespace obol::cli
