// refused: Drawn<T>::Drawn\(.*is private within this context
// A rate is that of a draw.
#include "obol/barrier/records.h"

obol::barrier::Drawn<torch::Tensor> claimed(const obol::Private<torch::Tensor>& secret) {
  return {secret, 0.001};
}
