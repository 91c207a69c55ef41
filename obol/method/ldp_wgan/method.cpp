#include "obol/method/ldp_wgan/method.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/method/state.h"

namespace obol::method::ldp_wgan {
namespace {

using torch::Tensor;

constexpr const char* kShuffle = "shuffle";
constexpr const char* kPotentials = "potentials";
constexpr const char* kCritic = "critic";

std::int64_t classes_of(const local::Privatization& how) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(how.class_names.size()));
}

double label_epsilon(const local::Privatization& how) {
  return how.class_names.empty()
             ? 0
             : std::get<privacy::LocalRandomizedResponse>(how.events.at(1).event).epsilon;
}

model::CriticTraining training_of(const MethodOptions& options) {
  return {.learning_rate = options.critic_learning_rate,
          .gradient_penalty = options.gradient_penalty,
          .drift_penalty = 0};
}

run::Metric released_metric(const char* name, double value) {
  return {name, run::Public(value, run::Origin::kReleased)};
}

}  // namespace

void check(const Options& options, const local::Privatization& how, std::int64_t records,
           const recipe::Places& places) {
  recipe::located(places, "generator.architecture", [&] {
    model::make_generator(options.generator, how.shape, classes_of(how));
    if (options.method.loss == "critic") static_cast<void>(model::Critic({.shape = how.shape}));
  });
  recipe::located(places, "method.regularization", [&] {
    const std::string& loss = options.method.loss;
    if (options.method.regularization && loss != "entropic" && loss != "divergence")
      throw InvalidArgument(violation("method.regularization", "left out with loss " + loss,
                                      *options.method.regularization));
  });
  recipe::located(places, "method.batch", [&] {
    if (options.method.batch > records)
      throw InvalidArgument(violation("method.batch",
                                      fmt::format("at most the number of records, {}", records),
                                      options.method.batch));
  });
}

std::int64_t steps_of(const MethodOptions& options, std::int64_t records) {
  const std::int64_t batches = records / options.batch;
  return std::max<std::int64_t>(1, std::llround(options.epochs * static_cast<double>(batches)));
}

Loss loss_of(const MethodOptions& options, const local::Privatization& how) {
  Loss loss = matched(how.mechanism, how.scale);
  loss.kind = loss_from(options.loss);
  loss.regularization = options.regularization.value_or(loss.regularization);
  loss.iterations = options.iterations;
  loss.tolerance = options.tolerance;
  loss.label_epsilon = label_epsilon(how);
  return loss;
}

Tensor class_shares(const Tensor& labels, std::int64_t classes, double epsilon) {
  const auto count = static_cast<double>(labels.size(0));
  const Tensor seen = torch::bincount(labels, {}, classes).to(torch::kDouble) / count;
  const double changed = 1 / (std::exp(epsilon) + static_cast<double>(classes) - 1);
  const double kept = std::exp(epsilon) * changed;
  const Tensor shares = ((seen - changed) / (kept - changed)).clamp_min(0);
  return (shares / shares.sum()).to(torch::kFloat);
}

LdpWgan::LdpWgan(const Options& options, local::Privatized data, const MethodContext& context)
    : GeneratorMethod({options.generator, options.optimizer, options.method.average},
                      data.how.shape, classes_of(data.how), context),
      options_(options),
      data_(std::move(data)),
      count_(data_.count()),
      batch_(options.method.batch),
      steps_(steps_of(options.method, count_)),
      features_(data_.how.transform == local::Transform::kDct
                    ? cosine_transform(data_.how.shape, context.device)
                    : Features()) {
  check(options, data_.how, count_);
  const torch::Device& device = context.device;
  records_ = torch::from_blob(data_.records.data(), {count_, data_.how.shape.pixels()}).to(device);
  shares_ = torch::ones({1}, device);
  if (const double epsilon = label_epsilon(data_.how); epsilon > 0) {
    labels_ = torch::from_blob(data_.labels.data(), {count_}, torch::kInt).to(torch::kLong);
    shares_ = class_shares(labels_, classes_of(data_.how), epsilon).to(device);
    labels_ = labels_.to(device);
  }
  shuffle_ = torch::full({1}, static_cast<std::int64_t>(context.bits() >> 1));
  if (options.method.loss == "critic") {
    critic_.emplace(model::CriticOptions{.shape = data_.how.shape,
                                         .classes = classes_of(data_.how),
                                         .width = options.method.critic_width});
    critic_state_ = critic_->initial(context.bits, device);
    return;
  }
  loss_ = loss_of(options.method, data_.how);
  if (options.method.warm_start && loss_->kind != LossKind::kWasserstein)
    potentials_ = torch::zeros({count_}, torch::TensorOptions(device).dtype(torch::kDouble));
}

