// One generator, trained on data that stay where they are: the server that holds it, and clients
// that answer its questions within a budget.
//
// Implemented by the target app_tensor where there is gRPC as well as LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/base/reporter.h"
#include "obol/run/loop.h"

namespace obol::app {

struct IdentityFiles {
  std::string ca;
  std::string certificate;
  std::string key;
};

struct ServeRequest {
  Path recipe;
  std::vector<std::string> overrides;
  std::string shape = "28x28";
  std::int64_t classes = 10;
  Path out;
  bool resume = false;
  std::string listen;
  IdentityFiles identity;
  double deadline = 60;
  std::string device = "cpu";
  std::int64_t threads = 0;
  Reporter* reporter = nullptr;  // null: the one in use
};

struct JoinRequest {
  std::string server;
  std::string data;
  std::string declared;  // by options, as the TOML of a declaration
  Path out;
  IdentityFiles identity;
  double epsilon = 0;
  double delta = 0;
  double least_noise = 0;
  std::optional<std::int64_t> answers;
  double patience = 60;
  std::string device = "cpu";
  std::int64_t threads = 0;
  Reporter* reporter = nullptr;  // null: the one in use
};

struct JoinAnswer {
  std::string ending;  // "what was planned is used up by", to be followed by the number of answers
  bool is_interrupted = false;
  std::int64_t answers = 0;
  double epsilon = 0;
};

run::Outcome serve_federation(const ServeRequest& request);
JoinAnswer join_federation(const JoinRequest& request);

}  // namespace obol::app
