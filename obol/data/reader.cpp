#include "obol/data/reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/data/catalogue.h"
#include "obol/data/picture.h"
#include "obol/data/record_stream.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

bool holds_idx(const Path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().find("images-idx") != std::string::npos) return true;
  return false;
}

const KnownDataset* known_by_name(const std::string& path) {
  return fs::exists(path) ? nullptr : find_known(path);
}

// The place of data with a known name; any other path as it is.
std::string place_of(const std::string& path) {
  const KnownDataset* known = known_by_name(path);
  if (known == nullptr) return path;
  if (!is_present(*known))
    throw DataError(violation(path, fmt::format("in {}", folder_of(*known).string()),
                              fmt::format("not; 'obol data get {}' brings it", path)));
  return folder_of(*known).string();
}

// By what the path looks like. What is declared is taken from `options` alone.
std::unique_ptr<Reader> open_layout(const std::string& path, const ReadOptions& options) {
  if (!fs::exists(path)) {
    std::vector<std::string> names;
    for (const KnownDataset& known : catalogue()) names.push_back(known.name);
    throw DataError(
        violation("the data", "a file, a folder or a name from 'obol data list'", path) +
        did_you_mean(path, names));
  }
  if (fs::is_directory(path)) {
    if (fs::is_directory(Path(path) / "img_align_celeba")) return open_celeba(path, options);
    if (holds_idx(path)) return open_idx_folder(path, options);
    return open_image_folder(path, options);
  }
  const std::string name = to_lower(Path(path).filename().string());
  if (name.ends_with(".npz")) return open_npz(path, options);
  if (name.ends_with(".npy")) return open_npy(path, options);
  if (name.ends_with(".csv") || name.ends_with(".csv.gz")) return open_csv(path, options);
  if (name.find("idx") != std::string::npos || name.find("ubyte") != std::string::npos)
    return open_idx(path, options);
  throw DataError(violation("the data", "an IDX, .npz, .npy or .csv file, or a folder",
                            "of another kind", path));
}

std::unique_ptr<Reader> open_reader(const std::string& path, ReadOptions options) {
  options.declared = declared(path, options);
  if (options.outside) options.declared.outside = options.outside;
  return open_layout(place_of(path), options);
}

// Gives all users the same classes: who has no dogs still calls the cats by the same number.
void align_classes(std::vector<UserData>& users) {
  std::set<std::string> all;
  for (const UserData& user : users)
    all.insert(user.data.class_names.begin(), user.data.class_names.end());
  std::vector<std::string> names(all.begin(), all.end());
  sort_class_names(names);
  for (UserData& user : users) {
    if (!user.data.is_labelled()) continue;
    std::vector<std::int32_t> number;
    for (const std::string& name : user.data.class_names)
      number.push_back(
          static_cast<std::int32_t>(std::find(names.begin(), names.end(), name) - names.begin()));
    for (std::int32_t& label : user.data.labels) label = number[static_cast<std::size_t>(label)];
    user.data.class_names = names;
  }
}

// All of a data set that was read before.
class WholeStream final : public RecordStream {
 public:
  explicit WholeStream(Dataset data)
      : RecordStream(data.shape, data.count()), data_(std::move(data)) {}

 private:
  Labels read_labels() override { return {data_.labels, data_.class_names}; }
  Pixels read(std::int64_t count) override {
    const auto begin = static_cast<std::ptrdiff_t>(done() * shape().pixels());
    const auto end = begin + static_cast<std::ptrdiff_t>(count * shape().pixels());
    return std::visit(
        [&](const auto& pixels) -> Pixels {
          using T = typename std::decay_t<decltype(pixels)>::value_type;
          return std::vector<T>(pixels.begin() + begin, pixels.begin() + end);
        },
        data_.pixels);
  }

  Dataset data_;
};

class ResizedStream final : public RecordStream {
 public:
  ResizedStream(std::unique_ptr<RecordStream> source, const ImageShape& shape)
      : RecordStream(shape, source->count()), source_(std::move(source)) {}

 private:
  Labels read_labels() override { return read_labels_of(*source_); }
  Pixels read(std::int64_t count) override {
    Dataset data = read_next_of(*source_, count);
    if (data.shape == shape()) return std::move(data.pixels);
    return resize(data, {.width = shape().width, .height = shape().height}).pixels;
  }

