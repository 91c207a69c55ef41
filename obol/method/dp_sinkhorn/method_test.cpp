#include "obol/method/dp_sinkhorn/method.h"

#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/data/sampler.h"
#include "obol/method/features.h"
#include "obol/privacy/disclosures.h"
#include "obol/privacy/noise.h"
#include "obol/run/folder.h"
#include "obol/run/metrics.h"
#include "obol/testing/gpu.h"

namespace obol::method::dp_sinkhorn {
namespace {

using torch::Tensor;

// Pictures of 28 x 28 in which class c is a bright band, with some noise.
data::Dataset bands(const std::vector<std::int64_t>& sizes, unsigned seed) {
  torch::manual_seed(seed);
  data::Dataset data;
  data.shape = {.channels = 1, .height = 28, .width = 28};
  std::vector<std::uint8_t> pixels;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    data.class_names.push_back(std::to_string(c));
    for (std::int64_t i = 0; i < sizes[c]; ++i) {
      Tensor image = torch::rand({28, 28}) * 40;
      image.slice(0, static_cast<std::int64_t>(4 + 8 * c), static_cast<std::int64_t>(8 + 8 * c))
          .fill_(200);
      const Tensor bytes = image.to(torch::kByte).contiguous();
      pixels.insert(pixels.end(), bytes.data_ptr<std::uint8_t>(),
                    bytes.data_ptr<std::uint8_t>() + bytes.numel());
      data.labels.push_back(static_cast<std::int32_t>(c));
    }
  }
  data.pixels = pixels;
  data.declared_size = static_cast<std::int64_t>(data.labels.size());
  return data;
}

Options some_options(const std::string& name) {
  const Barrier barrier = barrier_from(name);
  Options options{.barrier = barrier,
                  .sampling_rate = 0.1,
                  .noise_multiplier = 0.7,
                  .generated_batch = 8,
                  .steps = 20,
                  .histogram_noise = 5};
  options.generator.width = 4;
  options.method.second_batch = 8;
  options.method.regularization = barrier == Barrier::kRecord ? 4 : 5;
  options.method.clip_norm = barrier == Barrier::kRecord ? 7 : 0.5;
  options.optimizer.learning_rate = 1e-2;
  return options;
}

class Method : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  privacy::Ledger ledger = privacy::Ledger::create(folder.path() / "ledger.jsonl",
                                                   {.neighbours = privacy::Neighbours::kAddRemove,
                                                    .records = 300,
                                                    .fingerprint = "test",
                                                    .randomness = "test"});
  privacy::BudgetGuard guard{ledger, std::nullopt};
  run::UnsafeDiagnostics nothing;
  Private<data::Dataset> data{bands({200, 100}, 1)};

  // Of all that was paid.
  [[nodiscard]] std::int64_t total_count() const {
    std::int64_t total = 0;
    for (const privacy::Event& event : ledger.spent())
      total += std::visit([](const auto& one) { return one.count; }, event);
    return total;
  }
};

std::vector<Tensor> parameters_of(DpSinkhorn& method) {
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : method.released()->parameters())
    parameters.push_back(parameter.detach().to(torch::kDouble).clone());
  return parameters;
}

// --- The same training, written down in double with loops and stock operators.

class Golden {
 public:
  Golden(const Options& options, const data::Dataset& data, std::uint64_t seed)
      : options_(options), bits_(seed) {
    const auto& bytes = std::get<data::PixelBytes>(data.pixels);
    const Tensor pixels =
        torch::tensor(at::ArrayRef<std::uint8_t>(bytes.data(), bytes.size()), torch::kByte);
    records_ = pixels.view({data.count(), -1}).to(torch::kDouble) / 255;
    labels_ = torch::tensor(data.labels, torch::kLong);
    generator_ = model::make_generator(options.generator, data.shape, data.num_classes());
    generator_->to(torch::kDouble);
    generator_->train();
    for (const Tensor& p : generator_->parameters()) {
      m_.push_back(torch::zeros_like(p));
      v_.push_back(torch::zeros_like(p));
    }
    classes_ = data.num_classes();
    if (options.method.features != "pixels") use_cosines(14);
  }

  void start() {
    if (options_.barrier != Barrier::kRecord) return;
    sizes_ = noisy(torch::bincount(labels_).to(torch::kFloat), 1, *options_.histogram_noise)
                 .clamp_min(2 * *options_.histogram_noise);
  }

