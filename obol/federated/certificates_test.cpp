#include "obol/federated/certificates.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::federated {
namespace {

namespace fs = std::filesystem;

std::string refusal(const Identity& identity) {
  try {
    check_certificate(identity);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Certificates, AreValidForTheirKeyAndTheirAuthority) {
  const TemporaryFolder folder;
  const Path certs = folder.path() / "certs";
  const auto names = write_test_certificates(certs, {.clients = 11, .hosts = {"example.org"}});
  EXPECT_EQ(names.front(), "client-01");
  EXPECT_EQ(names.back(), "client-11");
  for (const char* name : {"server", "client-01", "client-11"}) {
    const std::string file(name);
    EXPECT_EQ(refusal({certs / "ca.pem", certs / (file + ".pem"), certs / (file + ".key")}), "");
    EXPECT_EQ(fs::status(certs / (file + ".key")).permissions() & fs::perms::all,
              fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_EQ(fs::status(certs).permissions(), fs::perms::owner_all);
}

TEST(Certificates, AreRefusedInOneSentence) {
  const TemporaryFolder folder;
  const Path good = folder.path() / "good";
  const Path expired = folder.path() / "expired";
  write_test_certificates(good, {});
  const Path early = folder.path() / "early";
  write_test_certificates(expired, {.days = -1});
  write_test_certificates(early, {.starts = 1});
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos && text.find('\n') == std::string::npos;
  };
  const Path client = good / "client-1.pem";
  const Path key = good / "client-1.key";
  EXPECT_TRUE(says(refusal({expired / "ca.pem", client, key}), "client-1.pem must be valid"));
  EXPECT_TRUE(
      says(refusal({expired / "ca.pem", expired / "client-1.pem", expired / "client-1.key"}),
           "certificate has expired, where this machine's clock says 2"));
  EXPECT_TRUE(says(refusal({early / "ca.pem", early / "client-1.pem", early / "client-1.key"}),
                   "certificate is not yet valid, where this machine's clock says 2"));
  EXPECT_TRUE(says(refusal({good / "ca.pem", client, good / "server.key"}), "must be the key of"));
  EXPECT_TRUE(says(refusal({good / "ca.pem", key, key}), "a certificate in PEM format"));
  EXPECT_TRUE(says(refusal({good / "ca.pem", client, client}), "a private key in PEM format"));
}

}  // namespace
}  // namespace obol::federated
