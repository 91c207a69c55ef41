#include "obol/local/privatize.h"

#include <set>

#include <gtest/gtest.h>

#include "obol/data/testing.h"
#include "obol/data/writer.h"
#include "obol/local/published.h"

namespace obol::local {
namespace {

using data::testing::counting_floats;
using data::testing::refusal;
using data::testing::says;

const PrivatizeOptions kOptions{
    .mechanism = Mechanism::kGaussian, .epsilon = 5, .delta = 1e-4, .radius = 2};

class Privatize : public ::testing::Test {
 protected:
  Privatize() {
    write(counting_floats(30, {.channels = 1, .height = 4, .width = 4}, 3), source_,
          data::Format::kNpz);
  }
  [[nodiscard]] std::unique_ptr<data::RecordStream> records() const {
    return data::stream(source_, {.declared = {.range = data::ValueRange{}, .classes = 3},
                                  .reading = data::Reading::kPrivate});
  }
  [[nodiscard]] Path at(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.insert(entry.path().filename().string());
    return names;
  }

 private:
  TemporaryFolder folder_;
  std::string source_ = (folder_.path() / "data.npz").string();
};

TEST_F(Privatize, WritesRecordsAndACertificateThatVerifies) {
  const auto stream = records();
  const PrivatizeOutcome outcome = privatize(*stream, kOptions, {.path = at("private.npz")});
  EXPECT_EQ(files(), (std::set<std::string>{"data.npz", "private-certificate", "private.npz"}));
  const Privatized data = read_privatized(at("private.npz"));
  EXPECT_EQ(data.count(), 30);
  EXPECT_TRUE(data.labels.empty());
  EXPECT_TRUE(data.how.is_private());
  const privacy::Certificate certificate =
      privacy::verify_certificate(outcome.certificate_folder, published_counts);
  EXPECT_EQ(certificate.ledger.header.fingerprint, data.how.fingerprint);
  EXPECT_EQ(certificate.ledger.header.records, 30);
  EXPECT_EQ(certificate.ledger.entries.size(), 1U);
  EXPECT_EQ(certificate.guarantee.neighbours, privacy::Neighbours::kPerson);
  EXPECT_LE(certificate.guarantee.epsilon, 5);
  ASSERT_TRUE(certificate.published);
  EXPECT_FALSE(certificate.published->count.holds);
  EXPECT_TRUE(says(in_words(*certificate.published, certificate.guarantee.epsilon), {"radius"}));
}

TEST_F(Privatize, ACertificateIsCheckedAgainstTheRecords) {
  const auto stream = records();
  const PrivatizeOutcome outcome = privatize(*stream, kOptions, {.path = at("private.npz")});
  Privatized data = read_privatized(at("private.npz"));
  EXPECT_TRUE(check_certificate(data, outcome.certificate_folder));
  EXPECT_FALSE(check_certificate(data, at("other-certificate")));
  const auto refused = [&](const Privatized& changed) {
    return refusal([&] { check_certificate(changed, outcome.certificate_folder); });
  };
  Privatized other = data;
  other.records[3] += 1;
  EXPECT_TRUE(says(refused(other), {"fingerprint"}));
  other = data;
  other.how.randomness = "secure (dice)";
  EXPECT_TRUE(says(refused(other), {"randomness"}));
  other = data;
  other.how.delta *= 2;
  EXPECT_TRUE(says(refused(other), {"delta"}));
  other = data;
  other.how.events[0].event = privacy::LocalGaussian{.noise_multiplier = 100, .count = 1};
  EXPECT_TRUE(says(refused(other), {"events"}));
}

TEST_F(Privatize, IsTheSameForASeedAndAnotherWithout) {
  const auto numbers = [&](const std::string& name, std::optional<std::uint64_t> seed) {
    const auto stream = records();
    privatize(*stream, kOptions, {.path = at(name), .seed = seed});
    return read_privatized(at(name)).records;
  };
  const auto first = numbers("a.npz", 7);
  EXPECT_EQ(numbers("b.npz", 7), first);
  EXPECT_NE(numbers("c.npz", 8), first);
  EXPECT_NE(numbers("d.npz", std::nullopt), numbers("e.npz", std::nullopt));
  EXPECT_FALSE(read_privatized(at("a.npz")).how.is_private());
  EXPECT_FALSE(privacy::verify_certificate(at("a-certificate"), published_counts).is_private());
}

TEST_F(Privatize, KeepsLabelsByRandomizedResponseAsASecondEvent) {
  PrivatizeOptions options = kOptions;
  options.label_epsilon = 40;  // all but surely the truth
  const auto stream = records();
  const auto outcome = privatize(*stream, options, {.path = at("private.npz"), .count = 10});
  const Privatized data = read_privatized(at("private.npz"));
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(data.how.class_names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(data.count(), 10);
  EXPECT_EQ(outcome.certificate.ledger.entries.size(), 2U);
  EXPECT_GT(outcome.certificate.guarantee.epsilon, 40);
}

TEST_F(Privatize, HasPureEpsilonWithLaplaceNoise) {
  const auto stream = records();
  const auto outcome =
      privatize(*stream, {.mechanism = Mechanism::kLaplace, .epsilon = 4, .radius = 2},
                {.path = at("private.npz")});
  EXPECT_EQ(outcome.certificate.guarantee.delta, 0);
  EXPECT_NEAR(outcome.certificate.guarantee.epsilon, 4, 1e-5);
}

TEST_F(Privatize, LeavesNothingBehindWhereItFails) {
  const auto write_out = [&](const PrivatizeOutput& output) {
    return refusal([&] {
      const auto stream = records();
      privatize(*stream, kOptions, output);
    });
  };
  (void)write_out({.path = at("no-folder") / "private.npz"});
  EXPECT_EQ(files(), std::set<std::string>{"data.npz"});
  data::testing::put(at(""), "private-certificate/x", "in the way");
  EXPECT_TRUE(says(write_out({.path = at("private.npz")}), {"private-certificate", "another"}));
  EXPECT_TRUE(says(write_out({.path = at("data.npz")}), {"data.npz", "new"}));
  EXPECT_EQ(files(), (std::set<std::string>{"data.npz", "private-certificate"}));
}

}  // namespace
}  // namespace obol::local
