#include "obol/base/sha256.h"

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "obol/base/file.h"
#include "obol/base/random.h"

namespace obol {
namespace {

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

std::string pattern(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7 % 251);
  return text;
}

// These messages, and the next test's, are the examples that NIST gives.
TEST(Sha256, HashesThePublishedMessages) {
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnop"
              "qklmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, HashesAMillionLetters) {
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, HashesNothingWhenNeverFed) {
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// The hash of the hashes of every length to 200, which crosses each border of the padding. The
// expected value comes from Python's hashlib.
TEST(Sha256, PadsEveryLength) {
  const std::string text = pattern(200);
  Sha256 all;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    Sha256 one;
    one.update(text.substr(0, size));
    all.update(one.digest());
  }
  EXPECT_EQ(all.hex(), "6c866ec73a21830a58d4d7e559a2cbf878680f37ac131969a607dcb7731cae6a");
}

TEST(Sha256, DoesNotDependOnTheSizesOfThePieces) {
  const std::string text = pattern(200);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string_view message = std::string_view(text).substr(0, size);
    const std::string whole = hash_of(message);
    for (const std::size_t step : {1, 3, 31, 55, 56, 63, 64, 65, 127, 128, 129}) {
      Sha256 hash;
      for (std::size_t at = 0; at < size; at += step) {
        hash.update(message.substr(at, step));
        hash.update("");
      }
      ASSERT_EQ(hash.hex(), whole) << size << " bytes, " << step << " at a time";
    }
  }
}

TEST(Sha256, WritesItsDigestAsHexadecimalDigits) {
  Sha256 hash;
  hash.update("abc");
  const auto digest = hash.digest();
  EXPECT_EQ(digest.front(), std::byte{0xba});
  EXPECT_EQ(digest.back(), std::byte{0xad});
}

TEST(Sha256, AgreesWithTheSystemsProgram) {
  constexpr const char* kProgram = "/usr/bin/sha256sum";
  if (!std::filesystem::exists(kProgram)) GTEST_SKIP() << kProgram << " is not here";
  const TemporaryFolder folder;
  SeededBits bits(11);
  for (const std::size_t size : {0, 1, 63, 64, 65, 4096, 2'100'003}) {
    std::string content(size, '\0');
    for (char& c : content) c = static_cast<char>(bits());
    const Path path = folder.path() / "content";
    write_file(path, content);
    const std::string command = std::string(kProgram) + " < " + path.string();
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    ASSERT_NE(pipe, nullptr);
    std::string told(64, '\0');
    ASSERT_EQ(std::fread(told.data(), 1, told.size(), pipe.get()), told.size());
    EXPECT_EQ(hash_of(content), told) << size << " bytes";
    EXPECT_EQ(sha256_of(FileBytes(path)), told) << size << " bytes";
  }
}

std::string hmac(std::string_view key, std::string_view text) {
  HmacSha256 hash(std::as_bytes(std::span(key)));
  hash.update(text);
  return hash.hex();
}

TEST(HmacSha256, AgreesWithTheVectorsOfRfc4231) {
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(
      hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, DependsOnTheKey) { EXPECT_NE(hmac("a", "text"), hmac("b", "text")); }

}  // namespace
}  // namespace obol
