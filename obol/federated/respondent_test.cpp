#include "obol/federated/respondent.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/federated/testing.h"
#include "obol/privacy/certificate.h"

namespace obol::federated {
namespace {

using testing::bands;
using testing::kRows;
using torch::Tensor;

class Answering : public ::testing::Test {
 protected:
  Answering() {
    write_file(recipe_, testing::recipe_text(1, 10));
    terms_ = read_terms(propose(recipe_, {}, {.shape = "8x8", .classes = 3}));
    for (std::int64_t k = 0; k < terms_.form.question_numbers(); ++k)
      images_.push_back(std::sin(static_cast<float>(k)));
    question_ = write_question(images_, std::vector<std::int64_t>(2 * kRows, 1));
    question_.set_number(5);
  }

  Respondent respondent(const std::string& name, double epsilon = 1000) {
    return {
        terms_,
        data_,
        {.folder = folder_.path() / name, .budget = {Epsilon{epsilon}, Delta{1e-5}}, .seed = 3}};
  }
  std::int64_t paid(const std::string& name) {
    std::int64_t count = 0;
    for (const auto& event : privacy::read_ledger(folder_.path() / name / "ledger.jsonl").spent())
      count += privacy::count_of(event);
    return count;
  }
  std::vector<float> numbers(const wire::Answer& answer) const {
    return read_gradient(answer, terms_.form, terms_.longest());
  }

