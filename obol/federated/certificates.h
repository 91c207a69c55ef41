// Who is who: certificates (X.509) for mutual TLS. A client's name is the common name in its own.
//
//   write_test_certificates("certs", {.clients = 4});   // certs/ca.pem, server.pem, client-1.pem
//   check_certificate({.ca = ..., .certificate = ..., .key = ...});   // before anything is sent
//
// The authority that is made here is for tests and trials: whoever has its key can join as anyone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/base/file.h"

namespace obol::federated {

// PEM files of one end.
struct Identity {
  Path ca;  // who vouches for the other end
  Path certificate;
  Path key;
};

struct TestCertificates {
  std::int64_t clients = 1;
  std::int64_t days = 30;               // from now that they are valid until
  std::int64_t starts = -2;             // and from: clocks differ
  std::vector<std::string> hosts = {};  // of the server, besides localhost; names or addresses
};

// In a new folder. Keys are readable for their owner alone. Returns the clients' names.
std::vector<std::string> write_test_certificates(const Path& folder,
                                                 const TestCertificates& options);

// DataError where the other end would refuse it: signed by another authority, expired or not valid
// yet by this machine's clock, of another key, no certificate at all.
void check_certificate(const Identity& identity);

}  // namespace obol::federated
