// Memory of tensors that come and go with every step.
#pragma once

namespace obol {

// For programs that compute with large tensors, once, at the start: what is freed stays with the
// process. Else the C library hands large blocks back to the system, and every step faults them in
// anew, which takes longer than computing with them.
void keep_freed_memory();

}  // namespace obol