  void step(std::int64_t t) {
    for (const Tensor& p : generator_->parameters()) p.mutable_grad() = Tensor();
    if (options_.barrier == Barrier::kRecord)
      record_step(t);
    else
      row_step();
    adam(t);
  }

  std::vector<Tensor> parameters() { return generator_->parameters(); }

 private:
  // Of 28 x 28 pixels the products of the `count` lowest cosines either way.
  void use_cosines(std::int64_t count) {
    const auto cosine = [](std::int64_t u, std::int64_t i) {
      return std::sqrt((u == 0 ? 1 : 2) / 28.0) *
             std::cos(std::numbers::pi * static_cast<double>(u) * (static_cast<double>(i) + 0.5) /
                      28);
    };
    map_ = torch::empty({count * count, 784}, torch::kDouble);
    auto* to = map_.data_ptr<double>();
    for (std::int64_t k = 0; k < map_.numel(); ++k) {
      const std::int64_t row = k / 784;
      to[k] = cosine(row / count, k % 784 / 28) * cosine(row % count, k % 28);
    }
    // Records are mapped on a grid, which is tested on its own.
    const Features features = parse_features(fmt::format("dct:{}", count), {1, 28, 28});
    const Tensor on_grid = features.of_records(records_.to(torch::kFloat)).to(torch::kDouble);
    ASSERT_LT((on_grid - mapped(records_)).abs().max().item<double>(), 1e-4);
    records_ = on_grid;
  }
  [[nodiscard]] Tensor mapped(const Tensor& x) const {
    return map_.defined() ? torch::mm(x, map_.t()) : x;
  }

  Tensor generate(const Tensor& labels) {
    return generator_
        ->forward(generator_->latents(labels.size(0), bits_).to(torch::kDouble), labels)
        .flatten(1);
  }

  std::vector<std::int64_t> draw() {
    return data::poisson_indices(records_.size(0), options_.sampling_rate, bits_);
  }

  Tensor noisy(const Tensor& values, double sensitivity, double multiplier) {
    Tensor result = values.to(torch::kFloat).contiguous().clone();
    privacy::add_gaussian(
        bits_, std::span<float>(result.data_ptr<float>(), static_cast<std::size_t>(result.numel())),
        {.sensitivity = sensitivity, .noise_multiplier = multiplier});
    return result.to(torch::kDouble);
  }

  static Tensor one_by_one_costs(const Tensor& x, const Tensor& y, double mixing) {
    const Tensor d = x.unsqueeze(1) - y.unsqueeze(0);
    return d.square().sum(2) + mixing * d.abs().sum(2);
  }

  // The same in double, which keeps sums of pulls as they are.
  Tensor noisy_sum(Tensor sum, double sensitivity, double multiplier) {
    sum = sum.contiguous();
    privacy::add_gaussian(
        bits_, std::span<double>(sum.data_ptr<double>(), static_cast<std::size_t>(sum.numel())),
        {.sensitivity = sensitivity, .noise_multiplier = multiplier});
    return sum;
  }

  // Points on a grid of 2^-14, weights rounded down to one of 2^-21.
  Tensor pull(const Tensor& rows, const Tensor& lx, const Tensor& f, const Tensor& samples,
              const Tensor& lt) {
    const MethodOptions& m = options_.method;
    const Tensor x = (rows * 0x1p14).round() * 0x1p-14;
    const Tensor t = (samples * 0x1p14).round() * 0x1p-14;
    Tensor result = torch::zeros_like(x);
    for (std::int64_t k = 0; k < t.size(0); ++k) {
      const Tensor same = lx.eq(lt[k].item<std::int64_t>());
      const Tensor far = (x - t[k]).square().sum(1);
      const Tensor logits = ((f - far) / m.regularization).masked_fill(same.logical_not(), -1e300);
      const Tensor shares = torch::softmax(logits, 0);
      const double norm = (shares.square() * far).sum().sqrt().item<double>();
      const double scale = std::min(1.0, m.clip_norm / norm);
      result += ((shares * scale * 0x1p21).floor() * 0x1p-21).unsqueeze(1) * (x - t[k]);
    }
    return result;
  }

