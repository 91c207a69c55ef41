// examples/04_own_barrier/main.cpp
// Two ways out of private records. The mean image is a sum of what each record adds: SumBarrier
// clips, sums exactly, pays and adds noise. A barrier of your own derives from Mechanism: it says
// what one record can change, and the base pays, opens and adds the noise of what was paid.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <utility>
#include <vector>

#include "obol/barrier/mechanism.h"
#include "obol/barrier/records.h"
#include "obol/barrier/sum.h"
#include "obol/privacy/certificate.h"

namespace {

using namespace obol;

// How many records have no pixel brighter than each of some public thresholds. A record moves every
// count by at most 1, all k together by at most sqrt(k). A maximum is exact, and so are sums of
// whole numbers: no record changes how another is counted.
class BrightnessBarrier : public barrier::Mechanism {
 public:
  BrightnessBarrier(barrier::Door& door, torch::Tensor thresholds, double noise_multiplier)
      : door_(door), thresholds_(std::move(thresholds)), noise_multiplier_(noise_multiplier) {}

  torch::Tensor release(const barrier::PrivateRecords& records) {
    const Private<torch::Tensor> counts = records.fold(
        torch::zeros_like(thresholds_), 100,
        [&](torch::Tensor& so_far, const barrier::Sample& some) {
          const torch::Tensor brightest = some.points.amax(1, true);               // [m, 1]
          so_far = so_far + (brightest <= thresholds_).to(torch::kDouble).sum(0);  // [k]
        });
    return Mechanism::release(
        door_,
        {.purpose = "brightness",
         .event = privacy::Gaussian{.noise_multiplier = noise_multiplier_, .count = 1},
         .bound = {.sensitivity = std::sqrt(static_cast<double>(thresholds_.numel()))},
         .times = barrier::Times::kOnce},
        counts);
  }

 private:
  barrier::Door& door_;
  torch::Tensor thresholds_;  // [k], double
  double noise_multiplier_;
};

// 1,000 images of 2 x 2 pixels, of two classes: dark and bright ones.
data::Dataset images() {
  data::Dataset data{.shape = {.channels = 1, .height = 2, .width = 2},
                     .class_names = {"dark", "bright"},
                     .declared_size = 1000};
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 1000; ++i) {
    data.labels.push_back(i % 2);
    pixels.insert(pixels.end(), 4, static_cast<std::uint8_t>(i % 2 == 0 ? i % 100 : 200));
  }
  data.pixels = pixels;
  return data;
}

}  // namespace

int main() {
  std::filesystem::create_directories("run");
  SecureBits bits;
  auto ledger =
      privacy::Ledger::create("run/ledger.jsonl", {.neighbours = privacy::Neighbours::kAddRemove,
                                                   .records = 1000,
                                                   .fingerprint = "none",
                                                   .randomness = bits.provenance()});
  privacy::BudgetGuard guard(ledger, privacy::Budget{Epsilon{1}, Delta{1e-5}});
  barrier::Door door(guard, bits);
  const barrier::PrivateRecords records(Private<data::Dataset>(images()), {});

  barrier::SumBarrier sums(door, {.clip_norm = 2,  // of four pixels between 0 and 1
                                  .noise_multiplier = 6,
                                  .groups = records.classes(),
                                  .dimension = 4,
                                  .purpose = "mean images"});
  const torch::Tensor sum = sums.release(records, [](const barrier::Sample& some) {
    return barrier::Contributions{.rows = some.points, .groups = some.labels()};
  });
  std::cout << "mean images\n" << sum / 500 << '\n';

  const torch::Tensor thresholds = torch::tensor({0.1, 0.2, 0.3, 0.4, 0.9}, torch::kDouble);
  BrightnessBarrier brightness(door, thresholds, 6);
  std::cout << "records up to each brightness\n" << brightness.release(records) << '\n';
  try {
    brightness.release(records);
  } catch (const BudgetExceeded& stop) {
    std::cout << stop.what() << '\n';
  }
  guard.settle();
  privacy::write_certificate("run", {.delta = Delta{1e-5}});
  std::cout << "epsilon " << privacy::verify_certificate("run").guarantee.epsilon << '\n';
}
