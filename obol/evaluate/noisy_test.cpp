#include "obol/evaluate/noisy.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/ledger.h"

namespace obol::evaluate {
namespace {

// Takes everything for class 1.
class Constant final : public model::Classifier {
 public:
  Constant() { register_parameter("none", torch::zeros({1})); }
  torch::Tensor forward(const torch::Tensor& images) override {
    return torch::tensor({0.0F, 1.0F}).expand({images.size(0), 2});
  }
};

Private<data::Dataset> records() {
  std::vector<std::int32_t> labels(1000, 1);
  for (std::size_t k = 0; k < 300; ++k) labels[k] = 0;
  return Private<data::Dataset>({.shape = {1, 1, 1},
                                 .pixels = std::vector<std::uint8_t>(1000, 7),
                                 .labels = labels,
                                 .class_names = {"a", "b"},
                                 .declared_size = 1000});
}

struct Payment {
  explicit Payment(double epsilon)
      : ledger(privacy::Ledger::create(folder.path() / "ledger.jsonl",
                                       {.neighbours = privacy::Neighbours::kAddRemove,
                                        .records = 1000,
                                        .fingerprint = "none",
                                        .randomness = bits.provenance()})),
        guard(ledger, privacy::Budget{Epsilon{epsilon}, Delta{1e-5}}) {}
  TemporaryFolder folder;
  SeededBits bits{4};
  privacy::Ledger ledger;
  privacy::BudgetGuard guard;
  barrier::Door door{guard, bits};
};

TEST(NoisyAccuracy, IsTheAccuracyWithTheNoiseThatWasPaidFor) {
  Payment payment(50);
  Constant classifier;
  double squares = 0;
  constexpr int kReleases = 30;
  for (int k = 0; k < kReleases; ++k) {
    const double accuracy = noisy_accuracy(classifier, records(), payment.door, 20);
    EXPECT_NEAR(accuracy, 0.7, 0.1);
    squares += (accuracy - 0.7) * (accuracy - 0.7);
  }
  EXPECT_NEAR(std::sqrt(squares / kReleases), 0.02, 0.01);
  const auto entries = payment.ledger.record().entries;
  ASSERT_EQ(entries.size(), kReleases);
  EXPECT_EQ(entries[0].purpose, "validation accuracy");
  EXPECT_TRUE(privacy::same_mechanism(*entries[0].event, privacy::Gaussian{20, 1}));
}

TEST(NoisyAccuracy, IsRefusedBeyondTheBudget) {
  Payment payment(0.1);
  Constant classifier;
  EXPECT_THROW(noisy_accuracy(classifier, records(), payment.door, 2), BudgetExceeded);
  EXPECT_TRUE(payment.ledger.record().entries.empty());
}

}  // namespace
}  // namespace obol::evaluate
