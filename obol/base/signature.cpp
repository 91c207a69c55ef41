#include "obol/base/signature.h"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "obol/base/error.h"

namespace obol {
namespace {

constexpr std::size_t kSignatureBytes = 64;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

using PemReader = decltype(&PEM_read_bio_PrivateKey);

std::shared_ptr<void> read_key(const Path& path, PemReader read, const char* kind) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 16;
  std::string text = read_text(path, kLargest);
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  EVP_PKEY* key = bio ? read(bio.get(), nullptr, nullptr, nullptr) : nullptr;
  OPENSSL_cleanse(text.data(), text.size());
  std::shared_ptr<void> held(
      key, [](void* held_key) { EVP_PKEY_free(static_cast<EVP_PKEY*>(held_key)); });
  if (key == nullptr || EVP_PKEY_id(key) != EVP_PKEY_ED25519)
    throw DataError(violation(path.string(), kind, "something else"));
  return held;
}

Context make_context() { return {EVP_MD_CTX_new(), EVP_MD_CTX_free}; }

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

[[noreturn]] void fail(const char* what) {
  throw Error(fmt::format("OpenSSL must {}, but did not", what));
}

}  // namespace

SigningKey::SigningKey(const Path& path)
    : key_(read_key(path, PEM_read_bio_PrivateKey, "an Ed25519 private key in PEM format")) {}

std::string SigningKey::sign(std::string_view text) const {
  const Context context = make_context();
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  auto* key = static_cast<EVP_PKEY*>(key_.get());
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(text), text.size()) != 1 ||
      size != signature.size())
    fail("sign");
  return signature;
}

std::string SigningKey::public_pem() const {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  if (!bio || PEM_write_bio_PUBKEY(bio.get(), static_cast<EVP_PKEY*>(key_.get())) != 1)
    fail("write a public key");
  char* data = nullptr;
  const auto size = BIO_ctrl(bio.get(), BIO_CTRL_INFO, 0, static_cast<void*>(&data));
  return {data, static_cast<std::size_t>(size)};
}

VerifyingKey::VerifyingKey(const Path& path)
    : key_(read_key(path, PEM_read_bio_PUBKEY, "an Ed25519 public key in PEM format")) {}

bool VerifyingKey::has_signed(std::string_view text, std::string_view signature) const {
  const Context context = make_context();
  auto* key = static_cast<EVP_PKEY*>(key_.get());
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) != 1)
    fail("verify");
  return EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text),
                          text.size()) == 1;
}

}  // namespace obol
