// bench_frechet: the Frechet distance between 10,000 and 60,000 rows of 2048 features, from the
// features on.
#include <cstdint>
#include <iostream>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/clock.h"
#include "obol/evaluate/frechet.h"

namespace {

namespace evaluate = obol::evaluate;

evaluate::Moments moments(std::int64_t rows) {
  constexpr std::int64_t kPart = 1000;
  constexpr std::int64_t kWidth = 2048;
  const torch::Tensor part = torch::rand({kPart, kWidth});
  evaluate::MomentSum sum;
  for (std::int64_t done = 0; done < rows; done += kPart) sum.add(part);
  return sum.moments();
}

}  // namespace

int main() {
  const auto clock = obol::bench::Clock::kWall;
  const double start = now(clock);
  const evaluate::Moments real = moments(10'000);
  const evaluate::Moments synthetic = moments(60'000);
  const double of_moments = now(clock) - start;
  const double distance = evaluate::frechet_distance(real, synthetic);
  std::cout
      << fmt::format(
             R"({{"moments_seconds": {:.2f}, "seconds": {:.2f}, "threads": {}, "distance": {:.4g}}})",
             of_moments, now(clock) - start, at::get_num_threads(), distance)
      << '\n';
}
