// What a federated training is about, as the server proposes it and every client reads it before
// it agrees: a recipe without data, in which everything stands that matters to a client.
//
//   std::string text = propose("recipes/gs_wgan/a.toml", overrides, {.shape = "28x28"});
//   Terms terms = read_terms(text);            // at the client: its own reading of the same text
//   terms.per_answer()                         // what one answer will be in its ledger
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/federated/messages.h"
#include "obol/method/gs_wgan/options.h"
#include "obol/method/optimizer_options.h"
#include "obol/method/privacy_options.h"
#include "obol/model/options.h"
#include "obol/privacy/event.h"
#include "obol/recipe/fields.h"

namespace obol::federated {

// The section [images]: the server has none that it could look at.
struct Images {
  std::string shape = "28x28";  // HEIGHTxWIDTH, or HEIGHTxWIDTHxCHANNELS
  std::int64_t classes = 10;

  void describe(recipe::Fields& fields);
};

struct Terms {
  std::string text;
  std::string hash;
  Form form;
  method::Barrier barrier;  // row or batch
  std::string schedule;
  std::int64_t clients;
  double noise_multiplier;
  std::int64_t steps;
  model::GeneratorOptions generator;
  method::OptimizerOptions optimizer;
  method::gs_wgan::MethodOptions method;  // without a seed: no other machine chooses it

  [[nodiscard]] privacy::Event per_answer() const;
  // Of an answer that carry noise of their own.
  [[nodiscard]] double outputs() const;
  // That an honest answer has; see longest_answer.
  [[nodiscard]] double longest() const;
};

// Of a recipe for GS-WGAN. What it leaves to be calibrated is written out.
std::string propose(const Path& recipe, const std::vector<std::string>& overrides,
                    const Images& images);

// InvalidArgument on what no honest server proposes.
Terms read_terms(const std::string& text);

}  // namespace obol::federated
