// obol data list | get | info | declare | grid | convert
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/declaration.h"
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
  add_declaration_options(command, d.declared);
  command.add_option("--crop", d.crop, "side of the centred square of a picture")
      ->check(CLI::PositiveNumber);
  command.add_option("--attribute", d.attribute, "CelebA's attribute that is the label");
  command.add_option("--label-column", d.label_column, "a CSV column's name or number, or none");
  command.add_option("--set", arguments.overrides, "section.key=value, with a recipe")
      ->allow_extra_args(false);
}

struct Source {
  std::string path;
  data::ReadOptions options;
};

// The options on the command line stand over those of a recipe.
Source resolve(const DataArguments& arguments) {
  data::RecipeData d = arguments.described;
  if (!arguments.path.ends_with(".toml")) {
    if (!arguments.overrides.empty())
      throw InvalidArgument(
          violation("--set", "used with a recipe", "used with " + arguments.path));
    d.split = arguments.split.value_or(d.split);
    return {arguments.path, d.options()};
  }
  auto recipe = recipe::Recipe::load(recipe::find(arguments.path), arguments.overrides);
  const auto from_recipe = recipe.read<data::RecipeData>("data");
  recipe.finish("data");
  if (!from_recipe.source)
    throw InvalidArgument(violation("data.source", "given", "missing", arguments.path));
  d.split = arguments.split.value_or(from_recipe.split);
  if (!d.resize) d.resize = from_recipe.resize;
  if (!d.crop) d.crop = from_recipe.crop;
  if (!d.attribute) d.attribute = from_recipe.attribute;
  if (!d.label_column) d.label_column = from_recipe.label_column;
  data::ReadOptions options = d.options();
  options.declared.fill_from(from_recipe.declared.declaration());
  return {*from_recipe.source, options};
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

json to_json(const data::Proposal& proposal) {
  const data::Declaration& d = proposal.declaration;
  json found = {{"looked_up", proposal.looked_up}};
  if (d.range) found["range"] = {d.range->low, d.range->high};
  if (d.classes) found["class_names"] = d.names();
  if (d.channels) found["channels"] = *d.channels;
  if (d.size) found["size"] = {d.size->width, d.size->height};
  return found;
}

void print(const std::string& path, const data::Proposal& proposal) {
  if (proposal.looked_up.empty()) {
    std::cout << fmt::format("  declared: {}\n", in_words(proposal.declaration));
    return;
  }
  std::cout << fmt::format(
      "  not declared: {}; by looking at the data, this is proposed for {}\n"
      "  (check it, it is treated as public; 'obol data declare {}' writes it):\n",
      join(proposal.looked_up, ", "), data::declaration_path(path).string(), path);
  for (const std::string& line : split(to_toml(proposal.declaration), '\n'))
    if (!line.empty()) std::cout << fmt::format("    {}\n", line);
}

struct InfoArguments {
  DataArguments data;
  bool json = false;
  bool verify = false;
  bool per_user = false;
};

ExitCode info_of_users(const InfoArguments& arguments, const Source& source) {
  json all = json::array();
  for (const auto& [user, data] : data::read_users(source.path, source.options)) {
    const data::Description description = describe_read(data, "user");
    if (arguments.json)
      all.push_back(to_json(user, description));
    else
      print(user, description);
  }
  if (arguments.json) std::cout << all.dump(2) << '\n';
  return ExitCode::kOk;
}

ExitCode info(const InfoArguments& arguments) {
  const Source source = resolve(arguments.data);
  if (arguments.per_user) return info_of_users(arguments, source);
  data::Description description = data::describe(source.path, source.options);
  data::ReadOptions options = source.options;
  options.declared = data::declared(source.path, source.options);
  const data::Proposal proposal = data::propose(source.path, options);
  std::int64_t not_finite = 0;
  if (arguments.verify) {
    options.declared.range = proposal.declaration.range;
    description = describe_read(data::read(source.path, options), description.format);
    if (const auto seen = data::see_numbers(source.path, options))
      not_finite = seen->records_not_finite;
  }
  if (arguments.json) {
    json found = to_json(source.path, description);
    found["declaration"] = to_json(proposal);
    std::cout << found.dump(2) << '\n';
    return ExitCode::kOk;
  }
  print(source.path, description);
  print(source.path, proposal);
  if (not_finite > 0)
    std::cout << fmt::format("  {} records have a number that is not finite, and count as black\n",
                             not_finite);
  else if (arguments.verify)
    std::cout << "  every record was read and is sound\n";
  return ExitCode::kOk;
}

struct DeclareArguments {
  std::string path;
  data::RecipeData described;
  bool force = false;
};

// Beside the data, for the curator to check.
ExitCode declare(const DeclareArguments& arguments) {
  const std::string& path = arguments.path;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) && data::find_known(path) != nullptr)
    throw InvalidArgument(
        violation("the data", "a file or a folder", path + ", which the catalogue declares"));
  const data::Proposal proposal = data::propose(path, arguments.described.options());
  const Path out = data::declaration_path(path);
  if (std::filesystem::exists(out) && !arguments.force)
    throw InvalidArgument(violation(out.string(), "new, or --force given", "there already"));
  std::string text = "# What is treated as public of " + Path(path).filename().string() + ".\n";
  if (proposal.looked_up.empty())
    text += "# Everything was given as options of 'obol data declare'.\n";
  else
    text += fmt::format(
        "# Proposed by 'obol data declare', which looked at the data for: {}.\n"
        "# Whoever is responsible for the data has to check these values, so that they do not\n"
        "# depend on single records, and treat all that stands here as public.\n",
        join(proposal.looked_up, ", "));
  write_file(out, text + to_toml(proposal.declaration));
  if (!proposal.looked_up.empty())
    log_info("looked at the data for {}: check {}, it is treated as public",
             join(proposal.looked_up, ", "), out.string());
  std::cout << out.string() << '\n';
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
  const auto& [path, options] = resolve(arguments.data);
  const bool is_privatized = local::is_privatized(path);
  const data::Dataset data = is_privatized ? local::as_images(local::read_privatized(path), kMost)
                                           : data::read(path, options);
  std::unique_ptr<RandomBits> bits;
  if (arguments.seed)
    bits = std::make_unique<SeededBits>(*arguments.seed);
  else
    bits = std::make_unique<SecureBits>();
  write_png(sample_grid(data, arguments.grid, *bits), arguments.out);
  if (!is_privatized) log_info("the grid shows records of {}; keep it with them", path);
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

