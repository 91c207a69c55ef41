// Time for the benchmarks: the best of several runs, since other programs can only slow one down.
//
//   double seconds = seconds_of([&] { step(); });
//   std::vector<double> both = seconds_of_each({[&] { step(); }, [&] { eager_step(); }});
//
// OBOL_BENCH_SECONDS says for how long each piece of work is measured; 1 where it is not set.
// Whatever it is, each has two runs after one that does not count.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace obol::bench {

using Work = std::function<void()>;

// Of the processor: for work on one thread, what else runs on the machine hardly counts.
enum class Clock { kWall, kProcessor };

// What threads wait for each other where others have the cores is nobody's doing, and can be most
// of it: with OMP_NUM_THREADS=1 it is the processor's time that counts.
inline Clock usual_clock() {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  return threads != nullptr && std::string(threads) == "1" ? Clock::kProcessor : Clock::kWall;
}

inline double now(Clock clock) {
  if (clock == Clock::kProcessor) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double seconds_to_spend() {
  const char* text = std::getenv("OBOL_BENCH_SECONDS");
  return text == nullptr ? 1 : std::stod(text);
}

// Of each, measured in turns, so that what else the machine does slows all of them alike.
inline std::vector<double> seconds_of_each(const std::vector<Work>& works,
                                           Clock clock = usual_clock()) {
  constexpr int kLeastRounds = 2;
  constexpr double kShortest = 2e-3;  // a run of less is repeated, so that the clock is fine enough
  std::vector<int> repeats;
  for (const Work& work : works) {
    const double start = now(clock);
    work();
    repeats.push_back(1 + static_cast<int>(kShortest / std::max(1e-7, now(clock) - start)));
  }
  std::vector<double> best(works.size(), std::numeric_limits<double>::infinity());
  const double end = now(clock) + seconds_to_spend() * static_cast<double>(works.size());
  for (int round = 0; round < kLeastRounds || now(clock) < end; ++round) {
    for (std::size_t k = 0; k < works.size(); ++k) {
      const double start = now(clock);
      for (int run = 0; run < repeats[k]; ++run) works[k]();
      best[k] = std::min(best[k], (now(clock) - start) / repeats[k]);
    }
  }
  return best;
}

inline double seconds_of(const Work& work, Clock clock = usual_clock()) {
  return seconds_of_each({work}, clock)[0];
}

}  // namespace obol::bench
