#include "obol/model/critic.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/testing/gpu.h"

namespace obol::model {
namespace {

using torch::Tensor;

// The same network and loss in torch's own words, differentiated twice by torch.
class Reference {
 public:
  Reference(const Critic& critic, const CriticState& state, bool is_labelled)
      : is_labelled_(is_labelled) {
    for (const auto& part : critic.parts(critic.weights(state)))
      leaves_[part.name] = part.value.detach().clone().set_requires_grad(true);
  }

  // Divided by its largest singular value, whose vectors do not move: `left` and `right` are made
  // here to full precision, so the critic under test must have iterated enough.
  Tensor normalised(const std::string& name) {
    const Tensor w = leaves_[name + ".weight"];
    const Tensor matrix = w.flatten(1);
    const auto [u, s, v] = at::svd(matrix.detach());
    const Tensor norm = at::dot(u.select(1, 0), at::mv(matrix, v.select(1, 0)));
    return w / norm;
  }

  Tensor scores(const Tensor& images, const Tensor& labels) {
    Tensor x = images;
    for (const char* name : {"conv1", "conv2", "conv3"})
      x = at::leaky_relu(
          at::conv2d(x, normalised(name), leaves_[std::string(name) + ".bias"], 2, 2), 0.2);
    x = x.flatten(1);
    Tensor result = at::linear(x, normalised("last"), leaves_["last.bias"]).squeeze(1);
    if (is_labelled_) result = result + (normalised("labels").index_select(0, labels) * x).sum(1);
    return result;
  }

  Tensor loss(const CriticBatch& batch, const CriticTraining& training) {
    const Tensor real = scores(batch.real, batch.real_labels);
    const Tensor fake = scores(batch.fake, batch.fake_labels);
    const Tensor mixed =
        (batch.mix * batch.real + (1 - batch.mix) * batch.fake).detach().requires_grad_();
    const Tensor gradient =
        torch::autograd::grad({scores(mixed, batch.real_labels).sum()}, {mixed}, {}, true, true)[0];
    return fake.mean() - real.mean() + training.drift_penalty * real.square().mean() +
           training.gradient_penalty * (gradient.flatten(1).norm(2, 1) - 1).square().mean();
  }

  std::map<std::string, Tensor> gradients(const CriticBatch& batch,
                                          const CriticTraining& training) {
    std::vector<Tensor> leaves;
    for (const auto& [name, leaf] : leaves_) leaves.push_back(leaf);
    const auto found = torch::autograd::grad({loss(batch, training)}, leaves);
    std::map<std::string, Tensor> named;
    std::size_t k = 0;
    for (const auto& [name, leaf] : leaves_) named[name] = found[k++];
    return named;
  }

 private:
  bool is_labelled_;
  std::map<std::string, Tensor> leaves_;
};

struct Case {
  data::ImageShape shape;
  std::int64_t classes;
};

class CriticTest : public testing::TestWithParam<Case> {
 protected:
  CriticTest() {
    torch::manual_seed(0);
    // With a bias, and weights whose singular vectors are found to the last digit.
    state_ = critic_.initial(bits_);
    state_.numbers = state_.numbers.to(torch::kDouble);
    for (const auto& part : critic_.parts(critic_.weights(state_)))
      if (part.value.dim() == 1) part.value.normal_(0, 0.1);
    // A step of length zero is an iteration.
    for (int k = 0; k < 2000; ++k) settle();
  }

  void settle() {
    const CriticTraining still{.learning_rate = 0};
    if (settled_++ == 0) still_batch_ = batch(1);
    critic_.train(state_, still_batch_, still);
  }

  CriticBatch batch(std::int64_t n) {
    const auto& shape = GetParam().shape;
    const auto images = [&] {
      return torch::rand({n, shape.channels, shape.height, shape.width}, torch::kDouble);
    };
    const auto labels = [&] { return torch::randint(GetParam().classes, {n}); };
    return {images(), labels(), images(), labels(), torch::rand({n, 1, 1, 1}, torch::kDouble)};
  }

