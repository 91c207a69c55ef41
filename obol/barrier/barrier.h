// Privacy barriers: where private information crosses into the gradient of generated samples. Each
// bounds what one record can change, pays, and adds noise (methods and proofs: docs/guarantees).
//
//   RowBarrier     clips each generated row's gradient        DP-Sinkhorn, Algorithm 1
//   BatchBarrier   clips the gradient of all rows as one      its earlier version
//   RecordBarrier  clips each private record's contribution   noise shrinks with the batch
//   ShardBarrier   clips the answer of one of many shards     GS-WGAN, in rows or as one
//   SumBarrier     clips what each record adds to any sum     sum.h
//
// Guarantee of each release: one event SampledGaussian(rate, m), of shards Gaussian(m), with m as
// stated below, written to the ledger before anything is opened.
#pragma once

#include <cstdint>
#include <string_view>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/barrier/mechanism.h"
#include "obol/barrier/purposes.h"
#include "obol/barrier/records.h"
#include "obol/barrier/sum.h"

namespace obol::barrier {

// Each row of a gradient [n, d] is scaled down to clip_norm and has noise of standard deviation
// 2 clip_norm noise_multiplier. All rows depend on one subsample, and a record may move each by
// 2 clip_norm: m = noise_multiplier / sqrt(n), which is not what the paper counts.
class RowBarrier : public Mechanism {
 public:
  RowBarrier(Door& door, const BarrierOptions& options);
  torch::Tensor release(const Drawn<torch::Tensor>& gradient, std::int64_t rows);

 private:
  Door& door_;
  BarrierOptions options_;
};

// The whole gradient, of any shape (rows of images, or the parameters of a network in one vector),
// is scaled down to clip_norm; noise of standard deviation 2 clip_norm noise_multiplier;
// m = noise_multiplier.
class BatchBarrier : public Mechanism {
 public:
  BatchBarrier(Door& door, const BarrierOptions& options);
  torch::Tensor release(const Drawn<torch::Tensor>& gradient);

 private:
  Door& door_;
  BarrierOptions options_;
};

// Generated rows, class by class, as many of each, and the potentials that weigh them.
struct Rows {
  torch::Tensor points;      // [n, d], float
  torch::Tensor potentials;  // [n]
  std::int64_t classes;
};

// R(X, f; T): every sample of T pulls the rows of its class towards itself, each by its share
//
//   P_ik = softmax over the rows i of its class of (f_i - |x_i - t_k|^2) / regularization,
//
// so that row i of the result is sum_k w_k P_ik (x_i - t_k). The weight w_k <= 1 keeps the whole
// pull of one sample, [P_ik (x_i - t_k)]_i, within clip_norm. Computes with whatever it is given:
// it is the record barrier that makes it private.
torch::Tensor pull(const Rows& rows, const Sample& samples, double regularization,
                   double clip_norm);
// The same in double. Every record's pull is rounded to a grid by itself, and their sum is exact:
// two samples that differ in one record give results that differ by that record's rounded pull,
// which is at most clip_norm long, bit for bit whatever the others are (pull_arithmetic.h). A
// record with a coordinate that is not finite pulls nothing.
torch::Tensor exact_pull(const Rows& rows, const Sample& samples, double regularization,
                         double clip_norm);

// Releases R(X, f; Y) of a private sample Y, rows and potentials being public. A record adds one
// clipped pull: the sensitivity is clip_norm, however large the sample. m = noise_multiplier.
class RecordBarrier : public SumMechanism {
 public:
  RecordBarrier(Door& door, const BarrierOptions& options, double regularization);
  torch::Tensor release(const Rows& rows, const Drawn<Sample>& sample);

 private:
  double regularization_;
};

// The answer [n, ...] of one of several disjoint shards, clipped row by row or as a whole, with
// noise of standard deviation 2 clip_norm noise_multiplier; m = noise_multiplier / sqrt(n) or
// noise_multiplier. All the shard's data may be others and the answer moves by no more than that,
// so the guarantee covers a whole shard. A record meets the answers of its own shard alone: the
// ledger has as many events as the shard that answered most often has answers.
class ShardBarrier : public Mechanism {
 public:
  enum class Clip { kRows, kWhole };
  // `paid` answers of every shard are in the ledger already.
  ShardBarrier(const BarrierOptions& options, Clip clip, std::int64_t rows, std::int64_t paid);

  [[nodiscard]] privacy::Event event() const;
  // For the answer number `use`, from 1, of a shard; nothing where that was paid before.
  // BudgetExceeded where the budget does not allow it.
  void pay(Door& door, std::int64_t use);
  // Pays where that is still to be done.
  torch::Tensor release(Door& door, const Private<torch::Tensor>& answer, std::int64_t use);

 private:
  [[nodiscard]] double root() const;  // how many times clip_norm the clipped answer may be long
  [[nodiscard]] Release one() const;

  BarrierOptions options_;
  Clip clip_;
  std::int64_t rows_;
  PaidUses uses_;
};

// How many records are of each of some kinds (of each class, say), once, with noise of standard
// deviation `noise`: an event Gaussian(noise), since a record is of one kind at most.
class HistogramBarrier : public SumMechanism {
 public:
  HistogramBarrier(Door& door, double noise, std::string_view purpose = kHistogram);
  torch::Tensor release(const Private<torch::Tensor>& counts);
};

// Rows, or the whole, scaled down to at most `bound` in l2, a little less to allow for rounding.
// What is not finite counts as zero, and so does what is some 1e38 times too long.
torch::Tensor clip_rows(const torch::Tensor& values, double bound);
torch::Tensor clip_whole(const torch::Tensor& values, double bound);

}  // namespace obol::barrier
