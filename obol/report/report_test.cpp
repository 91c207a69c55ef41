#include "obol/report/report.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/method/certificates.h"
#include "obol/report/testing.h"

namespace obol::report {
namespace {

class ReportOfARun : public testing::Test {
 protected:
  [[nodiscard]] Path path(const char* name = "a") const { return folder_.path() / name; }
  // Of a recipe that follows a paper.
  [[nodiscard]] Path published_run(int rows) const {
    const SomeRun run(path(), fmt::format("[privacy]\nbarrier = \"{}\"\nsampling_rate = 0.1\n"
                                          "noise_multiplier = 40.0\nsteps = 100\n"
                                          "generated_batch = {}\ndelta = 1e-5\n"
                                          "follows = \"dp-sinkhorn\"\n",
                                          rows > 1 ? "row" : "batch", rows));
    privacy::CertificateTerms terms{.delta = Delta{1e-5}};
    terms.published =
        method::published_counts(path(), privacy::read_ledger(path() / privacy::kLedgerName)).at(0);
    privacy::write_certificate(path(), terms);
    return path();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ReportOfARun, HasItsPartsInOrderTheGuaranteeFirst) {
  const SomeRun run(path());
  run.write("evaluation.json", kEvaluation);
  const std::string html = report_html(run.path(), PrivatePart::kShown).html;
  std::size_t at = 0;
  for (const char* part : {"<h1>Shapes</h1>",
                           "Epsilon ",
                           "Had any one record been left out",
                           "95.1%",
                           "<b>3.1%</b>\n<span>junk images</span>",
                           "id=\"samples\"",
                           "id=\"curves\"",
                           "<title>Epsilon</title>",
                           "Gradient norm",
                           "id=\"accuracy\"",
                           "95.1% ± 0.2",
                           "94.7% ± 0.3",
                           "0.987 ± 0.001",
                           "99.1%",
                           "94.0% ± 0.1",
                           "Confusion matrix",
                           "Accuracy of each class",
                           "random forest",
                           "85.0%",
                           "id=\"quality\"",
                           "3.1% of the generated images are junk",
                           "Fréchet",
                           "8.5 ± 0.1",
                           "Junk rate",
                           "expected of real images: 0.12%",
                           "most in class circle: 6.0%",
                           ">3.1%<",
                           "between real images: 5.8",
                           "id=\"memorisation\"",
                           "id=\"ledger\"",
                           "id=\"not-covered\"",
                           "treated as public",
                           "id=\"recipe\"",
                           "barrier = ",
                           "id=\"versions\"",
                           "hmac-sha256:0123"}) {
    const std::size_t found = html.find(part, at);
    EXPECT_NE(found, std::string::npos) << part;
    if (found != std::string::npos) at = found;
  }
}

TEST_F(ReportOfARun, MergesLinesOfTheLedgerThatAreAlike) {
  const std::string html = report_html(SomeRun(path()).path(), PrivatePart::kShown).html;
  EXPECT_TRUE(has(html, "1 x Gaussian, noise multiplier 50"));
  EXPECT_TRUE(has(html, "100 x Gaussian, noise multiplier 40"));
  EXPECT_FALSE(has(html, "<td>50 x Gaussian"));
  EXPECT_TRUE(has(html, "3 entries"));
}

TEST_F(ReportOfARun, NamesTheCommandThatMakesWhatIsMissing) {
  const Report report = report_html(SomeRun(path()).path(), PrivatePart::kShown);
  EXPECT_TRUE(has(report.html, "Not evaluated yet: <code>obol evaluate RUN</code>"));
  EXPECT_TRUE(has(report.html, "Real test images are left out: ")) << "there is no such data";
  EXPECT_FALSE(report.is_private);
}

TEST_F(ReportOfARun, ShowsPrivateFiguresInAMarkedBoxOrNotAtAll) {
  const SomeRun run(path());
  run.write("private/evaluation.json", kPrivateEvaluation);
  const Report shown = report_html(run.path(), PrivatePart::kShown);
  EXPECT_TRUE(shown.is_private);
  EXPECT_TRUE(has(shown.html, "Not for release"));
  const std::size_t box = shown.html.find("Private: not for release");
  ASSERT_NE(box, std::string::npos);
  EXPECT_GT(shown.html.find("Ratio 1.01, between 0.99 and 1.03, from 1,000 samples"), box);
  EXPECT_GT(shown.html.find("98.7%"), box);
  const Report without = report_html(run.path(), PrivatePart::kLeftOut);
  EXPECT_FALSE(without.is_private);
  for (const char* part : {"1.01", "98.7%", "Not for release", "not for release", ">train<"})
    EXPECT_FALSE(has(without.html, part)) << part;
}

TEST_F(ReportOfARun, TellsWhereThePrivateDataAreOnlyWhereItMay) {
  const SomeRun run(path(), some_recipe("Shapes", "/vault/ward-7.npz"));
  EXPECT_TRUE(has(report_html(run.path(), PrivatePart::kShown).html, "/vault/ward-7.npz"));
  const std::string without = report_html(run.path(), PrivatePart::kLeftOut).html;
  EXPECT_FALSE(has(without, "ward-7"));
  EXPECT_TRUE(has(without, "# source: left out"));
  EXPECT_TRUE(has(without, "they may be as private as the others"));
}

TEST_F(ReportOfARun, KeepsHostileTextFromBecomingMarkup) {
  const std::string attack = "</title></pre><script>alert(1)</script><img src=x onerror='a()'>";
  const SomeRun run(path(), some_recipe(attack, attack));
  std::string evaluation = kEvaluation;
  for (const std::string word : {"quick", "circle", "logreg", "odd", "random_forest"})
    evaluation.replace(evaluation.find(word), word.size(), attack);
  const std::size_t null = evaluation.find("null");
  evaluation.replace(null, 4, "1, \"against\": \"" + attack + "\"");
  run.write("evaluation.json", evaluation);
  run.write("metrics.jsonl",
            "{\"step\":1,\"" + attack + "\":1}\n{\"step\":2,\"" + attack + "\":2}\n");
  const std::string html = report_html(run.path(), PrivatePart::kShown).html;
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "<img src=x"));
  EXPECT_FALSE(has(html, "onerror='"));
  std::size_t shown = 0;
  for (std::size_t at = html.find("&lt;script"); at != std::string::npos;
       at = html.find("&lt;script", at + 1))
    ++shown;
  EXPECT_GE(shown, 8U) << "it was there to be escaped";
}

TEST_F(ReportOfARun, SaysWhoGaveTheLabels) {
  const SomeRun run(path());
  constexpr const char* kSentence = "Labels of samples are given by a private classifier";
  EXPECT_FALSE(has(report_html(run.path(), PrivatePart::kShown).html, kSentence));
  run.write(run::kTeacherName, "numbers");
  EXPECT_TRUE(has(report_html(run.path(), PrivatePart::kShown).html, kSentence));
}

TEST_F(ReportOfARun, WithoutPrivacyPromisesNothing) {
  run::RunFolder::create(path(), some_recipe(), std::nullopt);
  const std::string html = report_html(path(), PrivatePart::kShown).html;
  EXPECT_TRUE(has(html, "No guarantee."));
  EXPECT_FALSE(has(html, "Had any one record"));
}

TEST_F(ReportOfARun, IsNotMadeFromACertificateThatIsNotTrue) {
  const SomeRun run(path());
  std::string text = read_text(path() / privacy::kCertificateName, 1 << 20);
  const std::size_t at = text.find("\"epsilon\": ");
  text.insert(at + std::string("\"epsilon\": ").size(), "1");
  run.write(privacy::kCertificateName, text);
  EXPECT_THROW(report_html(path(), PrivatePart::kShown), VerificationFailed);
  EXPECT_THROW(report_html(path("none"), PrivatePart::kShown), InvalidArgument);
}

TEST_F(ReportOfARun, ShowsThePublishedCountBesideTheGuarantee) {
  const std::string html = report_html(published_run(4), PrivatePart::kShown).html;
  EXPECT_TRUE(has(html, "as published, no guarantee</text>"));
  EXPECT_TRUE(has(html, "DP-Sinkhorn (Cao et al. 2021)"));
  EXPECT_TRUE(has(html, "That is not a guarantee"));
}

// A class histogram was released as well.
TEST_F(ReportOfARun, ShowsASoundCountOfOtherReleasesAsNoGuarantee) {
  const std::string html = report_html(published_run(1), PrivatePart::kShown).html;
  EXPECT_TRUE(has(html, "as published, no guarantee</text>"));
  EXPECT_TRUE(has(html, "it leaves out what else was released: class histogram"));
  EXPECT_FALSE(has(html, "holds as well"));
}

}  // namespace
}  // namespace obol::report
