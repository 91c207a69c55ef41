#include "obol/model/classifier.h"

#include "obol/base/error.h"
#include "obol/model/dropout.h"
#include "obol/model/max_pool.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kHidden = 100;

class LogisticRegression final : public Classifier {
 public:
  LogisticRegression(std::int64_t pixels, std::int64_t classes)
      : linear_(register_module("linear", torch::nn::Linear(pixels, classes))) {}
  Tensor forward(const Tensor& images) override { return linear_->forward(images.flatten(1)); }

 private:
  torch::nn::Linear linear_;
};

class Mlp final : public Classifier {
 public:
  Mlp(std::int64_t pixels, std::int64_t classes)
      : hidden_(register_module("hidden", torch::nn::Linear(pixels, kHidden))),
        linear_(register_module("linear", torch::nn::Linear(kHidden, classes))) {}
  Tensor forward(const Tensor& images) override {
    return linear_->forward(hidden_->forward(images.flatten(1)).relu());
  }

 private:
  torch::nn::Linear hidden_;
  torch::nn::Linear linear_;
};

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
}

class Cnn final : public Classifier {
 public:
  Cnn(const data::ImageShape& shape, std::int64_t classes)
      : first_(register_module("first", convolution(shape.channels, 32))),
        second_(register_module("second", convolution(32, 64))),
        linear_(register_module(
            "linear", torch::nn::Linear(64 * (shape.height / 4) * (shape.width / 4), classes))) {}

  Tensor forward(const Tensor& images) override {
    const Tensor small = layer(first_, images);
    return linear_->forward(layer(second_, small).flatten(1));
  }

 private:
  Tensor layer(torch::nn::Conv2d& convolution, const Tensor& x) {
    const Tensor y = max_pool_relu(convolution->forward(x));
    return is_training() ? drop_half(y) : y;
  }

  torch::nn::Conv2d first_;
  torch::nn::Conv2d second_;
  torch::nn::Linear linear_;
};

}  // namespace

std::shared_ptr<Classifier> make_classifier(const std::string& kind, const data::ImageShape& shape,
                                            std::int64_t num_classes) {
  if (num_classes < 2)
    throw InvalidArgument(violation("the number of classes", "at least 2", num_classes));
  if (kind == "logreg") return std::make_shared<LogisticRegression>(shape.pixels(), num_classes);
  if (kind == "mlp") return std::make_shared<Mlp>(shape.pixels(), num_classes);
  if (kind != "cnn") throw InvalidArgument(violation("a classifier", "logreg, mlp or cnn", kind));
  if (shape.height < 4 || shape.width < 4)
    throw InvalidArgument(violation("the image size for a cnn", "at least 4x4", to_string(shape)));
  return std::make_shared<Cnn>(shape, num_classes);
}

}  // namespace obol::model
