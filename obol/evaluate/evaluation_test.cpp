#include "obol/evaluate/evaluation.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/evaluate/testing.h"

namespace obol::evaluate {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string refusal(std::string_view text) {
  try {
    Evaluation::from_json(text, "e.json");
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
  const Evaluation evaluation = Evaluation::from_json(kEvaluation, "e.json");
  EXPECT_EQ(evaluation.protocol, "quick");
  EXPECT_FALSE(evaluation.protocol_version) << "the first";
  EXPECT_EQ(evaluation.synthetic, 60000);
  EXPECT_EQ(evaluation.seeds, 5);
  EXPECT_EQ(evaluation.classes, (std::vector<std::string>{"circle", "square"}));
  const ClassifierScore* cnn = find_score(evaluation, "cnn");
  ASSERT_NE(cnn, nullptr);
  EXPECT_EQ(cnn->accuracy, 0.951);
  EXPECT_EQ(cnn->deviation, 0.002);
  EXPECT_EQ(cnn->balanced_accuracy, 0.947);
  EXPECT_EQ(cnn->balanced_deviation, 0.003);
  EXPECT_EQ(cnn->auc, 0.9871);
  EXPECT_EQ(cnn->auc_deviation, 0.0012);
  EXPECT_EQ(cnn->on_real, 0.991);
  EXPECT_EQ(cnn->balanced_on_real, 0.985);
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
  EXPECT_EQ(evaluation.suite->records, 500);
  ASSERT_EQ(evaluation.suite->scores.size(), 2U);
  EXPECT_EQ(evaluation.suite->scores[0].classifier, "random_forest");
  EXPECT_EQ(Evaluation::from_json(kPrivateEvaluation, "e.json").memorisation->high, 1.03);
}

// As an evaluation writes it: every member, in that order.
constexpr const char* kWhole = R"({
  "format": "obol-evaluation",
  "version": 1,
  "protocol": "paper",
  "protocol_version": 2,
  "synthetic": 60000,
  "test": 10000,
  "against": "test",
  "source": "mnist",
  "seeds": 2,
  "seconds": 12.5,
  "classes": [
    "0"
  ],
  "classifiers": {
    "cnn": {
      "accuracy": 0.951,
      "standard_deviation": 0.0,
      "accuracies": [
        0.951
      ],
      "balanced_accuracy": 0.94,
      "balanced_deviation": 0.01,
      "auc": 0.99,
      "auc_deviation": 0.002,
      "confusion": [
        [
          97
        ]
      ],
      "per_class": [
        null
      ]
    }
  },
  "quality": {
    "wasserstein_entropic": {
      "value": 6.4,
      "per_class": [
        6.4
      ],
      "between_real": 5.8,
      "images_per_class": 500,
      "against": "test",
      "regularization": 0.05
    },
    "inception_score": {
      "value": 8.5,
      "deviation": 0.1
    }
  },
  "suite": {
    "records": 500,
    "classifiers": {
      "random_forest": 0.9
    }
  },
  "validation": {
    "classifier": "cnn",
    "accuracy": 0.94,
    "standard_error": 0.001
  }
})";

TEST(Evaluation, IsWrittenAsItWasRead) {
  EXPECT_EQ(Evaluation::from_json(kWhole, "e.json").to_json(), kWhole);
  const std::string outside = Evaluation::from_json(kPrivateEvaluation, "e.json").to_json();
  EXPECT_EQ(Evaluation::from_json(outside, "e.json").to_json(), outside);
  EXPECT_TRUE(has(outside, "\"memorisation\": {\n    \"ratio\": 1.01,"));
}

TEST(Evaluation, KeepsTheClassOfANumberBesideOneThatIsMissing) {
  const auto found =
      Evaluation::from_json(with(R"("classifiers":{"cnn":{"per_class":[null,0.5]}})"), "e.json");
  ASSERT_EQ(found.classifiers[0].per_class.size(), 2U);
  EXPECT_TRUE(std::isnan(found.classifiers[0].per_class[0]));
  EXPECT_EQ(found.classifiers[0].per_class[1], 0.5);
}

TEST(Evaluation, WarnsOfMuchJunkAlone) {
  EXPECT_EQ(junk_warning(Evaluation::from_json(kEvaluation, "e.json")),
            "3.1% of the generated images are junk: they lie further from the real images of their "
            "class than 99.9% of real images do");
  const auto warning = [](const char* value) {
    return junk_warning(Evaluation::from_json(
        with(fmt::format(R"("quality":{{"junk_rate":{}}})", value)), "e.json"));
  };
  EXPECT_NE(warning(R"({"value":0.0201})"), "");
  EXPECT_EQ(warning(R"({"value":0.02})"), "");
  EXPECT_EQ(warning(R"({"value":null})"), "");
  EXPECT_EQ(junk_warning({}), "");
}

TEST(Evaluation, MayBeOfNothing) {
  const Evaluation evaluation = Evaluation::from_json(with(R"("more":[1])"), "e.json");
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
}  // namespace obol::evaluate
