// Where a client sits: its end of the connection. It knows messages and deadlines, and nothing of
// critics.
//
//   const ConnectionOptions options{.server = "host:7000", .identity = ..., .patience = 60};
//   Terms terms = ask_terms(options);
//   Ending ending = answer_questions(options, terms, [&](const wire::Question& question) { ... });
//
// Where the server goes away it is waited for. Only what the function answers leaves this machine.
#pragma once

#include <functional>
#include <string>

#include "obol/federated/certificates.h"
#include "obol/federated/messages.h"
#include "obol/federated/terms.h"

namespace obol::federated {

struct ConnectionOptions {
  std::string server;  // HOST:PORT, HOST being in the server's certificate
  Identity identity;
  double patience = 60;  // seconds without a server after which it is given up
};

enum class Ending { kFinished, kBudget, kInterrupted };

// May throw BudgetExceeded, which the server is told; nothing is told of whatever else it throws.
using Answering = std::function<wire::Answer(const wire::Question& question)>;

// NetworkError where the server cannot be reached, or sends the client away.
Terms ask_terms(const ConnectionOptions& options);
Ending answer_questions(const ConnectionOptions& options, const Terms& terms,
                        const Answering& answer);

}  // namespace obol::federated
