#include "obol/privacy/certificate.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/privacy/disclosures.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

using nlohmann::ordered_json;

const Event kSteps = SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 1, .count = 500};

class Certified : public ::testing::Test {
 protected:
  Certified() {
    LedgerHeader header = some_header();
    header.randomness = "secure (OpenSSL)";
    Ledger ledger = Ledger::create(run / kLedgerName, header);
    ledger.reserve("class histogram", Gaussian{.noise_multiplier = 50, .count = 1});
    Reservation steps = ledger.reserve("training", kSteps);
    steps.take(321);
    steps.settle();
  }

  void change(const std::function<void(ordered_json&)>& edit) {
    auto value = ordered_json::parse(read_text(run / kCertificateName, 1 << 20));
    edit(value);
    write_file(run / kCertificateName, value.dump(2) + "\n");
  }

  std::string failure() {
    try {
      verify_certificate(run, counts);
    } catch (const VerificationFailed& error) {
      return error.what();
    } catch (const DataError& error) {
      return std::string("data: ") + error.what();
    }
    return "";
  }

  // Follows from what lies beside the ledger, as long as that does.
  PublishedCount recipe_count(int rows) {
    write_file(run / "recipe.toml", "");
    count = {.paper = "A Paper",
             .purpose = "training",
             .per_release = SampledGaussian{0.01, rows > 1 ? 7.0 : 1.0, rows},
             .outputs_per_step = rows,
             .holds = rows == 1,
             .reason = "its outputs share a subsample"};
    return count;
  }

  TemporaryFolder folder;
  Path run = folder.path();
  PublishedCount count{};
  PublishedCounts counts = [this](const Path& folder_of_run, const LedgerRecord&) {
    return std::filesystem::exists(folder_of_run / "recipe.toml")
               ? std::vector<PublishedCount>{count}
               : std::vector<PublishedCount>{};
  };
};

