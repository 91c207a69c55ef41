#include "obol/federated/messages.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/federated/terms.h"

namespace obol::federated {
namespace {

const Form kForm{.steps = 2, .rows = 1, .shape = {1, 1, 2}, .classes = 3};

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Messages, OfAQuestionSurviveTheJourney) {
  const std::vector<float> images = {1, 2, 3, 4};
  const std::vector<std::int64_t> labels = {0, 2};
  const Question read = read_question(write_question(images, labels), kForm);
  EXPECT_EQ(read.images, images);
  EXPECT_EQ(read.labels, labels);
}

TEST(Messages, RefuseQuestionsThatDoNotFit) {
  const std::vector<float> images = {1, 2, 3, 4};
  const auto refused = [](const std::vector<float>& pixels,
                          const std::vector<std::int64_t>& labels) {
    return refusal([&] { read_question(write_question(pixels, labels), kForm); });
  };
  EXPECT_EQ(refused({1, 2, 3}, {0, 1}),
            "the size of the images must be 4 numbers, but is 12 bytes");
  EXPECT_EQ(refused({1, 2, 3, NAN}, {0, 1}), "the images must be finite, but is not");
  EXPECT_EQ(refused(images, {0}), "the number of labels must be 2, but is 1");
  EXPECT_EQ(refused(images, {0, 3}), "a label must be at least 0 and below 3, but is 3");
  EXPECT_EQ(refused(images, {0, -1}), "a label must be at least 0 and below 3, but is -1");
}

TEST(Messages, RefuseAnswersThatNoHonestClientSends) {
  const auto refused = [](const std::vector<float>& gradient) {
    return refusal([&] { read_gradient(write_answer(1, gradient), kForm, 5); });
  };
  EXPECT_EQ(refused({3, 4}), "");
  EXPECT_EQ(refused({3, 4.001F}), "the length of a gradient must be at most 5, but is 5.0008");
  EXPECT_EQ(refused({3}), "the size of the gradient must be 2 numbers, but is 4 bytes");
  EXPECT_EQ(refused({3, std::numeric_limits<float>::infinity()}),
            "the gradient must be finite, but is not");
}

TEST(Messages, TellWhoHasToUpdate) {
  EXPECT_NE(refusal([] { check_version(kProtocol - 1); }).find("update the client"),
            std::string::npos);
  EXPECT_NE(refusal([] { check_version(kProtocol + 1); }).find("update the server"),
            std::string::npos);
}

TEST(Messages, OfOthersAreOneLine) { EXPECT_EQ(shown("a\nb\x1b[2J"), "a?b?[2J"); }

TEST(Terms, SayWhatAnAnswerCostsAndHowLongItMayBe) {
  const std::string text =
      "[images]\nshape = \"8x8\"\nclasses = 3\n[privacy]\nbarrier = \"row\"\nshards = 2\n"
      "noise_multiplier = 3.0\nsteps = 5\ngenerated_batch = 9\ndelta = 1e-5\n[method]\n"
      "name = \"gs-wgan\"\nclip_norm = 0.5\nseed = 7\nwarm_cache = \"/somewhere\"\n";
  const Terms terms = read_terms(text);
  EXPECT_EQ(std::get<privacy::Gaussian>(terms.per_answer()).noise_multiplier, 1);
  EXPECT_NEAR(terms.longest(), 0.5 * 3 + 2 * 0.5 * 3 * (24 + std::sqrt(2 * std::log(1e9))), 1e-9);
  EXPECT_FALSE(terms.method.seed) << "a server must not choose the noise of a client";
  EXPECT_FALSE(terms.method.warm_cache) << "nor where it writes";
}

TEST(Terms, LetALiarSayNothingLouderThanAnHonestAnswersNoise) {
  const Terms terms = read_terms(
      "[privacy]\nbarrier = \"batch\"\nshards = 8\nnoise_multiplier = 1.07\nsteps = 5\n"
      "generated_batch = 32\ndelta = 1e-5\n[method]\nname = \"gs-wgan\"\n");
  const double honest = 2 * terms.method.clip_norm * 1.07 *
                        std::sqrt(static_cast<double>(terms.form.answer_numbers()));
  EXPECT_GT(terms.longest(), honest);
  EXPECT_LT(terms.longest(), 1.05 * honest);
}

TEST(Terms, AreRefusedWhereNobodyHonestProposesThem) {
  const auto refused = [](const std::string& barrier, const std::string& rows) {
    return refusal([&] {
      read_terms(
          "[images]\nshape = \"64x64\"\n[privacy]\nshards = 1\nnoise_multiplier = 1.0\n"
          "steps = 1\nbarrier = \"" +
          barrier + "\"\ngenerated_batch = " + rows + "\n");
    });
  };
  EXPECT_EQ(refused("none", "4"),
            "privacy.barrier must be row or batch in a federated training, but is none");
  EXPECT_NE(refused("row", "9000000000000").find("what one question holds must be at most"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              read_terms(
                  "[images]\nshape = \"0x9\"\n[privacy]\nshards = 1\nnoise_multiplier = 1.0\n"
                  "steps = 1\nbarrier = \"row\"\ngenerated_batch = 4\n");
            }).find("the shape of the images must be HEIGHTxWIDTH"),
            std::string::npos);
}

}  // namespace
}  // namespace obol::federated
