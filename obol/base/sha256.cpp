#include "obol/base/sha256.h"

#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "obol/base/error.h"

namespace obol {
namespace {

using Digest = std::array<std::byte, 32>;

void require_hashed(bool has_worked) {
  if (!has_worked) throw Error("OpenSSL must compute a hash, but did not");
}

DigestContext new_context() {
  DigestContext context(EVP_MD_CTX_new());
  require_hashed(context != nullptr);
  return context;
}

std::string hex_of(const Digest& digest) {
  std::string text;
  for (const std::byte b : digest) text += fmt::format("{:02x}", std::to_integer<int>(b));
  return text;
}

}  // namespace

void DigestContextDeleter::operator()(evp_md_ctx_st* context) const noexcept {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(new_context()) {
  require_hashed(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::Sha256(const Sha256& other) : context_(new_context()) {
  require_hashed(EVP_MD_CTX_copy_ex(context_.get(), other.context_.get()) == 1);
}

void Sha256::update(std::span<const std::byte> bytes) {
  require_hashed(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::array<std::byte, 32> Sha256::digest() {
  Digest out;
  require_hashed(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(out.data()),
                                    nullptr) == 1);
  return out;
}

std::string Sha256::hex() { return hex_of(digest()); }

std::string sha256_of(const Bytes& bytes) {
  std::vector<std::byte> chunk(std::size_t{1} << 20);
  Sha256 hash;
  std::uint64_t at = 0;
  while (const std::size_t count = bytes.read_at(at, chunk)) {
    hash.update(std::span(chunk).first(count));
    at += count;
  }
  return hash.hex();
}

HmacSha256::HmacSha256(std::span<const std::byte> key) : context_(new_context()) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> held(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nullptr,
                                   reinterpret_cast<const unsigned char*>(key.data()), key.size()),
      EVP_PKEY_free);
  require_hashed(held != nullptr && EVP_DigestSignInit(context_.get(), nullptr, EVP_sha256(),
                                                       nullptr, held.get()) == 1);
}

void HmacSha256::update(std::span<const std::byte> bytes) {
  require_hashed(EVP_DigestSignUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string HmacSha256::hex() {
  Digest out;
  std::size_t size = out.size();
  require_hashed(EVP_DigestSignFinal(context_.get(), reinterpret_cast<unsigned char*>(out.data()),
                                     &size) == 1);
  return hex_of(out);
}

}  // namespace obol