Tensor LdpWgan::batch_at(std::int64_t step) {
  const std::int64_t batches = count_ / batch_;
  if (const std::int64_t epoch = (step - 1) / batches; epoch != epoch_) {
    const auto seed = static_cast<std::uint64_t>(shuffle_.item<std::int64_t>() + epoch);
    order_ = torch::randperm(count_, at::make_generator<at::CPUGeneratorImpl>(seed), torch::kLong)
                 .to(context().device);
    epoch_ = epoch;
  }
  const std::int64_t from = (step - 1) % batches * batch_;
  return order_.slice(0, from, from + batch_);
}

LdpWgan::Generated LdpWgan::generate(std::int64_t count) {
  const Tensor labels = torch::multinomial(shares_, count, /*replacement=*/true);
  return {trainee().generate(labels, context().bits), labels};
}

Tensor LdpWgan::points_of(const Tensor& images) const {
  const double lowest = lowest_of(options_.generator);
  return features_(((images - lowest) / (1 - lowest)).flatten(1));
}

void LdpWgan::step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) {
  const double rate = trainee().begin(step, steps_);
  metrics_ = {{"learning_rate", run::Public(rate, run::Origin::kSyntheticOnly)}};
  const Tensor batch = batch_at(step);
  if (critic_)
    step_critic(batch);
  else
    step_transport(batch);
  trainee().finish();
}

void LdpWgan::step_transport(const Tensor& batch) {
  const Generated generated = generate(batch_);
  const Tensor points = points_of(generated.images);
  Clouds clouds{.x = points, .y = records_.index_select(0, batch)};
  if (labels_.defined()) {
    clouds.labels_x = generated.labels;
    clouds.labels_y = labels_.index_select(0, batch);
  }
  if (potentials_.defined()) clouds.start = potentials_.index_select(0, batch);
  const Pull pull = pull_to(clouds, *loss_);
  if (potentials_.defined()) potentials_.index_copy_(0, batch, pull.potentials);
  metrics_.push_back(released_metric("loss", pull.value));
  metrics_.push_back(released_metric("transport_iterations", static_cast<double>(pull.iterations)));
  points.backward(pull.gradient);
}

// Of images, not of what the transform makes of them: convolutions are for neighbours.
void LdpWgan::step_critic(const Tensor& batch) {
  const data::ImageShape& shape = data_.how.shape;
  const auto as_images = [&](const Tensor& rows) {
    return rows.view({-1, shape.channels, shape.height, shape.width});
  };
  const auto draw_labels = [&](const Tensor& rows) {
    return labels_.defined() ? labels_.index_select(0, rows)
                             : torch::zeros({rows.size(0)}, rows.options());
  };
  const Features back = features_.inverse();
  for (std::int64_t k = 0; k < options_.method.critic_steps; ++k) {
    const torch::NoGradGuard no_grad;
    const Tensor rows = k == 0 ? batch : torch::randint(count_, {batch_}, batch.options());
    const Generated fake = generate(batch_);
    critic_->train(critic_state_,
                   {.real = as_images(back(records_.index_select(0, rows))),
                    .real_labels = draw_labels(rows),
                    .fake = as_images(back(points_of(fake.images))),
                    .fake_labels = fake.labels,
                    .mix = torch::rand({batch_, 1, 1, 1}, records_.options())},
                   training_of(options_.method));
  }
  const Generated generated = generate(batch_);
  const Tensor images = as_images(back(points_of(generated.images)));
  const Tensor gradient = critic_->image_gradient(critic_state_, images.detach(), generated.labels);
  images.backward(gradient / -static_cast<double>(batch_));
}

void LdpWgan::save_more(run::Sections& sections) {
  sections[kShuffle] = saved(shuffle_);
  if (potentials_.defined()) sections[kPotentials] = saved(potentials_);
  if (critic_) sections[kCritic] = saved(critic_state_.numbers);
}

void LdpWgan::load_more(const run::Sections& sections) {
  restore(sections, kShuffle, shuffle_);
  if (potentials_.defined()) restore(sections, kPotentials, potentials_);
  if (critic_) restore(sections, kCritic, critic_state_.numbers);
  epoch_ = -1;
}

}  // namespace obol::method::ldp_wgan
