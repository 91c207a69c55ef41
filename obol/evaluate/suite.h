// The thirteen classifiers of GS-WGAN's tables A1 and A2: two of our own, the others through
// scikit-learn and XGBoost, where they are installed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "obol/data/dataset.h"
#include "obol/evaluate/evaluation.h"

namespace obol::evaluate {

// `count` of them at random, or all, shuffled; the same every time.
data::Dataset some_of(const data::Dataset& data, std::int64_t count);

// Trains one of ours on records and gives its accuracy.
using NativeScore =
    std::function<double(const std::string& classifier, const data::Dataset& records)>;

// On `records` of the synthetic images. DataError where Python or scikit-learn is missing.
Suite run_suite(const data::Dataset& synthetic, const data::Dataset& real, std::int64_t records,
                const NativeScore& native);

}  // namespace obol::evaluate
