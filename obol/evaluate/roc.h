// The area under the receiver operating characteristic: the probability that a classifier gives a
// random image of a class a higher score than a random image of another one. Unlike accuracy, it
// does not depend on how frequent the classes are.
//
//   double auc = area_under_roc(scores, labels.eq(1));
//   double macro = macro_area_under_roc(logits, labels);   // the mean over classes
#pragma once

#include <torch/torch.h>

namespace obol::evaluate {

// scores [n], is_positive [n] of bool. Ties count half (Mann and Whitney 1947; Hanley and McNeil
// 1982). NaN where all are positive, or none.
double area_under_roc(const torch::Tensor& scores, const torch::Tensor& is_positive);

// The mean, over the classes for which it can be computed, of each class against the rest; the
// scores are the class's probabilities by the logits [n, classes]. With two classes it is the area
// of either. NaN where there is no such class.
double macro_area_under_roc(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace obol::evaluate
