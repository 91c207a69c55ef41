// Folders of PNG and JPEG pictures: one sub-folder per class, or none; and CelebA's layout.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/data/picture.h"
#include "obol/data/reader.h"
#include "obol/data/record_stream.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestList = std::uint64_t{256} << 20;

// The pictures of a data set in order, with their labels, before any is decoded.
struct PictureList {
  std::string format;
  std::string source;
  std::vector<Path> files;
  std::vector<std::int32_t> labels;
  std::vector<std::string> class_names;
};

bool is_picture(const Path& path) {
  const std::string ending = to_lower(path.extension().string());
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

bool is_hidden(const Path& path) { return path.filename().string().starts_with('.'); }

std::vector<Path> sorted_entries(const Path& folder) {
  std::vector<Path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!is_hidden(at->path())) entries.push_back(at->path());
  if (error) throw DataError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<Path> pictures_in(const Path& folder) {
  std::vector<Path> files = sorted_entries(folder);
  std::erase_if(files, [](const Path& path) { return !is_picture(path); });
  return files;
}

std::vector<std::string> sub_folders(const Path& folder) {
  std::vector<std::string> names;
  for (const Path& entry : sorted_entries(folder))
    if (fs::is_directory(entry)) names.push_back(entry.filename().string());
  return names;
}

void add_files(PictureList& list, const std::vector<Path>& files, std::int32_t label) {
  list.labels.insert(list.labels.end(), files.size(), label);
  list.files.insert(list.files.end(), files.begin(), files.end());
}

// By the classes that there are.
void list_found(const Path& folder, PictureList& list) {
  list.class_names = sub_folders(folder);
  sort_class_names(list.class_names);
  for (std::size_t k = 0; k < list.class_names.size(); ++k)
    add_files(list, pictures_in(folder / list.class_names[k]), static_cast<std::int32_t>(k));
  const auto loose = pictures_in(folder);
  if (!loose.empty() && !list.files.empty())
    throw DataError(violation("a folder of pictures", "either flat or one sub-folder per class",
                              "both", folder.string()));
  if (!list.files.empty()) return;
  list.files = loose;
  list.class_names.clear();
}

// By the declared classes: what lies elsewhere is not as declared, and where that is mapped, of the
// last class.
void list_declared(const Path& folder, const ReadOptions& options, PictureList& list) {
  list.class_names = options.declared.names();
  for (std::size_t k = 0; k < list.class_names.size(); ++k)
    if (fs::is_directory(folder / list.class_names[k]))
      add_files(list, pictures_in(folder / list.class_names[k]), static_cast<std::int32_t>(k));
  std::vector<Path> others;
  for (const std::string& name : sub_folders(folder)) {
    const auto& names = list.class_names;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto files = pictures_in(folder / name);
    others.insert(others.end(), files.begin(), files.end());
  }
  const auto loose = pictures_in(folder);
  others.insert(others.end(), loose.begin(), loose.end());
  if (list.class_names.empty()) {  // the labels do not matter
    list.files = others;
    return;
  }
  if (others.empty()) return;
  on_outside(options, list.source,
             violation("every picture",
                       "in a sub-folder with the name of one of the declared classes (" +
                           join(list.class_names, ", ") + ")",
                       "not", others.front().string()));
  add_files(list, others, static_cast<std::int32_t>(list.class_names.size()) - 1);
}

PictureList list_folder(const Path& folder, const ReadOptions& options, const std::string& source) {
  PictureList list{
      .format = "image folder", .source = source, .files = {}, .labels = {}, .class_names = {}};
  if (options.declared.classes)
    list_declared(folder, options, list);
  else
    list_found(folder, list);
  if (list.files.empty())
    throw DataError(violation("a folder of pictures", "one with PNG or JPEG files", "without any",
                              folder.string()));
  return list;
}

void spread_grey(Picture& picture) {
  const std::vector<std::uint8_t> plane = picture.pixels;
  for (int c = 1; c < 3; ++c)
    picture.pixels.insert(picture.pixels.end(), plane.begin(), plane.end());
  picture.shape.channels = 3;
}

// The luminance of ITU-R BT.601, as JPEG has it.
void make_grey(Picture& picture) {
  constexpr double kRed = 0.299;
  constexpr double kGreen = 0.587;
  constexpr double kBlue = 0.114;
  const auto area = static_cast<std::size_t>(picture.shape.height * picture.shape.width);
  const std::vector<std::uint8_t>& planes = picture.pixels;
  std::vector<std::uint8_t> grey(area);
  for (std::size_t p = 0; p < area; ++p)
    grey[p] = static_cast<std::uint8_t>(
        std::lround(kRed * planes[p] + kGreen * planes[area + p] + kBlue * planes[2 * area + p]));
  picture.pixels = std::move(grey);
  picture.shape.channels = 1;
}

class PictureReader final : public Reader {
 public:
  PictureReader(PictureList list, ReadOptions options)
      : list_(std::move(list)), options_(std::move(options)) {}

  Description describe() override {
    Description description{.format = list_.format,
                            .shape = shape(),
                            .count = static_cast<std::int64_t>(list_.files.size()),
                            .class_names = list_.class_names,
                            .class_counts = {}};
    description.class_counts.resize(list_.class_names.size());
    for (const std::int32_t label : list_.labels)
      ++description.class_counts[static_cast<std::size_t>(label)];
    return description;
  }

  ImageShape stored_shape() override { return decode(list_.files.front()).shape; }

  Dataset read() override {
    Progress progress("reading", static_cast<std::int64_t>(list_.files.size()), "pictures");
    Dataset data{.shape = shape(),
                 .pixels = {},
                 .labels = list_.labels,
                 .class_names = list_.class_names,
                 .declared_size = static_cast<std::int64_t>(list_.files.size())};
    std::vector<std::uint8_t> pixels;
    reserve(pixels, data.shape);
    for (const Path& file : list_.files) {
      check_interrupt();
      append(file, data.shape, pixels);
      progress.advance(1);
    }
    data.pixels = std::move(pixels);
    return data;
  }

  std::unique_ptr<RecordStream> stream() override;

  [[nodiscard]] const PictureList& list() const { return list_; }

  // What every picture is brought to: as declared. The first picture decides only what is not, and
  // never of private data, for which it is.
  [[nodiscard]] ImageShape shape() const {
    const Declaration& declared = options_.declared;
    std::optional<ImageSize> size = options_.resize;
    if (!size && options_.crop) size = ImageSize{.width = *options_.crop, .height = *options_.crop};
    if (!size) size = declared.size;
    if (size && declared.channels)
      return {.channels = *declared.channels, .height = size->height, .width = size->width};
    const Path& first = list_.files.front();
    ImageShape found = fitted(decode(first), declared.channels, first).shape;
    if (size) {
      found.height = size->height;
      found.width = size->width;
    }
    return found;
  }

  // A picture of this shape.
  void append(const Path& file, const ImageShape& shape, std::vector<std::uint8_t>& pixels) const {
    const Picture picture = load(file, shape);
    pixels.insert(pixels.end(), picture.pixels.begin(), picture.pixels.end());
  }

 private:
  void reserve(std::vector<std::uint8_t>& pixels, const ImageShape& shape) const {
    const std::uint64_t size = static_cast<std::uint64_t>(shape.pixels()) * list_.files.size();
    if (size > options_.limits.max_bytes)
      throw DataError(violation("the pictures",
                                fmt::format("at most {} bytes together", options_.limits.max_bytes),
                                size, list_.source));
    pixels.reserve(static_cast<std::size_t>(size));
  }

  [[nodiscard]] Picture decode(const Path& file) const {
    return data::decode(FileBytes(file), options_.limits);
  }

  // What cannot be decoded is black where it is to be mapped.
  [[nodiscard]] Picture load(const Path& file, const ImageShape& shape) const {
    const FileBytes bytes(file);
    Picture picture;
    try {
      picture = data::decode(bytes, options_.limits);
    } catch (const DataError& error) {
      on_outside(options_, list_.source, error.what());
      return {shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.pixels()))};
    }
    picture = fitted(std::move(picture), shape.channels, file);
    if (picture.shape == shape) return picture;
    on_outside(options_, list_.source,
               violation("every picture",
                         fmt::format("{} as {} (or resized, --resize WxH)", to_string(shape),
                                     options_.declared.size ? "declared" : "the first is"),
                         to_string(picture.shape), file.string()));
    return resize(picture, {.width = shape.width, .height = shape.height});
  }

  // Cropped and resized as the options say, and of the declared size before; where it is not so,
  // and that is to be mapped, brought there.
  [[nodiscard]] Picture fitted(Picture picture, std::optional<std::int64_t> channels,
                               const Path& file) const {
    const ImageSize stored{.width = picture.shape.width, .height = picture.shape.height};
    const auto outside = [&](std::string_view subject, const std::string& must,
                             const std::string& is) {
      on_outside(options_, list_.source, violation(subject, must, is, file.string()));
    };
    if (options_.declared.size && stored != *options_.declared.size) {
      const ImageSize& size = *options_.declared.size;
      outside("the size of a picture", fmt::format("{}x{} as declared", size.width, size.height),
              fmt::format("{}x{}", stored.width, stored.height));
      picture = resize(picture, size);
    }
    if (options_.crop) picture = cropped(picture, *options_.crop, outside);
    if (options_.resize) picture = resize(picture, *options_.resize);
    if (channels == 3 && picture.shape.channels == 1) spread_grey(picture);
    if (channels == 1 && picture.shape.channels == 3) {
      outside("every picture", "grey, as declared or as the first is", "in colour");
      make_grey(picture);
    }
    return picture;
  }

  template <class OnOutside>
  static Picture cropped(const Picture& picture, std::int64_t side, const OnOutside& outside) {
    const std::int64_t largest = std::min(picture.shape.width, picture.shape.height);
    if (side <= largest) return centre_crop(picture, side);
    outside("the crop", fmt::format("between 1 and {}", largest), fmt::format("{}", side));
    return resize(picture, {.width = side, .height = side});
  }

  PictureList list_;
  ReadOptions options_;
};

