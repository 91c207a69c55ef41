#include "obol/app/data.h"

#include <filesystem>
#include <memory>
#include <variant>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/random.h"
#include "obol/base/text.h"
#include "obol/data/catalogue.h"
#include "obol/data/sampler.h"
#include "obol/local/mechanism.h"
#include "obol/recipe/recipe.h"

namespace obol::app {
namespace {

struct Source {
  std::string path;
  data::ReadOptions options;
};

// The options on the command line stand over those of a recipe.
Source resolve(const DataRequest& request) {
  data::RecipeData d = request.described;
  if (!request.path.ends_with(".toml")) {
    if (!request.overrides.empty())
      throw InvalidArgument(violation("--set", "used with a recipe", "used with " + request.path));
    d.split = request.split.value_or(d.split);
    return {request.path, d.options()};
  }
  auto recipe = recipe::Recipe::load(recipe::find(request.path), request.overrides);
  const auto from_recipe = recipe.read<data::RecipeData>("data");
  recipe.finish("data");
  if (!from_recipe.source)
    throw InvalidArgument(violation("data.source", "given", "missing", request.path));
  d.split = request.split.value_or(from_recipe.split);
  if (!d.resize) d.resize = from_recipe.resize;
  if (!d.crop) d.crop = from_recipe.crop;
  if (!d.attribute) d.attribute = from_recipe.attribute;
  if (!d.label_column) d.label_column = from_recipe.label_column;
  data::ReadOptions options = d.options();
  options.declared.fill_from(from_recipe.declared.declaration());
  return {*from_recipe.source, options};
}

data::Description describe_read(const data::Dataset& data, const std::string& format) {
  return {.format = format,
          .shape = data.shape,
          .count = data.count(),
          .class_names = data.class_names,
          .class_counts = data::class_counts(data)};
}

data::Format format_of(const ConvertRequest& request) {
  if (request.format) return *request.format;
  if (const auto format = data::format_of_path(request.out)) return *format;
  throw InvalidArgument(violation(
      "the output", "FILE.npz, 'FOLDER/*.png' or 'FOLDER/*-ubyte', or --as given", request.out));
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
                  const ConvertRequest& request) {
  SeededBits bits(request.seed);
  const auto shards = data::shard_indices(data.count(), request.shards, bits);
  AtomicFolder folder(request.out);
  for (std::size_t k = 0; k < shards.size(); ++k)
    data::write(data::select(data, shards[k]),
                (folder.inside() / fmt::format("shard_{:04}.npz", k)).string(), data::Format::kNpz);
  write_declaration(declared, folder.inside());
  folder.commit();
}

}  // namespace

DataInfo describe_data(const DataRequest& request, DataCheck check) {
  const Source source = resolve(request);
  data::ReadOptions options = source.options;
  options.declared = data::declared(source.path, source.options);
  DataInfo info{.path = source.path,
                .description = data::describe(source.path, source.options),
                .proposal = data::propose(source.path, options)};
  if (check == DataCheck::kHeaders) return info;
  options.declared.range = info.proposal.declaration.range;
  info.description = describe_read(data::read(source.path, options), info.description.format);
  if (const auto seen = data::see_numbers(source.path, options))
    info.not_finite = seen->records_not_finite;
  return info;
}

std::vector<DataInfo> describe_users(const DataRequest& request) {
  const Source source = resolve(request);
  std::vector<DataInfo> users;
  for (const auto& [user, data] : data::read_users(source.path, source.options))
    users.push_back({.path = user, .description = describe_read(data, "user"), .proposal = {}});
  return users;
}

DeclaredFile declare_data(const std::string& path, const data::RecipeData& described,
                          Existing existing) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) && data::find_known(path) != nullptr)
    throw InvalidArgument(
        violation("the data", "a file or a folder", path + ", which the catalogue declares"));
  const data::Proposal proposal = data::propose(path, described.options());
  DeclaredFile file{.path = data::declaration_path(path), .looked_up = proposal.looked_up};
  if (std::filesystem::exists(file.path) && existing == Existing::kKept)
    throw InvalidArgument(violation(file.path.string(), "new, or --force given", "there already"));
  std::string text = "# What is treated as public of " + Path(path).filename().string() + ".\n";
  if (proposal.looked_up.empty())
    text += "# Everything was given as options of 'obol data declare'.\n";
  else
    text += fmt::format(
        "# Proposed by 'obol data declare', which looked at the data for: {}.\n"
        "# Whoever is responsible for the data has to check these values, so that they do not\n"
        "# depend on single records, and treat all that stands here as public.\n",
        join(proposal.looked_up, ", "));
  write_file(file.path, text + to_toml(proposal.declaration));
  return file;
}

DrawnGrid draw_grid(const GridRequest& request) {
  constexpr std::int64_t kMost = 1000;  // privatised ones to draw from
  const auto& [path, options] = resolve(request.source);
  const bool is_privatized = local::is_privatized(path);
  const data::Dataset data = is_privatized ? local::as_images(local::read_privatized(path), kMost)
                                           : data::read(path, options);
  std::unique_ptr<RandomBits> bits;
  if (request.seed)
    bits = std::make_unique<SeededBits>(*request.seed);
  else
    bits = std::make_unique<SecureBits>();
  data::write_png(data::sample_grid(data, request.grid, *bits), request.out);
  return {.path = path, .shows_records = !is_privatized};
}

void convert_data(const ConvertRequest& request) {
  const ReporterScope scope(request.reporter);
  const Source source = resolve(request.source);
  const std::optional<data::Format> format =
      request.shards > 0 ? std::nullopt : std::optional(format_of(request));
  const data::Dataset data = data::read(source.path, source.options);
  data::Declaration declared = declared_of(data, source);
  if (!format) {
    write_shards(data, declared, request);
    return;
  }
  data::write(data, request.out, *format);
  if (format != data::Format::kNpz) declared.range.reset();
  write_declaration(declared, data::written_path(request.out));
}

}  // namespace obol::app
