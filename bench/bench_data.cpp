// bench_data IMAGES.gz: reads an IDX file; prints seconds, megabytes a second and peak memory over
// raw size, as JSON. One measurement a process, so that the peak is this reading's own.
#include <iostream>

#include <fmt/format.h>

#include "bench/clock.h"
#include "bench/memory.h"
#include "obol/data/reader.h"

namespace bench = obol::bench;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bench_data IMAGES\n";
    return 2;
  }
  const double before = bench::status_bytes("VmHWM");
  const double start = now(bench::Clock::kWall);
  const obol::data::Dataset data = obol::data::read(argv[1]);
  const double seconds = now(bench::Clock::kWall) - start;
  const auto raw = static_cast<double>(data.count() * data.shape.pixels());
  std::cout << fmt::format(
      R"({{"count": {}, "seconds": {:.4f}, "megabytes_per_second": {:.1f}, "memory_over_raw": {:.3f}}})"
      "\n",
      data.count(), seconds, raw / 1e6 / seconds, (bench::status_bytes("VmHWM") - before) / raw);
}