class PictureStream final : public RecordStream {
 public:
  PictureStream(PictureReader reader, const ImageShape& shape)
      : RecordStream(shape, static_cast<std::int64_t>(reader.list().files.size())),
        reader_(std::move(reader)) {}

 private:
  Labels read_labels() override { return {reader_.list().labels, reader_.list().class_names}; }
  Pixels read(std::int64_t count) override {
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = done(); i < done() + count; ++i)
      reader_.append(reader_.list().files[static_cast<std::size_t>(i)], shape(), pixels);
    return pixels;
  }

  PictureReader reader_;
};

std::unique_ptr<RecordStream> PictureReader::stream() {
  return std::make_unique<PictureStream>(*this, shape());
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> found;
  for (const std::string& word : split(line, ' '))
    if (!trim(word).empty()) found.emplace_back(trim(word));
  return found;
}

// list_attr_celeba.txt: a count, the attribute names, then "000001.jpg -1 1 -1 ...".
std::map<std::string, std::int32_t> read_attribute(const Path& file, const std::string& attribute,
                                                   const ReadOptions& options,
                                                   const std::string& source) {
  const std::vector<std::string> lines = split(read_text(file, kLargestList), '\n');
  if (lines.size() < 3)
    throw DataError(violation(file.string(), "a count, the names and a line per picture",
                              fmt::format("{} lines", lines.size())));
  const std::vector<std::string> names = words(lines[1]);
  const auto at = std::find(names.begin(), names.end(), attribute);
  if (at == names.end())
    throw InvalidArgument(violation("attribute", "one of those in " + file.string(), attribute) +
                          did_you_mean(attribute, names));
  const auto column = static_cast<std::size_t>(at - names.begin()) + 1;
  std::map<std::string, std::int32_t> labels;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    const std::vector<std::string> fields = words(lines[i]);
    if (fields.empty()) continue;
    const bool is_valid =
        fields.size() == names.size() + 1 && (fields[column] == "1" || fields[column] == "-1");
    if (!is_valid) {
      on_outside(options, source,
                 violation("an attribute line",
                           fmt::format("a file name and {} values of 1 or -1", names.size()),
                           lines[i].substr(0, 60), fmt::format("{}:{}", file.string(), i + 1)));
      continue;
    }
    labels[fields[0]] = fields[column] == "1" ? 1 : 0;
  }
  return labels;
}

