// examples/02_own_mechanism/main.cpp
// A mechanism of your own on plain numbers: pay first, then release; settle on a clean stop; write
// the certificate, and check it. The event is your word: it must say the noise that you add, over
// the sensitivity that the values have.
#include <filesystem>
#include <iostream>
#include <numeric>
#include <vector>

#include "obol/base/random.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/noise.h"

int main() {
  using namespace obol;
  using namespace obol::privacy;
  const std::vector<double> ages = {34, 71, 28, 55, 42};  // private; clipped to 0 ... 100
  std::filesystem::create_directories("run");
  SecureBits bits;
  Ledger ledger = Ledger::create("run/ledger.jsonl", {.neighbours = Neighbours::kAddRemove,
                                                      .records = 5,
                                                      .fingerprint = "none",
                                                      .randomness = bits.provenance()});
  BudgetGuard guard(ledger, Budget{Epsilon{1}, Delta{1e-5}}, {.block = 1});
  const Gaussian event{.noise_multiplier = 5, .count = 1};
  try {
    while (true) {
      guard.pay("sum of ages", event);  // throws before the release that would exceed the budget
      std::vector<double> sum = {std::accumulate(ages.begin(), ages.end(), 0.0)};
      add_gaussian(bits, sum, {.sensitivity = 100, .noise_multiplier = event.noise_multiplier});
      std::cout << "about " << sum[0] << '\n';
    }
  } catch (const BudgetExceeded& stop) {
    std::cout << stop.what() << '\n';
  }
  guard.settle();
  write_certificate("run", {.delta = Delta{1e-5}});
  std::cout << "epsilon " << verify_certificate("run").guarantee.epsilon << '\n';
}
