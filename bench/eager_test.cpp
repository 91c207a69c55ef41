// What benchmarks compare Obol with computes the same.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "bench/eager_dp_sinkhorn.h"
#include "bench/eager_generator.h"
#include "bench/eager_gs_wgan.h"
#include "bench/eager_ldp.h"
#include "obol/barrier/barrier.h"
#include "obol/transport/tensor/testing.h"

namespace obol::bench {
namespace {

using torch::Tensor;

double relative_error(const Tensor& found, const Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

class Eager : public ::testing::Test {
 protected:
  Eager() { torch::manual_seed(1); }

  static Labelled points(std::int64_t count, std::int64_t classes) {
    return {torch::rand({count, 12}, torch::kDouble),
            torch::arange(classes).repeat_interleave(count / classes)};
  }
};

class EagerNetwork : public Eager, public ::testing::WithParamInterface<const char*> {};

TEST_P(EagerNetwork, MakesTheImagesAndGradientsOfTheGenerator) {
  const std::string activation = GetParam();
  auto ours = model::make_generator(
      {.width = 4, .activation = activation, .output = activation == "relu" ? "tanh" : "sigmoid"},
      {1, 28, 28}, 3);
  ours->to(torch::kDouble);  // so that no rectifier has its zero on another side
  const EagerGenerator eager(*ours);
  SeededBits bits(1);
  const Tensor z = ours->latents(9, bits).to(torch::kDouble);
  const Tensor labels = torch::arange(9).remainder(3);
  const Tensor expected = ours->forward(z, labels);
  const Tensor found = eager.train(z, labels);
  EXPECT_LT(relative_error(found, expected), 1e-9);
  const Tensor gradient = torch::randn({9, 1, 28, 28}, torch::kDouble);
  expected.backward(gradient);
  found.backward(gradient);
  ASSERT_EQ(eager.parameters().size(), ours->parameters().size());
  for (std::size_t k = 0; k < eager.parameters().size(); ++k)
    EXPECT_LT(relative_error(eager.parameters()[k].grad(), ours->parameters()[k].grad()), 1e-9);
  ours->eval();
  EXPECT_LT(relative_error(eager.evaluate(z, labels), ours->forward(z, labels)), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Both, EagerNetwork, ::testing::Values("relu", "leaky_relu"));

TEST_F(Eager, OperationsOfTheGeneratorAreThoseOfItsConvolutions) {
  // 2 (1^2 16 x 16 x 7^2 + 7^2 16 x 8 x 4^2 + 14^2 8 x 4 x 4^2 + 28^2 4 x 3^2)
  const auto generator = model::make_generator({.width = 4}, {1, 28, 28}, 10);
  EXPECT_EQ(flops_of_image(*generator),
            2 * (16 * 16 * 49 + 49 * 16 * 8 * 16 + 196 * 8 * 4 * 16 + 784 * 4 * 9));
}

TEST_F(Eager, GradientOfRowsIsThatOfTheSemiDebiasedDivergence) {
  const EagerLoss loss{.resampled = 4, .classes = 2};
  const Labelled first = points(10, 2);
  const Labelled x{torch::rand({14, 12}, torch::kDouble),
                   torch::cat({first.labels, first.labels.slice(0, 0, 4)})};
  const Labelled y = points(8, 2);
  const Tensor leaf = x.points.clone().requires_grad_();
  const Tensor value = transport::semi_debiased_divergence(
      {.x = leaf,
       .y = y.points,
       .cost = transport::parse_cost("mixture:1"),
       .labels_x = first.labels,
       .labels_y = y.labels,
       .label_weight = loss.label_weight},
      loss.resampled,
      {.regularization = loss.regularization, .stopping = transport::Stopping::kAnnealed});
  value.backward();
  EXPECT_LT(relative_error(eager_gradient(x, y, loss), leaf.grad()), 1e-9);
}

TEST_F(Eager, PotentialsAndPullAreThoseOfTheRecordBarrier) {
  const Labelled x = points(12, 3);
  const Labelled y = points(30, 3);
  const Labelled other = points(9, 3);
  constexpr double kRegularization = 1;
  constexpr double kClip = 0.3;  // some are clipped
  const Tensor expected =
      transport::sinkhorn({.x = x.points,
                           .y = other.points,
                           .labels_x = x.labels,
                           .labels_y = other.labels,
                           .label_weight = transport::kSeparateClasses},
                          {.regularization = kRegularization, .tolerance = 0, .max_iterations = 60})
          .f;
  const Tensor potentials = eager_potentials(x, other, kRegularization, 60);
  EXPECT_LT(relative_error(potentials, expected), 1e-9);
  const barrier::Sample sample{y.points, {10, 10, 10}};
  // The barrier rounds points to multiples of 2^-14 and weights down to multiples of 2^-21.
  EXPECT_LT(
      relative_error(eager_pull(x, potentials, y, kRegularization, kClip),
                     barrier::pull({x.points, potentials, 3}, sample, kRegularization, kClip)),
      1e-3);
  EXPECT_GT(relative_error(eager_pull(x, potentials, y, kRegularization, 1e9),
                           eager_pull(x, potentials, y, kRegularization, kClip)),
            1e-3);
}

TEST_F(Eager, CriticHasTheScoresAndTheLossGradientOfOurs) {
  const model::Critic ours({.shape = {1, 12, 12}, .classes = 3, .width = 3});
  SeededBits bits(1);
  model::CriticState state = ours.initial(bits);
  state.numbers = state.numbers.to(torch::kDouble);
  const EagerCritic eager(ours, state);
  const auto images = [] { return torch::rand({5, 1, 12, 12}, torch::kDouble); };
  const auto labels = [] { return torch::randint(3, {5}); };
  const model::CriticBatch batch{images(), labels(), images(), labels(),
                                 torch::rand({5, 1, 1, 1}, torch::kDouble)};
  EXPECT_LT(relative_error(eager.scores(batch.real, batch.real_labels),
                           ours.scores(state, batch.real, batch.real_labels)),
            1e-9);
  eager.loss(batch, {}).backward();
  for (const auto& part : ours.parts(ours.loss_gradient(state, batch, {})))
    EXPECT_LT((eager.leaves().at(part.name).grad() - part.value).norm().item<double>(),
              1e-9 * (1 + part.value.norm().item<double>()))
        << part.name;
}

TEST_F(Eager, CriticIteratesAsOursDoes) {
  const model::Critic ours({.shape = {1, 12, 12}, .classes = 3, .width = 3});
  SeededBits bits(1);
  model::CriticState state = ours.initial(bits);
  EagerCritic eager(ours, state);
  const Tensor images = torch::rand({5, 1, 12, 12});
  const Tensor labels = torch::randint(3, {5});
  eager.iterate();
  // A step of length zero is an iteration.
  ours.train(state, {images, labels, images, labels, torch::rand({5, 1, 1, 1})},
             {.learning_rate = 0});
  EXPECT_LT(relative_error(eager.scores(images, labels), ours.scores(state, images, labels)), 1e-5);
}

TEST_F(Eager, LossOfPrivatisedRecordsHasTheGradientOfOurs) {
  using local::Mechanism;
  for (const Mechanism mechanism : {Mechanism::kGaussian, Mechanism::kLaplace}) {
    method::ldp_wgan::Loss loss = method::ldp_wgan::matched(mechanism, 1);
    loss.iterations = 50;
    const Tensor x = torch::rand({11, 20}, torch::kDouble).requires_grad_();
    const Tensor y = torch::randn({13, 20}, torch::kDouble);
    eager_loss(x, y, loss).backward();
    EXPECT_LT(relative_error(x.grad(), pull_to({.x = x, .y = y}, loss).gradient), 1e-9);
  }
}

}  // namespace
}  // namespace obol::bench
