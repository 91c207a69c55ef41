// refused: Mechanism::release\(.*is protected within this context
#include "obol/data/private.h"

void opened(obol::barrier::Door& door, const obol::barrier::Release& what,
            const obol::Private<at::Tensor>& secret) {
  obol::barrier::Mechanism::release(door, what, secret);
}
