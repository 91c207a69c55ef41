// Trainings of DP-Sinkhorn to be timed, with all that is around one: a ledger on disk, a guard,
// secure bits. What a step costs does not depend on what the images show.
//
//   Training training(paper(kRecords), some_images(kRecords), device);
//   training.step();
#pragma once

#include <cstdint>
#include <optional>

#include <torch/torch.h>

#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/method/dp_sinkhorn/method.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/ledger.h"

namespace obol::bench {

// Ten classes, bytes.
data::Dataset some_images(std::int64_t records, std::int64_t side = 28);

// DP-Sinkhorn as published, 50 of the records being expected in a sample.
method::dp_sinkhorn::Options paper(std::int64_t records);
// The record barrier at the size of mnist_record_eps10_cpu.
method::dp_sinkhorn::Options record();

// The way out of private values.
struct House {
  explicit House(std::int64_t records);

  TemporaryFolder folder;
  SecureBits bits;
  privacy::Ledger ledger;
  privacy::BudgetGuard guard{ledger, std::nullopt};
  barrier::Door door{guard, bits};
};

class Training {
 public:
  Training(const method::dp_sinkhorn::Options& options, const Private<data::Dataset>& data,
           const torch::Device& device);
  void step() { method_.step(++step_, nothing_); }

 private:
  House house_;
  method::dp_sinkhorn::DpSinkhorn method_;
  run::UnsafeDiagnostics nothing_;
  std::int64_t step_ = 0;
};

}  // namespace obol::bench
