// examples/05_own_method/main.cpp
// A method of your own: class means and mean squares of the pixels are released once by SumBarrier,
// then a generator is trained to have the same. A method is its section [method], its plan and its
// step; folder, ledger, budget, checkpoints and certificate are those of every method.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "obol/app/train.h"
#include "obol/barrier/records.h"
#include "obol/barrier/sum.h"
#include "obol/data/reader.h"
#include "obol/method/certificates.h"
#include "obol/method/fit.h"
#include "obol/method/generator_method.h"
#include "obol/method/methods.h"
#include "obol/method/state.h"
#include "obol/method/training_plan.h"

namespace {

using namespace obol;
using torch::Tensor;

constexpr const char* kMoments = "class moments";  // the purpose, in the ledger

// The section [method].
struct MethodOptions {
  std::string name = "class-moments";
  std::int64_t steps = 100;
  std::int64_t batch = 100;
  std::optional<std::int64_t> seed;  // for tests: the run is then not private

  void describe(recipe::Fields& fields) {
    fields.text("name", name, {"class-moments"}, "the method");
    fields.integer("steps", steps, recipe::at_least(1), "optimiser steps; they cost no privacy");
    fields.integer("batch", batch, recipe::at_least(2), "generated images of a step");
    fields.integer("seed", seed, recipe::at_least(0), "for tests: the run is not private");
  }
};

// What a training is going to release: one sum over all records, with the least noise that the
// budget allows.
std::optional<privacy::Plan> plan(const method::PricedSections& sections,
                                  const privacy::Accounting& how) {
  method::PrivacyOptions once = sections.privacy;
  once.steps = 1;
  privacy::PlanRequest request = method::request_of(once, privacy::Neighbours::kAddRemove);
  request.releases = [](std::int64_t steps) -> std::vector<privacy::Release> {
    return {{kMoments, privacy::Gaussian{.noise_multiplier = 1, .count = steps}, 1.0}};
  };
  return privacy::make_plan(request, how);
}

const method::MethodInfo kInfo{.name = "class-moments",
                               .data = method::DataKind::kPrivateImages,
                               .paper = {},
                               .read = method::read_method<MethodOptions>,
                               .plan = plan};

class ClassMoments final : public method::GeneratorMethod {
 public:
  ClassMoments(const method::Experiment& experiment, double noise_multiplier,
               const Private<data::Dataset>& data, const method::MethodContext& context)
      : GeneratorMethod({experiment.generator, experiment.optimizer}, data.facts().shape,
                        data.facts().num_classes, context),
        options_(experiment.options<MethodOptions>()),
        noise_multiplier_(noise_multiplier),
        records_(data, {.lowest = method::lowest_of(experiment.generator)}),
        labels_(torch::arange(options_.batch) % records_.classes()),
        moments_(torch::zeros({records_.classes(), 2 * data.facts().shape.pixels()})) {}

  // The only look at the records. Guarantee: a record adds one vector of length at most clip_norm
  // to the sum of its class; one event Gaussian(noise_multiplier), paid before it is opened.
  void start() override {
    const std::int64_t columns = moments_.size(1);
    barrier::SumBarrier sums(*context().door, {.clip_norm = std::sqrt(columns + 1.0),
                                               .noise_multiplier = noise_multiplier_,
                                               .groups = records_.classes(),
                                               .dimension = columns + 1,
                                               .purpose = kMoments});
    const Tensor sum = sums.release(records_, [](const barrier::Sample& some) {
      const Tensor one = torch::ones({some.points.size(0), 1});  // counts the record
      return barrier::Contributions{.rows = torch::cat({some.points, some.points.square(), one}, 1),
                                    .groups = some.labels()};
    });
    const Tensor counts = sum.narrow(1, columns, 1).clamp_min(1);
    moments_ = (sum.narrow(1, 0, columns) / counts).clamp(-1, 1).to(torch::kFloat);
  }

  void step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) override {
    trainee().begin(step, options_.steps);
    const Tensor images = trainee().generate(labels_, context().bits).flatten(1);
    const Tensor rows = torch::cat({images, images.square()}, 1);
    const Tensor of_class = torch::one_hot(labels_, records_.classes()).to(torch::kFloat).t();
    const Tensor means = of_class.mm(rows) / of_class.sum(1, true);
    (means - moments_).square().sum().backward();
    trainee().finish();
  }

 private:
  void save_more(run::Sections& to) override { to["moments"] = method::saved(moments_); }
  void load_more(const run::Sections& from) override { method::restore(from, "moments", moments_); }

  MethodOptions options_;
  double noise_multiplier_;
  barrier::PrivateRecords records_;
  Tensor labels_;   // [batch]
  Tensor moments_;  // [classes, 2 * pixels]: released
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: 05_own_method RECIPE OUT\n";
    return 2;
  }
  auto recipe = recipe::Recipe::load(arguments[1]);
  const method::Experiment experiment = method::read_experiment(recipe, kInfo);
  const std::optional<privacy::Plan> price = method::price_of(experiment);
  const auto data = data::read_private(*experiment.data.source, experiment.data.options());
  const run::Outcome outcome = method::fit(
      experiment, price, data, {.folder = arguments[2]},
      {.steps = experiment.options<MethodOptions>().steps,
       .make = [&](const method::MethodContext& context) -> std::unique_ptr<run::Method> {
         return std::make_unique<ClassMoments>(experiment, price->noise_multiplier, data, context);
       },
       .reserve = 1});
  std::cout << run::in_words(outcome) << '\n';
  std::cout << "epsilon " << method::verify_certificate(arguments[2]).guarantee.epsilon << '\n';
  app::sample({.run = arguments[2], .count = 200, .out = "synthetic.npz"});
}
