// SHA-256 and HMAC-SHA-256, computed by OpenSSL: checksums of files, chains of ledger entries,
// fingerprints of data.
//
//   Sha256 hash;
//   hash.update(bytes);
//   hash.hex();   // 64 hexadecimal digits; ends the computation
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "obol/base/file.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace obol {

struct DigestContextDeleter {
  void operator()(evp_md_ctx_st* context) const noexcept;
};
using DigestContext = std::unique_ptr<evp_md_ctx_st, DigestContextDeleter>;

class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256& other);  // goes on from where the other is
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  std::array<std::byte, 32> digest();
  std::string hex();

 private:
  DigestContext context_;
};

// Of a whole file, as sha256sum prints it.
std::string sha256_of(const Bytes& bytes);

// HMAC-SHA-256 (RFC 2104): a hash that says nothing to whoever lacks the key.
class HmacSha256 {
 public:
  explicit HmacSha256(std::span<const std::byte> key);
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  std::string hex();

 private:
  DigestContext context_;
};

}  // namespace obol