  SeededBits bits_{1};
  Critic critic_{{.shape = GetParam().shape, .classes = GetParam().classes, .width = 3}};
  CriticState state_;
  CriticBatch still_batch_;
  int settled_ = 0;
};

TEST_P(CriticTest, ScoresAndTheirGradientsAreTorchs) {
  const CriticBatch some = batch(5);
  Reference reference(critic_, state_, GetParam().classes > 1);
  const Tensor x = some.real.clone().requires_grad_();
  const Tensor scores = reference.scores(x, some.real_labels);
  EXPECT_TRUE(
      torch::allclose(critic_.scores(state_, some.real, some.real_labels), scores, 1e-8, 1e-9));
  scores.sum().backward();
  EXPECT_TRUE(torch::allclose(critic_.image_gradient(state_, some.real, some.real_labels), x.grad(),
                              1e-8, 1e-9));
}

TEST_P(CriticTest, TheGradientOfTheLossIsThatOfTwoDifferentiations) {
  const CriticBatch some = batch(6);
  const CriticTraining training{.gradient_penalty = 10, .drift_penalty = 0.3};
  Reference reference(critic_, state_, GetParam().classes > 1);
  const auto expected = reference.gradients(some, training);
  const Tensor found = critic_.loss_gradient(state_, some, training);
  for (const auto& part : critic_.parts(found)) {
    const Tensor& other = expected.at(part.name);
    EXPECT_LT((part.value - other).norm().item<double>(),
              1e-6 * (1e-3 + other.norm().item<double>()))
        << part.name;
  }
}

TEST_P(CriticTest, StepsAreAdams) {
  const CriticTraining training{.learning_rate = 1e-2};
  CriticState state{state_.numbers.clone()};
  state.numbers.narrow(0, critic_.parameters(), 2 * critic_.parameters()).zero_();
  state.numbers.narrow(0, critic_.state_size() - 1, 1).zero_();
  Tensor weights = critic_.weights(state).clone().requires_grad_();
  torch::optim::Adam adam({weights}, torch::optim::AdamOptions(1e-2).betas({0.5, 0.9}));
  for (int k = 0; k < 5; ++k) {
    const CriticBatch some = batch(4);
    CriticState same{state.numbers.clone()};
    critic_.train(state, some, training);
    // The gradient is that behind the power iteration.
    same.numbers
        .narrow(0, 3 * critic_.parameters(), critic_.state_size() - 1 - 3 * critic_.parameters())
        .copy_(state.numbers.narrow(0, 3 * critic_.parameters(),
                                    critic_.state_size() - 1 - 3 * critic_.parameters()));
    weights.mutable_grad() = critic_.loss_gradient(same, some, training);
    adam.step();
    EXPECT_TRUE(torch::allclose(critic_.weights(state), weights, 1e-9, 1e-11)) << k;
    const torch::NoGradGuard no_grad;
    weights.copy_(critic_.weights(state));
  }
}

INSTANTIATE_TEST_SUITE_P(Images, CriticTest,
                         testing::Values(Case{{1, 12, 12}, 4}, Case{{3, 9, 14}, 1}));

double relative_error(const Tensor& value, const Tensor& expected) {
  const Tensor other = value.cpu().to(torch::kDouble);
  return ((other - expected).norm() / (1e-6 + expected.norm())).item<double>();
}

// Of a state: what lies behind the weights' two moments, singular vectors and the count of steps.
Tensor behind_moments(const Critic& critic, const CriticState& state) {
  const std::int64_t at = 3 * critic.parameters();
  return state.numbers.narrow(0, at, critic.state_size() - at);
}

class CriticGpu : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    OBOL_NEEDS_GPU();
    torch::manual_seed(0);
    at::globalContext().setAllowTF32CuDNN(false);
  }
  void TearDown() override { at::globalContext().setAllowTF32CuDNN(true); }
};

