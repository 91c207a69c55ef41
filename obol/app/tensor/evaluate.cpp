#include "obol/app/evaluate.h"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/app/request.h"
#include "obol/app/tensor/device.h"
#include "obol/app/tensor/private_evaluation.h"
#include "obol/app/tensor/subject.h"
#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/evaluate/frechet.h"
#include "obol/evaluate/inception.h"
#include "obol/evaluate/quality.h"
#include "obol/evaluate/suite.h"
#include "obol/run/metrics.h"

namespace obol::app {
namespace {

using evaluate::Evaluation;
using evaluate::LabelledImages;
using torch::Tensor;

// Images without labels are all of one class.
LabelledImages to_images(const data::Dataset& data) {
  LabelledImages images = evaluate::to_tensors(data);
  if (!data.is_labelled()) images.labels = torch::zeros({images.images.size(0)}, torch::kLong);
  return images;
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
  const Path cache = work.subject.run("").real_moments(inception.name_for(work.real.images));
  if (std::filesystem::exists(cache)) return evaluate::read_moments(cache);
  evaluate::Moments found = moments(inception, work.real.images, "real");
  evaluate::write_moments(found, cache);
  return found;
}

// Says why they are left out, where they are.
bool has_enough_images(const Work& work, const LabelledImages& synthetic) {
  using evaluate::kFewestImages;
  const auto is_enough = [](std::int64_t count, const char* kind) {
    if (count < kFewestImages)
      log_warning("sample quality is left out: it takes {} {} images, and there are {}",
                  kFewestImages, kind, count);
    return count >= kFewestImages;
  };
  return is_enough(work.real.labels.size(0), "real") &&
         is_enough(synthetic.labels.size(0), "synthetic");
}

std::vector<evaluate::Quality> quality(const Work& work, const LabelledImages& synthetic,
                                       std::uint64_t seed) {
  std::vector<evaluate::Quality> found;
  if (work.request.quality && has_enough_images(work, synthetic))
    found = evaluate::quality(synthetic, work.real,
                              {.training = work.options(seed),
                               .labels = work.subject.is_labelled() ? evaluate::Labels::kGiven
                                                                    : evaluate::Labels::kMissing,
                               .against = work.subject.against()});
  if (work.request.inception.empty()) return found;
  const evaluate::Inception inception(work.request.inception, work.device);
  const evaluate::Moments real = real_moments(work, inception);
  const double distance =
      evaluate::frechet_distance(real, moments(inception, synthetic.images, "synthetic"));
  found.push_back({.name = "fid", .value = distance, .against = work.subject.against()});
  return found;
}

// Classifiers and quality, with other samples, weights and draws for every seed.
void repeat(const Work& work, const LabelledImages& first, Evaluation& found) {
  std::vector<std::string> names = work.request.classifiers;
  if (!work.subject.is_labelled()) {
    log_info("the synthetic images have no labels: what needs them is left out");
    names.clear();
  }
  std::vector<std::vector<evaluate::TestResult>> results(names.size());
  std::vector<std::vector<evaluate::Quality>> qualities;
  for (std::int64_t seed = 1; seed <= work.request.seeds; ++seed) {
    const LabelledImages synthetic = seed == 1 ? first : to_images(work.subject.synthetic(seed));
    const auto as_seed = static_cast<std::uint64_t>(seed);
    for (std::size_t k = 0; k < names.size(); ++k)
      results[k].push_back(score(work, names[k], as_seed, synthetic, "synthetic"));
    qualities.push_back(quality(work, synthetic, as_seed));
  }
  for (std::size_t k = 0; k < names.size(); ++k)
    found.classifiers.push_back(evaluate::summary(names[k], results[k]));
  found.quality = evaluate::average(qualities);
}

void check(const EvaluateRequest& request, const Subject& subject) {
  if (request.seeds < 1) throw BadRequest("seeds", "at least 1", request.seeds);
  if (request.suite_records < 2)
    throw BadRequest("suite_records", "at least 2", request.suite_records);
  if (!request.suite.empty() && !subject.is_labelled())
    throw BadRequest("suite", "left out for images without labels", request.suite);
  if (request.memorisation) static_cast<void>(subject.run("memorisation"));
  if (request.real_baseline) static_cast<void>(subject.run("real_baseline"));
  if (request.noisy) static_cast<void>(subject.run("noisy"));
}

evaluate::Suite suite(const Work& work, const data::Dataset& synthetic) {
  const auto native = [&](const std::string& classifier, const data::Dataset& records) {
    return score(work, classifier, 1, evaluate::to_tensors(records), "some synthetic").accuracy;
  };
  return evaluate::run_suite(synthetic, work.subject.real(), work.request.suite_records, native);
}

Evaluation compare(const Work& work, const data::Dataset& made, const LabelledImages& synthetic) {
  const EvaluateRequest& request = work.request;
  Evaluation found{.protocol = request.protocol,
                   .protocol_version = evaluate::kProtocolVersion,
                   .synthetic = made.count(),
                   .labelled_by = work.subject.labelled_by(),
                   .test = work.subject.real().count(),
                   .against = work.subject.against(),
                   .source = work.subject.source(),
                   .seeds = request.seeds,
                   .classes = work.subject.real().class_names};
  repeat(work, synthetic, found);
  if (!request.suite.empty()) found.suite = suite(work, made);
  if (request.noisy) found.validation = noisy_validation(work, synthetic, *request.noisy);
  return found;
}

std::optional<Evaluation> look_outside(const Work& work, const LabelledImages& synthetic,
                                       const Evaluation& found) {
  if (!work.request.real_baseline && !work.request.memorisation) return std::nullopt;
  const Private<data::Dataset> training = work.subject.training();
  Evaluation outside;
  if (work.request.real_baseline)
    outside.classifiers = real_baseline(work, training, found.classifiers);
  if (work.request.memorisation) outside.memorisation = memorisation(work, training, synthetic);
  return outside;
}

// Beside what an earlier evaluation left there.
void write_outside(const Path& path, const Evaluation& outside) {
  Evaluation all;
  try {
    all = evaluate::read_evaluation(path).value_or(Evaluation());
  } catch (const DataError&) {  // not an evaluation: it is replaced
  }
  if (!outside.classifiers.empty()) all.classifiers = outside.classifiers;
  if (outside.memorisation) all.memorisation = outside.memorisation;
  write_file(path, all.to_json() + '\n');
}

}  // namespace

EvaluateAnswer evaluate(const EvaluateRequest& request) {
  const ReporterScope scope(request.reporter);
  const auto start = std::chrono::steady_clock::now();
  const torch::Device device = use_device(request.device, request.threads);
  const Subject subject(request, device);
  check(request, subject);
  const Work work{request, subject, device, evaluate::to_tensors(subject.real())};
  const data::Dataset made = subject.synthetic(1);
  const LabelledImages synthetic = to_images(made);

  EvaluateAnswer answer{.evaluation = compare(work, made, synthetic)};
  if (const std::string junk = evaluate::junk_warning(answer.evaluation); !junk.empty())
    log_warning("{}", junk);
  answer.outside = look_outside(work, synthetic, answer.evaluation);
  answer.evaluation.seconds = run::in_tenths(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  const std::string text = answer.evaluation.to_json() + '\n';
  if (subject.is_run()) write_file(subject.run("").evaluation(), text);
  if (!request.out.empty()) write_file(request.out, text);
  if (answer.outside) {
    static_cast<void>(subject.run("").make_private());
    answer.outside_file = subject.run("").private_evaluation();
    write_outside(answer.outside_file, *answer.outside);
  }
  return answer;
}

}  // namespace obol::app
