#include "obol/federated/connection.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/federated/federation.grpc.pb.h"
#include "obol/federated/tls.h"

namespace obol::federated {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::Status;
using grpc::StatusCode;
using Stub = std::unique_ptr<wire::Federation::Stub>;

constexpr auto kSlice = std::chrono::milliseconds(100);

// Cancels a call that waits when the process is told to stop.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(grpc::ClientContext& context)
      : watcher_([this, &context](const std::stop_token& stop) {
          std::unique_lock<std::mutex> lock(mutex_);
          while (!stop.stop_requested()) {
            if (interrupted()) context.TryCancel();
            over_.wait_for(lock, stop, kSlice, [] { return false; });
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread watcher_;  // last: it uses the others
};

// Waits between attempts, until the patience ends.
class Patience {
 public:
  explicit Patience(double seconds) : seconds_(seconds) {}
  void renew() { since_ = Clock::now(); }
  // Whether to try again; having waited a little.
  bool try_again() {
    if (std::chrono::duration<double>(Clock::now() - since_).count() >= seconds_) return false;
    constexpr int kSlices = 5;
    for (int k = 0; k < kSlices && !interrupted(); ++k) std::this_thread::sleep_for(kSlice);
    return true;
  }

 private:
  double seconds_;
  Clock::time_point since_ = Clock::now();
};

bool may_pass(const Status& status) {
  return status.error_code() == StatusCode::UNAVAILABLE ||
         status.error_code() == StatusCode::DEADLINE_EXCEEDED ||
         // A server that has not noticed yet that the connection before is dead.
         status.error_code() == StatusCode::ALREADY_EXISTS;
}

[[noreturn]] void fail(const Status& status, const std::string& server) {
  const std::string said = shown(status.error_message());
  if (status.error_code() == StatusCode::UNAVAILABLE)
    throw NetworkError(fmt::format(
        "{} must be there and accept this certificate, but is not, or does not: {}", server, said));
  throw NetworkError(
      fmt::format("{} must let this client take part, but does not: {}", server, said));
}

// For each attempt anew: a channel that found nobody does not look again for up to 30 s.
Stub connect(const ConnectionOptions& options, std::int64_t largest_message) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(largest_message));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return wire::Federation::NewStub(
      grpc::CreateCustomChannel(options.server, client_credentials(options.identity), arguments));
}

struct Stream {
  std::optional<Ending> end;  // none: the server ended it
  Status status;
  bool was_asked = false;
};

// One connection, as long as it lasts.
Stream answer_on(wire::Federation::Stub& stub, const Terms& terms, const Answering& answer) {
  Stream result;
  grpc::ClientContext context;
  const CancelOnInterrupt cancel(context);
  const auto stream = stub.Train(&context);
  wire::FromClient out;
  out.mutable_hello()->set_version(kProtocol);
  out.mutable_hello()->set_terms(terms.hash);
  bool is_open = stream->Write(out);
  wire::Question question;
  while (is_open && !interrupted() && stream->Read(&question)) {
    result.was_asked = true;
    out.Clear();
    try {
      *out.mutable_answer() = answer(question);
    } catch (const BudgetExceeded& error) {
      result.end = Ending::kBudget;
      out.mutable_answer()->set_number(question.number());
      out.mutable_answer()->set_refusal(error.what());
    } catch (...) {  // nothing leaves that is not an answer
      context.TryCancel();
      stream->Finish();
      throw;
    }
    is_open = stream->Write(out) && result.end != Ending::kBudget;
  }
  stream->WritesDone();  // what cannot be read ends the reading, but not the stream
  if (interrupted()) {
    result.end = Ending::kInterrupted;
    context.TryCancel();
  }
  result.status = stream->Finish();
  return result;
}

}  // namespace

Terms ask_terms(const ConnectionOptions& options) {
  constexpr std::int64_t kLargestTerms = std::int64_t{1} << 20;
  Patience patience(options.patience);
  wire::TermsRequest request;
  request.set_version(kProtocol);
  for (;;) {
    grpc::ClientContext context;
    constexpr int kSeconds = 10;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kSeconds));
    wire::TermsReply reply;
    const Stub stub = connect(options, kLargestTerms);
    const Status status = stub->Propose(&context, request, &reply);
    check_interrupt();
    if (status.ok()) return read_terms(reply.terms());
    if (!may_pass(status) || !patience.try_again()) fail(status, options.server);
  }
}

Ending answer_questions(const ConnectionOptions& options, const Terms& terms,
                        const Answering& answer) {
  constexpr auto kNumber = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t largest = terms.form.question_numbers() * kNumber +
                               16 * terms.form.steps * terms.form.rows + kAroundNumbers;
  Patience patience(options.patience);
  for (;;) {
    const Stub stub = connect(options, largest);
    const Stream stream = answer_on(*stub, terms, answer);
    if (stream.end) return *stream.end;
    if (interrupted()) return Ending::kInterrupted;
    if (stream.status.ok()) return Ending::kFinished;
    if (stream.was_asked) patience.renew();
    if (!may_pass(stream.status) || !patience.try_again()) fail(stream.status, options.server);
  }
}

}  // namespace obol::federated
