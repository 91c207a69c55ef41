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
#include "obol/method/generator_method.h"
#include "obol/privacy/turns.h"
#include "obol/run/loop.h"

namespace obol::federated {

struct ServerFiles {
  Path turns;   // whose turn it is
  Path record;  // who takes part, and who has answered how often
};

class Server final : public method::GeneratorMethod {
 public:
  // An answer may take `deadline` seconds. `table` must outlive this.
  Server(const Terms& terms, Table& table, ServerFiles files, double deadline,
         const method::MethodContext& context);

  void start() override { gather(); }
  // Asks until somebody answers.
  void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
  std::vector<run::Metric> metrics() override { return metrics_; }
  [[nodiscard]] std::string note() const override { return "each client pays"; }

 private:
  void save_more(run::Sections& sections) override;
  void load_more(const run::Sections& sections) override;
  void gather();
  torch::Tensor answer_to(const wire::Question& question);
  void write_record() const;

  Terms terms_;
  Table& table_;
  ServerFiles files_;
  double deadline_;
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
