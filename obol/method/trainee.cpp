#include "obol/method/trainee.h"

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

Trainee::Trainee(const TraineeOptions& options, const data::ImageShape& shape,
                 std::int64_t num_classes, const torch::Device& device)
    : options_(options),
      device_(device),
      generator_(model::make_generator(options.generator, shape, num_classes)),
      released_(model::make_generator(options.generator, shape, num_classes)) {
  generator_->place(device);
  generator_->train();
  released_->place(device);
  if (options.average > 0) average_.emplace(*generator_, options.average);
  optimizer_ = make_optimizer(options.optimizer, generator_->parameters());
  if (device.is_cuda())
    on_device_.emplace(options.optimizer, options.average, generator_->parameters(),
                       average_ ? average_->parameters() : std::vector<Tensor>());
}

double Trainee::begin(std::int64_t step, std::int64_t steps) {
  const double rate = learning_rate_at(options_.optimizer, step, steps);
  if (on_device_) {
    on_device_->begin(step, steps);
    if (average_) average_->set_steps(step);
    return rate;
  }
  set_learning_rate(*optimizer_, rate);
  optimizer_->zero_grad();
  return rate;
}

void Trainee::finish() {
  if (on_device_) {
    on_device_->update();
    return;
  }
  optimizer_->step();
  if (average_) average_->update(*generator_);
}

Tensor Trainee::generate(const Tensor& labels, RandomBits& bits) {
  return generator_->forward(generator_->latents(labels.size(0), device_, bits), labels);
}

void Trainee::restart() {
  const auto fresh =
      model::make_generator(options_.generator, generator_->shape(), generator_->num_classes());
  const torch::NoGradGuard no_grad;
  model::copy_state(*fresh, *generator_);
  if (average_) {
    const std::vector<Tensor> now = generator_->parameters();
    for (std::size_t k = 0; k < now.size(); ++k) average_->parameters()[k].copy_(now[k]);
    average_->set_steps(0);
  }
  if (on_device_)
    on_device_->restart();
  else
    optimizer_ = make_optimizer(options_.optimizer, generator_->parameters());
}

void Trainee::save(run::Sections& sections) {
  if (on_device_) on_device_->save_to(*optimizer_);
  sections[kGenerator] = saved(*generator_);
  sections[kOptimizer] = saved(*optimizer_);
  if (!average_) return;
  sections[kAverage] = saved(average_->parameters());
  sections[kAveraged] = std::to_string(average_->steps());
}

void Trainee::load(const run::Sections& sections) {
  restore(sections, kGenerator, *generator_);
  restore(sections, kOptimizer, *optimizer_);
  if (average_) {
    restore(sections, kAverage, average_->parameters());
    average_->set_steps(restored_number(sections, kAveraged));
  }
  generator_->place(device_);
  if (on_device_) on_device_->load_from(*optimizer_);
}

std::shared_ptr<model::Generator> Trainee::released(RandomBits& bits) {
  constexpr std::int64_t kForStatistics = 2000;
  const torch::NoGradGuard no_grad;
  model::copy_state(*generator_, *released_);
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
  const Tensor images = network->forward(network->latents(labels.size(0), device_, bits), labels);
  const Tensor bytes = model::to_bytes(images, options_.generator);
  run::Samples samples{.shape = network->shape(), .pixels = {}, .columns = kColumns};
  samples.pixels.assign(bytes.data_ptr<std::uint8_t>(),
                        bytes.data_ptr<std::uint8_t>() + bytes.numel());
  return samples;
}

}  // namespace obol::method