// list_eval_partition.txt: "000001.jpg 0", with 0 train, 1 validation, 2 test.
std::map<std::string, Split> read_partition(const Path& file, const ReadOptions& options,
                                            const std::string& source) {
  const std::map<std::string, Split> splits = {
      {"0", Split::kTrain}, {"1", Split::kValidation}, {"2", Split::kTest}};
  std::map<std::string, Split> partition;
  const std::vector<std::string> lines = split(read_text(file, kLargestList), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> fields = words(lines[i]);
    if (fields.empty()) continue;
    const auto found = fields.size() == 2 ? splits.find(fields[1]) : splits.end();
    if (found == splits.end()) {
      on_outside(options, source,
                 violation("a partition line", "a file name and 0, 1 or 2", lines[i].substr(0, 60),
                           fmt::format("{}:{}", file.string(), i + 1)));
      continue;
    }
    partition[fields[0]] = found->second;
  }
  return partition;
}

// Every picture could be of another kind, so that a private reading must be told.
void require_pictures(const ReadOptions& options, const std::string& path) {
  require_declared(options.declared.channels.has_value(), "channels", options, path);
  require_declared(options.declared.size || options.resize || options.crop, "size", options, path);
}

}  // namespace

std::unique_ptr<Reader> open_image_folder(const Path& folder, const ReadOptions& options) {
  const Path inner = folder / to_string(options.split);
  const bool has_splits = fs::is_directory(folder / "train") || fs::is_directory(folder / "test");
  if (has_splits && !fs::is_directory(inner))
    throw DataError(violation(folder.string(),
                              fmt::format("a folder with {}/", to_string(options.split)),
                              "one with other splits"));
  if (!has_splits) require_whole(options, folder.string());
  require_classes(options, folder.string());
  require_pictures(options, folder.string());
  return std::make_unique<PictureReader>(
      list_folder(has_splits ? inner : folder, options, folder.string()), options);
}

