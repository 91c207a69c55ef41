// refused: redefinition of 'class obol::barrier::Mechanism'
// The friend of Key cannot be defined anew.
#include "obol/data/private.h"

namespace obol::barrier {
class Mechanism {
 public:
  static int opened(const Private<int>& secret) { return secret.release(Key()); }
};
}  // namespace obol::barrier