  TemporaryFolder folder_;
  Path recipe_ = folder_.path() / "recipe.toml";
  Terms terms_;
  Private<data::Dataset> data_{bands(30)};
  std::vector<float> images_;
  wire::Question question_;
};

TEST_F(Answering, ComesOutClippedAndWithTheNoiseThatWasPaid) {
  // The same critic, the same records drawn: what would leave without a barrier.
  Respondent own = respondent("a");
  ASSERT_TRUE(own.warm_start());
  const wire::Answer answer = own.answer(question_);
  EXPECT_EQ(answer.number(), 5U);
  EXPECT_EQ(paid("a"), 1);

  const auto bits = method::make_bits(3, 1);
  const model::Critic critic({.shape = testing::kShape, .classes = 3, .width = 2});
  method::gs_wgan::Holder holder(critic, model::CriticTraining{}, data_, torch::kCPU,
                                 method::lowest_of(terms_.generator), *bits);
  const auto state = holder.warm_start({.steps = 2,
                                        .critic_steps = 2,
                                        .batch = kRows,
                                        .generator = terms_.generator,
                                        .optimizer = terms_.optimizer},
                                       [] { return false; });
  const auto images = torch::tensor(images_).view({2, kRows, 1, 8, 8});
  const auto raw = holder.answer(*state, {images, torch::ones({2, kRows}, torch::kLong)});
  const Tensor released = torch::tensor(numbers(answer)).view({kRows, 1, 8, 8});
  raw.use([&](const Tensor& gradient) {
    const Tensor clipped = barrier::clip_whole(gradient, terms_.method.clip_norm);
    const Tensor noise = released - clipped;
    EXPECT_GT(noise.abs().min().item<double>(), 0);
    // Noise of standard deviation 1 in 256 numbers: its own is within 0.2 of that, surely.
    EXPECT_NEAR(noise.std().item<double>(), 2 * 1 * 0.5, 0.2);
    // And it is not the gradient that shows through.
    EXPECT_LT(torch::dot(released.flatten(), clipped.flatten()).abs().item<double>(), 5);
  });
}

TEST_F(Answering, EndsBeforeTheBudgetDoes) {
  const double two =
      privacy::account({privacy::with_count(terms_.per_answer(), 2)}, Delta{1e-5}).epsilon;
  Respondent own = respondent("a", two * 1.01);
  EXPECT_EQ(own.affordable(), 2);
  ASSERT_TRUE(own.warm_start());
  static_cast<void>(own.answer(question_));
  static_cast<void>(own.answer(question_));
  EXPECT_THROW(static_cast<void>(own.answer(question_)), BudgetExceeded);
  EXPECT_EQ(own.answers(), 2);
  own.save();
  EXPECT_LE(privacy::verify_certificate(folder_.path() / "a").guarantee.epsilon, two * 1.01);
}

TEST_F(Answering, IsCertifiedForAllAnswersThatWerePlanned) {
  {
    Respondent own(terms_, data_,
                   {.folder = folder_.path() / "a",
                    .budget = {Epsilon{1000}, Delta{1e-5}},
                    .answers = 3,
                    .seed = 3});
    ASSERT_TRUE(own.warm_start());
    static_cast<void>(own.answer(question_));
    own.save();
  }
  const double three =
      privacy::account({privacy::with_count(terms_.per_answer(), 3)}, Delta{1e-5}).epsilon;
  EXPECT_EQ(privacy::verify_certificate(folder_.path() / "a").guarantee.epsilon, three);
  // Another number does not change what was planned.
  Respondent own = respondent("a");
  EXPECT_EQ(own.affordable(), 2);
  for (int k = 0; k < 2; ++k) static_cast<void>(own.answer(question_));
  EXPECT_THROW(static_cast<void>(own.answer(question_)), BudgetExceeded);
}

TEST_F(Answering, CostsNothingWhereTheQuestionIsNone) {
  Respondent own = respondent("a");
  ASSERT_TRUE(own.warm_start());
  wire::Question wrong = question_;
  wrong.set_labels(0, 3);
  EXPECT_THROW(static_cast<void>(own.answer(wrong)), DataError);
  EXPECT_EQ(own.answers(), 0);
}

TEST_F(Answering, GoesOnWhereAKilledClientWas) {
  wire::Answer first;
  {
    Respondent own = respondent("a");
    ASSERT_TRUE(own.warm_start());
    first = own.answer(question_);
  }  // without save()
  Respondent own = respondent("a");
  EXPECT_EQ(own.answers(), 1);
  EXPECT_TRUE(own.warm_start());
  EXPECT_NE(own.answer(question_).gradient(), first.gradient());
  EXPECT_EQ(paid("a"), 2);
}

TEST_F(Answering, AsksNothingOfTheLabelsThatThereAre) {
  data::Dataset zeros = bands(30);
  std::fill(zeros.labels.begin(), zeros.labels.end(), 0);
  data::Dataset beyond = bands(30);
  beyond.labels[3] = 9;
  beyond.labels[4] = -1;
  int number = 0;
  for (const data::Dataset& own : {zeros, beyond}) {
    Respondent joined(terms_, Private<data::Dataset>(own),
                      {.folder = folder_.path() / std::to_string(number++),
                       .budget = {Epsilon{1000}, Delta{1e-5}}});
    ASSERT_TRUE(joined.warm_start());
    EXPECT_EQ(numbers(joined.answer(question_)).size(), std::size_t{kRows * 64});
  }
  data::Dataset declared = bands(30);
  declared.class_names = {"0", "1", "2", "3"};
  EXPECT_THROW(Respondent(terms_, Private<data::Dataset>(declared),
                          {.folder = folder_.path() / "x", .budget = {Epsilon{9}, Delta{1e-5}}}),
               InvalidArgument);
}

TEST_F(Answering, IsOnTermsThatTheClientAcceptsAndThatStay) {
  const auto refused = [&](const RespondentOptions& options) -> std::string {
    try {
      const Respondent own(terms_, data_, options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const RespondentOptions good{.folder = folder_.path() / "a",
                               .budget = {Epsilon{1000}, Delta{1e-5}}};
  RespondentOptions careful = good;
  careful.least_noise = 0.6;
  EXPECT_NE(refused(careful).find("must be at least 0.6, as this client wants, but is 0.5"),
            std::string::npos);
  EXPECT_EQ(refused(good), "");
  terms_ = read_terms(
      propose(recipe_, {"privacy.noise_multiplier=0.4"}, {.shape = "8x8", .classes = 3}));
  EXPECT_NE(refused(good).find("noise_multiplier = 0.5` there"), std::string::npos);
}

}  // namespace
}  // namespace obol::federated
