#include "obol/method/gs_wgan/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <ATen/Parallel.h>

namespace obol::method::gs_wgan {
namespace {

// Whatever this thread calls stays on it. Torch gives a thread its usual number when it is first
// asked there, and not again.
void stay_alone() {
#ifdef _OPENMP
  static_cast<void>(at::get_num_threads());
  omp_set_num_threads(1);
#endif
}

}  // namespace

void side_by_side(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto take_turns = [&] {
    stay_alone();
    for (std::int64_t k = next++; k < count; k = next++) {
      try {
        work(k);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(failing);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t k = 0; k < std::min<std::int64_t>(count, at::get_num_threads()); ++k)
    threads.emplace_back(take_turns);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace obol::method::gs_wgan
