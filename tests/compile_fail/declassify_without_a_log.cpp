// refused: no matching function for call to 'obol::Private<int>::declassify\(const char \[4\]\)
#include "obol/data/private.h"

int opened(const obol::Private<int>& secret) { return secret.declassify("why").value; }
