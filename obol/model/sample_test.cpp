#include "obol/model/sample.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/testing/gpu.h"

namespace obol::model {
namespace {

TEST(Sample, MakesEveryClassInTurnOrOneAlone) {
  const auto generator = make_generator({.width = 2}, {1, 28, 28}, 3);
  const data::Dataset all = sample(*generator, {.count = 1001, .seed = 1});
  EXPECT_EQ(all.count(), 1001);
  EXPECT_EQ(data::class_counts(all), (std::vector<std::int64_t>{334, 334, 333}));
  const data::Dataset one = sample(*generator, {.count = 7, .label = 2, .seed = 1});
  EXPECT_EQ(data::class_counts(one), (std::vector<std::int64_t>{0, 0, 7}));
}

TEST(Sample, IsTheSameWithTheSameSeedOnly) {
  const auto generator = make_generator({.width = 2, .output = "tanh"}, {1, 28, 28}, 0);
  const auto with = [&](std::optional<std::int64_t> seed) {
    return sample(*generator, {.count = 3, .seed = seed});
  };
  EXPECT_EQ(with(5).pixels, with(5).pixels);
  EXPECT_NE(with(5).pixels, with(6).pixels);
  EXPECT_NE(with({}).pixels, with({}).pixels);
  EXPECT_FALSE(with(5).is_labelled());
}

std::vector<std::uint8_t> bytes_of(const data::Dataset& images) {
  const auto& bytes = std::get<data::PixelBytes>(images.pixels);
  return {bytes.begin(), bytes.end()};
}

// Three classes, none of which is rare among the images of `generator`.
ScatteringClassifier teacher_of(Generator& generator) {
  torch::manual_seed(4);
  ScatteringClassifier teacher(generator.shape(), generator.num_classes(), 30);
  const data::Dataset images = sample(generator, {.count = 300, .seed = 9});
  const std::vector<std::uint8_t> bytes = bytes_of(images);
  const torch::Tensor pixels = torch::tensor(bytes, torch::kFloat).view({300, -1}) / 255;
  const torch::Tensor features = teacher.features_of_records(pixels).to(torch::kDouble);
  // Directions in which images differ from their mean.
  const torch::Tensor from_mean = features - features.mean(0);
  teacher.weights().copy_(torch::randn({3, 300}, torch::kDouble).mm(from_mean));
  const torch::Tensor means = teacher.weights().mv(features.mean(0));
  teacher.weights().select(1, -1).sub_(means / features[0][-1]);
  return teacher;
}

std::vector<std::int32_t> labels_by(const ScatteringClassifier& teacher,
                                    const data::Dataset& images) {
  const data::ImageShape& shape = images.shape;
  const torch::Tensor labels =
      teacher.labels(torch::tensor(bytes_of(images), torch::kByte)
                         .view({images.count(), shape.channels, shape.height, shape.width}));
  return {labels.data_ptr<std::int64_t>(), labels.data_ptr<std::int64_t>() + labels.numel()};
}

TEST(Sample, HasTheLabelsThatATeacherSeesInItsBytes) {
  torch::manual_seed(1);
  const auto generator = make_generator({.width = 2}, {1, 8, 8}, 3);
  const ScatteringClassifier teacher = teacher_of(*generator);
  const data::Dataset plain = sample(*generator, {.count = 700, .seed = 1});
  const data::Dataset labelled = sample(*generator, {.count = 700, .seed = 1, .teacher = &teacher});
  EXPECT_EQ(bytes_of(labelled), bytes_of(plain));
  EXPECT_NE(labelled.labels, plain.labels);
  EXPECT_EQ(labelled.labels, labels_by(teacher, labelled));
  EXPECT_EQ(labelled.class_names, plain.class_names);
}

TEST(Sample, KeepsWhatATeacherTakesForTheClassThatIsWanted) {
  torch::manual_seed(1);
  const auto generator = make_generator({.width = 2}, {1, 8, 8}, 3);
  const ScatteringClassifier teacher = teacher_of(*generator);
  for (std::int64_t label = 0; label < 3; ++label) {
    const data::Dataset images =
        sample(*generator, {.count = 77, .label = label, .seed = 1, .teacher = &teacher});
    EXPECT_EQ(images.count(), 77);
    EXPECT_EQ(images.labels, std::vector<std::int32_t>(77, static_cast<std::int32_t>(label)));
    EXPECT_EQ(images.labels, labels_by(teacher, images));
  }
}

TEST(Sample, GivesUpOnAClassThatATeacherNeverSees) {
  const auto generator = make_generator({.width = 1}, {1, 8, 8}, 3);
  const ScatteringClassifier blind(generator->shape(), 3, 30);  // takes everything for class 0
  EXPECT_EQ(sample(*generator, {.count = 5, .label = 0, .teacher = &blind}).count(), 5);
  try {
    sample(*generator, {.count = 5, .label = 1, .teacher = &blind});
    ADD_FAILURE() << "it found some";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("must have the class 1 in the teacher's eyes"),
              std::string::npos)
        << error.what();
  }
}

TEST(Sample, RefusesATeacherOfOtherImages) {
  const auto generator = make_generator({.width = 1}, {1, 8, 8}, 3);
  for (const ScatteringClassifier& other :
       {ScatteringClassifier({1, 8, 12}, 3, 30), ScatteringClassifier({1, 8, 8}, 4, 30)})
    EXPECT_THROW(sample(*generator, {.count = 1, .teacher = &other}), InvalidArgument);
}

// As after training: normalisations that have seen images, some channels much larger than others,
// all of them times `size`, and a last layer whose images run from black to white.
std::shared_ptr<Generator> like_trained(const GeneratorOptions& options,
                                        const data::ImageShape& shape, double size) {
  torch::manual_seed(2);
  const torch::NoGradGuard no_grad;
  auto generator = make_generator(options, shape, 10);
  auto parameters = generator->named_parameters();
  for (auto& parameter : parameters)
    if (parameter.key().starts_with("norm"))
      parameter.value().copy_(size * torch::randn_like(parameter.value()).exp());
  parameters["conv4.weight"] /= size;
  SeededBits bits(3);
  const torch::Tensor labels = torch::arange(50).remainder(10);
  const auto images = [&] { return generator->forward(generator->latents(50, bits), labels); };
  for (int k = 0; k < 20; ++k) images();
  generator->eval();
  const torch::Tensor last = images().logit();
  parameters["conv4.weight"] *= 4 / last.std();
  parameters["conv4.bias"].copy_((parameters["conv4.bias"] - last.mean()) * 4 / last.std());
  return generator;
}

TEST(Sample, IsAFewLevelsFromWhatFloatsGive) {
  struct Case {
    GeneratorOptions options;
    data::ImageShape shape;
    double size;
  };
  for (const auto& [options, shape, size] :
       {Case{{.width = 16}, {1, 28, 28}, 1}, Case{{.width = 64}, {1, 28, 28}, 1},
        Case{{.width = 16}, {1, 28, 28}, 1e4}, Case{{.width = 24}, {3, 32, 32}, 1},
        Case{{.width = 8, .activation = "relu"}, {2, 8, 8}, 1}}) {
    const auto generator = like_trained(options, shape, size);
    const data::Dataset found = sample(*generator, {.count = 30, .seed = 1});
    const torch::NoGradGuard no_grad;
    SeededBits bits(1);
    const torch::Tensor floats =
        to_bytes(generator->forward(generator->latents(30, bits), torch::arange(30).remainder(10)),
                 options)
            .flatten()
            .to(at::kFloat);
    const torch::Tensor errors = (torch::tensor(bytes_of(found)) - floats).abs();
    ASSERT_GT(floats.std().item<double>(), 60);
    EXPECT_LE(errors.max().item<double>(), 8) << to_string(shape) << ", size " << size;
    EXPECT_LT(errors.mean().item<double>(), 0.6) << to_string(shape) << ", size " << size;
  }
}

TEST(SampleGpu, IsAFewLevelsFromWhatFloatsGive) {
  OBOL_NEEDS_GPU();
  struct Case {
    GeneratorOptions options;
    data::ImageShape shape;
  };
  for (const auto& [options, shape] :
       {Case{{.width = 16}, {1, 28, 28}}, Case{{.width = 64}, {1, 28, 28}},
        Case{{.width = 24}, {3, 32, 32}}, Case{{.width = 8, .activation = "relu"}, {2, 8, 8}}}) {
    const auto generator = like_trained(options, shape, 1);
    const torch::NoGradGuard no_grad;
    SeededBits bits(1);
    const torch::Tensor z = generator->latents(30, bits);
    const torch::Tensor labels = torch::arange(30).remainder(10);
    const torch::Tensor floats = to_bytes(generator->forward(z, labels), options).to(at::kFloat);
    generator->place(torch::kCUDA);
    const torch::Tensor images =
        generator->for_sampling()(z.to(torch::kCUDA), labels.to(torch::kCUDA));
    const torch::Tensor errors = (to_bytes(images, options) - floats).abs();
    ASSERT_GT(floats.std().item<double>(), 60);
    EXPECT_LE(errors.max().item<double>(), 8) << to_string(shape);
    EXPECT_LT(errors.mean().item<double>(), 0.6) << to_string(shape);
  }
}

TEST(SampleGpu, IsTheSameWithTheSameSeedOnly) {
  OBOL_NEEDS_GPU();
  const auto generator = like_trained({.width = 8}, {1, 28, 28}, 1);
  generator->place(torch::kCUDA);
  const auto with = [&](std::optional<std::int64_t> seed) {
    return sample(*generator, {.count = 10'007, .seed = seed});
  };
  const data::Dataset images = with(5);
  EXPECT_EQ(images.count(), 10'007);
  EXPECT_EQ(images.labels.back(), 6);
  EXPECT_EQ(images.pixels, with(5).pixels);
  EXPECT_NE(images.pixels, with(6).pixels);
  EXPECT_NE(with({}).pixels, with({}).pixels);
}

TEST(Sample, DependsNeitherOnTheCountNorOnTheThreads) {
  const auto generator = make_generator({.width = 2}, {1, 28, 28}, 3);
  const data::Dataset all = sample(*generator, {.count = 1001, .seed = 1});
  const int threads = at::get_num_threads();
  for (const std::int64_t count : {1, 7, 502}) {
    at::set_num_threads(count == 7 ? 1 : 3);
    const data::Dataset some = sample(*generator, {.count = count, .seed = 1});
    const auto& bytes = bytes_of(some);
    const auto first = bytes_of(all);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), first.begin())) << count;
    EXPECT_TRUE(std::equal(some.labels.begin(), some.labels.end(), all.labels.begin())) << count;
  }
  at::set_num_threads(threads);
}

TEST(Sample, RefusesLabelsThatAreNone) {
  const auto generator = make_generator({.width = 2}, {1, 28, 28}, 3);
  EXPECT_THROW(sample(*generator, {.count = 1, .label = 3}), InvalidArgument);
  EXPECT_THROW(sample(*generator, {.count = 1, .label = -1}), InvalidArgument);
  EXPECT_THROW(sample(*generator, {.count = 0}), InvalidArgument);
  const auto unconditional = make_generator({.width = 2}, {1, 28, 28}, 0);
  EXPECT_THROW(sample(*unconditional, {.count = 1, .label = 0}), InvalidArgument);
}

}  // namespace
}  // namespace obol::model