// Its own kernels, in float, against torch's operators on the processor, in double.
TEST_P(CriticGpu, LearnsAsOnTheProcessor) {
  const data::ImageShape& shape = GetParam().shape;
  SeededBits bits(1);
  const Critic critic({.shape = shape, .classes = GetParam().classes, .width = 5});
  const CriticTraining training{.learning_rate = 1e-3, .drift_penalty = 0.3};
  const CriticState initial = critic.initial(bits);
  CriticState here{initial.numbers.to(torch::kDouble)};
  CriticState there{initial.numbers.to(torch::kCUDA)};
  const std::int64_t n = 6;
  const auto images = [&] {
    return torch::rand({n, shape.channels, shape.height, shape.width}, torch::kDouble);
  };
  const auto labels = [&] { return torch::randint(GetParam().classes, {n}, torch::kLong); };
  for (int k = 0; k < 3; ++k) {
    const CriticBatch batch{images(), labels(), images(), labels(),
                            torch::rand({n, 1, 1, 1}, torch::kDouble)};
    const auto on_gpu = [](const Tensor& x) { return x.to(torch::kCUDA, torch::kFloat); };
    const CriticBatch same{on_gpu(batch.real), batch.real_labels.to(torch::kCUDA),
                           on_gpu(batch.fake), batch.fake_labels.to(torch::kCUDA),
                           on_gpu(batch.mix)};
    EXPECT_LT(relative_error(critic.image_gradient(there, same.real, same.real_labels),
                             critic.image_gradient(here, batch.real, batch.real_labels)),
              1e-3);
    const auto expected = critic.parts(critic.loss_gradient(here, batch, training));
    const auto found = critic.parts(critic.loss_gradient(there, same, training));
    for (std::size_t part = 0; part < expected.size(); ++part)
      EXPECT_LT(relative_error(found[part].value, expected[part].value), 1e-2)
          << expected[part].name;
    critic.train(here, batch, training);
    critic.train(there, same, training);
    EXPECT_LT(relative_error(behind_moments(critic, there), behind_moments(critic, here)), 1e-3);
    for (const std::int64_t moment : {1, 2}) {
      const std::int64_t at = moment * critic.parameters();
      EXPECT_LT(relative_error(there.numbers.narrow(0, at, critic.parameters()),
                               here.numbers.narrow(0, at, critic.parameters())),
                1e-2);
    }
  }
  const Tensor before = critic.weights(initial).to(torch::kDouble);
  EXPECT_LT(relative_error(critic.weights(there).cpu() - critic.weights(initial),
                           critic.weights(here) - before),
            0.05);
}

INSTANTIATE_TEST_SUITE_P(Images, CriticGpu,
                         testing::Values(Case{{1, 12, 12}, 4}, Case{{3, 9, 14}, 1}));

TEST(Critic, LearnsToTellTwoSetsApart) {
  torch::manual_seed(0);
  SeededBits bits(1);
  const Critic critic({.shape = {1, 8, 8}, .classes = 2, .width = 4});
  CriticState state = critic.initial(bits);
  const auto distance = [&](const Tensor& real, const Tensor& fake, const Tensor& labels) {
    return (critic.scores(state, real, labels) - critic.scores(state, fake, labels))
        .mean()
        .item<double>();
  };
  const auto draw = [&](double mean) { return torch::rand({16, 1, 8, 8}) * 0.2 + mean; };
  double last = 0;
  for (int k = 0; k < 300; ++k) {
    const Tensor real = draw(0.6);
    const Tensor fake = draw(0.2);
    const Tensor labels = torch::randint(2, {16});
    critic.train(state, {real, labels, fake, labels, torch::rand({16, 1, 1, 1})},
                 {.learning_rate = 1e-3});
    last = distance(real, fake, labels);
  }
  // The sets lie 0.4 apart in each of 64 pixels: 3.2 in all, which slope 1 would find.
  EXPECT_GT(last, 2.0);
  EXPECT_LT(last, 4.5);
}

TEST(Critic, RefusesImagesThatAreTooSmall) {
  EXPECT_THROW(Critic({.shape = {1, 3, 28}}), InvalidArgument);
}

}  // namespace
}  // namespace obol::model
