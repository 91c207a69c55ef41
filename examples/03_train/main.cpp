// examples/03_train/main.cpp
// From private images to a generator, synthetic images and an evaluation, by the functions that
// the commands of the program call. A run folder made here is one for the commands too.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "obol/app/evaluate.h"
#include "obol/app/train.h"
#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/base/reporter.h"
#include "obol/data/writer.h"
#include "obol/method/certificates.h"
#include "obol/run/loop.h"

namespace {

using namespace obol;

constexpr const char* kRecipe = R"(
[data]
source = "train.npz"
classes = 3                # declared: a training reads nothing from private records

[privacy]
barrier = "record"
sampling_rate = 0.2
steps = 100
epsilon = 10
delta = 1e-5
histogram_noise = 10
generated_batch = 30

[generator]
width = 8
latent = 2

[method]
name = "dp-sinkhorn"
clip_norm = 5
regularization = 4
second_batch = 30

[optimizer]
learning_rate = 5e-3
)";

// A bright band at the height that is the image's class, on noise.
data::Dataset bands(std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t kSide = 28;
  SeededBits bits(seed);
  data::Dataset data{.shape = {.channels = 1, .height = kSide, .width = kSide},
                     .class_names = {"0", "1", "2"},
                     .declared_size = count};
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label = i % 3;
    data.labels.push_back(static_cast<std::int32_t>(label));
    for (std::int64_t row = 0; row < kSide; ++row) {
      const bool is_bright = row >= 4 + 8 * label && row < 9 + 8 * label;
      for (std::int64_t column = 0; column < kSide; ++column)
        pixels.push_back(is_bright ? 220 : static_cast<std::uint8_t>(bits.below(40)));
    }
  }
  data.pixels = pixels;
  return data;
}

}  // namespace

int main() {
  data::write(bands(1000, 1), "train.npz", data::Format::kNpz);
  data::write(bands(300, 2), "test.npz", data::Format::kNpz);
  write_file("recipe.toml", kRecipe);
  SilentReporter silent;  // without one, log lines and progress go to standard error

  const run::Outcome outcome =
      app::train({.recipe = "recipe.toml", .out = "run", .reporter = &silent});
  std::cout << run::in_words(outcome) << '\n';
  std::cout << "certified epsilon " << method::verify_certificate("run").guarantee.epsilon << '\n';

  app::sample({.run = "run", .count = 300, .out = "synthetic.npz", .reporter = &silent});

  const app::EvaluateAnswer found = app::evaluate({.subject = "run",
                                                   .against = "test.npz",
                                                   .classifiers = {"logreg"},
                                                   .count = 600,
                                                   .quality = false,
                                                   .reporter = &silent});
  for (const evaluate::ClassifierScore& score : found.evaluation.classifiers)
    std::cout << score.classifier << " trained on synthetic images: " << 100 * *score.accuracy
              << "% of " << *found.evaluation.test << " real ones\n";
}
