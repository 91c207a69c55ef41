// The thirteen classifiers of GS-WGAN's tables A1 and A2: two of our own, the others through
// scikit-learn and XGBoost, where they are installed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "obol/data/dataset.h"

namespace obol::cli {

// {"records": 10000, "classifiers": {"cnn": 0.8, ...}}. `native` trains one of ours on records and
// gives its accuracy. DataError where Python or scikit-learn is missing.
nlohmann::ordered_json run_suite(const data::Dataset& synthetic, const data::Dataset& real,
                                 std::int64_t records,
                                 const std::function<double(const std::string& classifier,
                                                            const data::Dataset& records)>& native);

}  // namespace obol::cli
