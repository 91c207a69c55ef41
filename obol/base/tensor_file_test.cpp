#include "obol/base/tensor_file.h"

#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/random.h"
#include "obol/base/sha256.h"

namespace obol {
namespace {

constexpr std::size_t kSizeField = 8;
constexpr std::array<float, 6> kFloats = {1, -2, 3, 0.5, 0, 6};
constexpr std::array<std::int64_t, 2> kWhole = {-7, 1LL << 40};

std::vector<NamedTensor> some_tensors() {
  return {{"a.weight", NumberType::kFloat32, {2, 3}, std::as_bytes(std::span(kFloats))},
          {"steps", NumberType::kInt64, {2}, std::as_bytes(std::span(kWhole))},
          {"none", NumberType::kFloat32, {0, 4}, {}},
          {"one", NumberType::kFloat32, {}, std::as_bytes(std::span(kFloats).first(1))}};
}
std::string some_file() {
  return tensor_file({{"kind", "test"}, {"zeta", "28 x 28"}}, some_tensors());
}

TensorFile parse(const std::string& text) {
  return TensorFile(std::as_bytes(std::span(text)), "t.safetensors");
}

std::string refusal_of(const std::string& text) {
  try {
    parse(text);
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

// With its checksum and the size of its header in order, as an attacker would leave it.
std::string summed(std::string text) {
  const std::string key = R"("sha256":")";
  const std::size_t at = text.find(key) + key.size();
  if (at < key.size() || at + 64 > text.size()) return text;
  text.replace(at, 64, std::string(64, '0'));
  Sha256 hash;
  hash.update(text);
  return text.replace(at, 64, hash.hex());
}

std::string with_header(const std::string& text, const std::function<void(std::string&)>& change) {
  std::uint64_t size = 0;
  std::memcpy(&size, text.data(), kSizeField);
  std::string header = text.substr(kSizeField, size);
  header.erase(header.find_last_not_of(' ') + 1);
  change(header);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t changed = header.size();
  std::string result(kSizeField, '\0');
  std::memcpy(result.data(), &changed, kSizeField);
  return summed(result + header + text.substr(kSizeField + size));
}

std::string with_replaced(const std::string& from, const std::string& to) {
  return with_header(some_file(), [&](std::string& header) {
    const std::size_t at = header.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    header.replace(at, from.size(), to);
  });
}

TEST(TensorFile, GivesBackWhatWasWritten) {
  const std::string text = some_file();
  const TensorFile file = parse(text);
  EXPECT_EQ(file.texts(), (TensorTexts{{"kind", "test"}, {"zeta", "28 x 28"}}));
  ASSERT_EQ(file.tensors().size(), 4U);
  for (const NamedTensor& tensor : some_tensors()) {
    const NamedTensor* found = file.find(tensor.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    ASSERT_EQ(found->bytes.size(), tensor.bytes.size());
    EXPECT_TRUE(std::equal(found->bytes.begin(), found->bytes.end(), tensor.bytes.begin()));
  }
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_EQ(tensor_file({}, {}), tensor_file({}, {}));
  EXPECT_NO_THROW(parse(tensor_file({}, {})));
}

TEST(TensorFile, HasNoChecksumWhereItIsElsewhere) {
  const std::string text = tensor_file({}, some_tensors(), TensorSum::kElsewhere);
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_NE(text.find(std::string(64, '0')), std::string::npos);
  EXPECT_EQ(TensorFile(bytes, "section", TensorSum::kElsewhere).tensors().size(), 4U);
  EXPECT_THROW(TensorFile(bytes, "section"), DataError);
  const std::string with_sum = some_file();
  EXPECT_THROW(TensorFile(std::as_bytes(std::span(with_sum)), "section", TensorSum::kElsewhere),
               DataError);
}

TEST(TensorFile, IsLaidOutAsSafetensorsIs) {
  const std::string text = some_file();
  std::uint64_t size = 0;
  std::memcpy(&size, text.data(), kSizeField);
  EXPECT_EQ(size % 8, 0U);
  const std::string header = text.substr(kSizeField, size);
  EXPECT_EQ(header.substr(0, header.find("sha256")),
            R"({"__metadata__":{"format":"obol-tensors-1","kind":"test",")");
  EXPECT_NE(header.find(R"(,"zeta":"28 x 28"},"steps":{"dtype":"I64","shape":[2],)"
                        R"("data_offsets":[0,16]},"a.weight":{"dtype":"F32","shape":[2,3],)"
                        R"("data_offsets":[16,40]},"none":{"dtype":"F32","shape":[0,4],)"
                        R"("data_offsets":[40,40]},"one":{"dtype":"F32","shape":[],)"
                        R"("data_offsets":[40,44]}})"),
            std::string::npos)
      << header;
  EXPECT_EQ(text.size(), kSizeField + size + 44);
}

TEST(TensorFile, WithAnyBitFlippedIsRefused) {
  const std::string whole = some_file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_NE(refusal_of(damaged), "accepted") << at;
    }
  }
}

TEST(TensorFile, OfAnyOtherLengthIsRefused) {
  const std::string whole = some_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal_of(whole.substr(0, size)), "accepted") << size;
    EXPECT_NE(refusal_of(summed(whole.substr(0, size))), "accepted") << size;
  }
  EXPECT_NE(refusal_of(summed(whole + "x")).find("of 44 bytes of numbers"), std::string::npos);
}

