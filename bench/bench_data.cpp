// bench_data IMAGES.gz: reads an IDX file; prints seconds, megabytes a second and peak memory over
// raw size, as JSON. One measurement a process, so that the peak is this reading's own.
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include "obol/data/reader.h"

namespace {

// The most this process has had in memory so far. Not getrusage: its peak outlives exec, so that it
// may be the parent's.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bench_data IMAGES\n";
    return 2;
  }
  const double before = peak_bytes();
  const auto start = std::chrono::steady_clock::now();
  const obol::data::Dataset data = obol::data::read(argv[1]);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto raw = static_cast<double>(data.count() * data.shape.pixels());
  std::cout << fmt::format(
      R"({{"count": {}, "seconds": {:.4f}, "megabytes_per_second": {:.1f}, "memory_over_raw": {:.3f}}})"
      "\n",
      data.count(), seconds, raw / 1e6 / seconds, (peak_bytes() - before) / raw);
}
