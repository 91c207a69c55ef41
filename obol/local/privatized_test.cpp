#include "obol/local/privatized.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "obol/data/reader.h"
#include "obol/data/testing.h"
#include "obol/local/mechanism.h"

namespace obol::local {
namespace {

using data::testing::in_memory;
using data::testing::npy;
using data::testing::put;
using data::testing::raw;
using data::testing::refusal;
using data::testing::says;
using data::testing::zip;

constexpr data::ImageShape kImages{.channels = 1, .height = 1, .width = 2};

Privatized sample(bool is_labelled) {
  PrivatizeOptions options{
      .mechanism = Mechanism::kGaussian, .epsilon = 3, .delta = 1e-5, .radius = 2};
  if (is_labelled) options.label_epsilon = 1;
  Privatized data{.how = plan(options, kImages, {"cat", "dog", "eel"}),
                  .records = {1.5F, -2, 0, 7, 1e30F, -0.5F},
                  .labels = {}};
  data.how.randomness = "not private: fixed seed 7";
  if (is_labelled) data.labels = {2, 0, 1};
  return data;
}

std::string written(const Privatized& data) {
  const TemporaryFolder folder;
  write_privatized(data, folder.path() / "a.npz");
  return read_text(folder.path() / "a.npz", 1 << 20);
}

// The arrays of a file, to be changed one by one and put together again.
struct Parts {
  std::string records = npy("<f4", "(3, 2)", raw<float>({1, 2, 3, 4, 5, 6}));
  std::string labels;
  std::string privatization;