  std::unique_ptr<RecordStream> source_;
};

// Enough for all numbers seen, and of the two that are in use where they fit.
ValueRange proposed_range(const NumbersSeen& seen) {
  const double low = seen.finite.low;
  const double high = seen.finite.high;
  constexpr double kWhite = 255;
  if (low >= 0 && high <= 1) return {.low = 0, .high = 1};
  if (low >= 0 && high <= kWhite) return {.low = 0, .high = kWhite};
  if (low >= -1 && high <= 1) return {.low = -1, .high = 1};
  if (low < high) return {.low = low, .high = high};
  return {.low = 0, .high = 1};  // all the same number, or none that is finite
}

}  // namespace

std::unique_ptr<RecordStream> Reader::stream() { return std::make_unique<WholeStream>(read()); }

Dataset RecordStream::read_next(std::int64_t most) {
  const std::int64_t count = std::min(most, left());
  Dataset data{.shape = shape_,
               .pixels = read(count),
               .labels = {},
               .class_names = {},
               .declared_size = count_};
  done_ += count;
  return data;
}

std::unique_ptr<RecordStream> stream(const std::string& path, const ReadOptions& options) {
  auto source = open_reader(path, options)->stream();
  ImageShape shape = source->shape();
  if (options.resize) {
    shape.width = options.resize->width;
    shape.height = options.resize->height;
  }
  return std::make_unique<ResizedStream>(std::move(source), shape);
}

std::string to_string(Split split) {
  constexpr std::array kNames = {"train", "validation", "test"};
  return kNames[static_cast<std::size_t>(split)];
}

void on_outside(const ReadOptions& options, const std::string& source, const std::string& message) {
  if (options.declared.maps()) return;
  if (options.reading == Reading::kPrivate) refuse_outside(options.declared, source);
  throw DataError(message);
}

Labels settled_labels(const std::optional<std::vector<double>>& found, const ReadOptions& options,
                      const std::string& source) {
  const Declaration& declared = options.declared;
  if (declared.classes == 0) return {};
  if (!found) {
    if (!declared.classes) return {};
    throw DataError(
        violation(source, fmt::format("with labels, as {} classes are declared", *declared.classes),
                  "without"));
  }
  constexpr double kLargest = 65535;
  const double last = declared.classes ? static_cast<double>(*declared.classes - 1) : kLargest;
  Labels result;
  result.labels.reserve(found->size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    double label = (*found)[i];
    if (!(label >= 0 && label <= last && label == std::trunc(label))) {
      on_outside(options, source,
                 violation(fmt::format("label {}", i),
                           fmt::format("a whole number from 0 to {}", last), label, source));
      label = std::isnan(label) ? 0 : std::round(std::clamp(label, 0.0, last));
    }
    result.labels.push_back(static_cast<std::int32_t>(label));
  }
  result.class_names = declared.classes ? declared.names() : numbered_classes(result.labels);
  return result;
}

void take_labels(Labels labels, Dataset& data) {
  data.labels = std::move(labels.labels);
  data.class_names = std::move(labels.class_names);
}

Declaration declared(const std::string& path, const ReadOptions& options) {
  Declaration all = options.declared;
  std::string place = path;
  if (const KnownDataset* known = known_by_name(path)) {
    all = joined(std::move(all), "the recipe", known->declared, "the catalogue");
    place = folder_of(*known).string();
  }
  if (!fs::exists(place)) return all;
  return joined(std::move(all), "the recipe", declared_at(place), "the declaration of " + place);
}

void require_whole(const ReadOptions& options, const std::string& where) {
  if (options.split != Split::kTrain)
    throw DataError(violation(where, fmt::format("data with a {} split", to_string(options.split)),
                              "one piece without splits"));
}

void require_declared(bool is_declared, std::string_view key, const ReadOptions& options,
                      const std::string& path) {
  if (options.reading == Reading::kPrivate && !is_declared) refuse_undeclared(key, path);
}

void require_classes(const ReadOptions& options, const std::string& path) {
  require_declared(options.declared.classes.has_value(), "classes", options, path);
}

Dataset read(const std::string& path, const ReadOptions& options) {
  Dataset data = open_reader(path, options)->read();
  check_consistent(data, path);
  if (options.resize &&
      (data.shape.width != options.resize->width || data.shape.height != options.resize->height))
    data = resize(data, *options.resize);
  return data;
}

