#include "obol/local/wavelet.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/local/mechanism.h"
#include "obol/privacy/noise.h"

namespace obol::local {
namespace {

using Values = std::vector<double>;

Values random_values(std::size_t count, std::uint64_t seed) {
  SeededBits bits(seed);
  Values values(count);
  privacy::fill_gaussian(bits, values);
  return values;
}

double norm(const Values& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

TEST(WaveletFilter, IsOrthonormalToItsEvenShifts) {
  for (const Wavelet wavelet : kWavelets) {
    const auto h = filter_of(wavelet);
    for (std::size_t shift = 0; shift < h.size(); shift += 2) {
      double sum = 0;
      for (std::size_t i = 0; i + shift < h.size(); ++i) sum += h[i] * h[i + shift];
      EXPECT_NEAR(sum, shift == 0 ? 1 : 0, 1e-14) << name_of(wavelet);
    }
  }
}

TEST(WaveletFilter, HasItsVanishingMoments) {
  for (const Wavelet wavelet : kWavelets) {
    const auto h = filter_of(wavelet);
    const std::size_t moments = h.size() / 2;
    for (std::size_t moment = 0; moment < moments; ++moment) {
      double sum = 0;
      for (std::size_t k = 0; k < h.size(); ++k)
        sum += (k % 2 == 0 ? 1 : -1) * std::pow(static_cast<double>(k), moment) * h[k];
      EXPECT_NEAR(sum, 0, 1e-11) << name_of(wavelet) << ' ' << moment;
    }
    EXPECT_NEAR(std::accumulate(h.begin(), h.end(), 0.0), std::sqrt(2.0), 1e-14);
  }
}

TEST(WaveletTransform, LeadsBackAndKeepsLengths) {
  for (const Wavelet wavelet : kWavelets) {
    for (int levels = 1; levels <= 4; ++levels) {
      const WaveletTransform transform(wavelet, 16, 32, levels);
      const Values image = random_values(512, 3);
      Values there = image;
      transform.forward(there);
      EXPECT_NEAR(norm(there), norm(image), 1e-11);
      transform.inverse(there);
      for (std::size_t i = 0; i < image.size(); ++i) EXPECT_NEAR(there[i], image[i], 1e-11);
    }
  }
}

TEST(WaveletTransform, IsHaarByHand) {
  Values image = {1, 2, 3, 4};
  const WaveletTransform transform(Wavelet::kHaar, 2, 2, 1);
  transform.forward(image);
  EXPECT_NEAR(image[0], 5, 1e-14);
  EXPECT_NEAR(std::abs(image[1]), 1, 1e-14);
  EXPECT_NEAR(std::abs(image[2]), 2, 1e-14);
  EXPECT_NEAR(image[3], 0, 1e-14);
  EXPECT_FALSE(transform.is_detail(0));
  for (const std::size_t at : {1U, 2U, 3U}) EXPECT_TRUE(transform.is_detail(at));
}

TEST(WaveletTransform, HasNoDetailsInWhatIsConstant) {
  for (const Wavelet wavelet : kWavelets) {
    Values image(256, 2.0);
    const WaveletTransform transform(wavelet, 16, 16, 3);
    transform.forward(image);
    for (std::size_t i = 0; i < image.size(); ++i)
      EXPECT_NEAR(image[i], transform.is_detail(i) ? 0 : 16, 1e-11);
  }
}

TEST(WaveletTransform, RefusesLevelsThatSidesDoNotHave) {
  for (const int levels : {0, -1, 4, 40})
    EXPECT_THROW(WaveletTransform(Wavelet::kHaar, 8, 16, levels), InvalidArgument);
  EXPECT_THROW((void)wavelet_from("db3"), InvalidArgument);
  EXPECT_EQ(most_levels({.channels = 1, .height = 28, .width = 28}), 5);
}

TEST(SoftThreshold, ShrinksBySoMuch) {
  EXPECT_EQ(soft_threshold(3, 1), 2);
  EXPECT_EQ(soft_threshold(-3, 1), -2);
  EXPECT_EQ(soft_threshold(0.5, 1), 0);
  EXPECT_EQ(soft_threshold(-1, 1), 0);
  EXPECT_EQ(soft_threshold(-2, 0), -2);
}

// Squares of light on dark ground, privatised.
struct Sample {
  Privatized data;
  std::vector<float> clean;
};

Sample squares(Transform transform) {
  const data::ImageShape shape{.channels = 1, .height = 20, .width = 28};
  PrivatizeOptions options{
      .mechanism = Mechanism::kGaussian, .epsilon = 60, .delta = 1e-4, .radius = 10};
  options.transform = transform;
  if (transform == Transform::kDct) options.keep = 1;
  Sample sample{.data = {.how = plan(options, shape, {}), .records = {}, .labels = {}},
                .clean = {}};
  sample.data.how.randomness = "not private: fixed seed 3";
  const Privatizer privatizer(sample.data.how);
  SeededBits bits(3);
  for (int i = 0; i < 60; ++i) {
    Values image(static_cast<std::size_t>(shape.pixels()), 0.0);
    const std::size_t top = bits.below(10);
    const std::size_t left = bits.below(18);
    for (std::size_t y = top; y < top + 9; ++y)
      for (std::size_t x = left; x < left + 9; ++x) image[y * 28 + x] = 1;
    sample.clean.insert(sample.clean.end(), image.begin(), image.end());
    privatizer.project(image);
    privatizer.add_noise(bits, image);
    sample.data.records.insert(sample.data.records.end(), image.begin(), image.end());
  }
  return sample;
}

TEST(Denoise, ByAnOracleLowersTheErrorWhateverTheSpace) {
  for (const Transform transform : {Transform::kNone, Transform::kDct}) {
    Sample sample = squares(transform);
    const double before = mean_squared_distance(sample.data, sample.clean);
    const Choice choice = best_choice(sample.data, sample.clean, std::nullopt);
    EXPECT_GT(choice.threshold, 0);
    denoise(sample.data, choice, Selection::kOracle);
    const double after = mean_squared_distance(sample.data, sample.clean);
    EXPECT_LT(after, 0.5 * before);
    EXPECT_NE(sample.data.how.denoised.find("oracle"), std::string::npos);
    EXPECT_FALSE(sample.data.how.is_private());
  }
}

TEST(Denoise, ByTheOracleIsNoWorseThanByItsNeighbours) {
  const Sample sample = squares(Transform::kNone);
  const Choice best = best_choice(sample.data, sample.clean, Wavelet::kDb2);
  EXPECT_EQ(best.wavelet, Wavelet::kDb2);
  const auto error = [&](const Choice& choice) {
    Sample copy = sample;
    denoise(copy.data, choice, Selection::kOracle);
    return mean_squared_distance(copy.data, copy.clean);
  };
  const double least = error(best);
  // The search counts the padded border too, hence a little room.
  for (const double factor : {0.5, 0.8, 1.25, 2.0})
    EXPECT_GT(error({best.wavelet, best.levels, best.threshold * factor}), 0.99 * least) << factor;
}

TEST(Denoise, WithoutAThresholdChangesNothing) {
  Sample sample = squares(Transform::kNone);
  const std::vector<float> before = sample.data.records;
  denoise(sample.data, {Wavelet::kDb4, 3, 0}, Selection::kGiven);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(sample.data.records[i], before[i], 1e-5);
  EXPECT_EQ(sample.data.how.denoised, "db4, 3 levels, threshold 0");
  EXPECT_THROW(denoise(sample.data, {Wavelet::kDb4, 3, -1}, Selection::kGiven), InvalidArgument);
}

}  // namespace
}  // namespace obol::local
