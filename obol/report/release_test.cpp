#include "obol/report/release.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/sha256.h"
#include "obol/base/tensor_file.h"
#include "obol/data/writer.h"
#include "obol/model/blueprint.h"
#include "obol/report/data_card.h"
#include "obol/report/testing.h"

namespace obol::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
constexpr const char* kOtherPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
    "-----END PUBLIC KEY-----\n";

// Of numbers that are all zero.
std::string some_generator() {
  const model::Blueprint blueprint{
      .options = {.width = 1, .latent = 1}, .shape = {1, 4, 4}, .num_classes = 2};
  const std::vector<std::byte> zeros(1000);
  std::vector<NamedTensor> tensors = model::tensors_of(blueprint);
  for (NamedTensor& tensor : tensors) {
    std::size_t bytes = size_of(tensor.type);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::size_t>(size);
    tensor.bytes = std::span(zeros).first(bytes);
  }
  return tensor_file(model::texts_of(blueprint), tensors);
}

// Likewise, for the generator's images or others.
std::string some_teacher(std::int64_t classes = 2) {
  const model::ClassifierBlueprint blueprint{
      .shape = {1, 4, 4}, .num_classes = classes, .gain = 30};
  NamedTensor weights = model::weights_of(blueprint);
  const std::vector<std::byte> zeros(static_cast<std::size_t>(classes * blueprint.features()) *
                                     size_of(weights.type));
  weights.bytes = zeros;
  return tensor_file(model::texts_of(blueprint), {weights});
}

// Six grey pictures of two classes.
void use(const Path& folder, const MadeFiles& made) {
  EXPECT_EQ(read_text(folder / run::kGeneratorName, 1 << 20), some_generator());
  write_file(made.script, "TorchScript");
  write({.shape = {.channels = 1, .height = 2, .width = 2},
         .pixels = std::vector<std::uint8_t>(24, 9),
         .labels = {0, 1, 0, 1, 0, 0},
         .class_names = {"0", "1"},
         .declared_size = 6},
        made.samples.string(), data::Format::kNpz);
}

