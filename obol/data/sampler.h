// Who takes part: Poisson samples of private records, and disjoint shards of them.
//
//   poisson_indices(60'000, 0.1, bits);   // each with probability 0.1
//   disjoint_shards(data, 1000, bits);
//
// Guarantee: in a Poisson sample every record takes part independently, with the probability that
// the accountant is told, rounded down to a multiple of 2^-64. The indices and their number are
// secret, so they stay inside Private.
#pragma once

#include <cstdint>
#include <vector>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"

namespace obol::data {

// Each of 0 .. population - 1 with probability `rate`, in ascending order.
std::vector<std::int64_t> poisson_indices(std::int64_t population, double rate, RandomBits& bits);

// `count` lists that partition 0 .. population - 1 at random; their sizes differ by at most one,
// so they depend on the population's size alone.
std::vector<std::vector<std::int64_t>> shard_indices(std::int64_t population, std::int64_t count,
                                                     RandomBits& bits);

std::vector<Private<Dataset>> disjoint_shards(const Private<Dataset>& data, std::int64_t count,
                                              RandomBits& bits);

}  // namespace obol::data
