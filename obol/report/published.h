// What others report on MNIST and Fashion-MNIST, to compare with: figures from their papers.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace obol::report {

struct PublishedFigures {
  const char* name;
  const char* source;
  double epsilon;  // at delta 1e-5, as they count
  // Whether that count is a guarantee; docs/guarantees/several_outputs.md says why two are not.
  bool holds;
  std::optional<double> fid;
  std::optional<double> logreg;  // accuracies as shares
  std::optional<double> mlp;
  std::optional<double> cnn;
};

// "mnist", "fashion-mnist"; none for others.
std::span<const PublishedFigures> published_figures(std::string_view data);

}  // namespace obol::report
