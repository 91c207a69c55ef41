#include "obol/federated/table.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/federated/federation.grpc.pb.h"
#include "obol/federated/tls.h"

namespace obol::federated {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::Status;
using grpc::StatusCode;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

// What a client may send: some at once, a little all the time, and one for each question.
class Allowance {
 public:
  void grant() { tokens_ = std::min(tokens_ + 1, kMost); }
  bool take(double per_second) {
    const auto now = Clock::now();
    tokens_ =
        std::min(tokens_ + per_second * std::chrono::duration<double>(now - last_).count(), kMost);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  static constexpr double kMost = 20;
  double tokens_ = kMost;
  Clock::time_point last_ = Clock::now();
};

class Table::Service final : public wire::Federation::CallbackService {
 public:
  explicit Service(const TableOptions& options);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  grpc::ServerUnaryReactor* Propose(grpc::CallbackServerContext* context,
                                    const wire::TermsRequest* request,
                                    wire::TermsReply* reply) override;
  grpc::ServerBidiReactor<wire::FromClient, wire::Question>* Train(
      grpc::CallbackServerContext* context) override;

  [[nodiscard]] int port() const { return port_; }
  std::vector<std::string> gather();
  Reply ask(const std::string& name, const wire::Question& question, double deadline);
  void wait_for_anyone();
  Counts counts(const std::string& name);
  void finish() { is_finished_ = true; }

 private:
  class Seat;
  struct Client {
    Seat* seat = nullptr;                // while connected
    bool is_ready = false;               // has agreed to the terms
    std::optional<std::uint64_t> asked;  // the question that it has not answered yet
    bool has_refused = false;
    Counts counts;
    Allowance allowance;
  };
  struct Pending {
    std::string name;
    std::uint64_t number;
    std::optional<Reply> reply;
  };

  // Everything below is called with the mutex held.
  Status enter(const std::string& name, Seat* seat);
  void leave(const std::string& name, Seat* seat);
  Status receive(const std::string& name, const wire::FromClient& message);
  Status receive_hello(const std::string& name, const wire::Hello& message);
  Status receive_answer(const std::string& name, const wire::Answer& message);
  void resolve(const std::string& name, Reply reply);
  bool may_join(const std::string& name) const;
  std::vector<std::string> ready() const;
  template <class Predicate>
  bool wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point end, Predicate predicate);

  const TableOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Client> clients_;
  std::vector<std::string> members_;
  std::optional<Pending> pending_;
  std::uint64_t last_number_ = 0;
  bool is_closing_ = false;
  bool is_finished_ = false;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // last: its threads use the rest
};

// One connection. Lives until gRPC says that it is done.
class Table::Service::Seat final
    : public grpc::ServerBidiReactor<wire::FromClient, wire::Question> {
 public:
  Seat(Service& service, std::string name) : service_(service), name_(std::move(name)) {}

  void start() { StartRead(&in_); }

  // An answer may be here before gRPC says that its question is written.
  void write(const wire::Question& question) {
    next_ = question;
    if (!is_writing_) write_next();
  }

  // Once, and when the question that is under way is written. From here on nobody may write: gRPC
  // ends a process that does after Finish, and OnDone comes later.
  void end(const Status& status) {
    if (end_) return;
    end_ = status;
    service_.leave(name_, this);
    if (!is_writing_) Finish(status);
  }

  void OnReadDone(bool is_read) override {
    const std::lock_guard<std::mutex> lock(service_.mutex_);
    if (!is_read) return end(Status::OK);
    if (end_) return;
    const Status status = service_.receive(name_, in_);
    if (!status.ok()) return end(status);
    StartRead(&in_);
  }
  void OnWriteDone(bool is_written) override {
    const std::lock_guard<std::mutex> lock(service_.mutex_);
    is_writing_ = false;
    if (end_)
      Finish(*end_);
    else if (!is_written)
      end(Status::OK);
    else if (next_)
      write_next();
  }
  void OnCancel() override {
    const std::lock_guard<std::mutex> lock(service_.mutex_);
    end(Status::CANCELLED);
  }
  void OnDone() override {
    {
      const std::lock_guard<std::mutex> lock(service_.mutex_);
      service_.leave(name_, this);
    }
    delete this;
  }

 private:
  void write_next() {
    out_ = std::move(*next_);
    next_.reset();
    is_writing_ = true;
    StartWrite(&out_);
  }

  Service& service_;
  std::string name_;
  wire::FromClient in_;
  wire::Question out_;
  std::optional<wire::Question> next_;
  bool is_writing_ = false;
  std::optional<Status> end_;
};

Table::Service::Service(const TableOptions& options) : options_(options), members_(options.names) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.listen, server_credentials(options.identity), &port_);
  builder.RegisterService(this);
  const std::int64_t numbers = options.terms.form.answer_numbers();
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(numbers * static_cast<std::int64_t>(sizeof(float)) + kAroundNumbers));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kKeepaliveMs / 2);
  server_ = builder.BuildAndStart();
  if (!server_ || port_ == 0)
    throw NetworkError(violation(options.listen, "free to listen at", "not"));
}

