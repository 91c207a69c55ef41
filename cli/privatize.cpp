// obol privatize | denoise: noise before anything leaves its owner, and the attempt to remove it
#include "obol/local/privatize.h"

#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/declaration.h"
#include "cli/numbers.h"
#include "obol/base/text.h"
#include "obol/local/wavelet.h"

namespace obol::cli {
namespace {

using local::Counting;
using local::PrivatizeOptions;
using privacy::GaussianFormula;

struct PrivatizeArguments {
  data::RecipeData source;
  std::string mechanism;
  std::optional<double> epsilon;
  std::optional<double> noise;
  std::optional<double> delta;
  std::optional<double> radius;
  std::string transform = "none";
  std::optional<double> keep;
  std::string formula;
  std::string labels = "drop";
  std::optional<double> label_epsilon;
  bool published = false;
  std::optional<std::int64_t> count;
  std::optional<std::uint64_t> seed;
  std::string out;
  bool as_json = false;
};

PrivatizeOptions options_of(const PrivatizeArguments& arguments) {
  PrivatizeOptions options{.mechanism = local::mechanism_from(arguments.mechanism),
                           .epsilon = arguments.epsilon,
                           .noise = arguments.noise,
                           .delta = arguments.delta,
                           .radius = needed(arguments.radius, "--radius"),
                           .transform = local::transform_from(arguments.transform),
                           .keep = arguments.keep};
  if (!arguments.epsilon && !arguments.noise)
    throw InvalidArgument(violation("--epsilon", "given, or --noise", "missing"));
  if (arguments.published && arguments.noise)
    throw InvalidArgument(violation("--published", "given with --epsilon only", "given"));
  if (arguments.published) options.counting = Counting::kPublished;
  // The paper's own formula goes with the paper's own count.
  const bool by_zhao =
      arguments.formula.empty() ? arguments.published : arguments.formula == "zhao";
  options.formula = by_zhao ? GaussianFormula::kZhao : GaussianFormula::kAnalytic;
  if (!arguments.formula.empty() && options.mechanism == local::Mechanism::kLaplace)
    throw InvalidArgument("--formula must be given with --mechanism gaussian only, but is");
  if (arguments.labels == "randomized-response")
    options.label_epsilon = needed(arguments.label_epsilon, "--label-epsilon");
  else if (arguments.label_epsilon)
    throw InvalidArgument(violation("--label-epsilon",
                                    "given with --labels randomized-response only",
                                    *arguments.label_epsilon));
  return options;
}

void require_npz(const std::string& path) {
  if (!path.ends_with(".npz")) throw InvalidArgument(violation("--out", "FILE.npz", path));
}

void print_json(const local::PrivatizeOutcome& outcome) {
  const local::Privatization& how = outcome.how;
  nlohmann::ordered_json found = {{"records", outcome.records},
                                  {"scale", how.scale},
                                  {"sensitivity", how.sensitivity},
                                  {"epsilon", outcome.certificate.guarantee.epsilon},
                                  {"delta", how.delta},
                                  {"is_private", how.is_private()},
                                  {"certificate", outcome.certificate_folder.string()}};
  if (outcome.certificate.published)
    found["published_epsilon"] = outcome.certificate.published->epsilon;
  std::cout << found.dump(2) << '\n';
}

ExitCode run_privatize(const PrivatizeArguments& arguments) {
  require_npz(arguments.out);
  const PrivatizeOptions options = options_of(arguments);
  // Whatever can be refused without the data is refused before they are read.
  plan(options, {.channels = 1, .height = 1, .width = 1}, {"0", "1"});
  data::ReadOptions reading = arguments.source.options();
  reading.reading = data::Reading::kPrivate;
  const std::string& source = *arguments.source.source;
  // Labels that are dropped need no classes.
  if (!options.label_epsilon && !data::declared(source, reading).classes)
    reading.declared.classes = 0;
  const auto records = data::stream(source, reading);
  const local::PrivatizeOutcome outcome = privatize(
      *records, options, {.path = arguments.out, .count = arguments.count, .seed = arguments.seed});
  const local::Privatization& how = outcome.how;
  const privacy::Certificate& certificate = outcome.certificate;
  if (arguments.as_json) {
    print_json(outcome);
    return ExitCode::kOk;
  }
  const bool is_laplace = how.mechanism == local::Mechanism::kLaplace;
  std::cout << fmt::format(
      "{}: {} records of {}, each in an {} ball of radius {:g}, with {} noise of {} {}\n",
      arguments.out, with_thousands(static_cast<std::uint64_t>(outcome.records)),
      to_string(how.shape), is_laplace ? "l1" : "l2", how.radius,
      is_laplace ? "Laplace" : "Gaussian", is_laplace ? "scale" : "standard deviation",
      rounded_down(how.scale));
  std::cout << fmt::format("guarantee        epsilon {} at delta {}, of each person\n",
                           rounded_up(certificate.guarantee.epsilon), rounded_up(how.delta));
  if (certificate.published)
    std::cout << fmt::format(
        "as published     epsilon {}, by the radius {:g} in place of the sensitivity {:.6g}\n",
        rounded_up(certificate.published->epsilon), how.radius, how.sensitivity);
  if (!how.is_private()) std::cout << fmt::format("randomness       {}\n", how.randomness);
  std::cout << fmt::format("certificate      {}\n", outcome.certificate_folder.string());
  return ExitCode::kOk;
}

struct DenoiseArguments {
  std::string path;
  std::string wavelet;
  std::optional<std::int64_t> levels;
  std::optional<double> threshold;
  data::RecipeData clean;
  std::string out;
};

// The first records of the clean data, as floats.
std::vector<float> clean_records(const data::RecipeData& source, const data::ImageShape& shape) {
  constexpr std::int64_t kMost = 1000;
  const data::Dataset clean = data::read(*source.source, source.options());
  if (clean.shape != shape)
    throw DataError(
        violation("the clean images", to_string(shape), to_string(clean.shape), *source.source));
  const auto most = static_cast<std::size_t>(kMost * shape.pixels());
  return std::visit(
      [&](const auto& pixels) {
        const float largest = sizeof(pixels[0]) == 1 ? 255.0F : 1.0F;
        std::vector<float> values(std::min(most, static_cast<std::size_t>(pixels.size())));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<float>(pixels[i]) / largest;
        return values;
      },
      clean.pixels);
}

ExitCode run_denoise(const DenoiseArguments& arguments) {
  require_npz(arguments.out);
  const bool is_oracle = arguments.clean.source.has_value();
  if (is_oracle == (arguments.levels || arguments.threshold))
    throw InvalidArgument(
        "either --levels and --threshold must be given, or --oracle, but not both");
  std::optional<local::Wavelet> wavelet;
  if (!arguments.wavelet.empty()) wavelet = local::wavelet_from(arguments.wavelet);
  local::Privatized data = local::read_privatized(arguments.path);
  if (!data.how.denoised.empty())
    throw DataError(violation(arguments.path, "as it was privatised", "denoised already"));
  if (!is_oracle) {
    if (!wavelet) throw InvalidArgument("--wavelet must be given without --oracle, but is missing");
    const std::int64_t levels = needed(arguments.levels, "--levels");
    if (levels < 1 || levels > local::most_levels(data.how.shape))
      throw InvalidArgument(violation(
          "--levels", fmt::format("from 1 to {}", local::most_levels(data.how.shape)), levels));
    denoise(data,
            {.wavelet = *wavelet,
             .levels = static_cast<int>(levels),
             .threshold = needed(arguments.threshold, "--threshold")},
            local::Selection::kGiven);
  } else {
    const std::vector<float> clean = clean_records(arguments.clean, data.how.shape);
    const double before = mean_squared_distance(data, clean);
    denoise(data, best_choice(data, clean, wavelet), local::Selection::kOracle);
    std::cout << fmt::format("mean squared distance to the clean images {:.4g}, before {:.4g}\n",
                             mean_squared_distance(data, clean), before);
  }
  write_privatized(data, arguments.out);
  std::cout << fmt::format("{}: {}\n", arguments.out, data.how.denoised);
  return ExitCode::kOk;
}

void add_denoise(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "denoise", "wavelet denoising of privatised images: a baseline for training from them");
  auto arguments = std::make_shared<DenoiseArguments>();
  command->add_option("path", arguments->path, "what 'obol privatize' wrote")->required();
  command->add_option("--wavelet", arguments->wavelet, "haar, db2 or db4")
      ->check(CLI::IsMember({"haar", "db2", "db4"}));
  add_whole(*command, "--levels", arguments->levels, "how often the image is halved");
  add_number(*command, "--threshold", arguments->threshold, "by which details shrink");
  command->add_option("--oracle", arguments->clean.source,
                      "the clean data: levels and threshold (and wavelet) with the least error to "
                      "them; not private");
  command->add_option("--split", arguments->clean.split, "of the clean data (train)")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  command->add_option("--resize", arguments->clean.resize, "of the clean data, WxH");
  command->add_option("--range", arguments->clean.declared.range, "of the clean data, LOW,HIGH");
  command->add_option("--out", arguments->out, "FILE.npz")->required();
  command->callback(
      [&action, arguments] { action = [arguments] { return run_denoise(*arguments); }; });
}

}  // namespace

