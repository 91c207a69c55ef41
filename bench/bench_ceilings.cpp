// bench_ceilings [cpu|cuda]: what the device reaches at best, as rows of JSON.
#include <torch/torch.h>

#include "bench/ceilings.h"
#include "bench/row.h"

int main(int argc, char** argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cpu");
  const obol::bench::Ceilings top = obol::bench::ceilings(device);
  print(obol::bench::Row{.what = "float32 product", .unit = "GFLOP/s", .ours = top.product / 1e9});
  print(obol::bench::Row{
      .what = "memory copy, read and written", .unit = "GB/s", .ours = top.copy / 1e9});
}
