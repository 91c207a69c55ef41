#include "obol/data/fingerprint.h"

#include <array>
#include <filesystem>

#include <gtest/gtest.h>

namespace obol::data {
namespace {

class Reasons final : public DisclosureLog {
 public:
  void record(std::string_view reason) override { reasons.emplace_back(reason); }
  std::vector<std::string> reasons;
};

Dataset two_pictures() {
  Dataset data;
  data.shape = {.channels = 1, .height = 2, .width = 2};
  data.pixels = std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8};
  data.labels = {0, 1};
  data.class_names = {"a", "b"};
  data.declared_size = 2;
  return data;
}

constexpr std::array<std::byte, 16> kKey{std::byte{7}};
constexpr std::array<std::byte, 16> kOtherKey{std::byte{8}};

std::string of(const Dataset& data, std::span<const std::byte> key = kKey) {
  Reasons log;
  return fingerprint(Private<Dataset>(data), key, log);
}

TEST(Fingerprint, IsTheSameForTheSameDataAndKeyOnly) {
  EXPECT_EQ(of(two_pictures()), of(two_pictures()));
  EXPECT_NE(of(two_pictures()), of(two_pictures(), kOtherKey));
  EXPECT_EQ(of(two_pictures()).size(), std::string("hmac-sha256:").size() + 64);
}

TEST(Fingerprint, ChangesWithPixelsLabelsAndShape) {
  Dataset other = two_pictures();
  const auto& stored = std::get<PixelBytes>(other.pixels);
  std::vector<std::uint8_t> changed(stored.begin(), stored.end());
  changed[5] = 0;
  other.pixels = std::move(changed);
  EXPECT_NE(of(other), of(two_pictures()));
  other = two_pictures();
  other.labels = {1, 0};
  EXPECT_NE(of(other), of(two_pictures()));
  other = two_pictures();
  other.shape = {.channels = 1, .height = 1, .width = 4};
  EXPECT_NE(of(other), of(two_pictures()));
}

TEST(Fingerprint, IsRecordedAsADisclosureAndNeedsAKey) {
  Reasons log;
  const Private<Dataset> data(two_pictures());
  static_cast<void>(fingerprint(data, kKey, log));
  EXPECT_EQ(log.reasons, std::vector<std::string>{"keyed fingerprint of the data"});
  EXPECT_THROW(fingerprint(data, std::span(kKey).first(8), log), InvalidArgument);
}

TEST(Key, IsMadeOnceForItsOwnerAlone) {
  const TemporaryFolder folder;
  const Path file = folder.path() / "a.key";
  const std::string key = key_in(file);
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key_in(file), key);
  EXPECT_NE(key_in(folder.path() / "b.key"), key);
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  write_file(file, "short");
  EXPECT_THROW(key_in(file), DataError);
  EXPECT_THROW(key_in(folder.path() / "none" / "a.key"), DataError);
}

TEST(SharedRecords, AreFoundWhateverTheirLabelOrTheTypeOfTheirPixels) {
  Reasons log;
  const Private<Dataset> data(two_pictures());
  Dataset others;
  others.shape = two_pictures().shape;
  others.pixels = std::vector<std::uint8_t>{9, 9, 9, 9, 1, 2, 3, 5};
  EXPECT_FALSE(share_records(data, others, log));
  others.pixels = std::vector<std::uint8_t>{9, 9, 9, 9, 1, 2, 3, 4};
  EXPECT_TRUE(share_records(data, others, log));
  others.pixels = std::vector<float>{5 / 255.0F, 6 / 255.0F, 7 / 255.0F, 8 / 255.0F};
  EXPECT_TRUE(share_records(data, others, log));
  others.shape = {.channels = 1, .height = 1, .width = 4};
  EXPECT_FALSE(share_records(data, others, log));
  EXPECT_FALSE(log.reasons.empty());
}

}  // namespace
}  // namespace obol::data
