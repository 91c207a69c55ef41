#include "obol/run/folder.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/privacy/ledger_testing.h"
#include "obol/run/testing.h"

namespace obol::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSmallRecipe = "title = \"t\"\n\n[privacy]\nsteps = 10\n";

class Folder : public testing::Test {
 protected:
  [[nodiscard]] Path path() const { return folder_.path() / "a"; }
  RunFolder create() const {
    return RunFolder::create(path(), kSmallRecipe, privacy::some_header());
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Folder, AppearsWithItsRecipeAndItsLedger) {
  const RunFolder folder = create();
  EXPECT_EQ(folder.recipe(), kSmallRecipe);
  EXPECT_EQ(read_text(path() / "recipe.toml", 1000), kSmallRecipe);
  privacy::Ledger ledger = privacy::Ledger::open(folder.ledger(), privacy::some_header());
  EXPECT_TRUE(ledger.spent().empty());
  for (const auto& entry : fs::directory_iterator(path().parent_path()))
    EXPECT_EQ(entry.path(), path()) << "nothing beside it";
}

TEST_F(Folder, WithoutALedgerWhereNothingIsPrivate) {
  const RunFolder folder = RunFolder::create(path(), kSmallRecipe, std::nullopt);
  EXPECT_FALSE(fs::exists(folder.ledger()));
}

TEST_F(Folder, MayBeMadeInAnEmptyOneButNotInARunOrAnythingElse) {
  fs::create_directory(path());
  create();
  EXPECT_TRUE(says(refusal([&] { create(); }), "--resume"));
  EXPECT_EQ(RunFolder::open(path()).recipe(), kSmallRecipe);
  const Path other = path().parent_path() / "b";
  fs::create_directory(other);
  std::ofstream(other / "thesis.tex") << "years of work";
  EXPECT_TRUE(
      says(refusal([&] { RunFolder::create(other, kSmallRecipe, std::nullopt); }), "not empty"));
  EXPECT_TRUE(fs::exists(other / "thesis.tex"));
}

TEST_F(Folder, WithoutARecipeIsNoRun) {
  fs::create_directory(path());
  EXPECT_TRUE(says(refusal([&] { RunFolder::open(path()); }), "recipe.toml"));
  EXPECT_TRUE(says(refusal([&] { RunFolder::resume(path(), kSmallRecipe); }), "recipe.toml"));
}

TEST_F(Folder, IsResumedWithItsOwnRecipeOnly) {
  create();
  EXPECT_NO_THROW(RunFolder::resume(path(), kSmallRecipe));
  const std::string text =
      refusal([&] { RunFolder::resume(path(), "title = \"t\"\n\n[privacy]\nsteps = 11\n"); });
  EXPECT_TRUE(says(text, "line 4: `steps = 10` there, `steps = 11` here")) << text;
  const std::string shorter = refusal([&] { RunFolder::resume(path(), "title = \"t\"\n"); });
  EXPECT_TRUE(says(shorter, "line 3: `[privacy]` there, nothing here")) << shorter;
}

TEST_F(Folder, IsTrainedByOneAtATimeButReadByAnybody) {
  {
    const RunFolder first = create();
    const std::string text = refusal([&] { RunFolder::resume(path(), kSmallRecipe); });
    EXPECT_TRUE(says(text, "one training at a time")) << text;
    EXPECT_NO_THROW(RunFolder::open(path()));
  }
  const RunFolder second = RunFolder::resume(path(), kSmallRecipe);
  EXPECT_TRUE(says(refusal([&] { RunFolder::resume(path(), kSmallRecipe); }), "one training"));
}

TEST_F(Folder, KeepsWhatIsPrivateFromOthers) {
  const RunFolder folder = create();
  EXPECT_FALSE(fs::exists(path() / "private")) << "made when it is needed";
  const Path inside = folder.make_private();
  struct stat status {};
  ASSERT_EQ(stat(inside.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  EXPECT_TRUE(says(read_text(inside / "README", 10'000), "DO NOT RELEASE"));
  EXPECT_EQ(folder.checkpoint().parent_path(), path());
  EXPECT_EQ(folder.diagnostics().parent_path(), inside);
  EXPECT_EQ(folder.make_private(), inside);
}

TEST_F(Folder, HasItsSecretsFromTheStart) {
  RunFolder::create(path(), kSmallRecipe, std::nullopt, {{"key", std::string("a\0b", 3)}});
  EXPECT_EQ(read_text(path() / "private" / "key", 100), std::string("a\0b", 3));
  EXPECT_TRUE(fs::exists(path() / "private" / "README"));
  EXPECT_EQ(fs::status(path() / "private").permissions(), fs::perms::owner_all);
}

TEST_F(Folder, IsRidOfWhatAKilledProcessLeftHalfWritten) {
  create().make_private();
  const std::vector<Path> partials = {path() / ".checkpoint.pt.partial-0123456789abcdef",
                                      path() / "private" / ".checkpoint.pt.partial-0"};
  for (const Path& partial : partials) std::ofstream(partial) << "half";
  std::ofstream(path() / "checkpoint.pt") << "whole";
  EXPECT_THROW(RunFolder::resume(path(), "another"), InvalidArgument);
  EXPECT_TRUE(fs::exists(partials[0])) << "what is refused changes nothing";
  RunFolder::resume(path(), kSmallRecipe);
  for (const Path& partial : partials) EXPECT_FALSE(fs::exists(partial)) << partial;
  EXPECT_EQ(read_text(path() / "checkpoint.pt", 100), "whole");
}

TEST_F(Folder, ForgetsPicturesOfStepsThatAreTakenAgain) {
  const RunFolder folder = create();
  fs::create_directory(folder.samples());
  for (const std::int64_t step : {100, 200, 1'000'000}) std::ofstream(folder.sample(step)) << "x";
  EXPECT_EQ(folder.sample(100).filename(), "000100.png");
  folder.remove_samples_after(100);
  EXPECT_TRUE(fs::exists(folder.sample(100)));
  EXPECT_FALSE(fs::exists(folder.sample(200)));
  EXPECT_FALSE(fs::exists(folder.sample(1'000'000)));
}

// It may come from anyone, and so may the links in it.
TEST_F(Folder, FollowsNoLinkInIt) {
  const Path outside = path().parent_path() / "outside";
  fs::create_directory(outside);
  std::ofstream(outside / "000900.png") << "precious";
  const RunFolder folder = create();
  fs::create_directory_symlink(outside, folder.samples());
  fs::create_directory_symlink(outside, path() / "private");
  const fs::perms before = fs::status(outside).permissions();
  EXPECT_TRUE(says(refusal([&] { folder.remove_samples_after(100); }), "is a link"));
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(folder.make_private()); }), "is a link"));
  EXPECT_TRUE(fs::exists(outside / "000900.png"));
  EXPECT_EQ(fs::status(outside).permissions(), before);
  fs::create_symlink(outside / "log", folder.disclosures());
  EXPECT_TRUE(says(refusal([&] { Disclosures(folder).record("a reason"); }), "is a link"));
  fs::rename(path() / "recipe.toml", outside / "recipe.toml");
  fs::create_symlink(outside / "recipe.toml", path() / "recipe.toml");
  EXPECT_TRUE(
      says(refusal([&] { static_cast<void>(RunFolder::open(path()).recipe()); }), "is a link"));
}

TEST_F(Folder, IsOnesOwnWhereItsKeyIs) {
  EXPECT_FALSE(create().is_own()) << "a release has no key";
  fs::remove_all(path());
  const RunFolder own = RunFolder::create(path(), kSmallRecipe, privacy::some_header(),
                                          {{RunFolder::kOwnKeyName, "key"}});
  EXPECT_TRUE(own.is_own());
  EXPECT_EQ(fs::status(path() / "private" / RunFolder::kOwnKeyName).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  if (geteuid() == 0) {
    ASSERT_EQ(chown((path() / "private" / RunFolder::kOwnKeyName).c_str(), 12345, 12345), 0);
    EXPECT_FALSE(own.is_own()) << "somebody else's";
  }
}

TEST_F(Folder, RecordsWhyPrivateValuesWereOpened) {
  const RunFolder folder = create();
  EXPECT_TRUE(privacy::read_disclosures(folder.path()).empty());
  Disclosures log(folder);
  const Private<int> secret(7);
  EXPECT_EQ(secret.declassify("accuracy on the \"training\" set", log).value, 7);
  std::ofstream(folder.disclosures(), std::ios::app) << R"({"time":"2026-01)";  // torn
  log.record("second");
  log.record("second");
  EXPECT_EQ(privacy::read_disclosures(folder.path()),
            (std::vector<std::string>{"accuracy on the \"training\" set", "second"}));
}

TEST_F(Folder, SaysHowToConvertTheGeneratorOfAnEarlierVersion) {
  const RunFolder folder = RunFolder::create(path(), "a = 1\n", std::nullopt);
  EXPECT_TRUE(says(refusal([&] { folder.require_generator(); }), "one that has none yet"));
  write_file(path() / kScriptName, "PK");
  EXPECT_TRUE(says(refusal([&] { folder.require_generator(); }), "scripts/convert-generator"));
  write_file(folder.generator(), "numbers");
  EXPECT_NO_THROW(folder.require_generator());
}

}  // namespace
}  // namespace obol::run
