#include "obol/method/ldp_wgan/entry.h"

#include "obol/method/ldp_wgan/options.h"

namespace obol::method::ldp_wgan {

MethodInfo Entry::info() {
  return {.name = kName,
          .data = DataKind::kPrivatizedRecords,
          .paper = {},
          .read = read_method<MethodOptions>,
          .plan = nullptr};
}

}  // namespace obol::method::ldp_wgan
