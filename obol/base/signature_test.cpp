#include "obol/base/signature.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace obol {
namespace {

// The first test of RFC 8032, section 7.1.
constexpr const char* kPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
constexpr const char* kSignatureOfNothing =
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4"
    "6bd25bf5f0595bbe24655141438e7a100b";

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

class Signature : public testing::Test {
 protected:
  [[nodiscard]] Path file(const char* name, std::string_view text) const {
    write_file(folder_.path() / name, text);
    return folder_.path() / name;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Signature, IsTheOneOfTheStandard) {
  const SigningKey key(file("key.pem", kPrivate));
  EXPECT_EQ(hex(key.sign("")), kSignatureOfNothing);
  EXPECT_EQ(key.public_pem(), kPublic);
}

TEST_F(Signature, FitsItsTextAndItsKeyAlone) {
  const SigningKey key(file("key.pem", kPrivate));
  const VerifyingKey other(file("other.pem",
                                "-----BEGIN PUBLIC KEY-----\n"
                                "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
                                "-----END PUBLIC KEY-----\n"));
  const VerifyingKey known(file("public.pem", kPublic));
  const std::string signature = key.sign("some text");
  EXPECT_TRUE(known.has_signed("some text", signature));
  EXPECT_FALSE(known.has_signed("Some text", signature));
  EXPECT_FALSE(other.has_signed("some text", signature));
  EXPECT_FALSE(known.has_signed("some text", signature + 'x'));
  EXPECT_FALSE(known.has_signed("some text", ""));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(known.has_signed("some text", changed)) << i;
    EXPECT_FALSE(known.has_signed("some text", signature.substr(0, i))) << i;
  }
}

TEST_F(Signature, TakesKeysOfItsKindOnly) {
  EXPECT_THROW(SigningKey(file("a.pem", "no key")), DataError);
  EXPECT_THROW(SigningKey(file("b.pem", kPublic)), DataError);
  EXPECT_THROW(VerifyingKey(file("c.pem", kPrivate)), DataError);
  EXPECT_THROW(VerifyingKey(file("d.pem", "")), DataError);
  EXPECT_THROW(SigningKey("no/such/file"), DataError);
  // A key for another algorithm: X25519.
  EXPECT_THROW(SigningKey(file("e.pem",
                               "-----BEGIN PRIVATE KEY-----\n"
                               "MC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                               "-----END PRIVATE KEY-----\n")),
               DataError);
}

}  // namespace
}  // namespace obol
