// obol data declare | grid | convert
#include <iostream>
#include <memory>

#include "cli/app.h"
#include "cli/data.h"
#include "cli/declaration.h"
#include "obol/base/console.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

struct DeclareArguments {
  std::string path;
  data::RecipeData described;
  bool force = false;
};

ExitCode declare(const DeclareArguments& arguments) {
  const app::DeclaredFile file =
      app::declare_data(arguments.path, arguments.described,
                        arguments.force ? app::Existing::kReplaced : app::Existing::kKept);
  if (!file.looked_up.empty())
    log_info("looked at the data for {}: check {}, it is treated as public",
             join(file.looked_up, ", "), file.path.string());
  std::cout << file.path.string() << '\n';
  return ExitCode::kOk;
}

ExitCode grid(const app::GridRequest& request) {
  const app::DrawnGrid drawn = app::draw_grid(request);
  if (drawn.shows_records) log_info("the grid shows records of {}; keep it with them", drawn.path);
  std::cout << request.out << '\n';
  return ExitCode::kOk;
}

struct ConvertArguments {
  app::ConvertRequest request;
  std::string as;
};

ExitCode convert(ConvertArguments& arguments) {
  if (arguments.as == "npz") arguments.request.format = data::Format::kNpz;
  if (arguments.as == "idx") arguments.request.format = data::Format::kIdx;
  if (arguments.as == "png") arguments.request.format = data::Format::kPng;
  app::convert_data(arguments.request);
  std::cout << arguments.request.out << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_data_options(CLI::App& command, app::DataRequest& request) {
  data::RecipeData& d = request.described;
  command
      .add_option("path", request.path,
                  "a name from 'obol data list', a file, a folder, or a recipe")
      ->required();
  command.add_option("--split", request.split, "train (default), validation or test")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  command.add_option("--resize", d.resize, "WxH: area averaging down, linear up");
  add_declaration_options(command, d.declared);
  command.add_option("--crop", d.crop, "side of the centred square of a picture")
      ->check(CLI::PositiveNumber);
  command.add_option("--attribute", d.attribute, "CelebA's attribute that is the label");
  command.add_option("--label-column", d.label_column, "a CSV column's name or number, or none");
  command.add_option("--set", request.overrides, "section.key=value, with a recipe")
      ->allow_extra_args(false);
}

void add_data_files(CLI::App& data, Action& action) {
  CLI::App* declare_command = data.add_subcommand(
      "declare", "write what is public of a data set beside it, for you to check");
  auto declare_arguments = std::make_shared<DeclareArguments>();
  declare_command->add_option("path", declare_arguments->path, "a file or a folder")->required();
  add_declaration_options(*declare_command, declare_arguments->described.declared);
  declare_command->add_option("--attribute", declare_arguments->described.attribute,
                              "CelebA's attribute that is the label");
  declare_command->add_option("--label-column", declare_arguments->described.label_column,
                              "a CSV column's name or number, or none");
  declare_command->add_flag("--force", declare_arguments->force, "over one that is there");
  declare_command->callback([&action, declare_arguments] {
    action = [declare_arguments] { return declare(*declare_arguments); };
  });
  CLI::App* grid_command = data.add_subcommand("grid", "a picture of samples, one row per class");
  auto grid_arguments = std::make_shared<app::GridRequest>();
  add_data_options(*grid_command, grid_arguments->source);
  grid_command->add_option("--out", grid_arguments->out, "the PNG file")->required();
  grid_command->add_option("--columns", grid_arguments->grid.columns, "pictures in a row")
      ->check(CLI::Range(1, 1000));
  grid_command->add_option("--rows", grid_arguments->grid.rows, "rows of unlabelled data")
      ->check(CLI::Range(1, 1000));
  grid_command->add_option("--scale", grid_arguments->grid.scale, "enlarge by a whole factor")
      ->check(CLI::Range(1, 64));
  grid_command->add_option("--seed", grid_arguments->seed, "draw the same pictures again");
  grid_command->callback(
      [&action, grid_arguments] { action = [grid_arguments] { return grid(*grid_arguments); }; });

  CLI::App* convert_command =
      data.add_subcommand("convert", "write a data set in another format or size");
  auto convert_arguments = std::make_shared<ConvertArguments>();
  app::ConvertRequest& request = convert_arguments->request;
  add_data_options(*convert_command, request.source);
  convert_command->add_option("out", request.out, "FILE.npz, 'FOLDER/*.png', 'FOLDER/*-ubyte'")
      ->required();
  convert_command->add_option("--as", convert_arguments->as, "npz, idx or png, whatever the name")
      ->check(CLI::IsMember({"npz", "idx", "png"}));
  convert_command->add_option("--shards", request.shards, "write a folder of disjoint NPZ shards")
      ->check(CLI::PositiveNumber);
  convert_command->add_option("--seed", request.seed, "of the shards (default 0)");
  convert_command->callback([&action, convert_arguments] {
    action = [convert_arguments] { return convert(*convert_arguments); };
  });
}

}  // namespace obol::cli
