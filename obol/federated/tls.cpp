#include "obol/federated/tls.h"

#include <string_view>

#include <grpc/support/log.h>

#include "obol/base/console.h"

namespace obol::federated {
namespace {

constexpr std::uint64_t kLargestPem = std::uint64_t{1} << 16;

// gRPC's own messages, of refused handshakes say, are for whoever looks for them; but not the one
// before it ends the process.
void quieten_grpc() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    if (args->severity != GPR_LOG_SEVERITY_ERROR) return;
    const bool is_last = std::string_view(args->message).starts_with("assertion failed");
    log_line(is_last ? LogLevel::kError : LogLevel::kDebug, args->message);
  });
}

std::string pem(const Path& path) { return read_text(path, kLargestPem); }

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Identity& identity) {
  quieten_grpc();
  check_certificate(identity);
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pem(identity.ca);
  options.pem_key_cert_pairs.push_back({pem(identity.key), pem(identity.certificate)});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const Identity& identity) {
  quieten_grpc();
  check_certificate(identity);
  return grpc::SslCredentials({.pem_root_certs = pem(identity.ca),
                               .pem_private_key = pem(identity.key),
                               .pem_cert_chain = pem(identity.certificate)});
}

std::string name_of(const grpc::AuthContext& context) {
  const auto names = context.FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : std::string(names.front().data(), names.front().size());
}

}  // namespace obol::federated
