// Pieces of work that are too small to share, each on one thread.
//
//   side_by_side(critics.size(), [&](std::int64_t k) { train(critics[k]); });
//
// Not torch's parallel loops: oneDNN, called inside one of them, may wait forever for threads that
// are not there.
#pragma once

#include <cstdint>
#include <functional>

namespace obol::method::gs_wgan {

// Calls work(k) for k from 0 to count - 1, as many at a time as torch has threads. The first
// exception ends what has not begun, and is thrown.
void side_by_side(std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace obol::method::gs_wgan
