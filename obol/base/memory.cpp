#include "obol/base/memory.h"

#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace obol {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 1 << 30;
  constexpr int kAtOnce = 1 << 26;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, kAtOnce);
#endif
}

}  // namespace obol
