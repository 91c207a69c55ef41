// A client of a federated training, without the network: it holds data, a critic, a ledger and a
// budget, and answers questions as long as that lasts.
//
//   Respondent respondent(terms, data, {.folder = "client", .budget = {Epsilon{10}, Delta{1e-5}}});
//   respondent.warm_start();
//   wire::Answer answer = respondent.answer(question);   // paid for before it is computed
//   respondent.save();                                   // critic and certificate
//
// Guarantee: every answer is one event Gaussian(m) in the ledger of its folder, on disk before the
// answer exists, whether the server uses it or not; m as of barrier::ShardBarrier. How many there
// will be at most is planned before the first, and all of them are certified. The server knows
// whom it asks, so nothing is gained by sampling. It covers replacing all the data that are here.
// The folder is gone on with where it is there already, if it is of the same terms and data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <torch/torch.h>

#include "obol/barrier/barrier.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/federated/terms.h"
#include "obol/method/gs_wgan/bank.h"
#include "obol/method/gs_wgan/holder.h"
#include "obol/method/place.h"
#include "obol/privacy/guard.h"

namespace obol::federated {

struct RespondentOptions {
  Path folder;
  privacy::Budget budget;
  // Planned at most, besides what the budget allows; else this client's share of the steps.
  std::optional<std::int64_t> answers = std::nullopt;
  double least_noise = 0;  // noise multiplier of an answer below which it does not take part
  torch::Device device = torch::kCPU;
  std::optional<std::int64_t> seed = std::nullopt;  // for tests: nothing is private then
};

class Respondent {
 public:
  // InvalidArgument where it does not agree to the terms, or the data do not fit them.
  Respondent(const Terms& terms, const Private<data::Dataset>& data,
             const RespondentOptions& options);

  // Where there is no critic yet. False where that was interrupted.
  bool warm_start();

  // BudgetExceeded instead of an answer that the budget does not allow; DataError on a question
  // that is none, which costs nothing.
  wire::Answer answer(const wire::Question& question);

  // On a clean stop, and now and then.
  void save();

  [[nodiscard]] std::int64_t answers() const noexcept { return answers_; }  // paid for
  [[nodiscard]] std::int64_t affordable();
  [[nodiscard]] double epsilon() const;  // of all of them

 private:
  Terms terms_;
  RespondentOptions options_;
  method::Place place_;
  model::Critic critic_;
  method::gs_wgan::Holder holder_;
  method::gs_wgan::CriticBank bank_;
  privacy::BudgetGuard guard_;
  std::int64_t answers_;
  barrier::ShardBarrier barrier_;
};

}  // namespace obol::federated