  // By plain log-domain iterations, class by class.
  Tensor potentials(const Tensor& x, const Tensor& lx, const Tensor& y, const Tensor& ly) const {
    const MethodOptions& m = options_.method;
    Tensor f = torch::zeros({x.size(0)}, torch::kDouble);
    for (std::int64_t c = 0; c < classes_; ++c) {
      const Tensor rows = lx.eq(c).nonzero().squeeze(1);
      const Tensor cost = one_by_one_costs(x.index_select(0, rows),
                                           y.index_select(0, ly.eq(c).nonzero().squeeze(1)), 0);
      const double e = m.regularization;
      const double log_n = std::log(static_cast<double>(cost.size(0)));
      const double log_m = std::log(static_cast<double>(cost.size(1)));
      Tensor fc = torch::zeros({cost.size(0)}, torch::kDouble);
      Tensor gc = torch::zeros({cost.size(1)}, torch::kDouble);
      for (std::int64_t i = 0; i < m.potential_iterations; ++i) {
        fc = -e * (torch::logsumexp((gc - cost) / e, 1) - log_m);
        gc = -e * (torch::logsumexp((fc.unsqueeze(1) - cost) / e, 0) - log_n);
      }
      f.index_copy_(0, rows, fc);
    }
    return f;
  }

  void record_step(std::int64_t t) {
    const MethodOptions& m = options_.method;
    const std::int64_t n = options_.generated_batch;
    const Tensor lx = torch::arange(classes_).repeat_interleave(n / classes_);
    const Tensor l2 = torch::arange(classes_).repeat_interleave(m.second_batch / classes_);
    const Tensor images = generate(lx);
    const Tensor x = mapped(images);
    if (!last_.defined()) last_ = mapped(generate(l2)).detach();
    const Tensor second = mapped(generate(l2)).detach();
    const Tensor xd = x.detach();
    const Tensor f = potentials(xd, lx, last_, l2);
    const Tensor chosen = torch::tensor(draw(), torch::kLong);
    const Tensor sum =
        pull(xd, lx, f, records_.index_select(0, chosen), labels_.index_select(0, chosen));
    const Tensor released = noisy_sum(sum, m.clip_norm, options_.noise_multiplier);
    const Tensor self = pull(xd, lx, f, second, l2);
    last_ = second;
    const double per_class = static_cast<double>(n) / static_cast<double>(classes_);
    const Tensor g =
        released * (per_class / options_.sampling_rate / sizes_.index_select(0, lx)).unsqueeze(1) -
        self_weight_at(m, t, options_.steps) * static_cast<double>(n) /
            static_cast<double>(m.second_batch) * self;
    Tensor of_images = g;
    if (map_.defined()) {
      const Tensor seen = torch::mm(xd, map_);
      of_images = torch::mm(g, map_) + images.detach() - seen;
    }
    images.backward(of_images / static_cast<double>(n));
  }

  // W by annealed iterations, and its envelope gradient with respect to both sides.
  struct Value {
    Tensor dx;
    Tensor dy;
  };
  Value transport(const Tensor& x, const Tensor& lx, const Tensor& y, const Tensor& ly) const {
    const MethodOptions& m = options_.method;
    const double mixing = 1;
    const Tensor xl = x.detach().clone().requires_grad_();
    const Tensor yl = y.detach().clone().requires_grad_();
    const Tensor moving = one_by_one_costs(xl, yl, mixing);
    const double penalty = 2 * m.label_weight * m.label_weight + 2 * mixing * m.label_weight;
    const Tensor cost = moving.detach() + penalty * lx.unsqueeze(1).ne(ly).to(torch::kDouble);
    const double log_n = std::log(static_cast<double>(cost.size(0)));
    const double log_m = std::log(static_cast<double>(cost.size(1)));
    Tensor f = torch::zeros({cost.size(0)}, torch::kDouble);
    Tensor g = torch::zeros({cost.size(1)}, torch::kDouble);
    const auto sweep = [&](double e) {
      f = -e * (torch::logsumexp((g - cost) / e, 1) - log_m);
      g = -e * (torch::logsumexp((f.unsqueeze(1) - cost) / e, 0) - log_n);
    };
    for (double e = cost.max().item<double>(); e > m.regularization; e *= 0.5) sweep(e);
    sweep(m.regularization);
    const Tensor plan = ((f.unsqueeze(1) + g - cost) / m.regularization - log_n - log_m).exp();
    (plan * moving).sum().backward();
    return {xl.grad(), yl.grad()};
  }

