// Mutual TLS for both ends: who has no certificate of the authority is not spoken to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "obol/federated/certificates.h"

namespace obol::federated {

// Both check the own certificate first, where it can be replaced.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const Identity& identity);
std::shared_ptr<grpc::ChannelCredentials> client_credentials(const Identity& identity);

// Common name in the certificate of the other end; empty where there is none.
std::string name_of(const grpc::AuthContext& context);

// Whoever has gone without a word is noticed after some 15 s.
inline constexpr int kKeepaliveMs = 10'000;
inline constexpr int kKeepaliveTimeoutMs = 5'000;
// What a message has besides its numbers, at most.
inline constexpr std::int64_t kAroundNumbers = std::int64_t{1} << 16;

}  // namespace obol::federated