TEST(TensorFile, ThatLiesIsRefusedEvenIfItsChecksumIsRight) {
  EXPECT_EQ(refusal_of(with_header(some_file(), [](std::string&) {})), "accepted");
  const std::vector<std::pair<std::string, std::string>> lies = {
      {"[16,40]", "[16,41]"},
      {"[16,40]", "[12,36]"},
      {"[16,40]", "[016,40]"},
      {"[16,40]", "[16,18446744073709551656]"},
      {"[2,3]", "[3,2,1,1,1,1,1,1,1]"},
      {"[2,3]", "[2,-3]"},
      {"[2,3]", "[2,3.0]"},
      {"[2,3]", "[2,3"},
      {"[2,3]", "[2,,3]"},
      {"[2,3]", "[4611686018427387904,4611686018427387904]"},
      {"[2,3]", "[9223372036854775807]"},
      {"[2,3]", "[9223372036854775808]"},
      {"[2,3]", "[" + std::string(100'000, '[')},
      {R"("F32")", R"("F16")"},
      {R"("F32")", R"("F64")"},
      {R"("a.weight")", R"("steps")"},
      {R"("a.weight")", R"("__metadata__")"},
      {R"("a.weight")", R"("a.weight\u0000")"},
      {R"("a.weight")", R"("../../x y")"},
      {R"("a.weight")", "\"\""},
      {R"("a.weight")", '"' + std::string(129, 'a') + '"'},
      {R"("kind":"test")", R"("kind":"test","kind":"test")"},
      {R"("kind":"test")", R"("kind":"\u001b[2J")"},
      {R"("kind":"test")", "\"kind\":\"\x1b[2J\""},
      {R"("kind":"test")", R"("kind":7)"},
      {R"("kind":"test")", R"("kind":")" + std::string(1025, 'a') + '"'},
      {"obol-tensors-1", "obol-tensors-2"},
      {R"("sha256")", R"("sha257")"},
      {R"({"__metadata__":)", R"({ "__metadata__":)"},
      {"}}", "}},"},
  };
  for (const auto& [from, to] : lies) {
    const std::string said = refusal_of(with_replaced(from, to));
    EXPECT_NE(said.find("t.safetensors"), std::string::npos) << to.substr(0, 60) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_LT(said.size(), 400U);
  }
}

TEST(TensorFile, WithAHeaderBeyondTheFileIsRefused) {
  std::string text = some_file();
  for (const std::uint64_t size : {~std::uint64_t{0}, std::uint64_t{1} << 63, text.size() - 7}) {
    std::memcpy(text.data(), &size, kSizeField);
    EXPECT_NE(refusal_of(text), "accepted");
  }
}

TEST(TensorFile, IsNotWrittenOfWhatItCannotHold) {
  const auto bytes = std::as_bytes(std::span(kFloats));
  const auto refused = [](const TensorTexts& texts, const std::vector<NamedTensor>& tensors) {
    EXPECT_THROW(tensor_file(texts, tensors), InvalidArgument);
  };
  refused({}, {{"a b", NumberType::kFloat32, {6}, bytes}});
  refused({}, {{"a", NumberType::kFloat32, {7}, bytes}});
  refused({}, {{"a", NumberType::kFloat32, {-6}, bytes}});
  refused({}, {{"a", NumberType::kFloat32, {6}, bytes}, {"a", NumberType::kFloat32, {6}, bytes}});
  refused({{"a", "\""}}, {});
  refused({{"sha256", "a"}}, {});
}

TEST(TensorFile, KnowsWhichNumbersAreFinite) {
  std::array<float, 6> floats = kFloats;
  const NamedTensor tensor{"a", NumberType::kFloat32, {6}, std::as_bytes(std::span(floats))};
  EXPECT_TRUE(is_finite(tensor));
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    floats[5] = value;
    EXPECT_FALSE(is_finite(tensor));
  }
}

}  // namespace
}  // namespace obol
