// What someone who is handed synthetic data must know of them, on one page in Markdown.
//
//   write_file("DATA_CARD.md", data_card({.run = facts, .samples = samples, .files = names}));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/report/facts.h"

namespace obol::report {

struct CardFacts {
  const RunFacts& run;  // with a certificate
  const data::Dataset& samples;
  std::optional<std::int64_t> seed;  // that they were drawn with
  std::vector<std::string> files;    // beside the card
};

std::string data_card(const CardFacts& facts);

}  // namespace obol::report