  static Tensor clipped(const Tensor& rows, double bound) {
    return rows * (bound / (1 + 1e-6) / rows.norm(2, {1}, true)).clamp_max(1);
  }

  void row_step() {
    const MethodOptions& m = options_.method;
    const std::int64_t n = options_.generated_batch;
    const auto more = static_cast<std::int64_t>(m.resample * static_cast<double>(n));
    const Tensor labels = torch::randint(classes_, {n});
    const Tensor all = torch::cat({labels, labels.slice(0, 0, more)});
    const Tensor x = generate(all);
    const Tensor xd = x.detach();
    const Value self = transport(xd.slice(0, 0, n), labels, xd.slice(0, more, n + more),
                                 all.slice(0, more, n + more));
    Tensor g = torch::zeros_like(xd);
    g.slice(0, 0, n) -= self.dx;
    g.slice(0, more, n + more) -= self.dy;
    const std::vector<std::int64_t> indices = draw();
    if (!indices.empty()) {
      const Tensor chosen = torch::tensor(indices, torch::kLong);
      g.slice(0, 0, n) += 2 * transport(xd.slice(0, 0, n), labels, records_.index_select(0, chosen),
                                        labels_.index_select(0, chosen))
                                  .dx;
    }
    const double sigma = options_.noise_multiplier;
    const Tensor head = g.slice(0, 0, n);
    Tensor released;
    if (options_.barrier == Barrier::kRow) {
      const double root = std::sqrt(static_cast<double>(n));
      released = noisy(clipped(head, m.clip_norm), 2 * m.clip_norm * root, sigma / root);
    } else {
      released =
          noisy(clipped(head.reshape({1, -1}), m.clip_norm).view_as(head), 2 * m.clip_norm, sigma);
    }
    x.backward(torch::cat({released, clipped(g.slice(0, n), m.clip_norm)}));
  }

  void adam(std::int64_t t) {
    const torch::NoGradGuard no_grad;
    const OptimizerOptions& o = options_.optimizer;
    const std::vector<Tensor> parameters = generator_->parameters();
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const Tensor& g = parameters[k].grad();
      if (!g.defined()) continue;
      m_[k].mul_(o.beta1).add_(g, 1 - o.beta1);
      v_[k].mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
      const double c1 = 1 - std::pow(o.beta1, t);
      const double c2 = 1 - std::pow(o.beta2, t);
      parameters[k].addcdiv_(m_[k] / c1, (v_[k] / c2).sqrt() + 1e-8, -o.learning_rate);
    }
  }

  Options options_;
  SeededBits bits_;
  std::int64_t classes_ = 1;
  Tensor records_;
  Tensor labels_;
  Tensor sizes_;
  Tensor last_;
  Tensor map_;
  std::shared_ptr<model::Generator> generator_;
  std::vector<Tensor> m_;
  std::vector<Tensor> v_;
};

TEST_F(Method, TwentyStepsOfEachBarrierAreThoseOfTheReference) {
  for (const std::string name : {"row", "batch", "record", "record, dct:14"}) {
    Options options = some_options(name.substr(0, name.find(',')));
    if (name.ends_with("dct:14")) options.method.features = "dct:14";
    SeededBits bits(5);
    barrier::Door door(guard, bits);
    torch::manual_seed(3);
    DpSinkhorn method(options, data, {.door = &door, .bits = bits});
    const data::Dataset same = bands({200, 100}, 1);
    torch::manual_seed(3);
    Golden golden(options, same, 5);
    torch::manual_seed(4);
    std::vector<Tensor> before = parameters_of(method);
    method.start();
    // Features in float are rounded to the grid of pulls differently now and then, which grows.
    const int steps = name.ends_with("dct:14") ? 4 : 20;
    for (int t = 1; t <= steps; ++t) method.step(t, nothing);
    const std::vector<Tensor> after = parameters_of(method);
    torch::manual_seed(4);
    golden.start();
    for (int t = 1; t <= steps; ++t) golden.step(t);
    const std::vector<Tensor> expected = golden.parameters();
    double moved = 0;
    double apart = 0;
    for (std::size_t k = 0; k < after.size(); ++k) {
      moved += (after[k] - before[k]).square().sum().item<double>();
      apart += (after[k] - expected[k].detach()).square().sum().item<double>();
    }
    EXPECT_GT(moved, 0.1);
    // Adam turns a gradient near zero into a full step, so that roundings of float grow.
    EXPECT_LT(std::sqrt(apart / moved), name.ends_with("dct:14") ? 0.1 : 0.02) << name;
  }
}