Description describe(const std::string& path, const ReadOptions& options) {
  Description description = open_reader(path, options)->describe();
  if (options.resize) {
    description.shape.width = options.resize->width;
    description.shape.height = options.resize->height;
  }
  return description;
}

Private<Dataset> read_private(const std::string& path, ReadOptions options) {
  options.reading = Reading::kPrivate;
  return Private<Dataset>(read(path, options));
}

Proposal propose(const std::string& path, const ReadOptions& options) {
  ReadOptions whole = options;
  whole.resize.reset();
  whole.crop.reset();
  const auto reader = open_layout(place_of(path), whole);
  const Description found = reader->describe();
  Proposal proposal{.declaration = options.declared, .looked_up = {}};
  Declaration& proposed = proposal.declaration;
  if (!found.are_bytes && !proposed.range) {
    proposal.looked_up.emplace_back("range");
    proposed.range = proposed_range(reader->see_numbers().value());
  }
  if (!proposed.classes) {
    proposal.looked_up.emplace_back("classes");
    proposed.classes = static_cast<std::int64_t>(found.class_names.size());
    if (found.class_names != proposed.names()) proposed.class_names = found.class_names;
  }
  const ImageShape stored = reader->stored_shape();
  const bool has_header = found.format != "image folder" && found.format != "CelebA";
  if (!has_header && !proposed.channels) proposal.looked_up.emplace_back("channels");
  if (!has_header && !proposed.size) proposal.looked_up.emplace_back("size");
  if (!proposed.channels) proposed.channels = stored.channels;
  if (!proposed.size) proposed.size = ImageSize{.width = stored.width, .height = stored.height};
  return proposal;
}

std::optional<NumbersSeen> see_numbers(const std::string& path, const ReadOptions& options) {
  return open_reader(path, options)->see_numbers();
}

Splits open(const std::string& path, ReadOptions options) {
  options.split = Split::kTest;
  Dataset test = read(path, options);
  options.split = Split::kTrain;
  return {.train = read_private(path, options), .test = std::move(test)};
}

std::vector<UserData> read_users(const Path& folder, const ReadOptions& given) {
  if (!fs::is_directory(folder))
    throw DataError(violation(folder.string(), "a folder with a file or folder per user", "not"));
  ReadOptions options = given;
  options.declared = joined(given.declared, "the recipe", declared_at(folder),
                            "the declaration of " + folder.string());
  std::vector<Path> entries;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!entry.path().filename().string().starts_with('.') && !is_declaration(entry.path()))
      entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  std::vector<UserData> users;
  for (const Path& entry : entries) {
    // A folder's name has no ending to leave out: "carol.1" and "carol.2" are two users.
    const Path name = fs::is_directory(entry) ? entry.filename() : entry.stem();
    users.push_back({name.string(), read(entry.string(), options)});
    if (users.back().data.shape != users.front().data.shape)
      throw DataError(violation("every user's pictures", to_string(users.front().data.shape),
                                to_string(users.back().data.shape), entry.string()));
  }
  if (users.empty())
    throw DataError(violation(folder.string(), "a folder with a file or folder per user", "empty"));
  for (std::size_t i = 1; i < users.size(); ++i)
    if (users[i].user == users[i - 1].user)
      throw DataError(violation("a user's name", "used once", users[i].user, folder.string()));
  if (!options.declared.classes) align_classes(users);
  return users;
}

void RecipeData::describe(recipe::Fields& fields) {
  fields.text("source", source, {}, "a name from 'obol data list', a file or a folder");
  fields.text("split", split, {"train", "validation", "test"}, "which part is trained on");
  fields.text("resize", resize, {}, "WxH");
  declared.describe(fields);
  fields.integer("crop", crop, recipe::at_least(1), "side of the centred square of a picture");
  fields.text("attribute", attribute, {}, "CelebA's attribute that is the label");
  fields.text("label_column", label_column, {}, "a CSV column's name or number, or none");
}

ReadOptions RecipeData::options() const {
  ReadOptions options;
  for (const Split one : {Split::kTrain, Split::kValidation, Split::kTest})
    if (to_string(one) == split) options.split = one;
  if (resize) options.resize = parse_image_size(*resize);
  options.declared = declared.declaration();
  options.crop = crop;
  options.attribute = attribute;
  options.label_column = label_column;
  return options;
}

}  // namespace obol::data
