// refused: Mechanism::open\(.*is private within this context
#include "obol/data/private.h"

class Own : public obol::barrier::Mechanism {
 public:
  static void opened(obol::barrier::Door& door, const obol::barrier::Release& what,
                     const obol::Private<at::Tensor>& secret) {
    open(door, what, secret);
  }
};