class MethodGpu : public Method {};

// Neither draws the same numbers, so only what they learn is compared; and what is paid.
TEST_F(MethodGpu, ARecordedStepDoesAndPaysWhatAPlainOneDoes) {
  OBOL_NEEDS_GPU();
  const torch::Device device(torch::kCUDA, 0);
  const barrier::WorkStream stream(device);
  for (const std::string name : {"row", "batch", "record", "record, dct:14"}) {
    SCOPED_TRACE(name);
    Options options = some_options(name.substr(0, name.find(',')));
    if (name.ends_with("dct:14")) options.method.features = "dct:14";
    options.steps = 300;
    options.sampling_rate = 0.5;
    options.noise_multiplier = 1e-2;
    options.generated_batch = 40;
    options.method.second_batch = 40;
    const auto bands_of = [&](const torch::Device& where) {
      SeededBits bits(5);
      barrier::Door door(guard, bits);
      torch::manual_seed(3);
      DpSinkhorn method(options, data, {.door = &door, .bits = bits, .device = where});
      method.start();
      const std::int64_t before = total_count();
      for (std::int64_t t = 1; t <= options.steps; ++t) method.step(t, nothing);
      guard.settle();
      EXPECT_EQ(total_count() - before, options.steps);
      const torch::NoGradGuard no_grad;
      const auto network = method.released();
      const Tensor labels = torch::arange(2).repeat_interleave(100).to(where);
      // The mean picture of each class, by rows.
      return network->forward(network->latents(200, where, bits), labels)
          .view({2, 100, 28, 28})
          .mean({1, 3})
          .cpu();
    };
    Tensor truth = torch::full({2, 28}, 19.5 / 255);
    truth[0].slice(0, 4, 8).fill_(200.0 / 255);
    truth[1].slice(0, 12, 16).fill_(200.0 / 255);
    const auto error_of = [&](const Tensor& found) {
      return (found - truth).abs().mean().item<double>();
    };
    const double on_processor = error_of(bands_of(torch::kCPU));
    const double on_gpu = error_of(bands_of(device));
    EXPECT_LT(on_gpu, 1.3 * on_processor + 0.02);
    EXPECT_GT(on_gpu, 0.7 * on_processor - 0.02);
    // What an untrained generator makes is further away.
    EXPECT_LT(on_gpu, 0.25);
  }
}

// Random numbers that begin anew.
class Rewound final : public RandomBits {
 public:
  void rewind(std::uint64_t seed) { bits_ = std::make_unique<SeededBits>(seed); }
  result_type operator()() override { return (*bits_)(); }
  void fill(std::span<std::uint64_t> words) override { bits_->fill(words); }
  [[nodiscard]] bool is_private() const noexcept override { return false; }
  [[nodiscard]] std::string provenance() const override { return bits_->provenance(); }

 private:
  std::unique_ptr<SeededBits> bits_ = std::make_unique<SeededBits>(5);
};

// With the same random numbers, what was loaded makes the very steps that it would have made.
TEST_F(Method, GoesOnAfterLoadingAsItWouldHave) {
  for (const std::string name : {"row", "batch", "record", "record, dct:14"}) {
    SCOPED_TRACE(name);
    Options options = some_options(name.substr(0, name.find(',')));
    if (name.ends_with("dct:14")) options.method.features = "dct:14";
    options.method.average = 0.9;
    Rewound bits;
    barrier::Door door(guard, bits);
    const auto train = [&](DpSinkhorn& method, std::int64_t from, std::int64_t to) {
      bits.rewind(static_cast<std::uint64_t>(from));
      torch::manual_seed(static_cast<std::uint64_t>(from));
      for (std::int64_t t = from; t <= to; ++t) method.step(t, nothing);
    };
    DpSinkhorn first(options, data, {.door = &door, .bits = bits});
    first.start();
    train(first, 1, 3);
    const run::Sections saved = first.save();
    DpSinkhorn second(options, data, {.door = &door, .bits = bits});
    second.load(saved);
    EXPECT_EQ(second.save(), saved);
    train(first, 4, 6);
    train(second, 4, 6);
    EXPECT_EQ(second.save(), first.save());
  }
}