TEST_F(Certified, SaysWhatWasSpentAndVerifies) {
  write_certificate(run, {.delta = Delta{1e-5}});
  const Certificate certificate = verify_certificate(run, counts);
  EXPECT_EQ(certificate.guarantee.epsilon,
            account({Gaussian{50, 1}, with_count(kSteps, 321)}, Delta{1e-5}).epsilon);
  EXPECT_TRUE(certificate.is_private());
  const std::string text = read_text(run / kCertificateTextName, 1 << 20);
  for (const char* part : {"60,000", "hmac-sha256:0123", "class histogram", "| 321 |",
                           "What is not covered", "secure (OpenSSL)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

// A ledger may come from anywhere, and its texts must not become links, rows or headings.
TEST_F(Certified, ShowsTextsOfTheLedgerAsTextAndNothingElse) {
  const Path other = run / "other";
  std::filesystem::create_directory(other);
  LedgerHeader header = some_header();
  header.randomness = "secure [see](http://a.example) <b>";
  Ledger ledger = Ledger::create(other / kLedgerName, header);
  ledger.plan({{"training | 0 | [x](y)", with_count(kSteps, 1)}});
  ledger.reserve("training | 0 | [x](y)", with_count(kSteps, 1));
  write_certificate(other, {.delta = Delta{1e-5}, .not_covered = {"<img src=x>"}});
  EXPECT_NO_THROW(verify_certificate(other));
  const std::string text = read_text(other / kCertificateTextName, 1 << 20);
  for (const char* part : {"[see](", "<b>", "training | 0", "[x](y)", "<img src=x>"})
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(text.find("training \\| 0 \\| \\[x\\](y)"), std::string::npos) << text;
}

TEST_F(Certified, RoundsTheDeltasOfPlansUp) {
  const Path other = run / "other";
  std::filesystem::create_directory(other);
  Ledger ledger = Ledger::create(other / kLedgerName, some_header());
  ledger.plan({{"training", with_count(kSteps, 1)}});
  write_certificate(other, {.delta = Delta{1.00000049e-5}});
  const std::string text = read_text(other / kCertificateTextName, 1 << 20);
  EXPECT_NE(text.find("| 1.00001e-05 |"), std::string::npos) << text;
}

TEST_F(Certified, EveryChangeToItIsFound) {
  const std::vector<std::pair<const char*, std::function<void(ordered_json&)>>> changes = {
      {"guarantee.epsilon", [](auto& c) { c["guarantee"]["epsilon"] = 0.5; }},
      {"guarantee.epsilon_lower", [](auto& c) { c["guarantee"]["epsilon_lower"] = 0.0; }},
      {"guarantee.epsilon", [](auto& c) { c["guarantee"]["delta"] = 0.5; }},
      {"guarantee.neighbours", [](auto& c) { c["guarantee"]["neighbours"] = "person"; }},
      {"guarantee.epsilon", [](auto& c) { c["guarantee"]["group_size"] = 3; }},
      {"randomness", [](auto& c) { c["randomness"] = "dice"; }},
      {"data.records", [](auto& c) { c["data"]["records"] = 1000000; }},
      {"data.fingerprint", [](auto& c) { c["data"]["fingerprint"] = "other"; }},
      {"ledger.head", [](auto& c) { c["ledger"]["head"] = std::string(64, '0'); }},
      {"ledger.entries", [](auto& c) { c["ledger"]["entries"] = 2; }},
      {"ledger.items[1].used", [](auto& c) { c["ledger"]["items"][1]["used"] = 3; }},
      {"ledger.items", [](auto& c) { c["ledger"]["items"].erase(0); }},
      {"not_covered", [](auto& c) { c["not_covered"].erase(0); }},
      {"extra", [](auto& c) { c["extra"] = 1; }},
      {"guarantee.note", [](auto& c) { c["guarantee"]["note"] = "trust me"; }},
      {"format", [](auto& c) { c["format"] = "other"; }}};
  for (const auto& [where, edit] : changes) {
    write_certificate(run, {.delta = Delta{1e-5}});
    ASSERT_EQ(failure(), "");
    change(edit);
    EXPECT_NE(failure().find(where), std::string::npos) << where << " against " << failure();
  }
}

TEST_F(Certified, AChangedTextOrLedgerIsFound) {
  write_certificate(run, {.delta = Delta{1e-5}});
  std::string text = read_text(run / kCertificateTextName, 1 << 20);
  text.replace(text.find("**Epsilon "), 13, "**Epsilon 0.1");
  write_file(run / kCertificateTextName, text);
  EXPECT_NE(failure().find("certificate.md"), std::string::npos);

  write_certificate(run, {.delta = Delta{1e-5}});
  Ledger::open(run / kLedgerName).reserve("more", kSteps);
  EXPECT_NE(failure(), "") << "the ledger went on after the certificate";

  write_certificate(run, {.delta = Delta{1e-5}});
  const auto lines = lines_of(read_text(run / kLedgerName, 1 << 20));
  write_file(run / kLedgerName, chained({lines.begin(), lines.end() - 1}));
  EXPECT_NE(failure(), "") << "its last line was taken off";
}

TEST_F(Certified, WhatIsNoCertificateIsBadData) {
  write_file(run / kCertificateName, "{}");
  EXPECT_TRUE(failure().starts_with("data: ")) << failure();
  write_file(run / kCertificateName, "epsilon: 1");
  EXPECT_TRUE(failure().starts_with("data: ")) << failure();
  write_file(run / kCertificateName, R"({"guarantee":{"delta":"x"}})");
  EXPECT_TRUE(failure().starts_with("data: ")) << failure();
  write_file(run / kCertificateName, R"({"guarantee":{"delta":2,"accountant":"pld"}})");
  EXPECT_TRUE(failure().starts_with("data: ")) << failure();
}

TEST_F(Certified, ShowsThePublishedCountBesideTheGuaranteeAndSaysThatItIsNone) {
  count = recipe_count(49);
  write_certificate(run, {.delta = Delta{1e-5}, .published = count});
  const Certificate certificate = verify_certificate(run, counts);
  ASSERT_TRUE(certificate.published);
  EXPECT_EQ(certificate.published->releases, 321);
  RdpAccountant paper;
  paper.compose(SampledGaussian{0.01, 7, 15729});  // 49 x 321
  EXPECT_EQ(certificate.published->epsilon,
            paper.epsilon(Delta{1e-5}, Conversion::kClassic).epsilon);
  EXPECT_LT(certificate.published->epsilon, certificate.guarantee.epsilon);
  const std::string text = read_text(run / kCertificateTextName, 1 << 20);
  EXPECT_NE(text.find("not a guarantee"), std::string::npos);
  change([](auto& c) { c["as_published"]["epsilon"] = 0.1; });
  EXPECT_NE(failure().find("as_published.epsilon"), std::string::npos);
}

// It is recomputed from the recipe, and never taken from the certificate.
TEST_F(Certified, APublishedCountThatTheRecipeDoesNotGiveIsFound) {
  count = recipe_count(1);
  ASSERT_TRUE(count.holds);
  const std::vector<std::function<void(ordered_json&)>> changes = {
      [](auto& c) { c["as_published"]["paper"] = "an independent audit"; },
      [](auto& c) { c["as_published"]["per_release"]["noise_multiplier"] = 700.0; },
      [](auto& c) { c["as_published"]["per_release"]["sampling_rate"] = 1e-5; },
      [](auto& c) { c["as_published"]["purpose"] = "nothing"; },
      [](auto& c) { c["as_published"]["outputs_per_step"] = 2; },
      [](auto& c) { c["as_published"]["releases"] = 1; },
      [](auto& c) { c["as_published"]["left_out"] = ordered_json::array(); },
      [](auto& c) { c["as_published"]["is_a_guarantee"] = true; }};
  for (const auto& edit : changes) {
    write_certificate(run, {.delta = Delta{1e-5}, .published = count});
    ASSERT_EQ(failure(), "");
    change(edit);
    EXPECT_NE(failure().find("as_published"), std::string::npos) << failure();
  }
  write_certificate(run, {.delta = Delta{1e-5}, .published = count});
  std::filesystem::remove(run / "recipe.toml");
  EXPECT_NE(failure().find("as_published"), std::string::npos) << "nothing to derive it from";
  EXPECT_FALSE(read_terms(run, counts).published);
}

TEST_F(Certified, OfAGroupShowsNoCountOfSingleRecords) {
  count = recipe_count(1);
  write_certificate(run,
                    {.delta = Delta{1e-5}, .accounting = {.group_size = 3}, .published = count});
  EXPECT_FALSE(verify_certificate(run, counts).published);
}

TEST_F(Certified, ListsEverythingThatWasOpened) {
  write_certificate(run, {.delta = Delta{1e-5}});
  write_file(run / kDisclosuresName, "{\"reason\":\"distances to private images\"}\n");
  EXPECT_NE(failure().find("distances to private images"), std::string::npos) << failure();
  const CertificateTerms terms = read_terms(run, counts);
  write_certificate(run, terms);
  write_certificate(run, terms);
  EXPECT_EQ(failure(), "");
  const auto items = verify_certificate(run, counts).not_covered;
  EXPECT_EQ(std::count(items.begin(), items.end(), "what was opened: distances to private images"),
            1);
}

// Nobody may claim less than what is recomputed, however little that is.
TEST(Certificate, OfATinyEpsilonCannotClaimLess) {
  const TemporaryFolder folder;
  const Path& run = folder.path();
  Ledger::create(run / kLedgerName, some_header())
      .reserve("training", Gaussian{.noise_multiplier = 2e4, .count = 1});
  write_certificate(run, {.delta = Delta{1e-9}});
  const double epsilon = verify_certificate(run).guarantee.epsilon;
  ASSERT_GT(epsilon, 0);
  ASSERT_LT(epsilon, 1e-3);
  const auto claim = [&](double claimed) {
    write_certificate(run, {.delta = Delta{1e-9}});
    auto value = ordered_json::parse(read_text(run / kCertificateName, 1 << 20));
    value["guarantee"]["epsilon"] = claimed;
    write_file(run / kCertificateName, value.dump(2) + "\n");
    verify_certificate(run);
  };
  EXPECT_NO_THROW(claim(epsilon * (1 + 5e-7)));
  EXPECT_NO_THROW(claim(epsilon * (1 - 5e-10)));
  EXPECT_THROW(claim(epsilon * (1 - 1e-8)), VerificationFailed);
  EXPECT_THROW(claim(epsilon * (1 + 1e-5)), VerificationFailed);
  EXPECT_THROW(claim(0), VerificationFailed);
}

TEST(Certificate, OfAFixedSeedSaysThatItDoesNotHold) {
  const TemporaryFolder folder;
  Ledger::create(folder.path() / kLedgerName, some_header()).reserve("training", kSteps);
  write_certificate(folder.path(), {.delta = Delta{1e-5}});
  EXPECT_FALSE(verify_certificate(folder.path()).is_private());
  const std::string json = read_text(folder.path() / kCertificateName, 1 << 20);
  EXPECT_NE(json.find("\"holds\": false"), std::string::npos);
  EXPECT_NE(read_text(folder.path() / kCertificateTextName, 1 << 20).find("Not private"),
            std::string::npos);
}

TEST_F(Certified, WithoutAPlanSaysThatStoppingIsNotCovered) {
  write_certificate(run, {.delta = Delta{1e-5}});
  EXPECT_NE(read_text(run / kCertificateTextName, 1 << 20).find("the ledger has no plan"),
            std::string::npos);
  change([](auto& c) { c["not_covered"].erase(c["not_covered"].size() - 1); });
  EXPECT_NE(failure(), "");
}

TEST(Certificate, IsAboutTheWholePlanAndAddsUpLaterOnes) {
  const TemporaryFolder folder;
  const Path& run = folder.path();
  const Event look = Gaussian{.noise_multiplier = 20, .count = 1};
  {
    Ledger ledger = Ledger::create(run / kLedgerName, some_header());
    ledger.plan({{"training", kSteps}});
    ledger.reserve("training", with_count(kSteps, 3));
    write_certificate(run, {.delta = Delta{1e-5}});
    EXPECT_EQ(verify_certificate(run).guarantee.epsilon, account({kSteps}, Delta{1e-5}).epsilon);
    std::string text = read_text(run / kCertificateTextName, 1 << 20);
    EXPECT_NE(text.find("What was planned"), std::string::npos);
    EXPECT_EQ(text.find("the ledger has no plan"), std::string::npos);
    ledger.plan({{"validation accuracy", look}});
    ledger.reserve("validation accuracy", look);
  }
  EXPECT_THROW(verify_certificate(run), VerificationFailed);
  write_certificate(run, {.delta = Delta{1e-5}});
  const Certificate certificate = verify_certificate(run);
  ASSERT_EQ(certificate.stages.size(), 2U);
  EXPECT_NEAR(certificate.guarantee.epsilon,
              account({kSteps}, Delta{5e-6}).epsilon + account({look}, Delta{5e-6}).epsilon, 1e-9);
  auto value = ordered_json::parse(read_text(run / kCertificateName, 1 << 20));
  value["guarantee"]["stages"][0]["delta"] = 1e-5;
  write_file(run / kCertificateName, value.dump(2) + "\n");
  EXPECT_THROW(verify_certificate(run), VerificationFailed) << "shares are recomputed";
}

}  // namespace
}  // namespace obol::privacy
