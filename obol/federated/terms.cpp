#include "obol/federated/terms.h"

#include <cmath>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/sha256.h"
#include "obol/base/text.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/recipe/recipe.h"

namespace obol::federated {
namespace {

constexpr std::int64_t kMostNumbers = std::int64_t{1} << 26;  // of a question: 256 MiB

struct Read {
  Images images;
  method::PrivacyOptions privacy;
  model::GeneratorOptions generator;
  method::OptimizerOptions optimizer;
  method::gs_wgan::MethodOptions method;
};

Read read_sections(recipe::Recipe& recipe) {
  return {.images = recipe.read<Images>("images"),
          .privacy = recipe.read<method::PrivacyOptions>("privacy"),
          .generator = recipe.read<model::GeneratorOptions>("generator"),
          .optimizer = recipe.read<method::OptimizerOptions>("optimizer"),
          .method = recipe.read<method::gs_wgan::MethodOptions>("method")};
}

data::ImageShape shape_of(const std::string& text) {
  const auto refuse = [&] {
    throw InvalidArgument(
        violation("the shape of the images", "HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS", text));
  };
  constexpr std::int64_t kLargestSide = 4096;
  std::vector<std::int64_t> sides;
  for (const std::string& part : split(text, 'x')) {
    sides.push_back(parse_integer(part).value_or(0));
    if (sides.back() < 1 || sides.back() > kLargestSide) refuse();
  }
  if (sides.size() < 2 || sides.size() > 3) refuse();
  return {.channels = sides.size() == 3 ? sides[2] : 1, .height = sides[0], .width = sides[1]};
}

void require_small(const Form& form) {
  // In double: a product of what another machine wrote may be beyond any integer.
  const double numbers = static_cast<double>(form.steps) * static_cast<double>(form.rows) *
                         static_cast<double>(form.shape.pixels());
  if (numbers > static_cast<double>(kMostNumbers))
    throw InvalidArgument(violation("what one question holds",
                                    fmt::format("at most {} numbers", kMostNumbers), numbers));
}

}  // namespace

void Images::describe(recipe::Fields& fields) {
  constexpr double kMostClasses = 10'000;
  fields.text("shape", shape, {}, "HEIGHTxWIDTH, or HEIGHTxWIDTHxCHANNELS");
  fields.integer("classes", classes, recipe::between(1, kMostClasses), "of the labels");
}

double Terms::outputs() const {
  return barrier == method::Barrier::kRow ? static_cast<double>(form.rows) : 1;
}

privacy::Event Terms::per_answer() const {
  return privacy::Gaussian{.noise_multiplier = privacy::joint(noise_multiplier, outputs()),
                           .count = 1};
}

double Terms::longest() const {
  const double clip = method.clip_norm;
  return longest_answer(clip * std::sqrt(outputs()), 2 * clip * noise_multiplier,
                        form.answer_numbers());
}

std::string propose(const Path& recipe, const std::vector<std::string>& overrides,
                    const Images& images) {
  auto whole = recipe::Recipe::load(recipe, overrides);
  const auto plan =
      method::price_of(method::read_experiment(whole, method::gs_wgan::Entry::info()));
  std::vector<std::string> all = overrides;
  all.push_back("images.shape=" + images.shape);
  all.push_back(fmt::format("images.classes={}", images.classes));
  if (plan) {  // else read_terms refuses the barrier
    all.push_back(fmt::format("privacy.noise_multiplier={}", plan->noise_multiplier));
    all.push_back(fmt::format("privacy.steps={}", plan->steps));
  }
  auto proposed = recipe::Recipe::load(recipe, all);
  static_cast<void>(read_sections(proposed));
  return proposed.resolved();
}

Terms read_terms(const std::string& text) {
  auto recipe = recipe::Recipe::parse(text, "the server's terms");
  const Read read = read_sections(recipe);
  recipe.finish();
  const method::PrivacyOptions& privacy = read.privacy;
  Terms terms{.text = text,
              .form = {.steps = read.method.critic_steps,
                       .rows = method::needed(privacy.generated_batch, "generated_batch"),
                       .shape = shape_of(read.images.shape),
                       .classes = read.images.classes},
              .barrier = method::needed(privacy.barrier, "barrier"),
              .schedule = privacy.schedule.value_or("cyclic"),
              .clients = method::needed(privacy.shards, "shards"),
              .noise_multiplier = method::needed(privacy.noise_multiplier, "noise_multiplier"),
              .steps = method::needed(privacy.steps, "steps"),
              .generator = read.generator,
              .optimizer = read.optimizer,
              .method = read.method};
  if (terms.barrier != method::Barrier::kRow && terms.barrier != method::Barrier::kBatch)
    throw InvalidArgument(violation("privacy.barrier", "row or batch in a federated training",
                                    method::name_of(terms.barrier)));
  require_small(terms.form);
  terms.method.seed.reset();
  terms.method.warm_cache.reset();
  Sha256 hash;
  hash.update(text);
  terms.hash = hash.hex();
  return terms;
}

}  // namespace obol::federated
