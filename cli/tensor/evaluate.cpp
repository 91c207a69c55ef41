#include "cli/tensor/evaluate.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "cli/tensor/device.h"
#include "cli/tensor/subject.h"
#include "cli/tensor/suite.h"
#include "obol/barrier/barrier.h"
#include "obol/barrier/door.h"
#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/base/random.h"
#include "obol/data/picture.h"
#include "obol/evaluate/downstream.h"
#include "obol/evaluate/features.h"
#include "obol/evaluate/frechet.h"
#include "obol/evaluate/inception.h"
#include "obol/evaluate/memorisation.h"
#include "obol/evaluate/noisy.h"
#include "obol/evaluate/wasserstein.h"
#include "obol/method/place.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/plan.h"
#include "obol/recipe/recipe.h"
#include "obol/run/grid.h"
#include "obol/run/metrics.h"

namespace obol::cli {
namespace {

using evaluate::LabelledImages;
using nlohmann::ordered_json;
using torch::Tensor;

// What every part of an evaluation needs.
struct Work {
  const EvaluateRequest& request;
  const Subject& subject;
  torch::Device device;
  LabelledImages real;

  [[nodiscard]] std::int64_t num_classes() const { return subject.real().num_classes(); }
  [[nodiscard]] evaluate::DownstreamOptions options(std::uint64_t seed) const {
    return {.protocol = request.protocol == "quick" ? evaluate::Protocol::kQuick
                                                    : evaluate::Protocol::kPaper,
            .seed = seed,
            .device = device,
            .num_classes = num_classes()};
  }
};

// A progress line for the epochs of one training.
class Epochs {
 public:
  Epochs(const std::string& label, evaluate::Protocol protocol)
      : progress_(label, protocol == evaluate::Protocol::kQuick ? kQuickEpochs : 0, "epochs") {}
  void operator()(const evaluate::EpochResult& at) {
    check_interrupt();
    progress_.advance(1, fmt::format("{:.1f}% held out", 100 * at.held_out_accuracy));
  }

