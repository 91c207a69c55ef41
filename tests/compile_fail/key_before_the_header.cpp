// refused: redefinition of 'class obol::barrier::Key'
namespace obol::barrier {
class Key {};
}  // namespace obol::barrier

#include "obol/data/private.h"
