#include "obol/model/critic.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>

#include "obol/base/error.h"
#include "obol/model/channels_last.h"
#include "obol/model/spectral.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr std::size_t kConvolutions = 3;
constexpr std::size_t kLast = 3;
constexpr std::size_t kLabels = 4;
constexpr std::int64_t kKernel = 5;
constexpr std::int64_t kStride = 2;
constexpr std::int64_t kPadding = 2;
constexpr double kSlope = 0.2;

std::int64_t halved(std::int64_t side) { return (side + 1) / 2; }

Tensor convolve(const Tensor& x, const Tensor& filters, const Tensor& bias) {
  return at::conv2d(x, filters, bias, kStride, kPadding);
}

enum class Of { kInput, kWeight };

Tensor convolution_gradient(const Tensor& of_output, const Tensor& input, const Tensor& filters,
                            Of of) {
  const std::array<bool, 3> wanted{of == Of::kInput, of == Of::kWeight, false};
  const auto gradients =
      at::convolution_backward(of_output, input, filters, {}, {kStride, kStride},
                               {kPadding, kPadding}, {1, 1}, false, {0, 0}, 1, wanted);
  return of == Of::kInput ? std::get<0>(gradients) : std::get<1>(gradients);
}

Tensor rectified(const Tensor& z) { return at::leaky_relu(z, kSlope); }

// `gradient` behind the rectifier, in front of it; `output` is the rectifier's.
Tensor through_rectifier(const Tensor& gradient, const Tensor& output) {
  return at::leaky_relu_backward(gradient, output, kSlope, /*self_is_result=*/true);
}

// Where kernels of our own do what is not a convolution.
bool is_on_gpu(const CriticState& state) {
  return state.numbers.is_cuda() && state.numbers.scalar_type() == torch::kFloat;
}

Tensor per_channel(const Tensor& images) { return images.sum({0, 2, 3}); }

}  // namespace

