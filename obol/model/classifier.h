// The classifiers that measure synthetic data: trained on it, tested on real data.
//
//   auto classifier = make_classifier("cnn", {1, 28, 28}, 10);
//   torch::Tensor logits = classifier->forward(images);   // [n, 1, 28, 28] -> [n, 10]
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "obol/data/dataset.h"

namespace obol::model {

class Classifier : public torch::nn::Module {
 public:
  // images [n, channels, height, width] -> logits [n, classes]
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

// "logreg": one linear layer; "mlp": 100 hidden units; "cnn": two 3x3 convolutions of 32 and 64
// channels, each with pooling and dropout 0.5. InvalidArgument on any other.
std::shared_ptr<Classifier> make_classifier(const std::string& kind, const data::ImageShape& shape,
                                            std::int64_t num_classes);

}  // namespace obol::model
