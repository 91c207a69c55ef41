#include "obol/method/gs_wgan/method.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/ledger.h"
#include "obol/testing/gpu.h"

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

// Two classes: bright on the left, bright on the right.
data::Dataset halves(std::int64_t count) {
  data::Dataset data;
  data.shape = {.channels = 1, .height = 8, .width = 8};
  data.class_names = {"left", "right"};
  std::vector<float> pixels;
  for (std::int64_t k = 0; k < count; ++k) {
    const bool is_left = k % 2 == 0;
    data.labels.push_back(is_left ? 0 : 1);
    Tensor image = torch::rand({8, 8}) * 0.2;
    image.slice(1, is_left ? 0 : 4, is_left ? 4 : 8) += 0.7;
    pixels.insert(pixels.end(), image.data_ptr<float>(), image.data_ptr<float>() + 64);
  }
  data.pixels = pixels;
  data.declared_size = count;
  return data;
}

Options some_options(const std::string& barrier) {
  Options options{.barrier = barrier_from(barrier),
                  .shards = 5,
                  .noise_multiplier = 0.5,
                  .generated_batch = 8,
                  .steps = 12};
  options.method.critic_width = 4;
  options.method.critic_steps = 2;
  options.method.warm_start = 2;
  options.method.critic_learning_rate = 1e-3;
  options.generator.width = 4;
  options.generator.latent = 3;
  options.optimizer = {.learning_rate = 1e-3, .beta1 = 0.5, .beta2 = 0.9};
  return options;
}

class GsWganTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (device_.is_cuda()) OBOL_NEEDS_GPU();
    torch::manual_seed(1);
    stream_.emplace(device_);
  }

  // As a new process would: what the ledger on disk says is all that it knows of turns.
  GsWgan make(const Options& options, RandomBits* bits = nullptr) {
    return {
        options, data_,
        MethodContext{
            .ledger = options.barrier == Barrier::kNone ? nullptr : &ledger_,
            .guard = options.barrier == Barrier::kNone ? nullptr : &guard_,
            .disclosures = &log_,
            .bits = bits != nullptr ? *bits : bits_,
            .bits_of = [](std::int64_t shard) { return std::make_unique<SeededBits>(100 + shard); },
            .own = folder_.path(),
            .device = device_},
        warm_};
  }
  privacy::Ledger new_ledger(const std::string& name) {
    return privacy::Ledger::create(folder_.path() / name,
                                   {.neighbours = privacy::Neighbours::kReplaceOne,
                                    .records = 100,
                                    .fingerprint = "test",
                                    .randomness = "test"});
  }
  std::int64_t spent() {
    guard_.settle();
    std::int64_t count = 0;
    for (const privacy::Event& event : ledger_.spent()) count += count_of(event);
    return count;
  }

  class Log final : public DisclosureLog {
   public:
    void record(std::string_view) override {}
  };

  // What the file of a critic has.
  Tensor kept(std::int64_t shard) {
    const FileBytes file(folder_.path() / "critics" / fmt::format("{:06}.critic", shard));
    const auto bytes = read_all(file, 1 << 20);
    Tensor numbers = torch::empty({static_cast<std::int64_t>(bytes.size() / sizeof(float))});
    std::memcpy(numbers.data_ptr(), bytes.data(), bytes.size());
    return numbers;
  }

  torch::Device device_{GetParam()};
  std::optional<barrier::WorkStream> stream_;
  TemporaryFolder folder_;
  Log log_;
  Private<data::Dataset> data_{halves(100)};
  SeededBits bits_{7};
  std::optional<Path> warm_;
  privacy::Ledger ledger_ = new_ledger("ledger.jsonl");
  privacy::BudgetGuard guard_{ledger_, std::nullopt, {.block = 1}};
  run::UnsafeDiagnostics nothing_;
};

TEST_P(GsWganTest, PaysForTheUsesOfOneShard) {
  for (const std::string schedule : {"cyclic", "uniform"}) {
    Options options = some_options("row");
    options.schedule = schedule;
    ledger_ = new_ledger(schedule + ".jsonl");
    GsWgan method = make(options);
    method.start();
    for (int t = 1; t <= 12; ++t) method.step(t, nothing_);
    EXPECT_EQ(spent(), privacy::most_uses(schedule, 5, 12)) << schedule;
    // The last release is hardly more than its noise, of standard deviation 1 in each of 8 * 64
    // pixels: its length is further than a fifth from that of the noise in one case of 10^9.
    EXPECT_NEAR(method.metrics().at(1).value.value(), std::sqrt(8 * 64), 0.2 * std::sqrt(8 * 64));
  }
}

TEST_P(GsWganTest, DiagnosticsHaveLossesAndChangeNothing) {
  const run::RunFolder run = run::RunFolder::create(folder_.path() / "run", "", std::nullopt);
  run::UnsafeDiagnostics asked(run, 0);
  const auto trained = [&](run::UnsafeDiagnostics& diagnostics, const std::string& name) {
    SeededBits bits(7);
    torch::manual_seed(1);
    ledger_ = new_ledger(name);
    std::filesystem::remove_all(folder_.path() / "critics");
    GsWgan method = make(some_options("row"), &bits);
    method.start();
    for (int t = 1; t <= 3; ++t) method.step(t, diagnostics);
    return method.save();
  };
  const run::Sections with = trained(asked, "with.jsonl");
  const run::Sections without = trained(nothing_, "without.jsonl");
  // A step that is replayed on a GPU has other random numbers.
  EXPECT_TRUE(device_.is_cuda() || with == without);
  std::map<std::string, double> last;
  for (const run::MetricsRow& row : run::read_metrics(run.diagnostics()))
    for (const auto& [key, value] : row.values) last[key] = value;
  // Critics that were just trained tell real images from others.
  EXPECT_LT(last.at("critic_loss"), 0);
  EXPECT_TRUE(std::isfinite(last.at("generator_loss")));
  EXPECT_EQ(last.count("norm_before_clip"), 1U);
}

