#include "obol/barrier/cuda/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "obol/barrier/cuda/gpu_testing.h"
#include "obol/barrier/cuda/testing.h"
#include "obol/base/error.h"

namespace obol::barrier::cuda {
namespace {

using testing::Device;
using testing::expected_words;
using testing::has_gpu;
using testing::key_of_seed;

using Indices = std::vector<std::int32_t>;

// Classes of none, of one, of what no block divides, and of more than a thread block takes at once.
const std::vector<std::int64_t> kEnds = {0, 1, 14, 6000, 6000, 11'003};
const std::int64_t kRecords = kEnds.back();
const auto kClasses = static_cast<std::int64_t>(kEnds.size());

// The sample of one class in one step, from ChaCha20's own words.
Indices expected_sample(const testing::ChaCha20Key& key, std::uint64_t launch, std::int64_t step,
                        std::size_t of_class, double rate) {
  const std::int64_t blocks = (kRecords + 7) / 8;
  const auto words =
      expected_words(key, Purpose::kSample, launch, static_cast<std::uint32_t>(step * blocks),
                     static_cast<std::size_t>(blocks));
  Indices chosen;
  for (std::int64_t r = of_class == 0 ? 0 : kEnds[of_class - 1]; r < kEnds[of_class]; ++r)
    if (rate == 1 || words[static_cast<std::size_t>(r)] <
                         static_cast<std::uint64_t>(std::floor(std::ldexp(rate, 64))))
      chosen.push_back(static_cast<std::int32_t>(r));
  return chosen;
}

class Tables {
 public:
  Tables(std::int64_t steps, std::int64_t capacity, std::int64_t classes = kClasses)
      : steps_(steps),
        capacity_(capacity),
        classes_(classes),
        indices_(Indices(static_cast<std::size_t>(steps * classes * capacity), -1)),
        counts_(Indices(static_cast<std::size_t>(steps * classes), -1)) {}

  PoissonTables on_device(const Device<std::uint64_t>& launch) const {
    return {indices_.get(), counts_.get(), launch.get(), steps_, classes_, capacity_};
  }

  // So that what a draw leaves alone can be seen.
  void clear(cudaStream_t stream) const {
    const auto bytes =
        static_cast<std::size_t>(steps_ * classes_ * capacity_) * sizeof(std::int32_t);
    testing::check(cudaMemsetAsync(indices_.get(), 0xff, bytes, stream), "an empty table");
  }

  void expect_sample(const testing::ChaCha20Key& key, std::uint64_t launch, double rate) const {
    const Indices indices = indices_.host();
    const Indices counts = counts_.host();
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (std::int64_t c = 0; c < classes_; ++c) {
        const std::int64_t cell = step * classes_ + c;
        Indices expected = expected_sample(key, launch, step, static_cast<std::size_t>(c), rate);
        EXPECT_EQ(counts[static_cast<std::size_t>(cell)], std::ssize(expected)) << step << ' ' << c;
        expected.resize(static_cast<std::size_t>(capacity_), -1);
        const auto from = indices.begin() + cell * capacity_;
        EXPECT_EQ(Indices(from, from + capacity_), expected) << step << ' ' << c;
      }
    }
  }

 private:
  std::int64_t steps_;
  std::int64_t capacity_;
  std::int64_t classes_;
  Device<std::int32_t> indices_;
  Device<std::int32_t> counts_;
};

TEST(PoissonGpu, IsTheProcessorsSampleOfTheSameWords) {
  OBOL_NEEDS_GPU();
  SeededBits source(1);
  DeviceBits bits(source);
  const Device<std::int64_t> ends(kEnds);
  const Device<std::uint64_t> launch(std::size_t{1});
  std::uint64_t launches = 0;
  for (const double rate : {0.0, 1e-3, 0.1, 0.5, 0.999, 1.0}) {
    const Tables tables(3, 6000);
    poisson_tables(bits, {ends.get(), kRecords, rate}, tables.on_device(launch), Draw::kNew,
                   nullptr);
    EXPECT_EQ(launch.only(), launches);
    tables.expect_sample(key_of_seed(1), launches++, rate);
  }
}

TEST(PoissonGpu, CountsWhatDoesNotFitAndDrawsItAgain) {
  OBOL_NEEDS_GPU();
  SeededBits source(2);
  DeviceBits bits(source);
  const Device<std::int64_t> ends(kEnds);
  const Device<std::uint64_t> launch(std::size_t{1});
  const Tables small(4, 100);
  const PoissonSampling sampling{ends.get(), kRecords, 0.1};
  poisson_tables(bits, sampling, small.on_device(launch), Draw::kNew, nullptr);
  small.expect_sample(key_of_seed(2), 0, 0.1);
  const Tables other(4, 700);
  const Device<std::uint64_t> launch_of_other(std::size_t{1});
  poisson_tables(bits, sampling, other.on_device(launch_of_other), Draw::kNew, nullptr);
  const Tables large(4, 700);
  poisson_tables(bits, sampling, large.on_device(launch), Draw::kAgain, nullptr);
  large.expect_sample(key_of_seed(2), 0, 0.1);
  // Drawing again has not moved the number on.
  other.clear(nullptr);
  poisson_tables(bits, sampling, other.on_device(launch_of_other), Draw::kNew, nullptr);
  EXPECT_EQ(launch_of_other.only(), 2U);
  other.expect_sample(key_of_seed(2), 2, 0.1);
}

TEST(PoissonGpu, IsNewInEveryReplayOfAGraph) {
  OBOL_NEEDS_GPU();
  SeededBits source(3);
  DeviceBits bits(source);
  const Device<std::int64_t> ends(kEnds);
  const Device<std::uint64_t> launch(std::size_t{1});
  const Tables tables(2, 800);
  testing::replay(5, [&](cudaStream_t stream) {
    tables.clear(stream);
    poisson_tables(bits, {ends.get(), kRecords, 0.1}, tables.on_device(launch), Draw::kNew, stream);
  });
  EXPECT_EQ(launch.only(), 4U);
  tables.expect_sample(key_of_seed(3), 4, 0.1);
}

TEST(PoissonGpu, RefusesWhatCannotBeMeant) {
  OBOL_NEEDS_GPU();
  SeededBits source(4);
  DeviceBits bits(source);
  const Device<std::int64_t> ends(kEnds);
  const Device<std::uint64_t> launch(std::size_t{1});
  const Tables tables(1, 10);
  const auto draw = [&](double rate, std::int64_t records, std::int64_t steps) {
    PoissonTables on_device = tables.on_device(launch);
    on_device.steps = steps;
    poisson_tables(bits, {ends.get(), records, rate}, on_device, Draw::kNew, nullptr);
  };
  for (const double rate : {-0.1, 1.1, std::nan("")})
    EXPECT_THROW(draw(rate, kRecords, 1), InvalidArgument);
  EXPECT_THROW(draw(0.1, -1, 1), InvalidArgument);
  EXPECT_THROW(draw(0.1, kRecords, 0), InvalidArgument);
  EXPECT_THROW(draw(0.1, kRecords, 100'000), InvalidArgument);
}

template <class T>
void expect_gathered(std::int64_t width) {
  constexpr std::int64_t kCapacity = 5;
  constexpr std::int64_t kFew = 3;
  constexpr double kLowest = -1;
  const double white = sizeof(T) == 1 ? 255 : 1;
  const double scale = (1 - kLowest) / white;
  std::vector<T> pixels(static_cast<std::size_t>(20 * width));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<T>(static_cast<double>(i * 37 % 256) * white / 255);
  const Device<T> records(pixels);
  // Two steps of three classes; a count above the capacity means that as many fit.
  Indices indices(2 * kFew * kCapacity);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int>(i * 7 % 20);
  const Indices counts = {1, 2, 3, 5, 0, 9};
  const Device<std::int32_t> device_indices(indices);
  const Device<std::int32_t> device_counts(counts);
  const PoissonTables tables{
      device_indices.get(), device_counts.get(), nullptr, 2, kFew, kCapacity};
  for (const std::int64_t step : {0, 1}) {
    const Device<std::int64_t> slot(std::vector<std::int64_t>{step});
    const Device<float> points(static_cast<std::size_t>(kFew * kCapacity * width));
    const Device<float> present(static_cast<std::size_t>(kFew * kCapacity));
    gather_rows(records.get(), width, tables, step == 0 ? nullptr : slot.get(), {scale, kLowest},
                {points.get(), present.get()}, nullptr);
    const auto found = points.host();
    const auto there = present.host();
    for (std::int64_t row = 0; row < kFew * kCapacity; ++row) {
      const bool is_there =
          row % kCapacity < counts[static_cast<std::size_t>(step * kFew + row / kCapacity)];
      EXPECT_EQ(there[static_cast<std::size_t>(row)], is_there ? 1.0F : 0.0F) << row;
      const std::int64_t record = indices[static_cast<std::size_t>(step * kFew * kCapacity + row)];
      for (std::int64_t i = 0; i < width; ++i) {
        const float product =
            static_cast<float>(pixels[static_cast<std::size_t>(record * width + i)]) *
            static_cast<float>(scale);
        const float expected = is_there ? product + static_cast<float>(kLowest) : 0.0F;
        ASSERT_EQ(found[static_cast<std::size_t>(row * width + i)], expected) << row << ' ' << i;
      }
    }
  }
}

TEST(GatherGpu, GivesTheRecordsOfTheStepAsFloats) {
  OBOL_NEEDS_GPU();
  for (const std::int64_t width : {1, 3, 4, 784, 785}) {
    expect_gathered<std::uint8_t>(width);
    expect_gathered<float>(width);
  }
}

}  // namespace
}  // namespace obol::barrier::cuda