  [[nodiscard]] std::string file() const {
    std::vector<data::testing::ZipPart> parts = {{.name = "records.npy", .content = records}};
    if (!labels.empty()) parts.push_back({.name = "labels.npy", .content = labels});
    const std::string shape = "(" + std::to_string(privatization.size()) + ",)";
    parts.push_back({.name = "privatization.npy",
                     .content = npy("|u1", shape, privatization),
                     .is_deflated = true});
    return zip(parts);
  }
};

std::string description(bool is_labelled) {
  const std::string file = written(sample(is_labelled));
  const std::size_t begin = file.find("{\n");
  return file.substr(begin, file.find("\n}", begin) + 2 - begin);
}

std::string refusal_of(const Parts& parts) {
  const std::string file = parts.file();
  return refusal([&] { (void)read_privatized(in_memory(file)); });
}

TEST(Privatized, IsReadBackTheSame) {
  for (const bool is_labelled : {false, true}) {
    const Privatized before = sample(is_labelled);
    const std::string file = written(before);
    const Privatized after = read_privatized(in_memory(file));
    EXPECT_EQ(after.records, before.records);
    EXPECT_EQ(after.labels, before.labels);
    EXPECT_EQ(after.count(), 3);
    EXPECT_EQ(after.how.mechanism, Mechanism::kGaussian);
    EXPECT_EQ(after.how.scale, before.how.scale);
    EXPECT_EQ(after.how.radius, 2);
    EXPECT_EQ(after.how.sensitivity, before.how.sensitivity);
    EXPECT_EQ(after.how.delta, 1e-5);
    EXPECT_EQ(after.how.shape, kImages);
    EXPECT_EQ(after.how.class_names, before.how.class_names);
    EXPECT_EQ(after.how.events.size(), is_labelled ? 2U : 1U);
    EXPECT_TRUE(same_mechanism(after.how.events[0].event, before.how.events[0].event));
    EXPECT_TRUE(after.how.fingerprint.starts_with("sha256:"));
    EXPECT_FALSE(after.how.is_private());
  }
}

TEST(Privatized, FitsTogetherByHand) {
  Parts parts{.privatization = description(false)};
  const std::string file = parts.file();
  EXPECT_EQ(read_privatized(in_memory(file)).records, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Privatized, IsNoPlainDataSetAndNoPlainDataSetIsOne) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "a.npz", written(sample(true)));
  EXPECT_TRUE(says(refusal([&] { (void)data::read(path.string()); }), {"images", path.string()}));
  const std::string plain = zip({{.name = "images.npy", .content = npy("|u1", "(1, 1, 2)", "ab")}});
  EXPECT_TRUE(says(refusal([&] { (void)read_privatized(in_memory(plain)); }),
                   {"obol privatize", "test.bin"}));
  const std::string nothing = "no archive";
  EXPECT_TRUE(says(refusal([&] { (void)read_privatized(in_memory(nothing)); }), {"test.bin"}));
}

TEST(Privatized, IsRefusedWithArraysOfOtherSizesOrValues) {
  const std::string how = description(false);
  const std::string labelled = description(true);
  const auto records = [&](const std::string& shape, const std::vector<float>& values) {
    return refusal_of({.records = npy("<f4", shape, raw(values)), .privatization = how});
  };
  EXPECT_TRUE(says(records("(2, 3)", {1, 2, 3, 4, 5, 6}), {"shape", "[0, 2]", "[2, 3]"}));
  EXPECT_TRUE(says(records("(6,)", {1, 2, 3, 4, 5, 6}), {"shape", "[6]"}));
  EXPECT_TRUE(says(records("(0, 2)", {}), {"shape", "[0, 2]"}));
  EXPECT_TRUE(says(records("(9, 2)", {1, 2}), {"header claims"}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(says(records("(1, 2)", {1, nan}), {"finite"}));
  EXPECT_TRUE(says(records("(1, 2)", {1, HUGE_VALF}), {"finite"}));
  const auto labels = [&](const std::string& array) {
    return refusal_of({.labels = array, .privatization = labelled});
  };
  EXPECT_TRUE(says(labels(""), {"labels", "missing"}));
  EXPECT_TRUE(says(labels(npy("|u1", "(2,)", "\1\1")), {"shape", "[3]"}));
  EXPECT_TRUE(says(labels(npy("|u1", "(3,)", "\1\1\3")), {"label", "from 0 to 2", "3"}));
  EXPECT_TRUE(says(labels(npy("|i1", "(3,)", "\1\1\xff")), {"label", "-1"}));
  EXPECT_TRUE(says(refusal_of({.labels = npy("|u1", "(3,)", "\1\1\1"), .privatization = how}),
                   {"labels", "absent"}));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Privatized, IsRefusedWhereWhatItSaysOfItselfCannotBe) {
  const std::string how = description(false);
  const auto refused = [&](const std::string& from, const std::string& to) {
    return refusal_of({.privatization = replaced(how, from, to)});
  };
  EXPECT_TRUE(says(refused("obol-privatized", "obol-other"), {"format"}));
  EXPECT_TRUE(says(refused("\"version\": 1", "\"version\": 2"), {"version"}));
  EXPECT_TRUE(says(refused("\"gaussian\"", "\"uniform\""), {"mechanism", "uniform"}));
  EXPECT_TRUE(says(refused("\"gaussian\"", "\"laplace\""), {"event of the records"}));
  EXPECT_TRUE(says(refused("\"none\"", "\"fft\""), {"transform"}));
  EXPECT_TRUE(says(refused("\"radius\": 2.0", "\"radius\": 0"), {"radius"}));
  EXPECT_TRUE(says(refused("\"radius\": 2.0", "\"radius\": \"2\""), {"radius"}));
  EXPECT_TRUE(says(refused("\"scale\": ", "\"scale\": 9"), {"scale"}));
  EXPECT_TRUE(says(refused("\"keep\": 1.0", "\"keep\": 0.5"), {"keep"}));
  EXPECT_TRUE(says(refused("\"delta\": 1e-05", "\"delta\": 0"), {"delta"}));
  EXPECT_TRUE(says(refused("\"width\": 2", "\"width\": 0"), {"width"}));
  EXPECT_TRUE(says(refused("\"width\": 2", "\"width\": 9000000000000000000"), {"width"}));
  EXPECT_TRUE(says(refused("\"width\": 2", "\"width\": 2, \"depth\": 2"), {"depth"}));
  EXPECT_TRUE(says(refused("\"purpose\": \"records\"", "\"purpose\": \"labels\""), {"purpose"}));
  EXPECT_TRUE(says(refused("\"count\": 1", "\"count\": 2"), {"one release"}));
  EXPECT_TRUE(says(refused("\"class_names\": []", "\"class_names\": [\"a\"]"), {"events"}));
  EXPECT_TRUE(says(refused("{", "["), {"JSON"}));
}

TEST(Privatized, IsRefusedCutOffOrChangedAnywhere) {
  const std::string whole = written(sample(true));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    EXPECT_TRUE(says(refusal([&] { (void)read_privatized(in_memory(cut)); }), {"test.bin"}));
  }
  const Privatized before = read_privatized(in_memory(whole));
  int accepted = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    try {
      // A time stamp or a version in a header may be another; what it holds may not.
      const Privatized after = read_privatized(in_memory(changed));
      EXPECT_EQ(after.records, before.records) << at;
      EXPECT_EQ(after.labels, before.labels) << at;
      ++accepted;
    } catch (const DataError&) {
    }
  }
  EXPECT_LT(accepted, 200);  // of bytes in the headers of three entries, and nowhere else
}

}  // namespace
}  // namespace obol::local