// What is written is declared as what was read is. Floats are written as they are in memory.
data::Declaration declared_of(const data::Dataset& data, const Source& source) {
  data::Declaration declared = data::declared(source.path, source.options);
  declared.range.reset();
  if (std::holds_alternative<std::vector<float>>(data.pixels)) declared.range = data::ValueRange{};
  if (declared.classes) {
    declared.classes = data.num_classes();
    declared.class_names = data.class_names;
    if (declared.class_names == data::Declaration{.classes = declared.classes}.names())
      declared.class_names.clear();
  }
  declared.channels = data.shape.channels;
  declared.size = data::ImageSize{.width = data.shape.width, .height = data.shape.height};
  return declared;
}

void write_declaration(const data::Declaration& declared, const Path& written) {
  if (!declared.classes && !declared.range) {  // the file itself says the rest
    std::error_code ignored;
    std::filesystem::remove(data::declaration_path(written), ignored);  // of an older file
    return;
  }
  write_file(data::declaration_path(written),
             "# Written by 'obol data convert', as the source is declared.\n" + to_toml(declared));
}

// FOLDER/shard_0000.npz and so on: what `info --per-user` and federated clients read.
void write_shards(const data::Dataset& data, const data::Declaration& declared,
                  const ConvertArguments& arguments) {
  SeededBits bits(arguments.seed);
  const auto shards = data::shard_indices(data.count(), arguments.shards, bits);
  AtomicFolder folder(arguments.out);
  for (std::size_t k = 0; k < shards.size(); ++k)
    data::write(data::select(data, shards[k]),
                (folder.inside() / fmt::format("shard_{:04}.npz", k)).string(), data::Format::kNpz);
  write_declaration(declared, folder.inside());
  folder.commit();
}

ExitCode convert(const ConvertArguments& arguments) {
  const Source source = resolve(arguments.data);
  const std::optional<data::Format> format =
      arguments.shards > 0 ? std::nullopt : std::optional(output_format(arguments));
  const data::Dataset data = data::read(source.path, source.options);
  data::Declaration declared = declared_of(data, source);
  if (!format) {
    write_shards(data, declared, arguments);
  } else {
    data::write(data, arguments.out, *format);
    if (format != data::Format::kNpz) declared.range.reset();
    write_declaration(declared, data::written_path(arguments.out));
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

  CLI::App* declare_command = data->add_subcommand(
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
