#include "obol/evaluate/suite.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/base/interrupt.h"
#include "obol/base/process.h"
#include "obol/base/random.h"
#include "obol/data/npz.h"

namespace obol::evaluate {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kOfPython = 11;

// PREFIX/bin/obol has its script in PREFIX/share/obol, installed or in the build tree.
Path script() {
  const Path program = std::filesystem::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "share" / "obol" / "suite.py";
}

void take(const ordered_json& line, Suite& suite, bool& is_missing) {
  if (line.contains("accuracy"))
    suite.scores.push_back({line["name"].get<std::string>(), line["accuracy"].get<double>()});
  else if (line.value("missing", "") == "sklearn")
    is_missing = true;
  else if (line.contains("missing"))
    log_warning("xgboost is left out: python3-xgboost is not installed");
  else if (line.contains("error"))
    log_warning("{} is left out: {}", line.value("name", ""), line.value("error", ""));
}

void run_python(const Path& folder, Suite& suite) {
  constexpr int kNotFound = 127;
  Progress progress("scikit-learn's classifiers", kOfPython, "classifiers");
  bool is_missing = false;
  const int status =
      run_reading({"/usr/bin/python3", script().string(), "synthetic.npz", "real.npz"}, folder,
                  [&](std::string_view text) {
                    const auto line = ordered_json::parse(text, nullptr, false);
                    if (!line.is_object()) return;
                    take(line, suite, is_missing);
                    progress.advance(1, line.value("name", ""));
                  });
  check_interrupt();
  if (status == kNotFound)
    throw DataError(violation("/usr/bin/python3", "there for --suite sklearn", "not"));
  if (is_missing)
    throw DataError(
        violation("scikit-learn", "installed for --suite sklearn (python3-sklearn)", "not"));
  if (status != 0)
    throw Error(
        fmt::format("{} must end well, but ended with status {}", script().string(), status));
}

}  // namespace

data::Dataset some_of(const data::Dataset& data, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(data.count()));
  std::iota(order.begin(), order.end(), 0);
  SeededBits bits(1);
  std::shuffle(order.begin(), order.end(), bits);
  order.resize(static_cast<std::size_t>(std::min(count, data.count())));
  return data::select(data, order);
}

Suite run_suite(const data::Dataset& synthetic, const data::Dataset& real, std::int64_t records,
                const NativeScore& native) {
  const data::Dataset some = some_of(synthetic, records);
  const TemporaryFolder folder;
  data::write_npz(some, folder.path() / "synthetic.npz");
  data::write_npz(real, folder.path() / "real.npz");
  Suite suite{.records = some.count(), .scores = {}};
  run_python(folder.path(), suite);  // first: it may be missing
  for (const char* ours : {"mlp", "cnn"}) suite.scores.push_back({ours, native(ours, some)});
  return suite;
}

}  // namespace obol::evaluate