std::int64_t Critic::Matrix::columns() const {
  return std::accumulate(sizes.begin() + 1, sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Critic::Critic(const CriticOptions& options) : options_(options) {
  const data::ImageShape& shape = options.shape;
  if (shape.height < 4 || shape.width < 4 || shape.channels < 1)
    throw InvalidArgument(
        violation("the image size for a critic", "at least 4x4", to_string(shape)));
  const auto add = [&](std::string name, std::vector<std::int64_t> sizes, std::int64_t biases) {
    Matrix matrix{.name = std::move(name), .sizes = std::move(sizes)};
    matrix.at = parameters_;
    parameters_ += matrix.rows() * matrix.columns();
    if (biases > 0) matrix.bias_at = parameters_;
    parameters_ += biases;
    matrix.vectors_at = vectors_;
    vectors_ += matrix.rows() + matrix.columns();
    on_gpu_.push_back({.rows = matrix.rows(),
                       .columns = matrix.columns(),
                       .positions = matrix.is_convolution() ? kKernel * kKernel : 1,
                       .at = matrix.at,
                       .vectors_at = matrix.vectors_at});
    matrices_.push_back(std::move(matrix));
  };
  const std::int64_t w = options.width;
  add("conv1", {w, shape.channels, kKernel, kKernel}, w);
  add("conv2", {2 * w, w, kKernel, kKernel}, 2 * w);
  add("conv3", {4 * w, 2 * w, kKernel, kKernel}, 4 * w);
  add("last", {1, features()}, 1);
  if (options.classes > 1) add("labels", {options.classes, features()}, 0);
}

std::int64_t Critic::features() const {
  const auto side = [](std::int64_t length) { return halved(halved(halved(length))); };
  return 4 * options_.width * side(options_.shape.height) * side(options_.shape.width);
}

Tensor Critic::weights(const CriticState& state) const {
  return state.numbers.narrow(0, 0, parameters_);
}

Tensor Critic::moment(const CriticState& state, int which) const {
  return state.numbers.narrow(0, which * parameters_, parameters_);
}

Tensor Critic::vectors(const CriticState& state) const {
  return state.numbers.narrow(0, 3 * parameters_, vectors_);
}

std::vector<Critic::Part> Critic::parts(const Tensor& weights) const {
  std::vector<Part> parts;
  for (const Matrix& matrix : matrices_) {
    parts.push_back(
        {matrix.name + ".weight",
         weights.narrow(0, matrix.at, matrix.rows() * matrix.columns()).view(matrix.sizes)});
    if (matrix.bias_at >= 0)
      parts.push_back({matrix.name + ".bias", weights.narrow(0, matrix.bias_at, matrix.rows())});
  }
  return parts;
}

CriticState Critic::initial(RandomBits& bits, const torch::Device& device) const {
  const torch::NoGradGuard no_grad;
  const at::Generator random = at::detail::createCPUGenerator(bits());
  CriticState state{torch::zeros({state_size()})};
  for (const Matrix& matrix : matrices_) {
    const double bound = 1 / std::sqrt(static_cast<double>(matrix.columns()));
    weights(state)
        .narrow(0, matrix.at, matrix.rows() * matrix.columns())
        .uniform_(-bound, bound, random);
    vectors(state).narrow(0, matrix.vectors_at, matrix.rows()).normal_(0, 1, random);
  }
  // A few iterations, so that the first steps know the norms.
  constexpr int kIterations = 5;
  for (int k = 0; k < kIterations; ++k) iterate(state);
  state.numbers = state.numbers.to(device);
  return state;
}

void Critic::iterate(CriticState& state) const {
  const Tensor all = vectors(state);
  if (is_on_gpu(state)) {
    gpu::iterate(on_gpu_, weights(state), all);
    return;
  }
  for (const Matrix& matrix : matrices_) {
    const Tensor w = weights(state)
                         .narrow(0, matrix.at, matrix.rows() * matrix.columns())
                         .view({matrix.rows(), matrix.columns()});
    const Tensor left = all.narrow(0, matrix.vectors_at, matrix.rows());
    const Tensor right = all.narrow(0, matrix.vectors_at + matrix.rows(), matrix.columns());
    power_iteration(w, left, right);
  }
}

std::vector<Critic::Normalised> Critic::normalised(const CriticState& state) const {
  const Tensor all = vectors(state);
  const Tensor numbers = weights(state);
  gpu::Normalised ours;
  if (is_on_gpu(state)) ours = gpu::normalised(on_gpu_, numbers, all);
  std::vector<Normalised> layers;
  for (const Matrix& matrix : matrices_) {
    const std::int64_t count = matrix.rows() * matrix.columns();
    Normalised layer;
    layer.left = all.narrow(0, matrix.vectors_at, matrix.rows());
    layer.right = all.narrow(0, matrix.vectors_at + matrix.rows(), matrix.columns());
    if (matrix.bias_at >= 0) layer.bias = numbers.narrow(0, matrix.bias_at, matrix.rows());
    if (ours.norms.defined()) {
      layer.norm = ours.norms[static_cast<std::int64_t>(layers.size())];
      layer.matrix = ours.matrices.narrow(0, matrix.at, count);
      layer.matrix = matrix.is_convolution()
                         ? layer.matrix.view({matrix.rows(), kKernel, kKernel, matrix.sizes[1]})
                               .permute({0, 3, 1, 2})
                         : layer.matrix.view(matrix.sizes);
    } else {
      const Tensor w = numbers.narrow(0, matrix.at, count);
      layer.norm =
          at::dot(layer.left, at::mv(w.view({matrix.rows(), matrix.columns()}), layer.right));
      layer.matrix = (w / layer.norm).view(matrix.sizes);
      if (matrix.is_convolution()) layer.matrix = channels_last(layer.matrix);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

void Critic::through_norms(const CriticState& state, const std::vector<Normalised>& layers,
                           const std::vector<Tensor>& gradients, const Tensor& result) const {
  std::vector<gpu::Gradient> dense;
  for (std::size_t k = 0; k < matrices_.size(); ++k)
    dense.push_back(
        {gradients[k].reshape({matrices_[k].rows(), matrices_[k].columns()}).contiguous(),
         layers[k].norm});
  if (is_on_gpu(state)) {
    gpu::through_norms(on_gpu_, dense, weights(state), vectors(state), result);
    return;
  }
  for (std::size_t k = 0; k < matrices_.size(); ++k) {
    const Normalised& layer = layers[k];
    const Tensor& g = dense[k].of_normalised;
    const Tensor along = (g * layer.matrix.reshape(g.sizes())).sum();
    result.narrow(0, matrices_[k].at, g.numel())
        .view(g.sizes())
        .copy_((g - along * at::outer(layer.left, layer.right)) / layer.norm);
  }
}

Critic::Pass Critic::forward(const std::vector<Normalised>& layers, const Tensor& images,
                             const Tensor& labels) const {
  Pass pass;
  Tensor x = channels_last(images);
  for (std::size_t k = 0; k < kConvolutions; ++k) {
    x = rectified(convolve(x, layers[k].matrix, layers[k].bias));
    pass.hidden.push_back(x);
  }
  pass.direction = layers[kLast].matrix;
  pass.direction = options_.classes > 1
                       ? pass.direction + layers[kLabels].matrix.index_select(0, labels)
                       : pass.direction.expand({images.size(0), -1});
  pass.scores = (x.flatten(1) * pass.direction).sum(1) + layers[kLast].bias;
  return pass;
}

std::vector<Tensor> Critic::backward(const std::vector<Normalised>& layers, const Pass& pass,
                                     const Tensor& weights) const {
  std::vector<Tensor> gradients(kConvolutions);
  Tensor behind =
      channels_last((pass.direction * weights.unsqueeze(1)).view_as(pass.hidden.back()));
  for (std::size_t k = kConvolutions; k-- > 0;) {
    gradients[k] = through_rectifier(behind, pass.hidden[k]);
    if (k > 0)
      behind = convolution_gradient(gradients[k], pass.hidden[k - 1], layers[k].matrix, Of::kInput);
  }
  return gradients;
}

Tensor Critic::scores(const CriticState& state, const Tensor& images, const Tensor& labels) const {
  const torch::NoGradGuard no_grad;
  return forward(normalised(state), images, labels).scores;
}

Tensor Critic::image_gradient(const CriticState& state, const Tensor& images,
                              const Tensor& labels) const {
  const torch::NoGradGuard no_grad;
  const std::vector<Normalised> layers = normalised(state);
  const Pass pass = forward(layers, images, labels);
  const Tensor ones = torch::ones({images.size(0)}, images.options());
  return convolution_gradient(backward(layers, pass, ones).front(), channels_last(images),
                              layers.front().matrix, Of::kInput);
}

Tensor Critic::loss_gradient(const CriticState& state, const CriticBatch& batch,
                             const CriticTraining& training) const {
  const torch::NoGradGuard no_grad;
  const std::int64_t n = batch.real.size(0);
  const double share = 1 / static_cast<double>(n);
  const std::vector<Normalised> layers = normalised(state);
  const Tensor mixed = batch.fake + batch.mix * (batch.real - batch.fake);
  const Tensor images = channels_last(torch::cat({batch.real, batch.fake, mixed}));
  const Tensor labels = torch::cat({batch.real_labels, batch.fake_labels, batch.real_labels});
  Pass pass = forward(layers, images, labels);

  // What the score of each image counts in the loss; that of a mixed one is only differentiated.
  Tensor counts = torch::empty_like(pass.scores);
  counts.narrow(0, 0, n)
      .copy_(pass.scores.narrow(0, 0, n))
      .mul_(2 * training.drift_penalty * share)
      .sub_(share);
  counts.narrow(0, n, n).fill_(share);
  counts.narrow(0, 2 * n, n).fill_(1);
  const std::vector<Tensor> back = backward(layers, pass, counts);

  // The gradient penalty: its derivative with respect to the gradient goes forward through the
  // same masks. What comes out takes the place of the mixed images' own layers, so that one
  // product makes the gradient of a matrix from all three parts.
  const Tensor gradient =
      convolution_gradient(back.front().narrow(0, 2 * n, n), mixed, layers[0].matrix, Of::kInput);
  const Tensor lengths = gradient.flatten(1).norm(2, 1).clamp_min(1e-12).view({-1, 1, 1, 1});
  Tensor tangent = gradient * ((lengths - 1) / lengths).mul_(2 * training.gradient_penalty * share);
  images.narrow(0, 2 * n, n).copy_(tangent);
  for (std::size_t k = 0; k < kConvolutions; ++k) {
    const Tensor place = pass.hidden[k].narrow(0, 2 * n, n);
    tangent = through_rectifier(convolve(tangent, layers[k].matrix, {}), place);
    place.copy_(tangent);
  }

  Tensor result = torch::zeros_like(weights(state));
  std::vector<Tensor> gradients(matrices_.size());  // of the normalised matrices
  const auto put_bias = [&](std::size_t which, const Tensor& value) {
    result.narrow(0, matrices_[which].bias_at, matrices_[which].rows()).copy_(value);
  };
  for (std::size_t k = 0; k < kConvolutions; ++k) {
    const Tensor& input = k == 0 ? images : pass.hidden[k - 1];
    gradients[k] = convolution_gradient(back[k], input, layers[k].matrix, Of::kWeight);
    put_bias(k, per_channel(back[k].narrow(0, 0, 2 * n)));
  }
  const Tensor of_direction = pass.hidden.back().flatten(1) * counts.unsqueeze(1);
  gradients[kLast] = of_direction.sum(0, true);
  put_bias(kLast, counts.narrow(0, 0, 2 * n).sum(0, true));
  if (options_.classes > 1)
    gradients[kLabels] =
        torch::zeros_like(layers[kLabels].matrix).index_add_(0, labels, of_direction);
  through_norms(state, layers, gradients, result);
  return result;
}

void Critic::train(CriticState& state, const CriticBatch& batch,
                   const CriticTraining& training) const {
  const torch::NoGradGuard no_grad;
  iterate(state);
  const Tensor gradient = loss_gradient(state, batch, training);
  const Tensor steps = state.numbers.narrow(0, state_size() - 1, 1).add_(1);
  if (is_on_gpu(state)) {
    gpu::update({training.learning_rate, training.beta1, training.beta2, steps}, gradient,
                weights(state), moment(state, 1), moment(state, 2));
    return;
  }
  const Tensor first = moment(state, 1).lerp_(gradient, 1 - training.beta1);
  const Tensor second =
      moment(state, 2).mul_(training.beta2).addcmul_(gradient, gradient, 1 - training.beta2);
  // Corrections of the moments' start at zero, as tensors: the number of steps is on the device.
  const auto correction = [&](double beta) { return 1 - at::pow(beta, steps); };
  constexpr double kLeast = 1e-8;
  const Tensor scale = (second / correction(training.beta2)).sqrt_().add_(kLeast);
  weights(state).sub_(first / scale * (training.learning_rate / correction(training.beta1)));
}

}  // namespace obol::model