// Killed after a checkpoint, a run repeats steps; the ledger has at least what each shard answered.
TEST_P(GsWganTest, NeverCountsFewerAnswersThanThereWere) {
  const Options options = some_options("batch");
  run::Sections saved;
  {
    GsWgan method = make(options);
    method.start();
    for (int t = 1; t <= 3; ++t) method.step(t, nothing_);
    saved = method.save();
    for (int t = 4; t <= 9; ++t) method.step(t, nothing_);  // and is killed
  }
  const std::int64_t paid = spent();
  EXPECT_EQ(paid, 2);
  GsWgan method = make(options);
  method.load(saved);
  // Three turns were settled and up to a hundred more may have been taken: 103 turns of five
  // shards.
  method.step(4, nothing_);
  EXPECT_EQ(spent(), 21);
}

// What an evaluation paid for is no answer of a shard, and neither turns nor critics that are lost
// give any back.
TEST_P(GsWganTest, TakesNothingElseForAPaidAnswer) {
  const Options options = some_options("batch");
  run::Sections saved;
  {
    GsWgan method = make(options);
    method.start();
    for (int t = 1; t <= 7; ++t) method.step(t, nothing_);
    saved = method.save();
  }
  for (int k = 0; k < 20; ++k)
    guard_.pay_once("validation accuracy", privacy::Gaussian{.noise_multiplier = 50, .count = 1});
  std::filesystem::remove_all(folder_.path() / "critics");
  GsWgan method = make(options);
  method.load(saved);
  for (int t = 8; t <= 30; ++t) method.step(t, nothing_);
  EXPECT_EQ(ledger_.record().paid("training", privacy::Gaussian{0.5, 1}),
            privacy::most_uses("cyclic", 5, 30));
}

TEST_P(GsWganTest, GoesOnAfterLoadingAsItWouldHave) {
  const Options options = some_options("row");
  GsWgan first = make(options);
  first.start();
  for (int t = 1; t <= 3; ++t) first.step(t, nothing_);
  const run::Sections saved = first.save();
  GsWgan second = make(options);
  second.load(saved);
  EXPECT_EQ(second.save().at("generator"), saved.at("generator"));
  EXPECT_EQ(second.save().at("average"), saved.at("average"));
}

TEST_P(GsWganTest, WarmStartsOnceForAllRuns) {
  warm_ = folder_.path() / "warm";
  const Options options = some_options("row");
  make(options).start();
  const FileBytes kept(*warm_ / "000004.critic");
  const auto before = read_all(kept, 1 << 20);
  std::filesystem::remove_all(folder_.path() / "critics");
  make(options).start();  // takes them from there: other bits would make other critics
  const FileBytes copied(folder_.path() / "critics" / "000004.critic");
  EXPECT_EQ(read_all(copied, 1 << 20), before);
}

TEST_P(GsWganTest, RefusesWhatDoesNotGoTogether) {
  Options options = some_options("record");
  EXPECT_THROW(check(options, data_.facts()), InvalidArgument);
  options = some_options("row");
  options.shards = 101;
  EXPECT_THROW(check(options, data_.facts()), InvalidArgument);
}

// However many cores share the work, each critic has its own random numbers.
TEST_P(GsWganTest, WarmStartsTheSameCriticsOnAnyNumberOfThreads) {
  if (device_.is_cuda()) GTEST_SKIP() << "cores of a processor";
  const int usual = at::get_num_threads();
  std::vector<Tensor> found;
  for (const int threads : {1, 2, 3}) {
    std::filesystem::remove_all(folder_.path() / "critics");
    at::set_num_threads(threads);
    make(some_options("row")).start();
    std::vector<Tensor> all;
    for (std::int64_t shard = 0; shard < 5; ++shard) all.push_back(kept(shard));
    found.push_back(torch::stack(all));
  }
  at::set_num_threads(usual);
  EXPECT_GT((found[0][0] - found[0][1]).norm().item<double>(), 1);
  // Products may add in another order; what is almost 0 may then step the other way.
  for (const Tensor& other : {found[1], found[2]})
    EXPECT_LT((found[0] - other).norm().item<double>(), 0.01 * found[0].norm().item<double>());
}

// Without noise it is a GAN like others, and with little it still is.
TEST_P(GsWganTest, LearnsWhichHalfIsBright) {
  for (const std::string barrier : {"none", "row"}) {
    Options options = some_options(barrier);
    options.noise_multiplier = 0.05;
    options.shards = 2;
    options.steps = 300;
    options.method.critic_steps = 3;
    options.method.warm_start = 20;
    options.method.average = 0.9;
    options.optimizer.learning_rate = 5e-3;
    std::filesystem::remove_all(folder_.path() / "critics");
    GsWgan method = make(options);
    method.start();
    for (int t = 1; t <= options.steps; ++t) method.step(t, nothing_);
    const run::Samples samples = *method.samples();
    double left = 0;
    double right = 0;
    for (std::size_t k = 0; k < samples.pixels.size(); ++k) {
      const bool is_right_pixel = k % 8 >= 4;
      const bool is_right_class = k / 64 >= 10;
      (is_right_pixel == is_right_class ? right : left) += samples.pixels[k] / 255.0 / 640;
    }
    // 0.8 and 0.1 in the data.
    EXPECT_GT(right, 0.6) << barrier;
    EXPECT_LT(left, 0.3) << barrier;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, GsWganTest, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Gpu, GsWganTest, testing::Values("cuda"));

}  // namespace
}  // namespace obol::method::gs_wgan
