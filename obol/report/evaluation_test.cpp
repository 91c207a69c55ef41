#include "obol/report/evaluation.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/report/testing.h"

namespace obol::report {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_evaluation(text, "e.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

// An evaluation with one more member.
std::string with(std::string_view member) {
  return fmt::format(R"({{"format":"obol-evaluation","version":1,{}}})", member);
}

TEST(Evaluation, ReadsEveryPart) {
  const Evaluation evaluation = parse_evaluation(kEvaluation, "e.json");
  EXPECT_EQ(evaluation.protocol, "quick");
  EXPECT_EQ(evaluation.synthetic, 60000);
  EXPECT_EQ(evaluation.seeds, 5);
  EXPECT_EQ(evaluation.classes, (std::vector<std::string>{"circle", "square"}));
  const Score* cnn = find_score(evaluation, "cnn");
  ASSERT_NE(cnn, nullptr);
  EXPECT_EQ(cnn->accuracy, 0.951);
  EXPECT_EQ(cnn->deviation, 0.002);
  EXPECT_EQ(cnn->on_real, 0.991);
  EXPECT_EQ(cnn->calibrated, 0.96);
  EXPECT_EQ(cnn->confusion, (std::vector<std::vector<std::int64_t>>{{97, 3}, {0, 100}}));
  EXPECT_EQ(cnn->per_class, (std::vector<double>{0.97, 1.0}));
  EXPECT_FALSE(find_score(evaluation, "logreg")->deviation);
  EXPECT_EQ(find_quality(evaluation, "fid")->value, 45.6);
  EXPECT_EQ(find_quality(evaluation, "fid")->against, "test");
  EXPECT_EQ(find_quality(evaluation, "inception_score")->deviation, 0.1);
  EXPECT_FALSE(find_quality(evaluation, "odd")->value) << "null is missing";
  EXPECT_EQ(find_quality(evaluation, "wasserstein_exact")->between_real, 5.8);
  EXPECT_EQ(evaluation.validation->accuracy, 0.94);
  EXPECT_EQ(evaluation.suite_records, 500);
  ASSERT_EQ(evaluation.suite.size(), 2U);
  EXPECT_EQ(evaluation.suite[0].classifier, "random_forest");
  EXPECT_EQ(parse_evaluation(kPrivateEvaluation, "e.json").memorisation->high, 1.03);
}

TEST(Evaluation, MayBeOfNothing) {
  const Evaluation evaluation = parse_evaluation(with(R"("more":[1])"), "e.json");
  EXPECT_TRUE(evaluation.classifiers.empty());
  EXPECT_FALSE(evaluation.synthetic);
  EXPECT_FALSE(read_evaluation("/no/such/file.json"));
}

TEST(Evaluation, SaysWhatIsWrongWithAFileThatIsNone) {
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"format":"other","version":1})"})
    EXPECT_EQ(refusal(text), "e.json must be an evaluation that Obol wrote, but is something else");
  EXPECT_TRUE(has(refusal(R"({"format":"obol-evaluation","version":2})"), "version"));
  EXPECT_EQ(refusal(with(R"("classifiers":{"cnn":{"accuracy":"<b>"}})")),
            "classifiers.cnn.accuracy must be a number, but is something else (e.json)");
  EXPECT_TRUE(has(refusal(with(R"("classifiers":[])")), "classifiers must be an object"));
  EXPECT_TRUE(has(refusal(with(R"("classifiers":{"cnn":7})")), "classifiers.cnn"));
  EXPECT_TRUE(has(refusal(with(R"("classes":[1])")), "a list of texts"));
  EXPECT_TRUE(has(refusal(with(R"("synthetic":-1)")), "a count"));
  EXPECT_TRUE(has(refusal(with(R"("synthetic":1.5)")), "a count"));
  EXPECT_TRUE(has(refusal(with(R"("synthetic":18446744073709551615)")), "a count"));
  EXPECT_TRUE(has(refusal(with(R"("classifiers":{"a":{"confusion":[[1,2],[3]]}})")), "as wide"));
  EXPECT_TRUE(has(refusal(with(R"("classifiers":{"a":{"confusion":[[1,-2],[3,1]]}})")), "a count"));
  EXPECT_TRUE(has(refusal(with(R"("suite":{"classifiers":{"a":[]}})")), "suite.classifiers.a"));
}

}  // namespace
}  // namespace obol::report
