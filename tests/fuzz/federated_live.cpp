// Both ends of a connection, alive, against one that sends what it likes: what gRPC, TLS and our
// own code make of it together.
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/sync_stream.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/federated/connection.h"
#include "obol/federated/table.h"
#include "obol/federated/tls.h"
#include "tests/fuzz/federated_targets.h"

namespace obol::fuzz {
namespace {

using federated::wire::FromClient;
using grpc::ByteBuffer;
using Input = std::span<const std::byte>;

constexpr const char* kHost = "127.0.0.1";
constexpr const char* kTerms = R"(
[images]
shape = "2x2"
classes = 3
[privacy]
barrier = "batch"
shards = 1
noise_multiplier = 0.5
steps = 1
generated_batch = 1
delta = 1e-5
[method]
name = "gs-wgan"
critic_steps = 2
)";

struct Place {
  Place() {
    set_console({.level = LogLevel::kError});
    federated::write_test_certificates(folder.path() / "certs", {.clients = 1});
  }
  [[nodiscard]] federated::Identity identity(const std::string& who) const {
    const Path certs = folder.path() / "certs";
    return {certs / "ca.pem", certs / (who + ".pem"), certs / (who + ".key")};
  }
  TemporaryFolder folder;
  federated::Terms terms = federated::read_terms(kTerms);
};

ByteBuffer buffer_of(Input input) {
  const grpc::Slice slice(input.data(), input.size());
  return {&slice, 1};
}

template <class Message>
ByteBuffer buffer_of(const Message& message) {
  const std::string bytes = message.SerializeAsString();
  return buffer_of(std::as_bytes(std::span(bytes)));
}

// A server that asks all the time, and a client that answers with bytes.
class Asked {
 public:
  Asked() {
    channel_ = grpc::CreateChannel(fmt::format("{}:{}", kHost, table_.port()),
                                   client_credentials(place_.identity("client-1")));
  }
  ~Asked() {
    is_over_ = true;
    close();
    asking_.join();
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  void feed(Input input) {
    if (!stream_) open();
    FromClient message;
    const bool is_answer = message.ParseFromArray(input.data(), static_cast<int>(input.size())) &&
                           message.has_answer() && message.answer().number() == kNumber;
    // The number is the one thing that no mutation would find.
    if (is_answer) message.mutable_answer()->set_number(question_.number());
    stream_->Write(is_answer ? buffer_of(message) : buffer_of(input));
    if (is_answer && message.answer().has_refusal()) return close();
    if (read()) return;
    close();
    throw DataError("a message must be an answer, but is not");
  }

 private:
  using Stream = grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>;
  static constexpr std::uint64_t kNumber = 7;  // in the corpus

  void open() {
    const grpc::internal::RpcMethod train("/obol.federated.wire.Federation/Train",
                                          grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
    context_.emplace();
    stream_.reset(grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>::Create(
        channel_.get(), train, &*context_));
    FromClient hello;
    hello.mutable_hello()->set_version(federated::kProtocol);
    hello.mutable_hello()->set_terms(place_.terms.hash);
    stream_->Write(buffer_of(hello));
    if (!read()) throw std::logic_error("the server asks nobody any more");
  }
  void close() {
    if (!stream_) return;
    stream_->WritesDone();
    while (read()) {
    }
    stream_->Finish();
    stream_.reset();
  }
  bool read() {
    ByteBuffer raw;
    grpc::Slice slice;
    return stream_->Read(&raw) && raw.DumpToSingleSlice(&slice).ok() &&
           question_.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }

  Place place_;
  federated::Table table_{{.listen = std::string(kHost) + ":0",
                           .identity = place_.identity("server"),
                           .terms = place_.terms,
                           .names = {"client-1"},
                           .messages_per_second = 1e9}};
  std::atomic<bool> is_over_ = false;
  std::thread asking_{[this] {
    const auto question = federated::write_question(std::vector<float>(8), {{0, 1}});
    while (!is_over_)
      if (table_.ask("client-1", question, 60).kind == federated::Reply::kAbsent)
        std::this_thread::yield();
  }};
  std::shared_ptr<grpc::Channel> channel_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  federated::wire::Question question_;
};

// A server that asks with bytes, once.
class Asking final : public grpc::CallbackGenericService {
 public:
  Asking() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(std::string(kHost) + ":0",
                             server_credentials(place_.identity("server")), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~Asking() override { server_->Shutdown(); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  void feed(Input input) {
    bytes_ = buffer_of(input);
    const federated::ConnectionOptions options{.server = fmt::format("{}:{}", kHost, port_),
                                               .identity = place_.identity("client-1"),
                                               .patience = 0};
    answer_questions(options, place_.terms, [&](const federated::wire::Question& question) {
      federated::read_question(question, place_.terms.form);
      return federated::write_answer(question.number(), std::vector<float>(4));
    });
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new Once(bytes_);  // deletes itself
  }

 private:
  class Once final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Once(const ByteBuffer& out) : out_(out) { StartRead(&in_); }
    void OnReadDone(bool is_read) override {
      if (!is_read) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "no answer"});
      if (is_asked_) return Finish(grpc::Status::OK);
      is_asked_ = true;
      StartWrite(&out_);
    }
    void OnWriteDone(bool /*is_written*/) override { StartRead(&in_); }
    void OnDone() override { delete this; }

   private:
    ByteBuffer in_;
    ByteBuffer out_;
    bool is_asked_ = false;
  };

  Place place_;
  int port_ = 0;
  ByteBuffer bytes_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

void send_to_server(Input input) {
  static Asked asked;
  asked.feed(input);
}

void send_to_client(Input input) {
  static Asking asking;
  asking.feed(input);
}

}  // namespace obol::fuzz
