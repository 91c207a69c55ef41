// The server of a federated GS-WGAN (Algorithm 2): it has the generator and no data. Each step asks
// one client, in a public order, and moves the generator by its answer, which is private already.
//
//   run::Outcome outcome = serve({.recipe = "gs_wgan/a.toml", .folder = "runs/a", .listen = ...});
//
// Nothing private is here, so nothing is paid here: each client's own ledger and certificate say
// what its answers cost, whether they were used or not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/federated/table.h"
#include "obol/federated/terms.h"
#include "obol/method/trainee.h"
#include "obol/privacy/turns.h"
#include "obol/run/loop.h"

namespace obol::federated {

struct ServerSurroundings {
  Table& table;
  RandomBits& bits;
  Path turns;            // a file: whose turn it is
  Path record;           // a file: who takes part, and who has answered how often
  double deadline = 60;  // seconds that an answer may take
  torch::Device device = torch::kCPU;
};

class Server final : public run::Method {
 public:
  Server(const Terms& terms, const ServerSurroundings& surroundings);

  void start() override { gather(); }
  // Asks until somebody answers.
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  run::Sections save() override;
  void load(const run::Sections& sections) override;
  std::vector<run::Metric> metrics() override { return metrics_; }
  std::optional<run::Samples> samples() override { return trainee_.samples(surroundings_.bits); }
  std::string generator() override;
  [[nodiscard]] std::string note() const override { return "each client pays"; }

 private:
  void gather();
  torch::Tensor answer_to(const wire::Question& question);
  void write_record() const;

  Terms terms_;
  ServerSurroundings surroundings_;
  method::Trainee trainee_;
  privacy::Turns turns_;
  std::vector<std::string> names_;
  std::vector<Counts> before_;  // of earlier processes
  std::vector<run::Metric> metrics_;
};

struct ServeOptions {
  Path recipe;
  std::vector<std::string> overrides = {};
  Images images = {};
  Path folder;
  bool resume = false;
  std::string listen;
  Identity identity;
  double deadline = 60;
  torch::Device device = torch::kCPU;
  std::function<void(int port)> on_listening = [](int) {};
};

run::Outcome serve(const ServeOptions& options);

}  // namespace obol::federated
