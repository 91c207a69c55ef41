// What a method works with: who pays, where random numbers come from, where it may write, and the
// device. All of it is the caller's and outlives the method.
//
//   DpSinkhorn method(options, data, {.door = &door, .bits = bits});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/data/private.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/ledger.h"

namespace obol::method {

struct MethodContext {
  // All three null where nothing is private.
  privacy::Ledger* ledger = nullptr;
  privacy::BudgetGuard* guard = nullptr;
  barrier::Door* door = nullptr;
  DisclosureLog* disclosures = nullptr;  // where the reason is kept if nothing is private
  RandomBits& bits;
  // A stream of its own for a part of the data, such as a shard.
  std::function<std::unique_ptr<RandomBits>(std::int64_t part)> bits_of = {};
  Path own = {};  // the private folder of a run on private data
  torch::Device device = torch::kCPU;
};

}  // namespace obol::method
