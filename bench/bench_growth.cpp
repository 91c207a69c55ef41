// bench_growth OVER MOST PLOT.svg: seconds of a step of DP-Sinkhorn as one size grows up to MOST,
// as a line of JSON, and a plot.
//
//   records     with a sample of 50 expected, images of 8 x 8
//   generated   images n, barrier row
//   sampled     records m of a step, barrier record
//   pixels      side of the images
//
// A small network, so that what grows can be seen.
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "bench/clock.h"
#include "bench/growth.h"
#include "bench/training.h"
#include "obol/base/error.h"
#include "obol/base/memory.h"

namespace {

using obol::method::dp_sinkhorn::Options;
namespace bench = obol::bench;

constexpr std::int64_t kRecords = 20000;
constexpr std::int64_t kWidth = 16;

struct Size {
  std::int64_t records = kRecords;
  std::int64_t side = 28;
};

double seconds_of_step(Options options, const Size& size) {
  options.generator.width = kWidth;
  const obol::Private<obol::data::Dataset> data(bench::some_images(size.records, size.side));
  bench::Training training(options, data, torch::kCPU);
  return bench::seconds_of([&] { training.step(); });
}

double over_records(std::int64_t records) {
  return seconds_of_step(bench::paper(records), {.records = records, .side = 8});
}

double over_generated(std::int64_t count) {
  Options options = bench::paper(kRecords);
  options.generated_batch = count;
  return seconds_of_step(options, {});
}

double over_sampled(std::int64_t count) {
  Options options = bench::record();
  options.generated_batch = 20;
  options.method.second_batch = 20;
  options.sampling_rate = static_cast<double>(count) / kRecords;
  return seconds_of_step(options, {});
}

double over_side(std::int64_t side) {
  return seconds_of_step(bench::paper(kRecords), {.side = side});
}

struct Growth {
  std::string over;
  std::string label;
  std::vector<std::int64_t> sizes;
  double (*seconds)(std::int64_t);
};

std::vector<Growth> growths() {
  return {{"records", "records", {1'000, 10'000, 100'000, 1'000'000, 10'000'000}, over_records},
          {"generated", "generated images", {25, 50, 100, 200, 400, 800}, over_generated},
          {"sampled", "records in a sample", {100, 400, 1'600, 6'400, 20'000}, over_sampled},
          {"pixels", "side of the images", {12, 16, 24, 40, 64}, over_side}};
}

void run(const std::string& over, std::int64_t most, const obol::Path& plot) {
  for (const Growth& growth : growths()) {
    if (growth.over != over) continue;
    bench::Curve curve{.what = "a step", .over = growth.label, .points = {}};
    for (const std::int64_t size : growth.sizes)
      if (size <= most) curve.points.emplace_back(size, growth.seconds(size));
    print(curve, plot);
    return;
  }
  throw obol::InvalidArgument(
      obol::violation("what grows", "records, generated, sampled or pixels", over));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: bench_growth records|generated|sampled|pixels MOST PLOT.svg\n";
    return 2;
  }
  obol::keep_freed_memory();
  try {
    run(argv[1], std::stoll(argv[2]), argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
