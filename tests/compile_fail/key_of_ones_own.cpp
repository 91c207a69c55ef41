// refused: redefinition of 'class obol::barrier::Key'
#include "obol/data/private.h"

namespace obol::barrier {
class Key {};
}  // namespace obol::barrier
