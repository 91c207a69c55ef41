#include "obol/method/gs_wgan/desk.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "obol/barrier/recorded_step.h"
#include "obol/method/gs_wgan/workshop.h"
#include "obol/testing/gpu.h"

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

constexpr std::int64_t kSteps = 2;
constexpr std::int64_t kRows = 4;

class Log final : public DisclosureLog {
 public:
  void record(std::string_view) override {}
};

template <class T>
T opened(const Private<T>& value) {
  Log log;
  return value.declassify("a test", log).value;
}

// `count` images of one brightness, give or take `spread`, of class 1 of 2.
Private<data::Dataset> shard(std::int64_t count, double brightness, double spread = 0) {
  data::Dataset data;
  data.shape = {.channels = 1, .height = 8, .width = 8};
  data.class_names = {"a", "b"};
  data.labels.assign(static_cast<std::size_t>(count), 1);
  const Tensor pixels = torch::rand({count * 64}) * spread + brightness;
  data.pixels =
      std::vector<float>(pixels.data_ptr<float>(), pixels.data_ptr<float>() + pixels.numel());
  data.declared_size = count;
  return Private<data::Dataset>(std::move(data));
}

double relative(const Tensor& value, const Tensor& expected) {
  return ((value.cpu() - expected.cpu()).norm() / expected.cpu().norm()).item<double>();
}

class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (device_.is_cuda()) OBOL_NEEDS_GPU();
    torch::manual_seed(1);
    stream_.emplace(device_);
    at::globalContext().setAllowTF32CuDNN(false);  // to compare with the processor
  }
  void TearDown() override { at::globalContext().setAllowTF32CuDNN(true); }

  Holder holder(const Private<data::Dataset>& data, const CriticTraining& training,
                const torch::Device& device) {
    return {critic_, training, data, device, 0, bits_};
  }
  Private<CriticState> copy_of(const CriticState& state, const torch::Device& device) const {
    return Private<CriticState>(CriticState{state.numbers.to(device, torch::kFloat, false, true)});
  }
  double steps_of(const CriticState& state) const {
    return state.numbers[critic_.state_size() - 1].item<double>();
  }

  torch::Device device_{GetParam()};
  std::optional<barrier::WorkStream> stream_;
  SeededBits bits_{3};
  Critic critic_{{.shape = {.channels = 1, .height = 8, .width = 8}, .classes = 2, .width = 4}};
  Question question_{torch::rand({kSteps, kRows, 1, 8, 8}),
                     torch::randint(2, {kSteps, kRows}, torch::kLong)};
};

// Two shards by turns, recorded where there is a GPU. Records of a shard are all alike and nothing
// is penalised on mixed images, so that no draw matters but one beyond the shard's records.
TEST_P(OnDevice, ADeskAnswersAsTheHoldersDo) {
  const CriticTraining training{.learning_rate = 1e-3, .gradient_penalty = 0};
  const std::vector<Private<data::Dataset>> data{shard(3, 0.9), shard(5, 0.3)};
  std::vector<Holder> here;
  std::vector<Holder> there;
  std::vector<CriticState> initial;
  std::vector<Private<CriticState>> states_here;
  std::vector<Private<CriticState>> states_there;
  for (const auto& one : data) {
    here.push_back(holder(one, training, torch::kCPU));
    there.push_back(holder(one, training, device_));
    initial.push_back(critic_.initial(bits_));
    states_here.push_back(copy_of(initial.back(), torch::kCPU));
    states_there.push_back(copy_of(initial.back(), device_));
  }
  const Question question{question_.images.to(device_), question_.labels.to(device_)};
  Desk desk(there[0], 40);
  barrier::RecordedStep step(device_);
  const Tensor answer = torch::empty({kRows, 1, 8, 8}, device_);
  constexpr int kTurns = 12;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::size_t whose = turn % 2;
    const Tensor expected = opened(here[whose].answer(states_here[whose], question_));
    desk.seat(there[whose], states_there[whose]);
    step.run([&] { answer.copy_(opened(desk.answer(question))); });
    desk.copy_to(states_there[whose]);
    EXPECT_LT(relative(answer, expected), 1e-2) << "turn " << turn;
  }
  for (std::size_t k = 0; k < data.size(); ++k) {
    const CriticState state = opened(states_there[k]);
    EXPECT_EQ(steps_of(state), kTurns / 2 * kSteps);
    const Tensor before = critic_.weights(initial[k]);
    const Tensor moved = critic_.weights(opened(states_here[k])) - before;
    EXPECT_GT(moved.norm().item<double>(), 0.01);
    EXPECT_LT(relative(critic_.weights(state).cpu() - before, moved), 0.05);
  }
}