TEST_F(Method, LoadsNothingButItsOwnState) {
  SeededBits bits(5);
  barrier::Door door(guard, bits);
  DpSinkhorn method(some_options("record"), data, {.door = &door, .bits = bits});
  EXPECT_THROW(method.load({}), DataError);
  EXPECT_THROW(method.load({{"generator", "x"}}), DataError);
  method.start();
  method.step(1, nothing);
  const run::Sections saved = method.save();
  run::Sections changed = saved;
  changed.at("second batch") = saved.at("class sizes");
  EXPECT_THROW(method.load(changed), DataError);
  EXPECT_NO_THROW(method.load(saved));
  DpSinkhorn rows(some_options("row"), data, {.door = &door, .bits = bits});
  run::Sections more = rows.save();
  more["second batch"] = saved.at("second batch");
  EXPECT_THROW(rows.load(more), DataError);
}

// They change nothing, stay in private/, and are disclosed.
TEST_F(Method, DiagnosticsSayWhatClippingDoes) {
  for (const std::string name : {"row", "batch", "record", "record, dct:14"}) {
    SCOPED_TRACE(name);
    Options options = some_options(name.substr(0, name.find(',')));
    if (name.ends_with("dct:14")) options.method.features = "dct:14";
    const auto folder_of = [&](const std::string& kind) {
      return run::RunFolder::create(folder.path() / (name + kind), "", std::nullopt);
    };
    const auto train = [&](run::UnsafeDiagnostics& diagnostics) {
      SeededBits bits(5);
      barrier::Door door(guard, bits);
      torch::manual_seed(3);
      DpSinkhorn method(options, data, {.door = &door, .bits = bits});
      method.start();
      for (std::int64_t t = 1; t <= 3; ++t) method.step(t, diagnostics);
      return method.save();
    };
    const auto values_of = [](const run::RunFolder& run) {
      std::map<std::string, double> last;
      for (const run::MetricsRow& row : run::read_metrics(run.diagnostics()))
        for (const auto& [key, value] : row.values) last[key] = value;
      return last;
    };
    const run::RunFolder some = folder_of(", some");
    run::UnsafeDiagnostics asked(some, 0);
    EXPECT_EQ(train(asked), train(nothing));
    EXPECT_EQ(privacy::read_disclosures(some.path()).size(), 6U);
    std::map<std::string, double> values = values_of(some);
    EXPECT_GT(values.at("sample_size"), 5);
    // Rows of an untrained generator are nearer to each other than to the records.
    EXPECT_GT(values.at("self_loss"), 0);
    EXPECT_GT(values.at("transport_loss"), values.at("self_loss"));
    EXPECT_LE(values.at("norm_after_clip"), options.method.clip_norm);
    EXPECT_LE(values.at("norm_after_clip"), values.at("norm_before_clip"));
    for (const bool is_loose : {true, false}) {
      options.method.clip_norm = is_loose ? 1e4 : 1e-4;
      const run::RunFolder other = folder_of(is_loose ? ", loose" : ", tight");
      run::UnsafeDiagnostics also(other, 0);
      static_cast<void>(train(also));
      values = values_of(other);
      EXPECT_EQ(values.at("share_clipped"), is_loose ? 0 : 1);
      EXPECT_EQ(values.at("norm_after_clip") == values.at("norm_before_clip"), is_loose);
    }
  }
}

TEST_F(Method, LossesOfPointMassesAreTheirCost) {
  const data::Dataset white{.shape = {.channels = 1, .height = 2, .width = 2},
                            .pixels = std::vector<std::uint8_t>(5 * 4, 255),
                            .labels = std::vector<std::int32_t>(5, 1),
                            .class_names = {"none", "all"},
                            .declared_size = 5};
  const barrier::PrivateRecords records(Private<data::Dataset>(white), {});
  SeededBits bits(1);
  const run::RunFolder run = run::RunFolder::create(folder.path() / "losses", "", std::nullopt);
  run::UnsafeDiagnostics asked(run, 0);
  const transport::Problem problem{.x = torch::zeros({3, 4}),
                                   .y = torch::full({2, 4}, 0.5),
                                   .labels_x = torch::ones({3}, torch::kLong),
                                   .labels_y = torch::ones({2}, torch::kLong),
                                   .label_weight = transport::kSeparateClasses};
  note_losses({.step = 1, .diagnostics = asked}, problem, {.regularization = 1},
              records.draw(1, bits));
  note_losses({.step = 2, .diagnostics = asked}, problem, {.regularization = 1},
              records.draw(0, bits));
  const auto rows = run::read_metrics(run.diagnostics());
  std::map<std::string, std::vector<double>> values;
  for (const run::MetricsRow& row : rows)
    for (const auto& [key, value] : row.values) values[key].push_back(value);
  EXPECT_NEAR(values["transport_loss"].at(0), 4, 1e-6);
  EXPECT_NEAR(values["self_loss"].at(0), 1, 1e-6);
  EXPECT_EQ(values["sample_size"], (std::vector<double>{5, 0}));
  EXPECT_EQ(values["transport_loss"].at(1), 0);  // of no record
}