 private:
  static constexpr std::int64_t kQuickEpochs = 12;
  Progress progress_;
};

evaluate::TestResult score(const Work& work, const std::string& classifier, std::uint64_t seed,
                           const LabelledImages& images, const std::string& of) {
  evaluate::DownstreamOptions options = work.options(seed);
  options.classifier = classifier;
  Epochs epochs(fmt::format("training {} on {} images", classifier, of), options.protocol);
  return evaluate::train_and_test(images, work.real, options, std::ref(epochs));
}

ordered_json matrix_of(const Tensor& counts) {
  ordered_json rows = ordered_json::array();
  for (std::int64_t k = 0; k < counts.size(0); ++k) {
    const Tensor row = counts[k].contiguous();
    rows.push_back(std::vector<std::int64_t>(row.data_ptr<std::int64_t>(),
                                             row.data_ptr<std::int64_t>() + row.numel()));
  }
  return rows;
}

// Mean and spread over the seeds; the rest is of the first.
ordered_json summary(const std::vector<evaluate::TestResult>& results) {
  const auto count = static_cast<double>(results.size());
  std::vector<double> accuracies;
  double mean = 0;
  for (const evaluate::TestResult& result : results) {
    accuracies.push_back(result.accuracy);
    mean += result.accuracy / count;
  }
  double squares = 0;
  for (const double value : accuracies) squares += std::pow(value - mean, 2);
  return {{"accuracy", mean},
          {"standard_deviation", count > 1 ? std::sqrt(squares / (count - 1)) : 0},
          {"accuracies", accuracies},
          {"confusion", matrix_of(results.front().confusion)},
          {"per_class", results.front().per_class()}};
}

// Images without labels are all of one class.
LabelledImages to_images(const data::Dataset& data) {
  LabelledImages images = evaluate::to_tensors(data);
  if (!data.is_labelled()) images.labels = torch::zeros({images.images.size(0)}, torch::kLong);
  return images;
}

ordered_json classify(const Work& work, const LabelledImages& first) {
  if (!work.subject.is_labelled()) {
    log_info("the synthetic images have no labels: what needs them is left out");
    return ordered_json::object();
  }
  std::vector<std::vector<evaluate::TestResult>> results(work.request.classifiers.size());
  for (std::int64_t seed = 1; seed <= work.request.seeds; ++seed) {
    const LabelledImages synthetic =
        seed == 1 ? first : evaluate::to_tensors(work.subject.synthetic(seed));
    for (std::size_t k = 0; k < results.size(); ++k)
      results[k].push_back(score(work, work.request.classifiers[k],
                                 static_cast<std::uint64_t>(seed), synthetic, "synthetic"));
  }
  ordered_json classifiers = ordered_json::object();
  for (std::size_t k = 0; k < results.size(); ++k)
    classifiers[work.request.classifiers[k]] = summary(results[k]);
  return classifiers;
}

// As what a classifier takes unlabelled images: how many classes there would be if all that occur
// were as frequent (the exponential of the entropy), and the share of each.
ordered_json classes_seen(const Tensor& probabilities) {
  const std::int64_t classes = probabilities.size(1);
  const Tensor counts = torch::bincount(probabilities.argmax(1).cpu(), {}, classes);
  const Tensor shares = counts.to(torch::kDouble) / counts.sum();
  const double entropy = -torch::xlogy(shares, shares).sum().item<double>();
  return {{"value", std::exp(entropy)},
          {"per_class",
           std::vector<double>(shares.data_ptr<double>(), shares.data_ptr<double>() + classes)}};
}

// One half of the real images makes the feature space, the other is compared in it: neither the
// private images nor those that the space was made for have a part in the comparison.
ordered_json in_feature_space(const Work& work, const LabelledImages& synthetic) {
  constexpr std::int64_t kMostPoints = 5000;  // of the neighbourhoods, whose cost is quadratic
  const LabelledImages shuffled = evaluate::some_of(work.real, work.real.labels.size(0), 1);
  const std::int64_t half = shuffled.labels.size(0) / 2;
  const evaluate::DownstreamOptions options = work.options(1);
  Epochs epochs("training a feature space", options.protocol);
  const evaluate::FeatureSpace space(
      {shuffled.images.slice(0, 0, half), shuffled.labels.slice(0, 0, half)}, options,
      std::ref(epochs));
  const Tensor real = space(shuffled.images.slice(0, half)).features;
  Progress progress("features", synthetic.labels.size(0), "images");
  const evaluate::Features made = space(synthetic.images, [&](std::int64_t images) {
    check_interrupt();
    progress.advance(images);
  });
  const Tensor order = torch::randperm(made.features.size(0)).slice(0, 0, kMostPoints);
  const evaluate::Overlap overlap =
      evaluate::overlap(real.slice(0, 0, kMostPoints), made.features.index_select(0, order));
  const evaluate::Score score = evaluate::inception_score(made.probabilities.index_select(
      0, torch::randperm(made.probabilities.size(0))));  // parts of all classes
  const std::string against = "half of " + work.subject.against();
  const double distance =
      evaluate::frechet_distance(evaluate::moments_of(real), evaluate::moments_of(made.features));
  const auto one = [&](double value) {
    return ordered_json{{"value", value}, {"against", against}};
  };
  ordered_json found = {
      {"classifier_fid", one(distance)},
      {"inception_score", {{"value", score.value}, {"deviation", score.deviation}}},
      {"precision", one(overlap.precision)},
      {"recall", one(overlap.recall)},
      {"density", one(overlap.density)},
      {"coverage", one(overlap.coverage)}};
  if (!work.subject.is_labelled()) found["classes_seen"] = classes_seen(made.probabilities);
  return found;
}

void add_wasserstein(const Work& work, const LabelledImages& synthetic, ordered_json& quality) {
  constexpr std::int64_t kOfOneClass = 2000;
  const bool is_labelled = work.subject.is_labelled();
  const std::int64_t classes = is_labelled ? work.num_classes() : 1;
  LabelledImages all = work.real;
  if (!is_labelled) all.labels = torch::zeros_like(all.labels);
  Progress progress("transport to the real images", 2 * classes, "classes");
  const auto report = [&] {
    check_interrupt();
    progress.advance(1);
  };
  // What it is between real images and others is computed with as many of them as there are, so
  // that there must be as many between synthetic and real ones.
  const LabelledImages shuffled = evaluate::some_of(all, all.labels.size(0), 1);
  const std::int64_t half = shuffled.labels.size(0) / 2;
  evaluate::WassersteinOptions options;
  if (!is_labelled) options.per_class = std::min(kOfOneClass, half);
  const evaluate::Wasserstein found =
      evaluate::wasserstein(synthetic, all, classes, options, report);
  const evaluate::Wasserstein between = evaluate::wasserstein(
      {shuffled.images.slice(0, 0, half), shuffled.labels.slice(0, 0, half)},
      {shuffled.images.slice(0, half), shuffled.labels.slice(0, half)}, classes, options, report);
  const auto add = [&](const char* name, const evaluate::ClassDistances& distances,
                       const evaluate::ClassDistances& real) {
    quality[name] = {{"value", distances.value},
                     {"per_class", distances.per_class},
                     {"between_real", real.value},
                     {"images_per_class", options.per_class},
                     {"against", work.subject.against()}};
  };
  add("wasserstein_exact", found.exact, between.exact);
  add("wasserstein_entropic", found.entropic, between.entropic);
  quality["wasserstein_entropic"]["regularization"] = options.regularization;
}

evaluate::Moments moments(const evaluate::Inception& inception, const Tensor& images,
                          const std::string& of) {
  Progress progress(fmt::format("Inception features of {} images", of), images.size(0), "images");
  return inception.moments(images, [&](std::int64_t count) {
    check_interrupt();
    progress.advance(count);
  });
}

// Those of the real images are kept in the run folder: they take as long each time.
evaluate::Moments real_moments(const Work& work, const evaluate::Inception& inception) {
  if (!work.subject.is_run()) return moments(inception, work.real.images, "real");
  const Path cache =
      work.subject.run("").path() / fmt::format("fid-{}.npz", inception.name_for(work.real.images));
  if (std::filesystem::exists(cache)) return evaluate::read_moments(cache);
  evaluate::Moments found = moments(inception, work.real.images, "real");
  evaluate::write_moments(found, cache);
  return found;
}

ordered_json quality(const Work& work, const LabelledImages& synthetic) {
  constexpr std::int64_t kFewest = 40;  // real ones; half of them make the feature space
  ordered_json found = ordered_json::object();
  if (work.request.quality && work.real.labels.size(0) < kFewest)
    log_warning("sample quality is left out: it takes {} real images, and there are {}", kFewest,
                work.real.labels.size(0));
  else if (work.request.quality && synthetic.labels.size(0) < kFewest)
    log_warning("sample quality is left out: it takes {} synthetic images, and there are {}",
                kFewest, synthetic.labels.size(0));
  else if (work.request.quality) {
    found = in_feature_space(work, synthetic);
    add_wasserstein(work, synthetic, found);
  }
  if (work.request.inception.empty()) return found;
  const evaluate::Inception inception(work.request.inception, work.device);
  const evaluate::Moments real = real_moments(work, inception);
  const double distance =
      evaluate::frechet_distance(real, moments(inception, synthetic.images, "synthetic"));
  found["fid"] = {{"value", distance}, {"against", work.subject.against()}};
  return found;
}

// The certificate is renewed at once, so that it lists what was opened.
LabelledImages opened(const Work& work, const Private<data::Dataset>& training,
                      const std::string& reason) {
  const run::RunFolder& folder = work.subject.run("");
  run::Disclosures log(folder);
  const auto disclosed = training.declassify(reason, log);
  renew_certificate(folder);
  return evaluate::to_tensors(disclosed.value);
}

// What training on the private images themselves gives, as in GS-WGAN's tables.
ordered_json real_baseline(const Work& work, const Private<data::Dataset>& training,
                           const ordered_json& classifiers) {
  const LabelledImages images =
      opened(work, training, "evaluation: classifiers trained on the private images");
  ordered_json found = ordered_json::object();
  for (const auto& [name, synthetic] : classifiers.items()) {
    const double on_real = score(work, name, 1, images, "real").accuracy;
    found[name] = {{"on_real", on_real},
                   {"calibrated", synthetic["accuracy"].get<double>() / on_real}};
  }
  return found;
}

std::vector<std::uint8_t> pair_pixels(const std::vector<evaluate::ClosePair>& pairs,
                                      const Tensor& synthetic, const Tensor& training) {
  std::vector<Tensor> pictures;
  for (const evaluate::ClosePair& pair : pairs) {
    pictures.push_back(synthetic[pair.synthetic]);
    pictures.push_back(training[pair.training]);
  }
  const Tensor bytes = (torch::stack(pictures) * 255).round().to(torch::kByte).contiguous();
  return {bytes.data_ptr<std::uint8_t>(), bytes.data_ptr<std::uint8_t>() + bytes.numel()};
}

ordered_json memorisation(const Work& work, const Private<data::Dataset>& training,
                          const LabelledImages& synthetic) {
  constexpr const char* kPicture = "closest_pairs.png";
  constexpr std::int64_t kPairsInARow = 4;
  const LabelledImages images =
      opened(work, training, "evaluation: distances of synthetic images to the private ones");
  Progress progress("nearest neighbours", 2, "sides");
  const evaluate::Memorisation found = evaluate::memorisation(
      synthetic.images, images.images, work.real.images, {}, [&] { progress.advance(1); });
  data::write_png(run::grid({.shape = work.subject.real().shape,
                             .pixels = pair_pixels(found.closest, synthetic.images, images.images),
                             .columns = 2 * kPairsInARow}),
                  work.subject.run("").make_private() / kPicture);
  return {{"ratio", found.ratio},
          {"low", found.low},
          {"high", found.high},
          {"samples", found.samples},
          {"references", found.references},
          {"closest", kPicture}};
}

// The accuracy on the private images, paid for from the run's budget. The certificate is renewed.
ordered_json noisy_validation(const Work& work, const LabelledImages& synthetic, double noise) {
  const run::RunFolder& reading = work.subject.run("--noisy");
  const run::RunFolder folder = run::RunFolder::resume(reading.path(), reading.recipe());
  auto recipe = recipe::Recipe::parse(folder.recipe(), "recipe.toml");
  const privacy::Plan plan = privacy::plan_of(recipe.read<privacy::PrivacyOptions>("privacy"));
  privacy::CertificateTerms terms{.delta = plan.delta, .published = plan.published};
  if (std::filesystem::exists(folder.path() / privacy::kCertificateName))
    terms = privacy::read_terms(folder.path());
  const Private<data::Dataset> training = work.subject.training();
  privacy::Ledger ledger = privacy::Ledger::open(folder.ledger());
  if (training.facts().declared_size != ledger.record().header.records)
    throw DataError(violation("the number of private images",
                              fmt::format("{} as in the ledger", ledger.record().header.records),
                              training.facts().declared_size));
  const std::string name = work.request.classifiers.back();
  evaluate::DownstreamOptions options = work.options(1);
  options.classifier = name;
  Epochs epochs(fmt::format("training {} for validation", name), options.protocol);
  const auto classifier = evaluate::train_classifier(synthetic, options, std::ref(epochs));
  std::optional<privacy::Budget> budget;
  if (plan.budget) budget = privacy::Budget{*plan.budget, plan.delta};
  run::Disclosures disclosures(folder);
  const method::Registration registration(folder.path(), ledger.record(), training, disclosures);
  const auto before_plan = [&](const std::vector<privacy::Stage>& stages) {
    registration.charge(ledger.record(), stages, plan.delta);
  };
  privacy::BudgetGuard guard(ledger, budget,
                             {.block = 1, .accounting = {}, .before_plan = before_plan});
  const privacy::PlannedEvent release{barrier::kValidation,
                                      privacy::Gaussian{.noise_multiplier = noise, .count = 1}};
  // Chosen now, after looking at the generator, unless the recipe had planned it.
  if (ledger.record().is_planned() && ledger.record().left(release.purpose, release.event) == 0)
    guard.plan({release});
  SecureBits bits;
  barrier::Door door(guard, bits);
  const double accuracy = evaluate::noisy_accuracy(*classifier, training, door, noise);
  privacy::write_certificate(folder.path(), terms);
  registration.update(ledger.record(), plan.delta);
  return {{"classifier", name},
          {"accuracy", accuracy},
          {"standard_error", noise / static_cast<double>(training.facts().declared_size)}};
}

// Beside what an earlier evaluation left there.
void write_outside(const Path& path, const ordered_json& outside) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 24;
  ordered_json all = ordered_json::object();
  if (std::filesystem::exists(path))
    all = ordered_json::parse(read_text(path, kLargest), nullptr, false);
  if (!all.is_object()) all = ordered_json::object();
  all.update(outside);
  write_file(path, all.dump(2) + '\n');
}

void check(const EvaluateRequest& request, const Subject& subject) {
  if (request.seeds < 1) throw InvalidArgument(violation("--seeds", "at least 1", request.seeds));
  if (request.suite_records < 2)
    throw InvalidArgument(violation("--suite-records", "at least 2", request.suite_records));
  if (!request.suite.empty() && !subject.is_labelled())
    throw InvalidArgument(
        violation("--suite", "left out for images without labels", request.suite));
  if (request.memorisation) static_cast<void>(subject.run("--memorisation"));
  if (request.real_baseline) static_cast<void>(subject.run("--real-baseline"));
  if (request.noisy) static_cast<void>(subject.run("--noisy"));
}

ordered_json heading() { return {{"format", "obol-evaluation"}, {"version", 1}}; }

}  // namespace

