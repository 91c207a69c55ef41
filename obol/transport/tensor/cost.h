// Costs between points that are rows of tensors.
//
//   Tensor c = cost_matrix(x, y, parse_cost("mixture:0.1"));   // [n, m]
//   Tensor dx = cost_gradient(x, y, plan, cost);               // sum_j P_ij dC_ij/dx_i, [n, d]
//
// Squared distances come from a matrix product, and again from differences wherever the product
// cancels: every entry has nearly the relative accuracy of its type, whatever the points' distance
// from the origin. No cost ever holds the differences of all pairs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "obol/transport/types.h"

namespace obol::transport {

enum class CostKind {
  kSquared,   // |x - y|_2^2
  kAbsolute,  // |x - y|_1
  kMixture,   // |x - y|_2^2 + mixing |x - y|_1
  kPower,     // sum_k |x_k - y_k|^power
};

struct Cost {
  CostKind kind = CostKind::kSquared;
  double mixing = 0;
  double power = 2;
};

// As kernels take it; of any kind but kPower.
Ground ground_of(const Cost& cost);

// l2sq, l1, mixture:M with M not negative, lp:P with P at least 1.
Cost parse_cost(std::string_view text);
std::string to_string(const Cost& cost);

// What a pair of differing classes adds when one-hot labels times `weight` are further coordinates.
double label_penalty(const Cost& cost, double weight);

// x [n, d] and y [m, d], of one type (float or double) and device; rows may be strided.
torch::Tensor cost_matrix(const torch::Tensor& x, const torch::Tensor& y, const Cost& cost);

// Of several pairs (x, y), which on a GPU go side by side.
using PointPairs = std::vector<std::pair<torch::Tensor, torch::Tensor>>;
std::vector<torch::Tensor> cost_matrices(const PointPairs& pairs, const Cost& cost);

// plan [n, m] may be a transposed view: cost_gradient(y, x, plan.t(), cost) is the other side's.
torch::Tensor cost_gradient(const torch::Tensor& x, const torch::Tensor& y,
                            const torch::Tensor& plan, const Cost& cost);

// Adds `penalty` where the labels, whole numbers [n] and [m], differ.
void add_label_penalty(torch::Tensor& cost, const torch::Tensor& labels_x,
                       const torch::Tensor& labels_y, double penalty);

}  // namespace obol::transport
