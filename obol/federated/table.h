// Where clients sit: the server's end of all connections. It knows names, messages and deadlines,
// and nothing of generators.
//
//   Table table({.listen = "0.0.0.0:7000", .identity = ..., .terms = terms});
//   std::vector<std::string> names = table.gather();     // waits until all are there
//   Reply reply = table.ask(names[0], question, 60);     // waits for the answer
//   if (reply.kind == Reply::kAnswered) use(reply.gradient);
//
// Clients connect, so that they may be behind any router. Each has one stream, on which it says
// Hello and then one answer to each question. Whoever sends something else is sent away with a
// sentence, and so is one that sends faster than it is asked. Waiting ends with Interrupted.
//
// For one thread; what happens in gRPC's own is kept inside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "obol/federated/certificates.h"
#include "obol/federated/messages.h"
#include "obol/federated/terms.h"

namespace obol::federated {

struct TableOptions {
  std::string listen;  // HOST:PORT; port 0: any
  Identity identity;
  Terms terms;
  std::vector<std::string> names = {};  // who takes part; empty: the first terms.clients that come
  double messages_per_second = 2;       // of one client, besides one for each question
};

struct Reply {
  enum Kind { kAnswered, kAbsent, kTimedOut, kRejected, kRefused };
  Kind kind = kAbsent;
  std::vector<float> gradient;  // where kAnswered
};

// Of one client.
struct Counts {
  std::int64_t answers = 0;
  std::int64_t rejected = 0;  // malformed, too long, not asked for
  std::int64_t timeouts = 0;
  std::int64_t late = 0;  // answers after the deadline, dropped
};

class Table {
 public:
  // NetworkError where it cannot listen.
  explicit Table(const TableOptions& options);
  // Tells the clients that the training is over, where `finish` was called, else to come back.
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] int port() const;
  // In alphabetical order. From then on nobody else may come.
  std::vector<std::string> gather();
  // kAbsent, at once, where the client is not there or still busy.
  Reply ask(const std::string& name, const wire::Question& question, double deadline);
  // Until somebody could be asked. BudgetExceeded where all have refused.
  void wait_for_anyone();
  [[nodiscard]] Counts counts(const std::string& name) const;
  void finish();

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace obol::federated
