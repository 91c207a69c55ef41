// A small run folder with everything in it, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "obol/base/file.h"
#include "obol/data/picture.h"
#include "obol/evaluate/testing.h"
#include "obol/privacy/certificate.h"
#include "obol/run/folder.h"
#include "obol/run/grid.h"
#include "obol/run/metrics.h"

namespace obol::report {

using evaluate::kEvaluation;
using evaluate::kPrivateEvaluation;

inline std::string some_recipe(std::string_view title = "Shapes",
                               std::string_view data = "shapes") {
  return fmt::format(
      "title = \"{}\"\nsummary = \"Two shapes.\"\n\n[data]\nsource = \"{}\"\n\n[privacy]\n"
      "barrier = \"record\"\nepsilon = 3.0\n\n[method]\nname = \"dp-sinkhorn\"\n",
      title, data);
}

// A run of three entries in its ledger, two of which are alike.
class SomeRun {
 public:
  explicit SomeRun(const Path& path, const std::string& recipe = some_recipe(),
                   const privacy::CertificateTerms& terms = {.delta = Delta{1e-5}})
      : path_(path) {
    const privacy::LedgerHeader header{.neighbours = privacy::Neighbours::kAddRemove,
                                       .records = 60'000,
                                       .fingerprint = "hmac-sha256:0123",
                                       .randomness = "secure (OpenSSL)"};
    const auto folder = run::RunFolder::create(path, recipe, header);
    {
      privacy::Ledger ledger = privacy::Ledger::open(folder.ledger(), header);
      ledger.reserve("class histogram", privacy::Gaussian{.noise_multiplier = 50, .count = 1});
      for (int i = 0; i < 2; ++i)
        ledger.reserve("training", privacy::Gaussian{.noise_multiplier = 40, .count = 50});
    }
    privacy::write_certificate(path, terms);
    run::MetricsLog log(folder.metrics(), 0);
    const auto of = [](double value) { return run::Public(value, run::Origin::kReleased); };
    log.append(50, 1.5, {{"epsilon", of(0.7)}, {"gradient_norm", of(3)}});
    log.append(100, 3.0, {{"epsilon", of(1.1)}, {"gradient_norm", of(2)}});
    std::filesystem::create_directory(folder.samples());
    data::write_png(run::grid({.shape = {.channels = 1, .height = 2, .width = 2},
                               .pixels = std::vector<std::uint8_t>(80, 7),
                               .columns = 10}),
                    folder.sample(100));
  }

  [[nodiscard]] const Path& path() const { return path_; }
  void write(const Path& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    write_file(path_ / name, text);
  }

 private:
  Path path_;
};

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace obol::report