TEST_F(Method, RefusesWhatDoesNotGoTogether) {
  const auto facts = data.facts();
  Options options = some_options("record");
  options.generated_batch = 9;
  EXPECT_THROW(check(options, facts), InvalidArgument);
  options = some_options("record");
  options.histogram_noise = std::nullopt;
  EXPECT_THROW(check(options, facts), InvalidArgument);
  options = some_options("row");
  options.method.cost = "l3";
  EXPECT_THROW(check(options, facts), InvalidArgument);
  options = some_options("row");
  options.method.perturb = "parameters";
  EXPECT_THROW(check(options, facts), InvalidArgument);
}

// Two classes in the plane of two numbers, embedded in pictures: 95 to 5.
TEST_F(Method, ARareClassIsLearnedAsWellAsACommonOne) {
  torch::manual_seed(11);
  data::Dataset toy;
  toy.shape = {.channels = 1, .height = 28, .width = 28};
  toy.class_names = {"common", "rare"};
  const std::vector<std::int64_t> sizes = {1900, 100};
  // The brightness of the left and of the right half.
  const Tensor means = torch::tensor({{0.35, 0.6}, {0.7, 0.3}});
  constexpr double kSpread = 0.08;
  std::vector<float> pixels;
  for (std::int64_t c = 0; c < 2; ++c)
    for (std::int64_t i = 0; i < sizes[static_cast<std::size_t>(c)]; ++i) {
      const Tensor halves = (means[c] + kSpread * torch::randn({2})).clamp(0, 1);
      const Tensor image = halves.repeat_interleave(14).unsqueeze(0).expand({28, 28}).contiguous();
      pixels.insert(pixels.end(), image.data_ptr<float>(), image.data_ptr<float>() + 784);
      toy.labels.push_back(static_cast<std::int32_t>(c));
    }
  toy.pixels = pixels;
  toy.declared_size = 2000;
  Options options = some_options("record");
  options.steps = 400;
  options.generated_batch = 60;
  options.method.second_batch = 60;
  options.method.regularization = 1;
  options.method.clip_norm = 4;
  options.method.average = 0.99;
  options.noise_multiplier = 0.3;
  options.sampling_rate = 0.2;
  options.histogram_noise = 2;
  options.generator.width = 8;
  options.generator.latent = 2;
  options.optimizer = {.learning_rate = 3e-3, .warmup = 10, .decay = "cosine"};
  SeededBits bits(1);
  barrier::Door door(guard, bits);
  DpSinkhorn method(options, Private<data::Dataset>(toy), {.door = &door, .bits = bits});
  method.start();
  for (std::int64_t t = 1; t <= options.steps; ++t) method.step(t, nothing);
  const torch::NoGradGuard no_grad;
  const auto network = method.released();
  network->eval();
  for (std::int64_t c = 0; c < 2; ++c) {
    const Tensor labels = torch::full({500}, c, torch::kLong);
    const Tensor images = network->forward(network->latents(500, bits), labels).view({500, 28, 28});
    const Tensor halves = torch::stack(
        {images.slice(2, 0, 14).mean({1, 2}), images.slice(2, 14, 28).mean({1, 2})}, 1);
    const Tensor mean = halves.mean(0);
    const Tensor spread = halves.std(0);
    for (std::int64_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(mean[k].item<double>() / means[c][k].item<double>(), 1, 0.15) << c << " " << k;
      EXPECT_NEAR(spread[k].item<double>() / kSpread, 1, 0.15) << c << " " << k;
    }
  }
}

}  // namespace
}  // namespace obol::method::dp_sinkhorn
