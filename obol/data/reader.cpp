#include "obol/data/reader.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/data/catalogue.h"
#include "obol/data/picture.h"
#include "obol/data/record_stream.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestSide = 1 << 14;

bool holds_idx(const Path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().find("images-idx") != std::string::npos) return true;
  return false;
}

// Known names first, then what the path looks like.
std::unique_ptr<Reader> open_reader(const std::string& path, const ReadOptions& options) {
  if (const KnownDataset* known = find_known(path); known != nullptr && !fs::exists(path)) {
    if (!is_present(*known))
      throw DataError(violation(path, fmt::format("in {}", folder_of(*known).string()),
                                fmt::format("not; 'obol data get {}' brings it", path)));
    return open_reader(folder_of(*known).string(), options);
  }
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
  Labels labels() override { return {data_.labels, data_.class_names}; }

 private:
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

// Gives resized records under the catalogue's class names.
class FinishedStream final : public RecordStream {
 public:
  FinishedStream(std::unique_ptr<RecordStream> source, const ImageShape& shape, std::string path)
      : RecordStream(shape, source->count()), source_(std::move(source)), path_(std::move(path)) {}
  Labels labels() override;

 private:
  Pixels read(std::int64_t count) override {
    Dataset data = source_->next(count);
    if (data.shape == shape()) return std::move(data.pixels);
    return resize(data, {.width = shape().width, .height = shape().height}).pixels;
  }

  std::unique_ptr<RecordStream> source_;
  std::string path_;
};

const std::vector<std::string>& known_class_names(const std::string& path) {
  static const std::vector<std::string> kNone;
  const KnownDataset* known = find_known(path);
  return known == nullptr ? kNone : known->class_names;
}

// The catalogue's names for the classes, where the file has only numbers.
void name_classes(const std::string& path, std::vector<std::string>& names) {
  const auto& known = known_class_names(path);
  if (known.size() == names.size()) names = known;
}

Labels FinishedStream::labels() {
  Labels labels = source_->labels();
  name_classes(path_, labels.class_names);
  return labels;
}

}  // namespace

std::unique_ptr<RecordStream> Reader::stream() { return std::make_unique<WholeStream>(read()); }

Dataset RecordStream::next(std::int64_t most) {
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
  return std::make_unique<FinishedStream>(std::move(source), shape, path);
}

std::string to_string(Split split) {
  constexpr std::array kNames = {"train", "validation", "test"};
  return kNames[static_cast<std::size_t>(split)];
}

ImageSize parse_image_size(const std::string& text) {
  const std::vector<std::string> sides = split(text, 'x');
  const auto width = parse_integer(sides.front());
  const auto height = parse_integer(sides.back());
  const auto good = [](const auto& side) { return side && *side >= 1 && *side <= kLargestSide; };
  if (sides.size() != 2 || !good(width) || !good(height))
    throw InvalidArgument(
        violation("a size", fmt::format("WxH with sides from 1 to {}", kLargestSide), text));
  return {.width = *width, .height = *height};
}

ValueRange parse_value_range(const std::string& text) {
  const std::vector<std::string> ends = split(text, ',');
  const auto low = parse_number(ends.front());
  const auto high = parse_number(ends.back());
  if (ends.size() != 2 || !low || !high || *low >= *high)
    throw InvalidArgument(violation("a range", "LOW,HIGH with LOW below HIGH", text));
  return {.low = *low, .high = *high};
}

void require_whole(const ReadOptions& options, const std::string& where) {
  if (options.split != Split::kTrain)
    throw DataError(violation(where, fmt::format("data with a {} split", to_string(options.split)),
                              "one piece without splits"));
}

Dataset read(const std::string& path, const ReadOptions& options) {
  Dataset data = open_reader(path, options)->read();
  check_consistent(data, path);
  name_classes(path, data.class_names);
  if (options.resize &&
      (data.shape.width != options.resize->width || data.shape.height != options.resize->height))
    data = resize(data, *options.resize);
  return data;
}

Description describe(const std::string& path, const ReadOptions& options) {
  Description description = open_reader(path, options)->describe();
  name_classes(path, description.class_names);
  if (options.resize) {
    description.shape.width = options.resize->width;
    description.shape.height = options.resize->height;
  }
  return description;
}

Splits open(const std::string& path, ReadOptions options) {
  options.split = Split::kTest;
  Dataset test = read(path, options);
  options.split = Split::kTrain;
  return {.train = Private<Dataset>(read(path, options)), .test = std::move(test)};
}

std::vector<UserData> read_users(const Path& folder, const ReadOptions& options) {
  if (!fs::is_directory(folder))
    throw DataError(violation(folder.string(), "a folder with a file or folder per user", "not"));
  std::vector<Path> entries;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!entry.path().filename().string().starts_with('.')) entries.push_back(entry.path());
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
  align_classes(users);
  return users;
}

void RecipeData::describe(recipe::Fields& fields) {
  fields.text("source", source, {}, "a name from 'obol data list', a file or a folder");
  fields.text("split", split, {"train", "validation", "test"}, "which part is trained on");
  fields.text("resize", resize, {}, "WxH");
  fields.text("range", range, {}, "LOW,HIGH of the numbers in the file");
  fields.integer("crop", crop, recipe::at_least(1), "side of the centred square of a picture");
  fields.text("attribute", attribute, {}, "CelebA's attribute that is the label");
  fields.text("label_column", label_column, {}, "a CSV column's name or number, or none");
}

ReadOptions RecipeData::options() const {
  ReadOptions options;
  for (const Split one : {Split::kTrain, Split::kValidation, Split::kTest})
    if (to_string(one) == split) options.split = one;
  if (resize) options.resize = parse_image_size(*resize);
  if (range) options.range = parse_value_range(*range);
  options.crop = crop;
  options.attribute = attribute;
  options.label_column = label_column;
  return options;
}

}  // namespace obol::data
