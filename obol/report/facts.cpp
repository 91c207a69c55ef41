#include "obol/report/facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "obol/base/random.h"
#include "obol/base/text.h"
#include "obol/data/catalogue.h"
#include "obol/method/certificates.h"
#include "obol/method/methods.h"
#include "obol/report/released_recipe.h"
#include "obol/run/grid.h"

namespace obol::report {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kColumns = 10;

// "runs/a/" is called a.
std::string name_of(const Path& run) {
  const Path whole = fs::weakly_canonical(run);
  return whole.filename().empty() ? run.string() : whole.filename().string();
}

std::optional<std::int64_t> last_sample(const run::RunFolder& folder) {
  std::optional<std::int64_t> last;
  for (const std::string& name : list_folder(folder.samples())) {
    const auto step = parse_integer(Path(name).stem().string());
    if (step && folder.sample(*step).filename() == name) last = std::max(last.value_or(0), *step);
  }
  return last;
}

PngFile read_png(const Path& path) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;  // a page stays below 3 MB
  const FileBytes file(path);
  PngFile png{.bytes = read_all(file, kLargest), .shape = data::decode_shape(file)};
  constexpr std::byte kFirst{0x89};  // a JPEG file by another name would be shown as none
  if (png.bytes.empty() || png.bytes.front() != kFirst)
    throw DataError(violation(path.string(), "a PNG picture", "another"));
  return png;
}

// Up to ten of each class, or of all, drawn by a fixed seed so that a report can be made again.
std::vector<std::vector<std::int64_t>> drawn_rows(const data::Dataset& test) {
  const std::size_t classes = test.is_labelled() ? test.class_names.size() : 1;
  std::vector<std::vector<std::int64_t>> rows(classes);
  std::vector<std::int64_t> order(static_cast<std::size_t>(test.count()));
  std::iota(order.begin(), order.end(), 0);
  SeededBits bits(1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::swap(order[i], order[i + bits.below(order.size() - i)]);
    const auto label = test.is_labelled() ? test.labels[static_cast<std::size_t>(order[i])] : 0;
    auto& row = rows[static_cast<std::size_t>(label)];
    if (row.size() < kColumns) row.push_back(order[i]);
  }
  return rows;
}

data::Picture grid_of(const data::Dataset& test) {
  constexpr std::uint8_t kNothing = 208;  // the colour of the lines between pictures
  run::Samples samples{.shape = test.shape, .pixels = {}, .columns = kColumns};
  for (const auto& row : drawn_rows(test)) {
    for (const std::int64_t index : row) {
      const std::vector<std::uint8_t> record = data::record_bytes(test, index);
      samples.pixels.insert(samples.pixels.end(), record.begin(), record.end());
    }
    const std::size_t missing = static_cast<std::size_t>(kColumns) - row.size();
    samples.pixels.insert(samples.pixels.end(),
                          missing * static_cast<std::size_t>(test.shape.pixels()), kNothing);
  }
  return run::grid(samples);
}

}  // namespace

bool RunFacts::has_public_data() const { return data.source && data::is_public(*data.source); }

std::string RunFacts::data_name() const {
  if (!data.source) return "";
  const std::string last = to_lower(Path(*data.source).filename().string());
  return data::find_known(last) != nullptr ? last : *data.source;
}

bool RunFacts::is_local() const {
  const method::MethodInfo* info = method::find_method(method);
  return info != nullptr && info->data == method::DataKind::kPrivatizedRecords;
}

bool RunFacts::has_classes() const {
  if (!is_local()) return true;
  if (!certificate) return false;
  const auto& entries = certificate->ledger.entries;
  return std::any_of(entries.begin(), entries.end(), [](const privacy::LedgerEntry& entry) {
    return entry.purpose.starts_with("labels");
  });
}

std::vector<std::string> RunFacts::class_names() const {
  if (evaluation && !evaluation->classes.empty()) return evaluation->classes;
  if (data.declared.classes || data.declared.class_names)
    return data.declared.declaration().names();
  const data::KnownDataset* known = data::find_known(data_name());
  return known == nullptr ? std::vector<std::string>() : known->declared.names();
}

RunFacts read_facts(const Path& run, PrivatePart part) {
  run::RunFolder folder = run::RunFolder::open(run);
  const std::string where = (run / run::kRecipeName).string();
  auto recipe = recipe::Recipe::parse(folder.recipe(), where);
  const bool has_certificate = fs::exists(folder.certificate());
  RunFacts facts{.folder = folder,
                 .part = part,
                 .name = name_of(run),
                 .heading = recipe.read<recipe::Heading>(""),
                 .data = recipe.read<data::RecipeData>("data"),
                 .privacy = recipe.read<method::PrivacyOptions>("privacy"),
                 .recipe = folder.recipe(),
                 .method = method::method_named_in(recipe).value_or(""),
                 .certificate = std::nullopt,
                 .has_ledger = fs::exists(folder.ledger()),
                 .has_teacher = folder.has_teacher(),
                 .metrics = {},
                 .samples = std::nullopt,
                 .evaluation = evaluate::read_evaluation(folder.evaluation()),
                 .private_evaluation = std::nullopt};
  if (part == PrivatePart::kLeftOut)
    facts.recipe = released_recipe(
        facts.recipe, facts.has_public_data() ? PublicData::kYes : PublicData::kNo, where);
  if (has_certificate) facts.certificate = method::verify_certificate(run);
  if (fs::exists(folder.metrics())) facts.metrics = run::read_metrics(folder.metrics());
  if (const auto step = last_sample(folder)) {
    facts.samples_step = *step;
    facts.samples = read_png(folder.sample(*step));
  }
  if (part == PrivatePart::kShown)
    facts.private_evaluation = evaluate::read_evaluation(folder.private_evaluation());
  return facts;
}

RealSamples real_samples(const RunFacts& facts, const std::optional<std::string>& source) {
  if (!source && !facts.data.source) return {.why_none = "the recipe does not name its data"};
  if (!source && facts.is_local())
    return {.why_none = "this run has seen privatised records alone"};
  if (!source && facts.part == PrivatePart::kLeftOut && !facts.has_public_data())
    return {.why_none = "they may be as private as the others"};
  if (!source && !facts.has_public_data() && !facts.folder.is_own())
    return {.why_none =
                "this run is not one's own, so that what its recipe names was not opened; "
                "--real PATH names real images"};
  try {
    data::ReadOptions options = facts.data.options();
    options.split = data::Split::kTest;
    const data::Dataset test = data::read(source.value_or(*facts.data.source), options);
    return {.picture = grid_of(test), .class_names = test.class_names, .why_none = ""};
  } catch (const Error& error) {
    return {.why_none = error.what()};
  }
}

Html grid_figure(const PngFile& png, const std::vector<std::string>& names,
                 std::string_view description, std::string_view caption) {
  Html content;
  const auto rows = std::lround(static_cast<double>(png.shape.height) * kColumns /
                                static_cast<double>(png.shape.width));
  if (rows == static_cast<long>(names.size())) {
    Html items;
    for (const std::string& name : names) items += tag("li", name);
    content += tag("ol", {{"aria-label", "classes"}}, items);
  }
  content += image(png.bytes, description, png.shape.width, png.shape.height);
  return figure(tag("div", {{"class", "grid"}}, content), caption);
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string percent(double share, std::optional<double> deviation) {
  if (!deviation || *deviation == 0) return percent(share);
  return fmt::format("{} ± {:.1f}", percent(share), 100 * *deviation);
}

std::string figure_text(double value) { return fmt::format("{:.4g}", value); }

}  // namespace obol::report
