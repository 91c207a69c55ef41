#include "obol/method/trainee.h"

#include <algorithm>

#include "obol/method/optimizer.h"
#include "obol/method/state.h"
#include "obol/model/sample.h"

namespace obol::method {
namespace {

using torch::Tensor;

constexpr const char* kGenerator = "generator";
constexpr const char* kAverage = "average";
constexpr const char* kAveraged = "averaged steps";
constexpr const char* kOptimizer = "optimizer";

}  // namespace

double lowest_of(const model::GeneratorOptions& options) {
  return options.output == "tanh" ? -1 : 0;
}

std::int64_t classes_of(const data::Dataset::PublicFacts& facts) {
  return std::max<std::int64_t>(1, facts.num_classes);
}

Trainee::Trainee(const TraineeOptions& options, const data::ImageShape& shape,
                 std::int64_t num_classes, const torch::Device& device)
    : options_(options),
      device_(device),
      generator_(model::make_generator(options.generator, shape, num_classes)),
      released_(model::make_generator(options.generator, shape, num_classes)) {
  generator_->to(device);
  generator_->train();
  released_->to(device);
  if (options.average > 0) average_.emplace(*generator_, options.average);
  optimizer_ = make_optimizer(options.optimizer, generator_->parameters());
}

double Trainee::begin(std::int64_t step, std::int64_t steps) {
  const double rate = learning_rate_at(options_.optimizer, step, steps);
  set_learning_rate(*optimizer_, rate);
  optimizer_->zero_grad();
  return rate;
}

void Trainee::finish() {
  optimizer_->step();
  if (average_) average_->update(*generator_);
}

Tensor Trainee::generate(const Tensor& labels, RandomBits& bits) {
  return generator_->forward(generator_->latents(labels.size(0), bits).to(device_), labels);
}

void Trainee::save(run::Sections& sections) {
  sections[kGenerator] = saved(generator_);
  sections[kOptimizer] = saved(*optimizer_);
  if (!average_) return;
  sections[kAverage] = saved(average_->parameters());
  sections[kAveraged] = std::to_string(average_->steps());
}

void Trainee::load(const run::Sections& sections) {
  restore(sections, kGenerator, generator_);
  restore(sections, kOptimizer, *optimizer_);
  if (average_) restore_average(sections);
  generator_->to(device_);
}

void Trainee::restore_average(const run::Sections& sections) {
  std::vector<Tensor> parameters;
  restore(sections, kAverage, parameters);
  const std::vector<Tensor>& own = average_->parameters();
  const torch::NoGradGuard no_grad;
  bool fits = parameters.size() == own.size() && sections.contains(kAveraged);
  for (std::size_t k = 0; fits && k < own.size(); ++k)
    fits = parameters[k].sizes() == own[k].sizes();
  if (!fits)
    throw DataError("the averaged weights of a checkpoint must fit the generator, but do not");
  for (std::size_t k = 0; k < own.size(); ++k) own[k].copy_(parameters[k]);
  average_->set_steps(std::stoll(sections.at(kAveraged)));
}

std::shared_ptr<model::Generator> Trainee::released(RandomBits& bits) {
  constexpr std::int64_t kForStatistics = 2000;
  const torch::NoGradGuard no_grad;
  model::WeightAverage(*generator_, 0).copy_to(*released_);
  if (average_) {
    average_->copy_to(*released_);
    model::recompute_statistics(*released_, kForStatistics, bits);
  }
  released_->eval();
  return released_;
}

run::Samples Trainee::samples(RandomBits& bits) {
  constexpr std::int64_t kColumns = 10;
  const torch::NoGradGuard no_grad;
  const auto network = released(bits);
  const std::int64_t rows = network->is_conditional() ? network->num_classes() : kColumns;
  const Tensor labels = torch::arange(rows).repeat_interleave(kColumns).to(device_);
  const Tensor images =
      network->forward(network->latents(labels.size(0), bits).to(device_), labels);
  const Tensor bytes = model::to_bytes(images, options_.generator);
  run::Samples samples{.shape = network->shape(), .pixels = {}, .columns = kColumns};
  samples.pixels.assign(bytes.data_ptr<std::uint8_t>(),
                        bytes.data_ptr<std::uint8_t>() + bytes.numel());
  return samples;
}

}  // namespace obol::method
