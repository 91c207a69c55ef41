#include "obol/method/gs_wgan/bank.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::method::gs_wgan {
namespace {

constexpr std::int64_t kNumbers = 100;
constexpr std::int64_t kRoomForTwo = 2 * kNumbers * 4;

class BankLog final : public DisclosureLog {
 public:
  void record(std::string_view) override {}
};

Private<CriticState> filled(double value) {
  return Private<CriticState>(CriticState{torch::full({kNumbers}, value, torch::kFloat)});
}

double first_of(const Private<CriticState>& state) {
  BankLog log;
  return state.declassify("a test", log).value.numbers[0].item<double>();
}

void add_one(const Private<CriticState>& state) {
  state.use([](const CriticState& one) { one.numbers.add_(1); });
}

TEST(CriticBank, KeepsWhatDoesNotFitIntoMemory) {
  const TemporaryFolder folder;
  {
    CriticBank bank(
        {.folder = folder.path() / "critics", .numbers = kNumbers, .most_bytes = kRoomForTwo});
    for (int k = 0; k < 5; ++k) bank.put(k, filled(10 * k));
    for (int round = 0; round < 3; ++round)
      for (int k = 0; k < 5; ++k) add_one(bank.take(k));
    for (int k = 0; k < 5; ++k) EXPECT_EQ(first_of(bank.take(k)), 10 * k + 3);
    bank.flush();
  }
  CriticBank again({.folder = folder.path() / "critics", .numbers = kNumbers});
  for (int k = 0; k < 5; ++k) {
    EXPECT_TRUE(again.has(k));
    EXPECT_EQ(first_of(again.take(k)), 10 * k + 3);
  }
}

TEST(CriticBank, TakesAHalfWrittenOneForMissing) {
  const TemporaryFolder folder;
  CriticBank({.folder = folder.path(), .numbers = kNumbers}).put(3, filled(1));
  std::filesystem::resize_file(folder.path() / "000003.critic", 399);
  CriticBank bank({.folder = folder.path(), .numbers = kNumbers});
  EXPECT_FALSE(bank.has(3));
  EXPECT_FALSE(bank.has(4));
  EXPECT_THROW(bank.take(3), DataError);
}

TEST(CriticBank, IsForItsOwnerOnly) {
  const TemporaryFolder folder;
  const CriticBank bank({.folder = folder.path() / "critics", .numbers = kNumbers});
  EXPECT_EQ(std::filesystem::status(folder.path() / "critics").permissions(),
            std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace obol::method::gs_wgan
