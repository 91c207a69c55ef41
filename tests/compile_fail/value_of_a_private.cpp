// refused: Private<int>::value_' is private
#include "obol/data/private.h"

int opened(const obol::Private<int>& secret) { return secret.value_; }