std::unique_ptr<Reader> open_celeba(const Path& folder, const ReadOptions& given) {
  // An attribute has two classes; the recipe that names it declares them.
  Declaration by_attribute{.classes = 0};
  if (given.attribute)
    by_attribute = {.classes = 2, .class_names = {"not " + *given.attribute, *given.attribute}};
  ReadOptions options = given;
  options.declared = joined(given.declared, "the recipe", by_attribute, "data.attribute");
  require_declared(options.declared.size || options.crop, "size", options, folder.string());
  require_pictures(options, folder.string());
  const Path images = folder / "img_align_celeba";
  const std::string source = folder.string();
  const auto partition = read_partition(folder / "list_eval_partition.txt", options, source);
  std::map<std::string, std::int32_t> labels;
  PictureList list{.format = "CelebA",
                   .source = source,
                   .files = {},
                   .labels = {},
                   .class_names = options.declared.names()};
  if (options.attribute)
    labels = read_attribute(folder / "list_attr_celeba.txt", *options.attribute, options, source);
  for (const Path& file : pictures_in(images)) {
    const std::string name = file.filename().string();
    const auto unlisted = [&](const char* where) {
      on_outside(options, source,
                 violation(name, std::string("listed in ") + where, "not", images.string()));
    };
    const auto split = partition.find(name);
    if (split == partition.end()) unlisted("list_eval_partition.txt");
    // Where it is mapped, what is not listed is for training, and has the attribute.
    if ((split == partition.end() ? Split::kTrain : split->second) != options.split) continue;
    list.files.push_back(file);
    if (!options.attribute) continue;
    const auto label = labels.find(name);
    if (label == labels.end()) unlisted("list_attr_celeba.txt");
    list.labels.push_back(label == labels.end() ? 1 : label->second);
  }
  if (list.files.empty())
    throw DataError(
        violation("the split", "one with pictures", to_string(options.split), images.string()));
  // The faces are 178 wide and 218 high; the paper's 32x32 comes from the centred square.
  if (!options.crop) {
    const std::optional<ImageSize>& size = options.declared.size;
    const ImageShape first = size ? ImageShape{.height = size->height, .width = size->width}
                                  : decode_shape(FileBytes(list.files.front()), options.limits);
    options.crop = std::min(first.width, first.height);
  }
  constexpr std::int64_t kPaperSize = 32;
  if (!options.resize) options.resize = ImageSize{kPaperSize, kPaperSize};
  return std::make_unique<PictureReader>(std::move(list), options);
}

}  // namespace obol::data
