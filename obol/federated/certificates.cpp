#include "obol/federated/certificates.h"

#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "obol/base/error.h"
#include "obol/base/random.h"

namespace obol::federated {
namespace {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;

void require(bool is_done, const char* what) {
  if (!is_done) throw Error(fmt::format("OpenSSL must {}, but did not", what));
}

struct Signer {
  const X509* certificate;
  EVP_PKEY* key;
};

struct Subject {
  std::string name;
  std::int64_t starts;  // days from now
  std::int64_t days;
  std::string constraints;  // "critical,CA:TRUE"
  std::string usage;        // extendedKeyUsage; empty: none
  std::string hosts;        // subjectAltName; empty: none
};

void add_extension(X509* certificate, int kind, const std::string& value) {
  if (value.empty()) return;
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr)
    throw InvalidArgument(violation("a host", "a name or an address", value));
  const int status = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  require(status == 1, "extend a certificate");
}

// By itself where there is no signer.
Certificate make_certificate(const Subject& subject, EVP_PKEY* key,
                             const std::optional<Signer>& signer) {
  constexpr std::int64_t kDay = 86'400;
  constexpr long kVersion3 = 2;
  Certificate certificate(X509_new());
  X509* x = certificate.get();
  require(x != nullptr, "make a certificate");
  X509_set_version(x, kVersion3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), SecureBits()() >> 1);
  X509_gmtime_adj(X509_getm_notBefore(x), subject.starts * kDay);
  X509_gmtime_adj(X509_getm_notAfter(x), subject.days * kDay);
  X509_set_pubkey(x, key);
  X509_NAME* name = X509_get_subject_name(x);
  const auto* text = reinterpret_cast<const unsigned char*>(subject.name.c_str());
  require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1,
          "name a certificate");
  X509_set_issuer_name(x, signer ? X509_get_subject_name(signer->certificate) : name);
  add_extension(x, NID_basic_constraints, subject.constraints);
  add_extension(x, NID_ext_key_usage, subject.usage);
  add_extension(x, NID_subject_alt_name, subject.hosts);
  require(X509_sign(x, signer ? signer->key : key, EVP_sha256()) > 0, "sign a certificate");
  return certificate;
}

Key make_key() {
  Key key(EVP_EC_gen("P-256"));
  require(key != nullptr, "make a key");
  return key;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

void write_pair(const Path& folder, const std::string& name, X509* certificate, EVP_PKEY* key) {
  const Bio public_part(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(public_part.get(), certificate) == 1, "write a certificate");
  write_file(folder / (name + ".pem"), text_of(public_part.get()));
  const Bio secret(BIO_new(BIO_s_secmem()));
  require(
      PEM_write_bio_PKCS8PrivateKey(secret.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
      "write a key");
  write_file(folder / (name + ".key"), text_of(secret.get()), Access::kOwner);
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  for (const std::string& host : hosts) {
    ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str());
    names += (address != nullptr ? ",IP:" : ",DNS:") + host;
    ASN1_OCTET_STRING_free(address);
  }
  return names;
}

constexpr std::uint64_t kLargestPem = std::uint64_t{1} << 16;

Certificate read_certificate(const Path& path) {
  const std::string text = read_text(path, kLargestPem);
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!certificate)
    throw DataError(violation(path.string(), "a certificate in PEM format", "something else"));
  return certificate;
}

Key read_key(const Path& path) {
  const std::string text = read_text(path, kLargestPem);
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key)
    throw DataError(
        violation(path.string(), "a private key in PEM format, without a password", "none"));
  return key;
}

// Whose clock is wrong is for the reader to say.
std::string clock_says() {
  return fmt::format(", where this machine's clock says {:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::time(nullptr)));
}

}  // namespace

std::vector<std::string> write_test_certificates(const Path& folder,
                                                 const TestCertificates& options) {
  if (options.clients < 1)
    throw InvalidArgument(violation("the number of clients", "at least 1", options.clients));
  AtomicFolder made(folder, Access::kOwner);
  const auto [days, starts] = std::pair(options.days, options.starts);
  const Key ca_key = make_key();
  const Certificate ca = make_certificate(
      {"obol test authority", starts, days, "critical,CA:TRUE", "", ""}, ca_key.get(), {});
  const Signer signer{ca.get(), ca_key.get()};
  write_pair(made.inside(), "ca", ca.get(), ca_key.get());
  const auto issue = [&](const Subject& subject) {
    const Key key = make_key();
    const Certificate certificate = make_certificate(subject, key.get(), signer);
    write_pair(made.inside(), subject.name, certificate.get(), key.get());
  };
  issue({"server", starts, days, "critical,CA:FALSE", "serverAuth",
         alternative_names(options.hosts)});
  // As wide as the last: the clients' order is that of the alphabet.
  const std::size_t width = std::to_string(options.clients).size();
  std::vector<std::string> names;
  for (std::int64_t k = 1; k <= options.clients; ++k) {
    names.push_back(fmt::format("client-{:0{}}", k, width));
    issue({names.back(), starts, days, "critical,CA:FALSE", "clientAuth", ""});
  }
  made.commit();
  return names;
}

void check_certificate(const Identity& identity) {
  const Certificate own = read_certificate(identity.certificate);
  const Certificate ca = read_certificate(identity.ca);
  const Key key = read_key(identity.key);
  if (X509_check_private_key(own.get(), key.get()) != 1)
    throw DataError(violation(identity.key.string(),
                              fmt::format("the key of {}", identity.certificate.string()),
                              "another"));
  const std::unique_ptr<X509_STORE, Freed<X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  require(store && context && X509_STORE_add_cert(store.get(), ca.get()) == 1 &&
              X509_STORE_CTX_init(context.get(), store.get(), own.get(), nullptr) == 1,
          "check a certificate");
  if (X509_verify_cert(context.get()) == 1) return;
  const int problem = X509_STORE_CTX_get_error(context.get());
  const bool is_of_time =
      problem == X509_V_ERR_CERT_NOT_YET_VALID || problem == X509_V_ERR_CERT_HAS_EXPIRED;
  throw DataError(violation(identity.certificate.string(),
                            fmt::format("valid, by {}", identity.ca.string()),
                            fmt::format("not: {}{}", X509_verify_cert_error_string(problem),
                                        is_of_time ? clock_says() : "")));
}

}  // namespace obol::federated
