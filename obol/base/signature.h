// Ed25519 signatures (RFC 8032), made and checked by OpenSSL: who has vouched for a text.
//
//   const SigningKey key("key.pem");               // openssl genpkey -algorithm ed25519
//   const std::string signature = key.sign(text);  // 64 bytes
//   VerifyingKey("public.pem").has_signed(text, signature);
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "obol/base/file.h"

namespace obol {

// Keys are PEM files, as the program openssl writes them; anything else is DataError.
class SigningKey {
 public:
  explicit SigningKey(const Path& path);
  [[nodiscard]] std::string sign(std::string_view text) const;
  [[nodiscard]] std::string public_pem() const;

 private:
  std::shared_ptr<void> key_;
};

class VerifyingKey {
 public:
  explicit VerifyingKey(const Path& path);
  [[nodiscard]] bool has_signed(std::string_view text, std::string_view signature) const;

 private:
  std::shared_ptr<void> key_;
};

}  // namespace obol
