// Privacy barriers: where private information crosses into the gradient of generated samples. Each
// bounds what one record can change, pays, and adds noise (methods and proofs: docs/guarantees).
//
//   RowBarrier     clips each generated row's gradient            DP-Sinkhorn, Algorithm 1
//   BatchBarrier   clips the gradient of all rows as one          its earlier version
//   RecordBarrier  clips each private record's contribution       ours: noise shrinks with the
//   batch
//
// Guarantee of each release: one event SampledGaussian(rate, m) with m as stated below, written to
// the ledger before anything is opened.
#pragma once

#include <cstdint>
#include <string_view>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/barrier/records.h"

namespace obol::barrier {

inline constexpr const char* kTraining = "training";
inline constexpr const char* kHistogram = "class histogram";
inline constexpr const char* kValidation = "validation accuracy";

struct BarrierOptions {
  double clip_norm;
  double noise_multiplier;
};

// Each row of a gradient [n, d] is scaled down to clip_norm and has noise of standard deviation
// 2 clip_norm noise_multiplier. All rows depend on one subsample, and a record may move each by
// 2 clip_norm: m = noise_multiplier / sqrt(n), which is not what the paper counts.
class RowBarrier {
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
class BatchBarrier {
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

// Releases R(X, f; Y) of a private sample Y, rows and potentials being public. A record adds one
// clipped pull: the sensitivity is clip_norm, however large the sample. m = noise_multiplier.
class RecordBarrier {
 public:
  RecordBarrier(Door& door, const BarrierOptions& options, double regularization);
  torch::Tensor release(const Rows& rows, const Drawn<Sample>& sample);

 private:
  Door& door_;
  BarrierOptions options_;
  double regularization_;
};

// How many records are of each of some kinds (of each class, say), once, with noise of standard
// deviation `noise`: an event Gaussian(noise), since a record is of one kind at most.
class HistogramBarrier {
 public:
  HistogramBarrier(Door& door, double noise, std::string_view purpose = kHistogram);
  torch::Tensor release(const Private<torch::Tensor>& counts);

 private:
  Door& door_;
  double noise_;
  std::string_view purpose_;
};

// Rows, or the whole, scaled down to at most `bound` in l2, a little less to allow for rounding.
// What is not finite counts as zero.
torch::Tensor clip_rows(const torch::Tensor& values, double bound);
torch::Tensor clip_whole(const torch::Tensor& values, double bound);

}  // namespace obol::barrier
