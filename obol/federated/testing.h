// For the tests of this module: small pictures, a recipe for them, certificates, and clients that
// do not behave.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/federated/certificates.h"
#include "obol/federated/federation.grpc.pb.h"
#include "obol/federated/messages.h"
#include "obol/federated/tls.h"

namespace obol::federated::testing {

inline constexpr const char* kHost = "127.0.0.1";
inline constexpr std::int64_t kRows = 4;
inline const data::ImageShape kShape{.channels = 1, .height = 8, .width = 8};

inline std::string recipe_text(std::int64_t clients, std::int64_t steps) {
  return fmt::format(R"(
[data]
source = "nowhere"
[privacy]
barrier = "batch"
shards = {}
noise_multiplier = 0.5
steps = {}
generated_batch = {}
delta = 1e-5
[generator]
width = 2
latent = 2
[method]
name = "gs-wgan"
critic_width = 2
critic_steps = 2
warm_start = 2
average = 0.9
[optimizer]
learning_rate = 1e-2
[run]
metrics_every = 1
sample_every = 0
)",
                     clients, steps, kRows);
}

// A bright band in one of three places.
inline data::Dataset bands(std::int64_t count) {
  data::Dataset data;
  data.shape = kShape;
  data.class_names = {"0", "1", "2"};
  std::vector<std::uint8_t> pixels;
  SeededBits bits(1);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t label = k % 3;
    data.labels.push_back(static_cast<std::int32_t>(label));
    for (std::int64_t p = 0; p < kShape.pixels(); ++p)
      pixels.push_back(
          static_cast<std::uint8_t>(bits.below(40) + (p / kShape.width / 2 == label ? 200 : 0)));
  }
  data.pixels = pixels;
  data.declared_size = count;
  return data;
}

// Who says to a server what it likes.
class RawClient {
 public:
  RawClient(const std::string& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : stub_(wire::Federation::NewStub(grpc::CreateChannel(server, credentials))) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_->Train(&context_);
  }
  static grpc::Status propose(const std::string& server,
                              const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                              std::uint32_t version = kProtocol) {
    const auto stub = wire::Federation::NewStub(grpc::CreateChannel(server, credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    wire::TermsRequest request;
    request.set_version(version);
    wire::TermsReply reply;
    return stub->Propose(&context, request, &reply);
  }

  bool hello(const std::string& hash, std::uint32_t version = kProtocol) {
    wire::FromClient message;
    message.mutable_hello()->set_version(version);
    message.mutable_hello()->set_terms(hash);
    return stream_->Write(message);
  }
  // The next question; false where the stream ends.
  bool read() { return stream_->Read(&question_); }
  [[nodiscard]] const wire::Question& question() const { return question_; }
  bool answer(const std::vector<float>& gradient) { return answer(question_.number(), gradient); }
  bool answer(std::uint64_t number, const std::vector<float>& gradient) {
    wire::FromClient message;
    *message.mutable_answer() = write_answer(number, gradient);
    return stream_->Write(message);
  }
  // What the server said at the end.
  grpc::Status end() {
    while (read()) {
    }
    return stream_->Finish();
  }
  void leave() {
    stream_->WritesDone();
    static_cast<void>(end());
  }

 private:
  std::unique_ptr<wire::Federation::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::FromClient, wire::Question>> stream_;
  wire::Question question_;
};

}  // namespace obol::federated::testing
