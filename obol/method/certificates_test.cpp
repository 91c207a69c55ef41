#include "obol/method/certificates.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/method/methods.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::method {
namespace {

using nlohmann::ordered_json;
using privacy::kCertificateName;
using privacy::Ledger;
using privacy::SampledGaussian;

constexpr const char* kRecipe =
    "[privacy]\nbarrier = \"batch\"\nsampling_rate = 0.01\nnoise_multiplier = 1.0\nsteps = 300\n"
    "generated_batch = 10\ndelta = 1e-5\n";
constexpr const char* kFollows = "follows = \"dp-sinkhorn\"\n";

class CertificateOfARun : public ::testing::Test {
 protected:
  CertificateOfARun() {
    Ledger ledger = Ledger::create(run / privacy::kLedgerName, privacy::some_header());
    ledger.reserve("training", SampledGaussian{0.01, 1, 300});
  }
  std::vector<privacy::PublishedCount> counts() {
    return published_counts(run, privacy::read_ledger(run / privacy::kLedgerName));
  }
  void write_recipe(const std::string& text) { write_file(run / "recipe.toml", text); }

  TemporaryFolder folder;
  Path run = folder.path();
};

TEST_F(CertificateOfARun, HasTheCountOfTheRecipeBesideIt) {
  EXPECT_TRUE(counts().empty());
  write_recipe(kRecipe);
  EXPECT_TRUE(counts().empty());
  write_recipe(std::string(kRecipe) + kFollows);
  ASSERT_EQ(counts().size(), 1U);
  EXPECT_TRUE(counts()[0].holds);
  EXPECT_TRUE(privacy::same_mechanism(counts()[0].per_release, SampledGaussian{0.01, 1, 1}));
}

TEST_F(CertificateOfARun, HasNoCountWhereTheRecipeHasNoPrice) {
  const std::string text = std::string(kRecipe) + kFollows;
  for (const std::string method : {"ldp-wgan", "gs-wgan", "another"}) {
    write_recipe(text + "[method]\nname = \"" + method + "\"\n");
    EXPECT_TRUE(counts().empty()) << method;
  }
  std::string none = text;
  none.replace(none.find("batch"), 5, "none");
  write_recipe(none);
  EXPECT_TRUE(counts().empty());
}

// It is recomputed from the recipe, and never taken from the certificate.
TEST_F(CertificateOfARun, IsVerifiedByTheRecipe) {
  write_recipe(std::string(kRecipe) + kFollows);
  privacy::write_certificate(run, {.delta = Delta{1e-5}, .published = counts().at(0)});
  EXPECT_TRUE(verify_certificate(run).published->is_a_guarantee());
  EXPECT_TRUE(read_terms(run).published);
  EXPECT_THROW(privacy::verify_certificate(run), VerificationFailed) << "without the recipe";
  auto claimed = ordered_json::parse(read_text(run / kCertificateName, 1 << 20));
  claimed["as_published"]["per_release"]["noise_multiplier"] = 700.0;
  write_file(run / kCertificateName, claimed.dump(2) + "\n");
  EXPECT_THROW(verify_certificate(run), VerificationFailed);
  privacy::write_certificate(run, {.delta = Delta{1e-5}, .published = counts().at(0)});
  std::filesystem::remove(run / "recipe.toml");
  EXPECT_THROW(verify_certificate(run), VerificationFailed) << "nothing to derive it from";
  EXPECT_FALSE(read_terms(run).published);
}

TEST(Methods, AreFoundByTheNameInARecipe) {
  const auto of = [](const std::string& text) { return recipe::Recipe::parse(text, "a.toml"); };
  EXPECT_EQ(method_of(of("")).name, "dp-sinkhorn");
  EXPECT_EQ(method_of(of("[method]\nname = \"gs-wgan\"\n")).name, "gs-wgan");
  EXPECT_EQ(method_of(of("[method]\nname = \"ldp-wgan\"\n")).data, DataKind::kPrivatizedRecords);
  EXPECT_THROW(method_of(of("[method]\nname = \"gs-gan\"\n")), InvalidArgument);
  EXPECT_EQ(method_named_in(of("[method]\nname = \"gs-gan\"\n")), "gs-gan");
  EXPECT_FALSE(method_named_in(of("")));
  EXPECT_EQ(find_method("gs-gan"), nullptr);
}

}  // namespace
}  // namespace obol::method
