// obol recipes list | show
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/app.h"
#include "obol/base/file.h"
#include "obol/base/text.h"
#include "obol/data/reader.h"
#include "obol/method/methods.h"
#include "obol/recipe/recipe.h"

namespace obol::cli {
namespace {

ExitCode list_recipes() {
  const auto recipes = recipe::list();
  std::size_t width = 0;
  for (const recipe::Listed& one : recipes) width = std::max(width, one.name.size());
  for (const recipe::Listed& one : recipes)
    std::cout << fmt::format("{:<{}}  {}\n", one.name, width, printable(one.title));
  return ExitCode::kOk;
}

struct ShowArguments {
  std::string name;
  bool resolved = false;
  std::vector<std::string> overrides;
};

ExitCode show(const ShowArguments& arguments) {
  const Path path = recipe::find(arguments.name);
  if (!arguments.resolved && arguments.overrides.empty()) {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
    std::cout << read_text(path, kLargest);
    return ExitCode::kOk;
  }
  auto recipe = recipe::Recipe::load(path, arguments.overrides);
  if (recipe.has("method")) {
    std::cout << method::read_experiment(recipe).resolved;
    return ExitCode::kOk;
  }
  recipe.read<recipe::Heading>("");
  static_cast<void>(recipe.read<data::RecipeData>("data").options());  // checks sizes and ranges
  recipe.read<method::PrivacyOptions>("privacy");
  recipe.finish();
  std::cout << recipe.resolved();
  return ExitCode::kOk;
}

}  // namespace

void add_recipes(CLI::App& root, Action& action) {
  CLI::App* recipes = root.add_subcommand("recipes", "the experiments that are ready to run");
  recipes->require_subcommand(1);
  recipes->add_subcommand("list", "their names and titles")->callback([&action] {
    action = list_recipes;
  });
  CLI::App* show_command = recipes->add_subcommand("show", "the text of one");
  auto arguments = std::make_shared<ShowArguments>();
  show_command->add_option("name", arguments->name, "a name from the list, or a file")->required();
  show_command->add_flag("--resolved", arguments->resolved, "with includes and defaults filled in");
  show_command->add_option("--set", arguments->overrides, "section.key=value; implies --resolved")
      ->allow_extra_args(false);
  show_command->callback(
      [&action, arguments] { action = [arguments] { return show(*arguments); }; });
}

}  // namespace obol::cli
