#include "obol/method/trainee.h"

#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "obol/barrier/recorded_step.h"
#include "obol/base/error.h"
#include "obol/method/state.h"
#include "obol/testing/gpu.h"

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

run::Sections sections_after(const TraineeOptions& options, std::int64_t steps) {
  Trainee trainee(options, {1, 28, 28}, 3, torch::kCPU);
  for (std::int64_t step = 1; step <= steps; ++step) {
    trainee.begin(step, kSteps);
    pull_weights(trainee);
    trainee.finish();
  }
  run::Sections sections;
  trainee.save(sections);
  return sections;
}

TEST(Trainee, ComesBackToTheBytesThatItSaved) {
  for (const char* kind : {"adam", "sgd"}) {
    for (const std::int64_t steps : {0, 1, 5}) {
      const run::Sections before = sections_after(options(kind, 0.9), steps);
      Trainee other(options(kind, 0.9), {1, 28, 28}, 3, torch::kCPU);
      other.load(before);
      run::Sections after;
      other.save(after);
      EXPECT_EQ(after, before) << kind << steps;
    }
  }
}

std::string refusal_of(const TraineeOptions& options, const run::Sections& sections) {
  Trainee trainee(options, {1, 28, 28}, 3, torch::kCPU);
  try {
    trainee.load(sections);
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Trainee, RefusesSectionsThatAreNotItsOwn) {
  const TraineeOptions own = options("adam", 0.9);
  const run::Sections sections = sections_after(own, 2);
  EXPECT_EQ(refusal_of(own, sections), "accepted");
  TraineeOptions wide = own;
  wide.generator.width = 5;
  const run::Sections wider = sections_after(wide, 2);
  const run::Sections of_sgd = sections_after(options("sgd", 0.9), 2);
  std::ostringstream by_torch;
  torch::save(torch::zeros({3}), by_torch);
  const std::vector<std::pair<std::string, std::string>> lies = {
      {"generator", wider.at("generator")},
      {"generator", sections.at("optimizer")},
      {"generator", by_torch.str()},
      {"generator", ""},
      {"optimizer", wider.at("optimizer")},
      {"optimizer", of_sgd.at("optimizer")},
      {"optimizer", saved(torch::zeros({3}))},
      {"average", wider.at("average")},
      {"average", saved(std::vector<Tensor>{})},
      {"averaged steps", "-1"},
      {"averaged steps", "many"}};
  for (const auto& [name, bytes] : lies) {
    run::Sections changed = sections;
    changed[name] = bytes;
    const std::string said = refusal_of(own, changed);
    EXPECT_NE(said.find("of a checkpoint"), std::string::npos) << name << ": " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(TraineeGpu, LearnsOnAGpuAsOnAProcessor) {
  OBOL_NEEDS_GPU();
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
