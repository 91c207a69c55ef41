// SHA-256 (FIPS 180-4), for checksums of downloaded files and chains of ledger entries. Written
// here because it must also exist where the program was built without OpenSSL.
//
//   Sha256 hash;
//   hash.update(bytes);
//   hash.hex();   // 64 hexadecimal digits; ends the computation
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "obol/base/file.h"

namespace obol {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  std::array<std::byte, 32> digest();
  std::string hex();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t length_ = 0;
};

// Of a whole file, as sha256sum prints it.
std::string sha256_of(const Bytes& bytes);

// HMAC-SHA-256 (RFC 2104): a hash that says nothing to whoever lacks the key.
class HmacSha256 {
 public:
  explicit HmacSha256(std::span<const std::byte> key);
  void update(std::span<const std::byte> bytes) { inner_.update(bytes); }
  void update(std::string_view text) { inner_.update(text); }
  std::string hex();

 private:
  Sha256 inner_;
  Sha256 outer_;
};

}  // namespace obol