EvaluateAnswer run_evaluate(const EvaluateRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const torch::Device device = use_device(request.device, request.threads);
  const Subject subject(request, device);
  check(request, subject);
  const Work work{request, subject, device, evaluate::to_tensors(subject.real())};
  const data::Dataset made = subject.synthetic(1);
  const LabelledImages synthetic = to_images(made);

  ordered_json found = heading();
  found["protocol"] = request.protocol;
  found["synthetic"] = made.count();
  found["test"] = subject.real().count();
  found["against"] = subject.against();
  found["source"] = subject.source();
  found["seeds"] = request.seeds;
  found["seconds"] = 0;
  found["classes"] = subject.real().class_names;
  found["classifiers"] = classify(work, synthetic);
  found["quality"] = quality(work, synthetic);
  if (!request.suite.empty()) {
    const auto native = [&](const std::string& classifier, const data::Dataset& records) {
      return score(work, classifier, 1, evaluate::to_tensors(records), "some synthetic").accuracy;
    };
    found["suite"] = run_suite(made, subject.real(), request.suite_records, native);
  }
  if (request.noisy) found["validation"] = noisy_validation(work, synthetic, *request.noisy);
  ordered_json outside = heading();
  if (request.real_baseline || request.memorisation) {
    const Private<data::Dataset> training = subject.training();
    if (request.real_baseline)
      outside["classifiers"] = real_baseline(work, training, found["classifiers"]);
    if (request.memorisation) outside["memorisation"] = memorisation(work, training, synthetic);
  }
  found["seconds"] = run::in_tenths(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());

  EvaluateAnswer answer{.evaluation = found.dump(2)};
  if (subject.is_run())
    write_file(subject.run("").path() / "evaluation.json", answer.evaluation + '\n');
  if (!request.out.empty()) write_file(request.out, answer.evaluation + '\n');
  if (outside != heading()) {
    const Path file = subject.run("").make_private() / "evaluation.json";
    write_outside(file, outside);
    answer.outside = outside.dump(2);
    answer.outside_file = file.string();
  }
  return answer;
}

}  // namespace obol::cli
