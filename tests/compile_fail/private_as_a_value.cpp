// refused: cannot convert 'const obol::Private<int>' to 'int'
#include "obol/data/private.h"

int opened(const obol::Private<int>& secret) { return secret; }
