#include "obol/barrier/records.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "obol/barrier/testing.h"
#include "obol/base/error.h"
#include "obol/data/npz.h"
#include "obol/data/reader.h"
#include "obol/testing/gpu.h"

namespace obol::barrier {
namespace {

using testing::opened;
using torch::Tensor;

static_assert(!std::is_constructible_v<Drawn<Tensor>, Private<Tensor>, double>);
static_assert(!std::is_assignable_v<decltype((std::declval<Drawn<Tensor>&>().rate)), double>);
static_assert(std::is_copy_constructible_v<Drawn<Tensor>>);

// Record i has the value i in all its pixels.
data::Dataset numbered(std::int64_t count, bool labelled) {
  data::Dataset data;
  data.shape = {.channels = 1, .height = 2, .width = 3};
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < count; ++i) {
    pixels.insert(pixels.end(), 6, static_cast<std::uint8_t>(i));
    if (labelled) data.labels.push_back(static_cast<std::int32_t>(i % 3));
  }
  data.pixels = pixels;
  if (labelled) data.class_names = {"0", "1", "2", "3"};
  data.declared_size = count;
  return data;
}

TEST(PrivateRecords, AreDrawnClassByClassWithTheirOwnLabels) {
  SeededBits bits(3);
  const Private<data::Dataset> data(numbered(200, true));
  const PrivateRecords records(data, {});
  EXPECT_EQ(records.classes(), 4);
  for (int trial = 0; trial < 5; ++trial) {
    const Drawn<Sample> drawn = records.draw(0.3, bits);
    EXPECT_EQ(drawn.rate, 0.3);
    const Sample sample = opened(drawn.value);
    const Tensor labels = sample.labels();
    ASSERT_EQ(labels.size(0), sample.points.size(0));
    const Tensor numbers = (sample.points.select(1, 0) * 255).round().to(torch::kLong);
    EXPECT_TRUE(labels.equal(numbers.remainder(3)));
    EXPECT_EQ(sample.class_counts[3], 0);
    EXPECT_NEAR(static_cast<double>(labels.size(0)), 60, 40);
  }
  EXPECT_TRUE(
      opened(records.class_counts()).equal(torch::tensor({67.0, 67.0, 66.0, 0.0}, torch::kDouble)));
}

TEST(PrivateRecords, TakeTheRangeThatTheGeneratorHas) {
  SeededBits bits(3);
  const Private<data::Dataset> data(numbered(256, false));
  const Sample unit = opened(PrivateRecords(data, {}).draw(1, bits).value);
  EXPECT_EQ(unit.points.min().item<float>(), 0);
  EXPECT_EQ(unit.points.max().item<float>(), 1);
  const Sample wide = opened(PrivateRecords(data, {.lowest = -1}).draw(1, bits).value);
  EXPECT_FLOAT_EQ(wide.points.min().item<float>(), -1);
  EXPECT_FLOAT_EQ(wide.points.max().item<float>(), 1);
  EXPECT_EQ(wide.class_counts, std::vector<std::int64_t>{256});
}

TEST(PrivateRecords, MayBeMappedToFeaturesOnce) {
  SeededBits bits(3);
  const Private<data::Dataset> data(numbered(256, false));
  int calls = 0;
  const PrivateRecords records(data, {.lowest = -1, .features = [&](const Tensor& images) {
                                        ++calls;
                                        return images.sum(1, true);
                                      }});
  const Sample sample = opened(records.draw(1, bits).value);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(sample.points.sizes(), (std::vector<std::int64_t>{256, 1}));
  EXPECT_FLOAT_EQ(sample.points.max().item<float>(), 6);
  EXPECT_EQ(opened(records.draw(0, bits).value).points.size(0), 0);
}

TEST(PrivateRecords, ThatStayInTheirFileAreDrawnAsOthers) {
  const TemporaryFolder folder;
  data::write_npz(numbered(200, true), folder.path() / "data.npz");
  const auto read = [&](std::uint64_t map_from) {
    data::Dataset data =
        data::read((folder.path() / "data.npz").string(), {.limits = {.map_from = map_from}});
    EXPECT_EQ(std::get<data::PixelBytes>(data.pixels).is_mapped(), map_from == 1);
    return PrivateRecords(Private<data::Dataset>(std::move(data)), {.lowest = -1});
  };
  const PrivateRecords mapped = read(1);
  const PrivateRecords held = read(1 << 20);
  SeededBits some(3);
  SeededBits same(3);
  for (int k = 0; k < 10; ++k) {
    const Sample one = opened(mapped.draw(0.3, some).value);
    const Sample other = opened(held.draw(0.3, same).value);
    EXPECT_TRUE(torch::equal(one.points, other.points));
    EXPECT_EQ(one.class_counts, other.class_counts);
  }
}

TEST(PrivateRecordsGpu, AreDrawnAsOnAProcessor) {
  OBOL_NEEDS_GPU();
  constexpr int kDraws = 400;  // more than are drawn ahead
  const torch::Device device(torch::kCUDA, 0);
  for (const bool by_class : {true, false}) {
    SeededBits bits(3);
    const Private<data::Dataset> data(numbered(200, true));
    PrivateRecords records(data, {.device = device, .by_class = by_class});
    Tensor times = torch::zeros({200}, torch::kLong);
    for (int k = 0; k < kDraws; ++k) {
      const Prepared prepared = records.prepare(0.3, bits);
      EXPECT_EQ(prepared == Prepared::kMoved, k == 0);
      const Sample sample = opened(records.draw(0.3, bits).value);
      const Tensor there = sample.present.cpu().nonzero().squeeze(1);
      const Tensor points = sample.points.cpu().index_select(0, there);
      const Tensor numbers = (points.select(1, 0) * 255).round().to(torch::kLong);
      times.index_add_(0, numbers, torch::ones_like(numbers));
      const Tensor labels = by_class ? there.div(sample.points.size(0) / 4, "floor")
                                     : sample.labels().cpu().index_select(0, there);
      ASSERT_TRUE(labels.equal(numbers.remainder(3))) << by_class;
      const Tensor absent = (1 - sample.present).unsqueeze(1) * sample.points;
      EXPECT_EQ(absent.abs().max().item<double>(), 0);
    }
    // Each takes part 120 times, give or take 9.2: six of these is out of reach for 200 records.
    EXPECT_GT(times.min().item<std::int64_t>(), 120 - 55);
    EXPECT_LT(times.max().item<std::int64_t>(), 120 + 55);
    EXPECT_NEAR(times.to(torch::kDouble).mean().item<double>(), 120, 6 * 9.2 / std::sqrt(200.0));
  }
}

}  // namespace
}  // namespace obol::barrier