// The same seed, the same draws, whether or not they are recorded; and each step has its own.
TEST_P(OnDevice, ARecordingDrawsAsThePlainStepDoes) {
  const CriticTraining training{.learning_rate = 1e-2};
  const Holder one = holder(shard(30, 0.1, 0.8), training, device_);
  const Private<CriticState> initial(critic_.initial(bits_, device_));
  const Question question{question_.images.to(device_), question_.labels.to(device_)};
  const Tensor answer = torch::empty({kRows, 1, 8, 8}, device_);
  Desk desk(one, 30);
  const auto body = [&] { answer.copy_(opened(desk.answer(question))); };
  barrier::RecordedStep step(device_);
  for (int k = 0; k < 5; ++k) {
    desk.seat(one, initial);
    step.run(body);
  }
  const auto answered = [&](const std::function<void()>& run) {
    desk.seat(one, initial);
    run();
    return answer.cpu().clone();
  };
  torch::manual_seed(9);
  const Tensor replayed = answered([&] { step.run(body); });
  const Tensor again = answered([&] { step.run(body); });
  torch::manual_seed(9);
  EXPECT_LT(relative(answered(body), replayed), 1e-3);
  EXPECT_LT(relative(answered(body), again), 1e-3);
  EXPECT_GT(relative(again, replayed), 3e-3);
}

TEST_P(OnDevice, MeanScoresAreThoseOfAsManyRecordsAsImages) {
  const Private<CriticState> state(critic_.initial(bits_, device_));
  const Question question{question_.images.to(device_), question_.labels.to(device_)};
  const Tensor fake =
      critic_.scores(opened(state), question.images[kSteps - 1], question.labels[kSteps - 1]);
  for (const std::int64_t count : {2, 30}) {
    const Private<data::Dataset> data = shard(count, 0.1, 0.8);
    const Tensor found = opened(holder(data, {}, device_).mean_scores(state, question)).cpu();
    const auto some = std::min(count, kRows);
    Tensor real = torch::tensor(std::get<std::vector<float>>(opened(data).pixels));
    real = real.view({count, 1, 8, 8}).narrow(0, 0, some).to(device_);
    const Tensor labels = torch::ones({some}, torch::TensorOptions(device_).dtype(torch::kLong));
    const Tensor expected = critic_.scores(opened(state), real, labels);
    EXPECT_NEAR(found[0].item<double>(), expected.mean().item<double>(), 1e-5);
    EXPECT_NEAR(found[1].item<double>(), fake.mean().item<double>(), 1e-5);
  }
}

TEST_P(OnDevice, AWorkshopWarmStartsGroupAfterGroup) {
  const WarmStart how{.steps = 40,
                      .critic_steps = 3,
                      .batch = 8,
                      .generator = {.width = 4, .latent = 3},
                      .optimizer = {.learning_rate = 1e-4}};
  std::vector<Holder> holders;
  for (const std::int64_t count : {10, 11, 10})
    holders.push_back(holder(shard(count, 0.8, 0.2), {.learning_rate = 1e-3}, device_));
  Workshop workshop(how, holders[0], {.desks = 2, .most_records = 11}, bits_);
  int asked = 0;
  const auto stop = [&] { return ++asked == 3; };
  EXPECT_FALSE(workshop.warm_start({&holders[0]}, stop));
  const auto never = [] { return false; };
  std::vector<CriticState> states;
  for (const auto& group :
       {std::vector<Holder*>{&holders[0], &holders[1]}, std::vector<Holder*>{&holders[2]}}) {
    const auto found = workshop.warm_start(group, never);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), group.size());
    for (const auto& state : *found) states.push_back(opened(state));
  }
  const Tensor real = torch::full({1, 1, 8, 8}, 0.9, device_);
  const Tensor grey = torch::full({1, 1, 8, 8}, 0.5, device_);
  const Tensor label = torch::ones({1}, torch::TensorOptions(device_).dtype(torch::kLong));
  for (std::size_t k = 0; k < states.size(); ++k) {
    EXPECT_TRUE(states[k].numbers.isfinite().all().item<bool>());
    EXPECT_EQ(steps_of(states[k]), 120);
    const Tensor margin =
        critic_.scores(states[k], real, label) - critic_.scores(states[k], grey, label);
    EXPECT_GT(margin.item<double>(), 0.2) << k;
    for (std::size_t other = 0; other < k; ++other)
      EXPECT_GT(relative(critic_.weights(states[k]), critic_.weights(states[other])), 0.1);
  }
}

INSTANTIATE_TEST_SUITE_P(Desk, OnDevice, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(DeskGpu, OnDevice, testing::Values("cuda"));

}  // namespace
}  // namespace obol::method::gs_wgan
