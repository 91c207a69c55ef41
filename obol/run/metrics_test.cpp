#include "obol/run/metrics.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

#include "obol/base/console.h"
#include "obol/run/testing.h"

namespace obol::run {
namespace {

constexpr std::uint64_t kLargestMetrics = 1 << 20;

static_assert(!std::is_default_constructible_v<Public>);
static_assert(!std::is_convertible_v<double, Public>, "without an origin nothing gets in");
static_assert(!std::is_constructible_v<Public, Private<double>, Origin>);

class Metrics : public testing::Test {
 protected:
  [[nodiscard]] Path path() const { return folder_.path() / "metrics.jsonl"; }
  [[nodiscard]] std::string text() const { return read_text(path(), kLargestMetrics); }
  void fill(std::int64_t last) const {
    MetricsLog log(path(), 0);
    for (std::int64_t step = 1; step <= last; ++step)
      log.append(step, static_cast<double>(step),
                 {{"loss", Public(0.5 * static_cast<double>(step), Origin::kSyntheticOnly)}});
  }
  [[nodiscard]] std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    for (const MetricsRow& row : read_metrics(path())) found.push_back(row.step);
    return found;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Metrics, AreLinesOfJson) {
  MetricsLog log(path(), 0);
  log.append(100, 12.34,
             {{"loss", Public(0.1, Origin::kReleased)},
              {"broken", Public(std::numeric_limits<double>::infinity(), Origin::kSyntheticOnly)}});
  EXPECT_EQ(text(), "{\"step\":100,\"seconds\":12.3,\"loss\":0.1,\"broken\":null}\n");
  const MetricsRow row = read_metrics(path()).at(0);
  EXPECT_EQ(row.step, 100);
  EXPECT_EQ(row.seconds, 12.3);
  EXPECT_EQ(row.values.at("loss"), 0.1);
  EXPECT_TRUE(std::isnan(row.values.at("broken")));
}

TEST_F(Metrics, RiseInStepsAndHaveNamesOfTheirOwn) {
  MetricsLog log(path(), 5);
  EXPECT_THROW(log.append(5, 0, {}), InvalidArgument);
  for (const char* name : {"", "step", "seconds"})
    EXPECT_THROW(log.append(6, 0, {{name, Public(1, Origin::kTiming)}}), InvalidArgument) << name;
  EXPECT_EQ(text(), "");
}

TEST_F(Metrics, OfStepsThatAreTakenAgainAreCutOff) {
  fill(5);
  const std::string before = text();
  MetricsLog log(path(), 3);
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(before.starts_with(text()));
  log.append(4, 9, {});
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(Metrics, SurviveATornLastLineWhereverItIsTorn) {
  fill(3);
  const std::string whole = text();
  const std::size_t third = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = third; size < whole.size(); ++size) {
    for (const std::string& zeroes : {std::string(), std::string(7, '\0')}) {
      std::ofstream(path(), std::ios::trunc) << whole.substr(0, size) << zeroes;
      EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2})) << size;
      MetricsLog(path(), 3).append(4, 0, {});
      EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 4})) << size;
    }
  }
}

TEST_F(Metrics, DamagedInTheMiddleAreRefused) {
  fill(2);
  const std::string whole = text();
  std::ofstream(path(), std::ios::trunc) << "{\"step\":1}\nnonsense\n" << whole;
  EXPECT_TRUE(says(refusal([&] { read_metrics(path()); }), "metrics.jsonl:2"));
  std::ofstream(path(), std::ios::trunc) << "{\"step\":\"x\"}\n" << whole;
  EXPECT_THROW(read_metrics(path()), DataError);
}

TEST_F(Metrics, OfNoFileAreNone) { EXPECT_TRUE(read_metrics(path()).empty()); }

class Diagnostics : public testing::Test {
 protected:
  Diagnostics() { set_console({.level = LogLevel::kError}); }
  ~Diagnostics() override { set_console({}); }
  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.path() / "a", "", std::nullopt);
};

TEST_F(Diagnostics, AreNotOpenedUnlessAskedFor) {
  UnsafeDiagnostics diagnostics;
  diagnostics.append(1, "batch_size", Private<double>(7));
  EXPECT_FALSE(diagnostics.is_asked_for());
  EXPECT_TRUE(privacy::read_disclosures(folder.path()).empty());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "private"));
}

TEST_F(Diagnostics, StayInThePrivateFolderAndAreDisclosed) {
  UnsafeDiagnostics diagnostics(folder, 0);
  diagnostics.append(1, "batch_size", Private<double>(7));
  diagnostics.append(2, "batch_size", Private<double>(9));
  diagnostics.append(2, "loss", Private<double>(0.5));
  EXPECT_EQ(read_text(folder.path() / "private" / "diagnostics.jsonl", kLargestMetrics),
            "{\"step\":1,\"batch_size\":7.0}\n{\"step\":2,\"batch_size\":9.0}\n"
            "{\"step\":2,\"loss\":0.5}\n");
  EXPECT_EQ(
      privacy::read_disclosures(folder.path()),
      (std::vector<std::string>{"unsafe diagnostics: batch_size", "unsafe diagnostics: loss"}));
  EXPECT_TRUE(read_metrics(folder.metrics()).empty());
}

TEST_F(Diagnostics, OfStepsThatAreTakenAgainAreCutOff) {
  UnsafeDiagnostics(folder, 0).append(2, "loss", Private<double>(1));
  UnsafeDiagnostics(folder, 1).append(2, "loss", Private<double>(3));
  EXPECT_EQ(read_text(folder.diagnostics(), kLargestMetrics), "{\"step\":2,\"loss\":3.0}\n");
}

}  // namespace
}  // namespace obol::run
