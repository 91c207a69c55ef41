// Evaluations with everything in them, for tests.
#pragma once

namespace obol::evaluate {

inline constexpr const char* kEvaluation = R"({
  "format": "obol-evaluation", "version": 1, "protocol": "quick", "synthetic": 60000,
  "test": 10000, "seeds": 5, "seconds": 12.5, "classes": ["circle", "square"],
  "classifiers": {
    "logreg": {"accuracy": 0.80},
    "cnn": {"accuracy": 0.951, "standard_deviation": 0.002, "accuracies": [0.951],
            "balanced_accuracy": 0.947, "balanced_deviation": 0.003, "auc": 0.9871,
            "auc_deviation": 0.0012, "on_real": 0.991, "balanced_on_real": 0.985,
            "calibrated": 0.96, "confusion": [[97, 3], [0, 100]], "per_class": [0.97, 1.0]}},
  "quality": {"classifier_fid": {"value": 12.3, "against": "test"},
              "fid": {"value": 45.6, "against": "test"},
              "inception_score": {"value": 8.5, "deviation": 0.1},
              "junk_rate": {"value": 0.031, "per_class": [0.06, 0.002], "between_real": 0.0012},
              "odd": {"value": null},
              "wasserstein_exact": {"value": 6.4, "between_real": 5.8, "per_class": [6, 7]}},
  "validation": {"classifier": "cnn", "accuracy": 0.94, "standard_error": 0.001},
  "suite": {"records": 500, "classifiers": {"random_forest": 0.9, "xgboost": 0.8}}})";

inline constexpr const char* kPrivateEvaluation = R"({
  "format": "obol-evaluation", "version": 1,
  "classifiers": {"cnn": {"on_real": 0.987, "calibrated": 0.964}},
  "memorisation": {"ratio": 1.01, "low": 0.99, "high": 1.03, "samples": 1000},
  "quality": {"precision": {"value": 0.5, "against": "train"}}})";

}  // namespace obol::evaluate
