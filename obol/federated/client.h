// Takes part in a federated training: connects, agrees to the terms or does not, and answers until
// the training or the budget ends.
//
//   Joined joined = join({.connection = {...}, .respondent = {...}}, data);
//
// Where the server goes away it is waited for. Only what a Respondent answers leaves this machine.
#pragma once

#include <cstdint>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/federated/connection.h"
#include "obol/federated/respondent.h"

namespace obol::federated {

struct JoinOptions {
  ConnectionOptions connection;
  RespondentOptions respondent;
};

struct Joined {
  Ending ending;
  std::int64_t answers;  // paid for, in earlier processes too
  double epsilon;
};

// NetworkError where the server cannot be reached, or sends the client away; InvalidArgument where
// the terms do not suit it. Whatever ends it, the critic is saved and the certificate written.
Joined join(const JoinOptions& options, const Private<data::Dataset>& data);

}  // namespace obol::federated
