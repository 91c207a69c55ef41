#include "obol/report/compare.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/report/published.h"
#include "obol/report/testing.h"

namespace obol::report {
namespace {

class Comparison : public testing::Test {
 protected:
  [[nodiscard]] Path path(const char* name) const { return folder_.path() / name; }

 private:
  TemporaryFolder folder_;
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST_F(Comparison, PutsRunsBesideWhatOthersPublishedOnTheSameData) {
  const SomeRun first(path("first"), some_recipe("First", "mnist"));
  const SomeRun second(path("second"), some_recipe("Second", "/data/mnist"));
  first.write("evaluation.json", kEvaluation);
  const std::string html = compare_html({first.path(), second.path()});
  EXPECT_TRUE(has(html, "<strong>first</strong>"));
  EXPECT_TRUE(has(html, "dp-sinkhorn, record"));
  EXPECT_TRUE(has(html, "CNN accuracy against epsilon"));
  EXPECT_TRUE(has(html, "Fréchet inception distance against epsilon"));
  EXPECT_TRUE(has(html, "Classifier Fréchet distance against epsilon"));
  EXPECT_TRUE(has(html, "DP-Sinkhorn, “10”</text>"));
  EXPECT_TRUE(has(html, "Utility against privacy on mnist"));
  // Two plots with the figures of others, two of which do not hold.
  EXPECT_EQ(count_of(html, "class=\"s r\""), 4U);
  EXPECT_EQ(count_of(html, "class=\"s c0 f\""), 3U) << "the first run, in each plot";
  EXPECT_FALSE(has(html, "fashion"));
  EXPECT_TRUE(has(html, "obol evaluate RUN")) << "for the second";
}

TEST_F(Comparison, KeepsDataSetsApart) {
  const SomeRun first(path("a"), some_recipe("A", "mnist"));
  const SomeRun second(path("b"), some_recipe("<i>B", "fashion-mnist"));
  for (const SomeRun& run : {first, second}) run.write("evaluation.json", kEvaluation);
  const std::string html = compare_html({first.path(), second.path()});
  EXPECT_TRUE(has(html, "privacy on mnist"));
  EXPECT_TRUE(has(html, "privacy on fashion-mnist"));
  EXPECT_FALSE(has(html, "<i>B"));
}

TEST_F(Comparison, TellsRunsOfOneNameApartByTheirPlaces) {
  const SomeRun first(path("x") / "a");
  const SomeRun second(path("y") / "a");
  const std::string html = compare_html({first.path(), second.path()});
  EXPECT_TRUE(has(html, "<strong>" + first.path().string() + "</strong>"));
  EXPECT_THROW(compare_html({}), InvalidArgument);
}

TEST(PublishedFigures, AreKnownForTwoDataSets) {
  EXPECT_EQ(published_figures("mnist").size(), 9U);
  EXPECT_EQ(published_figures("fashion-mnist").size(), 4U);
  EXPECT_TRUE(published_figures("celeba").empty());
  for (const PublishedFigures& figures : published_figures("mnist")) {
    EXPECT_GT(*figures.cnn, 0.5);
    EXPECT_LT(*figures.cnn, 1);
  }
}

}  // namespace
}  // namespace obol::report