Table::Service::~Service() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closing_ = true;
    for (auto& [name, client] : clients_)
      if (client.seat != nullptr)
        client.seat->end(is_finished_ ? Status::OK
                                      : Status(StatusCode::UNAVAILABLE, "the server stops"));
  }
  constexpr double kSeconds = 2;
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(static_cast<int>(1000 * kSeconds)));
  server_->Wait();
}

grpc::ServerUnaryReactor* Table::Service::Propose(grpc::CallbackServerContext* context,
                                                  const wire::TermsRequest* request,
                                                  wire::TermsReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::string name = name_of(*context->auth_context());
  const std::lock_guard<std::mutex> lock(mutex_);
  Status status = Status::OK;
  try {
    check_version(request->version());
    reply->set_terms(options_.terms.text);
  } catch (const DataError& error) {
    status = Status(StatusCode::FAILED_PRECONDITION, error.what());
  }
  if (!clients_[name].allowance.take(options_.messages_per_second))
    status = Status(StatusCode::RESOURCE_EXHAUSTED, "a client must not ask so often");
  reactor->Finish(status);
  return reactor;
}

grpc::ServerBidiReactor<wire::FromClient, wire::Question>* Table::Service::Train(
    grpc::CallbackServerContext* context) {
  const std::string name = name_of(*context->auth_context());
  auto* seat = new Seat(*this, name);  // deletes itself
  const std::lock_guard<std::mutex> lock(mutex_);
  const Status status = enter(name, seat);
  if (status.ok())
    seat->start();
  else
    seat->end(status);
  return seat;
}

// Whoever comes first, until all are there.
bool Table::Service::may_join(const std::string& name) const {
  if (members_.empty()) return static_cast<std::int64_t>(ready().size()) < options_.terms.clients;
  return std::find(members_.begin(), members_.end(), name) != members_.end();
}

std::vector<std::string> Table::Service::ready() const {
  std::vector<std::string> names;
  for (const auto& [name, client] : clients_)
    if (client.is_ready) names.push_back(name);
  return names;
}

Status Table::Service::enter(const std::string& name, Seat* seat) {
  if (is_closing_) return {StatusCode::UNAVAILABLE, "the server stops"};
  if (name.empty())
    return {StatusCode::UNAUTHENTICATED, "a client's certificate must have a common name"};
  Client& client = clients_[name];
  if (!client.allowance.take(options_.messages_per_second))
    return {StatusCode::RESOURCE_EXHAUSTED, "a client must not connect so often"};
  if (client.seat != nullptr)
    return {StatusCode::ALREADY_EXISTS,
            fmt::format("{} must be connected once, but is so already", shown(name))};
  client.seat = seat;
  return Status::OK;
}

void Table::Service::leave(const std::string& name, Seat* seat) {
  const auto found = clients_.find(name);
  if (found == clients_.end() || found->second.seat != seat) return;
  found->second.seat = nullptr;
  found->second.is_ready = false;
  found->second.asked.reset();
  resolve(name, {.kind = Reply::kAbsent, .gradient = {}});
}

void Table::Service::resolve(const std::string& name, Reply reply) {
  if (pending_ && pending_->name == name && !pending_->reply) pending_->reply = std::move(reply);
  changed_.notify_all();
}

Status Table::Service::receive(const std::string& name, const wire::FromClient& message) {
  Client& client = clients_[name];
  Status status = Status::OK;
  try {
    if (!client.allowance.take(options_.messages_per_second))
      status = {StatusCode::RESOURCE_EXHAUSTED, "a client must not send more than it is asked for"};
    else if (message.has_hello() && !client.is_ready)
      return receive_hello(name, message.hello());
    else if (message.has_answer() && client.is_ready)
      return receive_answer(name, message.answer());
    else
      status = {StatusCode::INVALID_ARGUMENT, "a client must say Hello once, and then answer"};
  } catch (const DataError& error) {
    status = {StatusCode::INVALID_ARGUMENT, error.what()};
  }
  ++client.counts.rejected;
  client.is_ready = false;
  log_warning("{} is sent away: {}", shown(name), status.error_message());
  resolve(name, {.kind = Reply::kRejected, .gradient = {}});
  return status;
}

