#include "obol/features/scattering.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/features/dense_scattering.h"

namespace obol::features {
namespace {

using data::ImageShape;
using torch::Tensor;

const std::vector<ImageShape> kShapes = {
    {1, 28, 28}, {3, 32, 32}, {1, 30, 17}, {2, 5, 5}, {1, 1, 3}};

Tensor noise_images(std::int64_t count, const ImageShape& shape) {
  return torch::rand({count, shape.channels, shape.height, shape.width}) * 2 - 1;
}

double distance(const Tensor& a, const Tensor& b) {
  return (a.to(torch::kDouble) - b.to(torch::kDouble)).abs().max().item<double>();
}

template <class Body>
void for_shapes_and_orders(const Body& body) {
  torch::manual_seed(1);
  for (const ImageShape& shape : kShapes)
    for (const int order : {1, 2}) {
      SCOPED_TRACE(to_string(shape) + ", order " + std::to_string(order));
      body(shape, Scattering(shape, {.order = order}), order);
    }
}

// A picture within a black frame of 24 pixels, which leaves room for the filters: they reach 18.
Tensor framed(const Tensor& picture) { return torch::constant_pad_nd(picture, {24, 24, 24, 24}); }

TEST(Scattering, HasAQuarterOfTheResolution) {
  for_shapes_and_orders([](const ImageShape& shape, const Scattering& scattering, int order) {
    EXPECT_EQ(scattering.channels(), shape.channels * (order == 1 ? 17 : 81));
    EXPECT_EQ(scattering.height(), (shape.height + 3) / 4);
    EXPECT_EQ(scattering.width(), (shape.width + 3) / 4);
    const Tensor features = scattering(noise_images(3, shape));
    EXPECT_EQ(features.sizes(),
              at::IntArrayRef({3, scattering.channels(), scattering.height(), scattering.width()}));
    EXPECT_EQ(scattering.dimension(), features[0].numel());
  });
}

TEST(Scattering, IsThatOfTheReferenceInDouble) {
  for_shapes_and_orders([](const ImageShape& shape, const Scattering& scattering, int) {
    for (const std::int64_t count : {1, 16, 19}) {
      const Tensor images = noise_images(count, shape);
      const Tensor exact = scattering.reference(images.to(torch::kDouble));
      EXPECT_LT(distance(scattering(images), exact), 2e-6);
      EXPECT_TRUE(scattering.of_records(images).equal(scattering(images)));
      EXPECT_EQ(distance(scattering(images.to(torch::kDouble)), exact), 0);
    }
  });
}

TEST(Scattering, HasTheGradientOfTheReference) {
  for_shapes_and_orders([](const ImageShape& shape, const Scattering& scattering, int) {
    const Tensor images = noise_images(18, shape);
    const Tensor direction = torch::randn(scattering(images).sizes());
    const auto gradient = [&](torch::Dtype type) {
      const Tensor x = images.to(type).detach().requires_grad_();
      return torch::autograd::grad({(scattering(x) * direction.to(type)).sum()}, {x})[0];
    };
    const Tensor exact = gradient(torch::kDouble);
    EXPECT_LT(distance(gradient(torch::kFloat), exact), 1e-4 * exact.abs().max().item<double>());
  });
}

TEST(Scattering, HasAReferenceWithTheGradientOfFiniteDifferences) {
  torch::manual_seed(2);
  const ImageShape shape{.channels = 1, .height = 7, .width = 6};
  const Scattering scattering(shape, {.order = 2});
  const Tensor x = noise_images(1, shape).to(torch::kDouble).requires_grad_();
  const Tensor direction = torch::randn(scattering(x).sizes(), torch::kDouble);
  const auto value = [&](const Tensor& images) { return (scattering(images) * direction).sum(); };
  const Tensor gradient = torch::autograd::grad({value(x)}, {x})[0].flatten();
  constexpr double kStep = 1e-5;
  for (std::int64_t pixel = 0; pixel < shape.pixels(); ++pixel) {
    const torch::NoGradGuard no_grad;
    Tensor moved = torch::zeros({shape.pixels()}, torch::kDouble);
    moved[pixel] = kStep;
    moved = moved.view_as(x);
    const double slope = (value(x + moved) - value(x - moved)).item<double>() / (2 * kStep);
    EXPECT_NEAR(gradient[pixel].item<double>(), slope, 1e-6);
  }
}

TEST(Scattering, OfARecordIsTheSameToTheLastBitWhereverItLies) {
  for_shapes_and_orders([](const ImageShape& shape, const Scattering& scattering, int) {
    const Tensor images = noise_images(37, shape);
    const Tensor all = scattering.of_records(images);
    for (const std::int64_t from : {0, 1, 15, 20, 36}) {
      EXPECT_TRUE(scattering.of_records(images.slice(0, from)).equal(all.slice(0, from)));
      const Tensor alone = images.slice(0, from, from + 1);
      EXPECT_TRUE(scattering.of_records(alone).equal(all.slice(0, from, from + 1)));
    }
    EXPECT_TRUE(scattering.of_records(images.flip(0)).equal(all.flip(0)));
  });
}

TEST(Scattering, KeepsWhatIsNotFiniteInItsOwnRow) {
  for_shapes_and_orders([](const ImageShape& shape, const Scattering& scattering, int) {
    const Tensor images = noise_images(20, shape);
    Tensor spoiled = images.clone();
    spoiled[3][0][0][0] = std::numeric_limits<float>::quiet_NaN();
    spoiled[17].fill_(std::numeric_limits<float>::infinity());
    const Tensor features = scattering.of_records(spoiled);
    EXPECT_FALSE(features[3].isfinite().all().item<bool>());
    EXPECT_FALSE(features[17].isfinite().all().item<bool>());
    const Tensor expected = scattering.of_records(images);
    for (std::int64_t row = 0; row < 20; ++row) {
      if (row == 3 || row == 17) continue;
      EXPECT_TRUE(features[row].equal(expected[row])) << row;
    }
    // A record after such a one, in the same memory.
    EXPECT_TRUE(scattering.of_records(images).equal(expected));
  });
}

TEST(Scattering, TakesImagesAsRowsOrAsTheyAreAndInAnyLayout) {
  torch::manual_seed(3);
  const ImageShape shape{.channels = 3, .height = 12, .width = 9};
  const Scattering scattering(shape, {.order = 2});
  const Tensor images = noise_images(5, shape);
  const Tensor expected = scattering(images);
  EXPECT_TRUE(scattering(images.flatten(1)).equal(expected));
  EXPECT_TRUE(scattering(images.contiguous(at::MemoryFormat::ChannelsLast)).equal(expected));
  EXPECT_TRUE(scattering.of_records(images.to(torch::kDouble)).equal(expected));
  EXPECT_EQ(scattering(images.slice(0, 0, 0)).size(0), 0);
}

TEST(Scattering, TreatsColoursOneByOne) {
  torch::manual_seed(4);
  const Tensor images = noise_images(17, {.channels = 3, .height = 10, .width = 11});
  const Scattering all({.channels = 3, .height = 10, .width = 11}, {.order = 2});
  const Scattering one({.channels = 1, .height = 10, .width = 11}, {.order = 2});
  const Tensor expected = torch::cat(
      {one(images.narrow(1, 0, 1)), one(images.narrow(1, 1, 1)), one(images.narrow(1, 2, 1))}, 1);
  EXPECT_TRUE(all(images).equal(expected));
}

TEST(Scattering, HasNoWaveletAnswerInsideAConstantImage) {
  const Scattering scattering({.channels = 1, .height = 80, .width = 80}, {.order = 2});
  const Tensor features = scattering(torch::ones({1, 1, 80, 80}))[0];
  const Tensor inside = features.narrow(1, 9, 2).narrow(2, 9, 2);
  EXPECT_NEAR(inside[0].min().item<double>(), 1, 1e-6);
  EXPECT_NEAR(inside[0].max().item<double>(), 1, 1e-6);
  EXPECT_LT(inside.narrow(0, 1, 80).abs().max().item<double>(), 3e-6);  // 1e-6 is the smoothing
}

TEST(Scattering, MovesWithTheImageByAQuarterOfTheShift) {
  torch::manual_seed(5);
  const Tensor image = framed(noise_images(1, {.channels = 1, .height = 32, .width = 32}));
  const Scattering scattering({.channels = 1, .height = 80, .width = 80}, {.order = 2});
  const Tensor moved = scattering(image.roll({4, 8}, {2, 3}));
  // Black is not quite without an answer: the smoothing leaves moduli of 1e-6.
  EXPECT_LT(distance(moved, scattering(image).roll({1, 2}, {2, 3})), 3e-6);
}

// What the modulus and the low pass are for. Pixels themselves are hardly alike after the shift.
TEST(Scattering, ChangesLittleUnderASmallShift) {
  torch::manual_seed(6);
  const Tensor image = framed(noise_images(1, {.channels = 1, .height = 32, .width = 32}));
  const Tensor moved = image.roll({1}, {3});
  const auto change = [](const Tensor& a, const Tensor& b) {
    return ((a - b).norm() / a.norm()).item<double>();
  };
  EXPECT_GT(change(image, moved), 1);
  const Scattering scattering({.channels = 1, .height = 80, .width = 80}, {.order = 2});
  EXPECT_LT(change(scattering(image), scattering(moved)), 0.25);
}

TEST(Scattering, SeesAMirrorImageAtMirroredAngles) {
  torch::manual_seed(7);
  const Tensor image = noise_images(1, {.channels = 1, .height = 24, .width = 28});
  const Scattering scattering({.channels = 1, .height = 24, .width = 28}, {.order = 2});
  const Tensor features = scattering(image)[0].flip(2);
  const Tensor mirrored = scattering(image.flip(3))[0];
  const auto mirror = [](std::int64_t angle) { return (8 - angle) % 8; };
  EXPECT_LT(distance(mirrored[0], features[0]), 1e-5);
  for (std::int64_t k = 0; k < 8; ++k) {
    EXPECT_LT(distance(mirrored[1 + k], features[1 + mirror(k)]), 1e-5) << k;
    EXPECT_LT(distance(mirrored[9 + k], features[9 + mirror(k)]), 1e-5) << k;
    for (std::int64_t j = 0; j < 8; ++j)
      EXPECT_LT(distance(mirrored[17 + 8 * j + k], features[17 + 8 * mirror(j) + mirror(k)]), 1e-5)
          << j << ", " << k;
  }
}

// A grating of the wavelets' own frequency, with a wave vector at angle k, answers most at k.
TEST(Scattering, AnswersMostToItsOwnAngle) {
  const Tensor place = torch::arange(80).to(torch::kFloat);
  const Scattering scattering({.channels = 1, .height = 80, .width = 80});
  for (std::int64_t k = 0; k < 8; ++k)
    for (const int scale : {0, 1}) {
      const double angle = static_cast<double>(k) * M_PI / 8;
      const double frequency = 0.75 * M_PI / (scale == 0 ? 1 : 2);
      const Tensor phase =
          (place * std::cos(angle)).unsqueeze(0) + (place * std::sin(angle)).unsqueeze(1);
      const Tensor features = scattering((phase * frequency).cos().view({1, 1, 80, 80}))[0];
      const Tensor answers = features.narrow(0, scale == 0 ? 1 : 9, 8).select(1, 10).select(1, 10);
      EXPECT_EQ(answers.argmax().item<std::int64_t>(), k) << "scale " << scale;
    }
}

TEST(Scattering, RefusesOrdersAndShapesThatItHasNot) {
  const ImageShape shape{.channels = 1, .height = 8, .width = 8};
  EXPECT_THROW(Scattering(shape, {.order = 3}), InvalidArgument);
  EXPECT_THROW(Scattering({.channels = 1, .height = 0, .width = 8}), InvalidArgument);
  const Scattering scattering(shape);
  EXPECT_THROW(static_cast<void>(scattering(torch::zeros({2, 63}))), InvalidArgument);
  EXPECT_THROW(static_cast<void>(scattering.of_records(torch::zeros({2, 3, 8, 8}))),
               InvalidArgument);
}

// Features and their gradient against the reference in double on the CPU.
template <class Map>
void expect_those_of_the_reference(const ImageShape& shape, int order, const torch::Device& device,
                                   const Map& map) {
  SCOPED_TRACE(to_string(shape) + ", order " + std::to_string(order));
  const Scattering exact(shape, {.order = order});
  const Tensor images = torch::rand({19, shape.pixels()}) * 2 - 1;
  const Tensor direction = torch::randn({19, exact.dimension()}, torch::kDouble);
  const Tensor x = images.to(torch::kDouble).requires_grad_();
  const Tensor expected = exact.reference(x).flatten(1);
  const Tensor expected_gradient = torch::autograd::grad({(expected * direction).sum()}, {x})[0];
  const Tensor single = images.to(device).requires_grad_();
  const Tensor features = map(single).flatten(1);
  const Tensor gradient =
      torch::autograd::grad({(features * direction.to(device, torch::kFloat)).sum()}, {single})[0];
  EXPECT_LT(distance(features.cpu(), expected), 5e-6);
  EXPECT_LT(distance(gradient.cpu(), expected_gradient),
            1e-4 * expected_gradient.abs().max().item<double>());
}

TEST(DenseScattering, IsThatOfTheReferenceWithItsGradient) {
  torch::manual_seed(1);
  for (const ImageShape& shape : {ImageShape{1, 28, 28}, ImageShape{3, 13, 8}, ImageShape{1, 2, 5}})
    for (const int order : {1, 2}) {
      const DenseScattering dense(scattering_weights(), shape.height, shape.width, order,
                                  torch::kCPU);
      expect_those_of_the_reference(shape, order, torch::kCPU, [&](const Tensor& images) {
        const Tensor planes = images.view({-1, shape.height * shape.width});
        return dense(planes).view({images.size(0), -1});
      });
    }
}

TEST(DenseScattering, IsForImagesWhoseMatricesAreNotTooLarge) {
  EXPECT_TRUE(DenseScattering::fits(28, 28));
  EXPECT_TRUE(DenseScattering::fits(32, 32));
  EXPECT_TRUE(DenseScattering::fits(40, 40));
  EXPECT_FALSE(DenseScattering::fits(64, 64));
  EXPECT_FALSE(DenseScattering::fits(1'000'000, 1'000'000));
}

TEST(ScatteringGpu, IsThatOfTheReferenceWithItsGradient) {
  torch::manual_seed(2);
  for (const ImageShape& shape :
       {ImageShape{1, 28, 28}, ImageShape{3, 32, 32}, ImageShape{1, 64, 64}})
    for (const int order : {1, 2}) {
      const Scattering scattering(shape, {.order = order, .device = torch::kCUDA});
      expect_those_of_the_reference(shape, order, torch::kCUDA, scattering);
    }
}

}  // namespace
}  // namespace obol::features
