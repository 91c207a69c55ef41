// Takes part in a federated training: connects, agrees to the terms or does not, and answers until
// the training or the budget ends.
//
//   Joined joined = join({.server = "host:7000", .identity = ..., .respondent = {...}}, data);
//
// Where the server goes away it is waited for. Only what a Respondent answers leaves this machine.
#pragma once

#include <cstdint>
#include <string>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/federated/certificates.h"
#include "obol/federated/respondent.h"

namespace obol::federated {

struct JoinOptions {
  std::string server;  // HOST:PORT, HOST being in the server's certificate
  Identity identity;
  RespondentOptions respondent;
  double patience = 60;  // seconds without a server after which it is given up
};

struct Joined {
  enum Ending { kFinished, kBudget, kInterrupted };
  Ending ending;
  std::int64_t answers;  // paid for, in earlier processes too
  double epsilon;
};

// NetworkError where the server cannot be reached, or sends the client away; InvalidArgument where
// the terms do not suit it. Whatever ends it, the critic is saved and the certificate written.
Joined join(const JoinOptions& options, const Private<data::Dataset>& data);

}  // namespace obol::federated