std::set<std::string> names_in(const Path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

class Release : public testing::Test {
 protected:
  void SetUp() override {
    if (OBOL_HAS_PNG == 0) GTEST_SKIP() << "built without libpng";
    const SomeRun run(path("run"), some_recipe("Shapes", "/vault/ward-7.npz"));
    run.write(run::kGeneratorName, some_generator());
    run.write("evaluation.json", kEvaluation);
    run.write("checkpoint.pt", "a checkpoint");
    run.write("private/evaluation.json", kPrivateEvaluation);
    run.write("private/fingerprint.key", "the key");
  }
  [[nodiscard]] Path path(const char* name) const { return folder_.path() / name; }
  [[nodiscard]] Path make(const std::optional<Path>& key = std::nullopt) const {
    write_release({.run = path("run"), .out = path("out"), .sign = key}, use);
    return path("out");
  }
  [[nodiscard]] Path file(const char* name, std::string_view text) const {
    write_file(path(name), text);
    return path(name);
  }
  // What verify says, or nothing.
  static std::string complaint(const Path& release, const std::optional<Path>& key = {}) {
    try {
      verify_release(release, key);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  // Sums that are right, as an attacker would make them.
  static void sum_again(const Path& release, const std::string& more = "") {
    std::string sums;
    for (const std::string& name : names_in(release))
      if (!name.starts_with("SHA256SUMS"))
        sums += sha256_of(FileBytes(release / name)) + "  " + name + "\n";
    write_file(release / "SHA256SUMS", sums + more);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Release, HoldsWhatMayBeHandedOverAndNothingElse) {
  const Path release = make();
  EXPECT_EQ(names_in(release),
            (std::set<std::string>{"DATA_CARD.md", "SHA256SUMS", "certificate.json",
                                   "certificate.md", "evaluation.json", "generator.pt",
                                   "generator.safetensors", "ledger.jsonl", "recipe.toml",
                                   "report.html", "samples.npz", "samples.png"}));
  for (const std::string& name : names_in(release)) {
    const std::string text = read_text(release / name, 1 << 20);
    for (const char* secret : {"vault", "ward-7", "the key", "1.01", path("run").c_str()})
      EXPECT_FALSE(has(text, secret)) << secret << " in " << name;
  }
  const ReleaseCheck found = verify_release(release, std::nullopt);
  EXPECT_EQ(found.files, 11U);
  EXPECT_TRUE(found.has_script);
  EXPECT_EQ(found.signer, Signer::kNobody);
  EXPECT_EQ(found.certificate.ledger.entries.size(), 3U);
}

TEST_F(Release, HoldsTheTeacherThatGaveTheLabelsAndSaysSo) {
  write_file(path("run") / run::kTeacherName, some_teacher());
  const Path release = make();
  EXPECT_EQ(read_text(release / run::kTeacherName, 1 << 20), some_teacher());
  EXPECT_EQ(verify_release(release, std::nullopt).files, 12U);
  const std::string card = read_text(release / "DATA_CARD.md", 1 << 20);
  EXPECT_TRUE(has(card, "Labels were given by a private classifier")) << card;
  EXPECT_TRUE(has(card, "| `teacher.safetensors` |")) << card;
  EXPECT_TRUE(has(card, "alone, with the labels that it was asked for, is right about 95.1%"))
      << card;
  EXPECT_TRUE(has(read_text(release / run::kReportName, 1 << 20),
                  "Labels of samples are given by a private classifier"));
}

TEST_F(Release, HasACardThatSaysWhatItIs) {
  const std::string card = read_text(make() / "DATA_CARD.md", 1 << 20);
  for (const char* part :
       {"# Shapes\n", "Two shapes.", "6, synthetic", "2x2 pixels, grey", "60,000 private records |",
        "dp-sinkhorn, barrier `record`", "**Epsilon ", "Had any one record been left out",
        "hyper-parameters", "95.1%", "- 3.1% of the images are junk", "| 0 | circle | 4 |",
        "| 1 | square | 2 |", "| `samples.npz` |", "sha256sum -c SHA256SUMS"})
    EXPECT_TRUE(has(card, part)) << part << " in\n" << card;
  EXPECT_FALSE(has(card, "openssl")) << "it is not signed";
  EXPECT_FALSE(has(card, "classifier: each")) << "it has no teacher";
}

TEST_F(Release, HasACardInWhichTextsAreTexts) {
  const SomeRun run(path("odd"),
                    some_recipe("<script>x</script> [l](javascript:x)\\u001b", "ward"));
  run.write(run::kGeneratorName, some_generator());
  std::string evaluation = kEvaluation;
  evaluation.replace(evaluation.find("circle"), 6, "a | b");
  run.write("evaluation.json", evaluation);
  write_release({.run = run.path(), .out = path("out")}, use);
  const std::string card = read_text(path("out") / "DATA_CARD.md", 1 << 20);
  EXPECT_TRUE(has(card, "# \\<script\\>x\\</script\\> \\[l\\](javascript:x)\\u001b\n")) << card;
  EXPECT_TRUE(has(card, "| 0 | a \\| b | 4 |")) << card;
}

TEST_F(Release, NamesDataThatEveryoneHas) {
  const SomeRun run(path("known"), some_recipe("Digits", "mnist"));
  run.write(run::kGeneratorName, some_generator());
  write_release({.run = run.path(), .out = path("out")}, use);
  EXPECT_TRUE(has(read_text(path("out") / "recipe.toml", 1 << 20), "source = \"mnist\""));
  EXPECT_TRUE(has(read_text(path("out") / "DATA_CARD.md", 1 << 20), "records (mnist)"));
}

TEST_F(Release, IsRefusedWhereThereIsNothingToHandOver) {
  const auto refused = [&](const Path& run, const char* why) {
    try {
      write_release({.run = run, .out = path("out")}, use);
      ADD_FAILURE() << run << " was released";
    } catch (const Error& error) {
      EXPECT_TRUE(has(error.what(), why)) << error.what();
    }
    EXPECT_EQ(names_in(path("run").parent_path()).count("out"), 0U);
  };
  refused(path("none"), "must be a run folder");
  fs::remove(path("run") / privacy::kCertificateName);
  refused(path("run"), "finished");
  fs::remove(path("run") / run::kGeneratorName);
  refused(path("run"), "with a generator");
  const auto bare = run::RunFolder::create(path("bare"), some_recipe(), std::nullopt);
  write_file(bare.generator(), some_generator());
  refused(path("bare"), "trained without privacy");
}

TEST_F(Release, IsRefusedWhereTheNoiseCouldBeMadeAgain) {
  const privacy::LedgerHeader header{.neighbours = privacy::Neighbours::kAddRemove,
                                     .records = 10,
                                     .fingerprint = "none",
                                     .randomness = "not private: fixed seed 7"};
  const auto seeded = run::RunFolder::create(path("seeded"), some_recipe(), header);
  write_file(seeded.generator(), some_generator());
  privacy::write_certificate(seeded.path(), {.delta = Delta{1e-5}});
  EXPECT_THROW(write_release({.run = seeded.path(), .out = path("out")}, use), InvalidArgument);
}

TEST_F(Release, AppearsWholeOrNotAtAll) {
  const auto fail = [](const Path&, const MadeFiles&) { throw Interrupted("stopped"); };
  EXPECT_THROW(write_release({.run = path("run"), .out = path("out")}, fail), Interrupted);
  EXPECT_EQ(names_in(path("run").parent_path()), std::set<std::string>{"run"});
  const Path release = make();
  EXPECT_THROW(static_cast<void>(make()), DataError) << "it is there already";
  EXPECT_EQ(complaint(release), "");
}

TEST_F(Release, IsRefusedWhereTheRecipeWouldTellWhereTheDataAre) {
  const SomeRun run(path("odd"), "data = {source = \"/vault/ward-7.npz\"}\n");
  run.write(run::kGeneratorName, some_generator());
  EXPECT_THROW(write_release({.run = run.path(), .out = path("out")}, use), DataError);
}

TEST_F(Release, ShowsWhichFileWasChanged) {
  const Path key = file("key.pem", kKey);
  for (const bool is_signed : {false, true}) {
    fs::remove_all(path("out"));
    const Path release = make(is_signed ? std::optional(key) : std::nullopt);
    ASSERT_EQ(complaint(release), "");
    for (const std::string& name : names_in(release)) {
      const std::string before = read_text(release / name, 1 << 20);
      for (const std::size_t at : {std::size_t{0}, before.size() / 2, before.size() - 1}) {
        std::string changed = before;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        write_file(release / name, changed);
        EXPECT_TRUE(has(complaint(release), (release / name).string()))
            << name << " at " << at << ": " << complaint(release);
      }
      fs::remove(release / name);
      EXPECT_TRUE(has(complaint(release), (release / name).string())) << complaint(release);
      write_file(release / name, before);
    }
    EXPECT_EQ(complaint(release), "");
    write_file(release / "more.txt", "more");
    EXPECT_TRUE(has(complaint(release), "more.txt must be named among the sums"));
  }
}

TEST_F(Release, IsSignedByWhoHasTheKey) {
  const Path release = make(file("key.pem", kKey));
  const Path known = file("public.pem", kPublicKey);
  EXPECT_EQ(read_text(release / "signer.pem", 1000), kPublicKey);
  EXPECT_TRUE(has(read_text(release / "DATA_CARD.md", 1 << 20), "openssl pkeyutl -verify"));
  EXPECT_EQ(verify_release(release, std::nullopt).signer, Signer::kKeyInside);
  EXPECT_EQ(verify_release(release, known).signer, Signer::kGivenKey);
  EXPECT_TRUE(
      has(complaint(release, file("other.pem", kOtherPublicKey)), "SHA256SUMS.sig must be"));
  const std::string signature = read_text(release / "SHA256SUMS.sig", 100);
  ASSERT_EQ(signature.size(), 64U);
  for (const std::size_t size : {0, 63}) {
    write_file(release / "SHA256SUMS.sig", signature.substr(0, size));
    EXPECT_TRUE(has(complaint(release, known), "SHA256SUMS.sig must be"));
  }
  write_file(release / "SHA256SUMS.sig", std::string(1 << 20, 'x'));
  EXPECT_TRUE(has(complaint(release, known), "SHA256SUMS.sig"));
  // Whoever takes the signature off cannot hide it from those who know the key.
  fs::remove(release / "SHA256SUMS.sig");
  EXPECT_TRUE(has(complaint(release), "SHA256SUMS.sig must be there"));
  fs::remove(release / "signer.pem");
  sum_again(release);
  EXPECT_EQ(verify_release(release, std::nullopt).signer, Signer::kNobody);
  EXPECT_TRUE(has(complaint(release, known), "SHA256SUMS.sig must be there"));
}

TEST_F(Release, WithRightSumsMustStillAgreeWithItsLedger) {
  const Path release = make();
  std::string text = read_text(release / privacy::kCertificateName, 1 << 20);
  text.insert(text.find("\"epsilon\": ") + std::string("\"epsilon\": ").size(), "1");
  write_file(release / privacy::kCertificateName, text);
  sum_again(release);
  EXPECT_TRUE(has(complaint(release), "guarantee.epsilon"));
}

TEST_F(Release, WithRightSumsMustStillHaveAGeneratorOfNumbersThatFit) {
  const Path release = make();
  const Path generator = release / run::kGeneratorName;
  const std::string whole = read_text(generator, 1 << 20);
  for (const std::string& text : {std::string("PK\x03\x04"), whole.substr(0, whole.size() - 1),
                                  tensor_file({{"kind", "generator"}}, {})}) {
    write_file(generator, text);
    sum_again(release);
    EXPECT_TRUE(has(complaint(release), generator.string())) << complaint(release);
    EXPECT_THROW(verify_release(release, std::nullopt), VerificationFailed);
  }
}

TEST_F(Release, WithRightSumsMustStillHaveATeacherThatFitsTheGenerator) {
  write_file(path("run") / run::kTeacherName, some_teacher());
  const Path release = make();
  const Path teacher = release / run::kTeacherName;
  const std::string whole = some_teacher();
  for (const std::string& text :
       {std::string("PK\x03\x04"), whole.substr(0, whole.size() - 1), some_generator(),
        tensor_file({{"kind", "classifier"}}, {}), some_teacher(3)}) {
    write_file(teacher, text);
    sum_again(release);
    EXPECT_TRUE(has(complaint(release), teacher.string())) << complaint(release);
    EXPECT_THROW(verify_release(release, std::nullopt), VerificationFailed);
  }
}

TEST_F(Release, IsRefusedWhereTheTeacherIsALink) {
  write_file(path("elsewhere"), some_teacher());
  fs::create_symlink(path("elsewhere"), path("run") / run::kTeacherName);
  EXPECT_THROW(static_cast<void>(make()), DataError);
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(Release, FromAnyoneLeadsNowhereElse) {
  const Path release = make();
  const Path outside = file("outside", "text");
  const std::string sum = sha256_of(FileBytes(outside));
  for (const std::string name : {"../outside", outside.c_str(), "..", ".", "", "a/b", ".hidden",
                                 "a b", "\x1b[2J", "generator.pt"}) {
    sum_again(release, sum + "  " + name + "\n");
    EXPECT_TRUE(has(complaint(release), "SHA256SUMS:12 must be")) << name << complaint(release);
  }
  sum_again(release, std::string(40, 'a') + "  x\n");
  EXPECT_TRUE(has(complaint(release), "SHA256SUMS:12 must be"));
  sum_again(release, sum + "  x");
  EXPECT_TRUE(has(complaint(release), "whole lines"));
  sum_again(release, std::string(1 << 17, '\n'));
  EXPECT_TRUE(has(complaint(release), "at most 65536 bytes"));

  sum_again(release);
  fs::create_symlink(outside, release / "link");
  EXPECT_TRUE(has(complaint(release), "link must be a regular file"));
  fs::remove(release / "link");
  fs::create_directory(release / "folder");
  EXPECT_TRUE(has(complaint(release), "folder must be a regular file"));
  fs::remove(release / "folder");
  write_file(release / "huge", "");
  fs::resize_file(release / "huge", std::uintmax_t{1} << 40);
  EXPECT_TRUE(has(complaint(release), "huge must be at most 64 GiB large"));
  fs::remove(release / "huge");
  for (int i = 0; i < 100; ++i) write_file(release / ("f" + std::to_string(i)), "");
  EXPECT_TRUE(has(complaint(release), "at most 100 files"));
}

TEST_F(Release, IsRecognisedByWhatIsLeftOfIt) {
  const Path release = make();
  EXPECT_TRUE(is_release(release));
  EXPECT_FALSE(is_release(path("run")));
  EXPECT_FALSE(is_release(path("none")));
  fs::remove(release / "SHA256SUMS");
  EXPECT_TRUE(is_release(release));
  EXPECT_TRUE(has(complaint(release), "SHA256SUMS must be there"));
}

}  // namespace
}  // namespace obol::report
