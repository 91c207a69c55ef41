// refused: what is computed inside stays inside
#include "obol/data/private.h"

void opened(const obol::Private<int>& secret) {
  secret.use([](int value) { return value; });
}
