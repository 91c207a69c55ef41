#include "obol/method/trainee.h"

#include <gtest/gtest.h>

#include "obol/barrier/recorded_step.h"

namespace obol::method {
namespace {

using torch::Tensor;

constexpr std::int64_t kSteps = 40;

TraineeOptions options(const std::string& kind, double average) {
  TraineeOptions result;
  result.generator = {.width = 4, .latent = 3};
  result.generator.precision = "float";
  result.optimizer.kind = kind;
  result.optimizer.learning_rate = kind == "adam" ? 1e-2 : 0.1;
  result.optimizer.momentum = 0.5;
  result.optimizer.decay = "cosine";
  result.average = average;
  return result;
}

// Draws the weights themselves towards a line of numbers; the same on every device.
void pull_weights(Trainee& trainee) {
  Tensor loss = torch::zeros({}, trainee.device());
  for (const Tensor& parameter : trainee.parameters()) {
    const Tensor goal =
        torch::linspace(-1, 1, parameter.numel(), parameter.options().requires_grad(false));
    loss = loss + (parameter.reshape({-1}) - goal).square().sum();
  }
  loss.backward();
}

std::vector<Tensor> taught(const TraineeOptions& options, const torch::Device& device,
                           std::int64_t interrupted_after) {
  torch::manual_seed(1);
  Trainee trainee(options, {1, 28, 28}, 3, device);
  barrier::RecordedStep recorded(device);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    if (step == interrupted_after + 1) {
      run::Sections sections;
      trainee.save(sections);
      trainee.restart();
      trainee.load(sections);
      recorded.forget();
    }
    trainee.begin(step, kSteps);
    recorded.run([&] {
      pull_weights(trainee);
      trainee.finish();
    });
  }
  std::vector<Tensor> weights;
  SeededBits bits(2);
  for (const Tensor& parameter : trainee.released(bits)->parameters())
    weights.push_back(parameter.detach().cpu().clone());
  return weights;
}

double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    most = std::max(most, (a[k] - b[k]).abs().max().item<double>());
  return most;
}

TEST(Trainee, GoesOnAsIfItHadNotBeenSaved) {
  for (const char* kind : {"adam", "sgd"})
    EXPECT_EQ(distance(taught(options(kind, 0.9), torch::kCPU, 0),
                       taught(options(kind, 0.9), torch::kCPU, 17)),
              0)
        << kind;
}

TEST(Trainee, LearnsOnAGpuAsOnAProcessor) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const torch::Device device(torch::kCUDA, 0);
  const barrier::WorkStream stream(device);
  for (const char* kind : {"adam", "sgd"}) {
    for (const double average : {0.0, 0.9}) {
      SCOPED_TRACE(kind);
      const auto expected = taught(options(kind, average), torch::kCPU, 0);
      EXPECT_LT(distance(taught(options(kind, average), device, 0), expected), 1e-4);
      EXPECT_LT(distance(taught(options(kind, average), device, 17), expected), 1e-4);
    }
  }
}

}  // namespace
}  // namespace obol::method