Status Table::Service::receive_hello(const std::string& name, const wire::Hello& message) {
  try {
    check_hello(message, options_.terms.hash);
  } catch (const DataError& error) {
    return {StatusCode::FAILED_PRECONDITION, error.what()};
  }
  if (!may_join(name))
    return {StatusCode::PERMISSION_DENIED,
            fmt::format("a client must be one of the {} that take part, but {} is not",
                        options_.terms.clients, shown(name))};
  Client& client = clients_[name];
  client.is_ready = true;
  client.has_refused = false;
  changed_.notify_all();
  return Status::OK;
}

Status Table::Service::receive_answer(const std::string& name, const wire::Answer& message) {
  Client& client = clients_[name];
  if (client.asked != message.number())
    throw DataError(violation("the number of an answer", "that of a question that was asked",
                              message.number()));
  const bool is_awaited = pending_ && pending_->number == message.number() && !pending_->reply;
  if (message.has_refusal()) {
    client.has_refused = true;
    log_info("{} leaves: {}", shown(name), shown(message.refusal()));
    resolve(name, {.kind = Reply::kRefused, .gradient = {}});
    return {StatusCode::OK, ""};
  }
  std::vector<float> gradient =
      read_gradient(message, options_.terms.form, options_.terms.longest());
  client.asked.reset();
  ++(is_awaited ? client.counts.answers : client.counts.late);
  if (is_awaited)
    resolve(name, {.kind = Reply::kAnswered, .gradient = std::move(gradient)});
  else
    changed_.notify_all();
  return Status::OK;
}

template <class Predicate>
bool Table::Service::wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point end,
                                Predicate predicate) {
  constexpr auto kSlice = std::chrono::milliseconds(100);
  while (!predicate()) {
    check_interrupt();
    const auto now = Clock::now();
    if (now >= end) return false;
    changed_.wait_until(lock, std::min(end, now + kSlice));
  }
  return true;
}

std::vector<std::string> Table::Service::gather() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto wanted = static_cast<std::size_t>(options_.terms.clients);
  if (members_.empty()) {
    wait_until(lock, Clock::time_point::max(), [&] { return ready().size() >= wanted; });
    members_ = ready();
  }
  return members_;
}

void Table::Service::wait_for_anyone() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto all_refused = [&] {
    return std::all_of(members_.begin(), members_.end(),
                       [&](const std::string& name) { return clients_[name].has_refused; });
  };
  wait_until(lock, Clock::time_point::max(), [&] {
    return all_refused() ||
           std::any_of(members_.begin(), members_.end(), [&](const std::string& name) {
             return clients_[name].is_ready && !clients_[name].asked;
           });
  });
  if (all_refused()) throw BudgetExceeded("some client must have a budget left, but none has");
}

Reply Table::Service::ask(const std::string& name, const wire::Question& question,
                          double deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  Client& client = clients_[name];
  if (!client.is_ready || client.has_refused || client.asked || is_closing_) return {};
  wire::Question numbered = question;
  numbered.set_number(++last_number_);
  pending_ = {.name = name, .number = last_number_, .reply = std::nullopt};
  client.asked = last_number_;
  client.allowance.grant();
  client.seat->write(numbered);
  const auto give_up = [&] { pending_.reset(); };
  try {
    wait_until(lock, after(deadline), [&] { return pending_->reply.has_value(); });
  } catch (...) {
    give_up();
    throw;
  }
  Reply reply = pending_->reply.value_or(Reply{.kind = Reply::kTimedOut, .gradient = {}});
  if (reply.kind == Reply::kTimedOut) ++client.counts.timeouts;
  give_up();
  return reply;
}

Counts Table::Service::counts(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return clients_[name].counts;
}

Table::Table(const TableOptions& options) : service_(std::make_unique<Service>(options)) {}
Table::~Table() = default;
int Table::port() const { return service_->port(); }
std::vector<std::string> Table::gather() { return service_->gather(); }
Reply Table::ask(const std::string& name, const wire::Question& question, double deadline) {
  return service_->ask(name, question, deadline);
}
void Table::wait_for_anyone() { service_->wait_for_anyone(); }
Counts Table::counts(const std::string& name) const { return service_->counts(name); }
void Table::finish() { service_->finish(); }

}  // namespace obol::federated
