// obol data list | get | info | grid | convert
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "obol/base/console.h"
#include "obol/base/text.h"
#include "obol/data/catalogue.h"
#include "obol/data/reader.h"
#include "obol/data/sampler.h"
#include "obol/data/writer.h"
#include "obol/local/mechanism.h"
#include "obol/recipe/recipe.h"

namespace obol::cli {
namespace {

using nlohmann::json;

// Which data, and how to read it: the options that info, grid and convert have in common.
struct DataArguments {
  std::string path;
  std::vector<std::string> overrides;
  std::optional<std::string> split;
  data::RecipeData described;
};

void add_data_options(CLI::App& command, DataArguments& arguments) {
  data::RecipeData& d = arguments.described;
  command
      .add_option("path", arguments.path,
                  "a name from 'obol data list', a file, a folder, or a recipe")
      ->required();
  command.add_option("--split", arguments.split, "train (default), validation or test")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  command.add_option("--resize", d.resize, "WxH: area averaging down, linear up");
  command.add_option("--range", d.range, "LOW,HIGH of the numbers, if not 0..1 or 0..255");
  command.add_option("--crop", d.crop, "side of the centred square of a picture")
      ->check(CLI::PositiveNumber);
  command.add_option("--attribute", d.attribute, "CelebA's attribute that is the label");
  command.add_option("--label-column", d.label_column, "a CSV column's name or number, or none");
  command.add_option("--set", arguments.overrides, "section.key=value, with a recipe")
      ->allow_extra_args(false);
}

// The options on the command line stand over those of a recipe.
data::RecipeData resolve(const DataArguments& arguments) {
  data::RecipeData d = arguments.described;
  if (!arguments.path.ends_with(".toml")) {
    if (!arguments.overrides.empty())
      throw InvalidArgument(
          violation("--set", "used with a recipe", "used with " + arguments.path));
    d.source = arguments.path;
    d.split = arguments.split.value_or(d.split);
    return d;
  }
  auto recipe = recipe::Recipe::load(recipe::find(arguments.path), arguments.overrides);
  auto from_recipe = recipe.read<data::RecipeData>("data");
  recipe.finish("data");
  if (!from_recipe.source)
    throw InvalidArgument(violation("data.source", "given", "missing", arguments.path));
  d.source = from_recipe.source;
  d.split = arguments.split.value_or(from_recipe.split);
  if (!d.resize) d.resize = from_recipe.resize;
  if (!d.range) d.range = from_recipe.range;
  if (!d.crop) d.crop = from_recipe.crop;
  if (!d.attribute) d.attribute = from_recipe.attribute;
  if (!d.label_column) d.label_column = from_recipe.label_column;
  return d;
}

ExitCode list_data() {
  for (const data::KnownDataset& known : data::catalogue()) {
    std::cout << fmt::format("{:<14} {}\n", known.name, known.summary);
    if (data::is_present(known))
      std::cout << fmt::format("{:<14}   in {}\n", "", data::folder_of(known).string());
    else if (!known.files.empty())
      std::cout << fmt::format("{:<14}   not here yet: obol data get {}\n", "", known.name);
    else
      std::cout << fmt::format("{:<14}   not here: {} ({})\n", "", known.by_hand,
                               data::folder_of(known).string());
  }
  return ExitCode::kOk;
}

ExitCode get(const std::string& name) {
  std::cout << data::fetch(name).string() << '\n';
  return ExitCode::kOk;
}

json to_json(const std::string& path, const data::Description& d) {
  json classes = json::array();
  for (std::size_t i = 0; i < d.class_names.size(); ++i)
    classes.push_back({{"name", d.class_names[i]}, {"count", d.class_counts[i]}});
  return {{"path", path},           {"format", d.format},
          {"count", d.count},       {"height", d.shape.height},
          {"width", d.shape.width}, {"channels", d.shape.channels},
          {"classes", classes}};
}

void print(const std::string& path, const data::Description& d) {
  std::cout << fmt::format(
      "{}: {} images of {}, {}, {}\n", path, d.count, to_string(d.shape),
      d.class_names.empty() ? "unlabelled" : fmt::format("{} classes", d.class_names.size()),
      d.format);
  for (std::size_t i = 0; i < d.class_names.size(); ++i)
    std::cout << fmt::format("  {:<20} {:>8}\n", printable(d.class_names[i]), d.class_counts[i]);
}

data::Description describe_read(const data::Dataset& data, const std::string& format) {
  return {.format = format,
          .shape = data.shape,
          .count = data.count(),
          .class_names = data.class_names,
          .class_counts = data::class_counts(data)};
}

struct InfoArguments {
  DataArguments data;
  bool json = false;
  bool verify = false;
  bool per_user = false;
};

ExitCode info(const InfoArguments& arguments) {
  const data::RecipeData d = resolve(arguments.data);
  const data::ReadOptions options = d.options();
  std::vector<std::pair<std::string, data::Description>> found;
  if (arguments.per_user) {
    for (const auto& [user, data] : data::read_users(*d.source, options))
      found.emplace_back(user, describe_read(data, "user"));
  } else {
    found.emplace_back(*d.source, data::describe(*d.source, options));
    if (arguments.verify)
      found.back().second =
          describe_read(data::read(*d.source, options), found.back().second.format);
  }
  if (!arguments.json) {
    for (const auto& [path, description] : found) print(path, description);
    if (arguments.verify) std::cout << "  every record was read and is sound\n";
    return ExitCode::kOk;
  }
  json all = json::array();
  for (const auto& [path, description] : found) all.push_back(to_json(path, description));
  std::cout << (arguments.per_user ? all : all[0]).dump(2) << '\n';
  return ExitCode::kOk;
}

struct GridArguments {
  DataArguments data;
  data::GridOptions grid;
  std::optional<std::uint64_t> seed;
  std::string out;
};

ExitCode grid(const GridArguments& arguments) {
  constexpr std::int64_t kMost = 1000;  // privatised ones to draw from
  const data::RecipeData d = resolve(arguments.data);
  const bool is_privatized = local::is_privatized(*d.source);
  const data::Dataset data = is_privatized
                                 ? local::as_images(local::read_privatized(*d.source), kMost)
                                 : data::read(*d.source, d.options());
  std::unique_ptr<RandomBits> bits;
  if (arguments.seed)
    bits = std::make_unique<SeededBits>(*arguments.seed);
  else
    bits = std::make_unique<SecureBits>();
  write_png(sample_grid(data, arguments.grid, *bits), arguments.out);
  if (!is_privatized) log_info("the grid shows records of {}; keep it with them", *d.source);
  std::cout << arguments.out << '\n';
  return ExitCode::kOk;
}

struct ConvertArguments {
  DataArguments data;
  std::string out;
  std::string as;
  std::int64_t shards = 0;
  std::uint64_t seed = 0;
};

data::Format output_format(const ConvertArguments& arguments) {
  if (arguments.as == "npz") return data::Format::kNpz;
  if (arguments.as == "idx") return data::Format::kIdx;
  if (arguments.as == "png") return data::Format::kPng;
  const auto format = data::format_of_path(arguments.out);
  if (!format)
    throw InvalidArgument(violation("the output",
                                    "FILE.npz, 'FOLDER/*.png' or 'FOLDER/*-ubyte', or --as given",
                                    arguments.out));
  return *format;
}

// FOLDER/shard_0000.npz and so on: what `info --per-user` and federated clients read.
void write_shards(const data::Dataset& data, const ConvertArguments& arguments) {
  SeededBits bits(arguments.seed);
  const auto shards = data::shard_indices(data.count(), arguments.shards, bits);
  AtomicFolder folder(arguments.out);
  for (std::size_t k = 0; k < shards.size(); ++k)
    data::write(data::select(data, shards[k]),
                (folder.inside() / fmt::format("shard_{:04}.npz", k)).string(), data::Format::kNpz);
  folder.commit();
}

ExitCode convert(const ConvertArguments& arguments) {
  const data::RecipeData d = resolve(arguments.data);
  if (arguments.shards > 0) {
    write_shards(data::read(*d.source, d.options()), arguments);
  } else {
    const data::Format format = output_format(arguments);
    data::write(data::read(*d.source, d.options()), arguments.out, format);
  }
  std::cout << arguments.out << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_data(CLI::App& root, Action& action) {
  CLI::App* data = root.add_subcommand("data", "get, look at and convert data sets");
  data->require_subcommand(1);
  data->add_subcommand("list", "the data sets known by name")->callback([&action] {
    action = list_data;
  });

  CLI::App* get_command = data->add_subcommand("get", "bring a known data set here");
  auto name = std::make_shared<std::string>();
  get_command->add_option("name", *name, "a name from 'obol data list'")->required();
  get_command->callback([&action, name] { action = [name] { return get(*name); }; });

  CLI::App* info_command = data->add_subcommand("info", "what a data set holds, from its headers");
  auto info_arguments = std::make_shared<InfoArguments>();
  add_data_options(*info_command, info_arguments->data);
  info_command->add_flag("--verify", info_arguments->verify, "read and check every record");
  info_command->add_flag("--per-user", info_arguments->per_user,
                         "every file or folder below the path is one user's");
  info_command->add_flag("--json", info_arguments->json, "for programs");
  info_command->callback(
      [&action, info_arguments] { action = [info_arguments] { return info(*info_arguments); }; });

  CLI::App* grid_command = data->add_subcommand("grid", "a picture of samples, one row per class");
  auto grid_arguments = std::make_shared<GridArguments>();
  add_data_options(*grid_command, grid_arguments->data);
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
      data->add_subcommand("convert", "write a data set in another format or size");
  auto convert_arguments = std::make_shared<ConvertArguments>();
  add_data_options(*convert_command, convert_arguments->data);
  convert_command
      ->add_option("out", convert_arguments->out, "FILE.npz, 'FOLDER/*.png', 'FOLDER/*-ubyte'")
      ->required();
  convert_command->add_option("--as", convert_arguments->as, "npz, idx or png, whatever the name")
      ->check(CLI::IsMember({"npz", "idx", "png"}));
  convert_command
      ->add_option("--shards", convert_arguments->shards, "write a folder of disjoint NPZ shards")
      ->check(CLI::PositiveNumber);
  convert_command->add_option("--seed", convert_arguments->seed, "of the shards (default 0)");
  convert_command->callback([&action, convert_arguments] {
    action = [convert_arguments] { return convert(*convert_arguments); };
  });
}

}  // namespace obol::cli
