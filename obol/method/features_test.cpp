#include "obol/method/features.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::method {
namespace {

using torch::Tensor;
constexpr data::ImageShape kShape{.channels = 2, .height = 8, .width = 12};

TEST(Features, OfAllFrequenciesKeepDistances) {
  const data::ImageShape square{.channels = 2, .height = 8, .width = 8};
  const Features all = parse_features("dct:8", square);
  const Tensor x = torch::randn({5, 128});
  EXPECT_LT((all(x).norm(2, 1) - x.norm(2, 1)).abs().max().item<double>(), 1e-5);
  // A constant image is in the lowest frequency alone.
  const Tensor low = all(torch::ones({1, 128})).view({2, 64});
  EXPECT_NEAR(low[0][0].item<double>(), 8, 1e-5);
  EXPECT_LT(low.slice(1, 1).abs().max().item<double>(), 1e-5);
}

TEST(Features, TheWholeTransformKeepsDistancesAndHasAnInverse) {
  const Features all = cosine_transform(kShape, torch::kCPU);
  const Tensor x = torch::randn({5, 192});
  EXPECT_LT((all(x).norm(2, 1) - x.norm(2, 1)).abs().max().item<double>(), 1e-5);
  EXPECT_GT((all(x) - x).abs().max().item<double>(), 0.1);
  EXPECT_LT((all.inverse()(all(x)) - x).abs().max().item<double>(), 1e-5);
}

TEST(Features, DropHighFrequenciesAndKeepTheNormBelowThatOfTheImage) {
  for (const std::string name : {"dct:3", "blur:1", "blur:2.5"}) {
    const Features features = parse_features(name, kShape);
    const Tensor x = torch::randn({20, 192});
    EXPECT_TRUE((features(x).norm(2, 1) <= x.norm(2, 1) * 1.0001).all().item<bool>()) << name;
    EXPECT_EQ(features(x).size(1), name == "dct:3" ? 18 : 192);
  }
  EXPECT_TRUE(parse_features("pixels", kShape).are_pixels());
}

TEST(Features, KnowWhatTheyDrop) {
  const Features features = parse_features("dct:3", kShape);
  const Tensor x = torch::randn({4, 192});
  const Tensor dropped = features.dropped(x);
  EXPECT_LT(features(dropped).abs().max().item<double>(), 1e-5);
  const Tensor squares = features(x).square().sum(1) + dropped.square().sum(1);
  EXPECT_LT((squares - x.square().sum(1)).abs().max().item<double>(), 1e-3);
  EXPECT_FALSE(parse_features("pixels", kShape).dropped(x).defined());
  EXPECT_FALSE(parse_features("blur:1", kShape).dropped(x).defined());
}

TEST(Features, PassGradientsBack) {
  const Features features = parse_features("dct:3", kShape);
  const Tensor x = torch::randn({4, 192}).requires_grad_();
  const Tensor g = torch::randn({4, 18});
  features(x).backward(g);
  // The map is linear: its transpose carries <g, A v> = <A^T g, v>.
  const Tensor v = torch::randn({4, 192});
  EXPECT_NEAR((features(v) * g).sum().item<double>(), (x.grad() * v).sum().item<double>(), 1e-3);
}

TEST(Features, SayWhatTheyTake) {
  for (const std::string bad :
       {"", "dct", "dct:0", "dct:9", "dct:2.5", "blur:", "blur:-1", "wavelet:2"})
    EXPECT_THROW(parse_features(bad, kShape), InvalidArgument) << bad;
}

// Blocks of matrix products treat the last rows of a batch in another way than the first.
TEST(Features, OfARecordDoNotDependOnTheOthersInAnyBit) {
  torch::manual_seed(3);
  const data::ImageShape shape{.channels = 1, .height = 28, .width = 28};
  for (const char* text : {"dct:14", "blur:2", "dct:28"}) {
    const Features features = parse_features(text, shape);
    const torch::Tensor images = torch::rand({1000, 784});
    const torch::Tensor whole = features.of_records(images);
    EXPECT_LT((whole - features(images)).abs().max().item<double>(), 1e-3);
    for (const std::int64_t from : {0, 1, 3, 500, 999})
      for (const std::int64_t count : {1, 2, 7, 64})
        EXPECT_TRUE(whole.slice(0, from, from + count)
                        .equal(features.of_records(images.slice(0, from, from + count))))
            << text << " " << from << " " << count;
  }
}

}  // namespace
}  // namespace obol::method