void add_privatize(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "privatize", "add noise to every record, as its owner would, with a certificate");
  auto arguments = std::make_shared<PrivatizeArguments>();
  data::RecipeData& source = arguments->source;
  command->add_option("data", source.source, "a name from 'obol data list', a file or a folder")
      ->required();
  command->add_option("--mechanism", arguments->mechanism, "gaussian (l2 ball) or laplace (l1)")
      ->required()
      ->check(CLI::IsMember({"gaussian", "laplace"}));
  add_number(*command, "--epsilon", arguments->epsilon, "of each person's record");
  add_number(*command, "--noise", arguments->noise,
             "on every number, in place of --epsilon: standard deviation, or Laplace scale");
  add_number(*command, "--delta", arguments->delta, "of Gaussian noise");
  add_number(*command, "--radius", arguments->radius,
             "of the ball; public, and not to be read off the data");
  command->add_option("--transform", arguments->transform, "none (default) or dct")
      ->check(CLI::IsMember({"none", "dct"}));
  add_number(*command, "--keep", arguments->keep,
             "share of the transformed numbers that is kept, the largest (0.2)");
  command
      ->add_option("--formula", arguments->formula,
                   "of the Gaussian noise: analytic (exact), or zhao (with --published)")
      ->check(CLI::IsMember({"analytic", "zhao"}));
  command->add_option("--labels", arguments->labels, "drop (default) or randomized-response")
      ->check(CLI::IsMember({"drop", "randomized-response"}));
  add_number(*command, "--label-epsilon", arguments->label_epsilon, "of each person's label");
  command->add_flag("--published", arguments->published,
                    "epsilon is the paper's, by the radius: what holds is larger");
  command->add_option("--split", source.split, "train (default), validation or test")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  command->add_option("--resize", source.resize, "WxH: area averaging down, linear up");
  add_declaration_options(*command, source.declared);
  command->add_option("--crop", source.crop, "side of the centred square of a picture")
      ->check(CLI::PositiveNumber);
  command->add_option("--attribute", source.attribute, "CelebA's attribute that is the label");
  command->add_option("--label-column", source.label_column,
                      "a CSV column's name or number, or none");
  add_whole(*command, "--count", arguments->count, "the first so many records; for experiments");
  command->add_option("--seed", arguments->seed, "for experiments: not private");
  command->add_option("--out", arguments->out, "FILE.npz; FILE-certificate is written beside it")
      ->required();
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback(
      [&action, arguments] { action = [arguments] { return run_privatize(*arguments); }; });
  add_denoise(root, action);
}

}  // namespace obol::cli
