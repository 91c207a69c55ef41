// Folders of PNG and JPEG pictures: one sub-folder per class, or none; and CelebA's layout.
#include <algorithm>
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

PictureList list_folder(const Path& folder) {
  PictureList list{.format = "image folder", .files = {}, .labels = {}, .class_names = {}};
  for (const Path& entry : sorted_entries(folder))
    if (fs::is_directory(entry)) list.class_names.push_back(entry.filename().string());
  sort_class_names(list.class_names);
  for (std::size_t k = 0; k < list.class_names.size(); ++k) {
    const auto files = pictures_in(folder / list.class_names[k]);
    list.labels.insert(list.labels.end(), files.size(), static_cast<std::int32_t>(k));
    list.files.insert(list.files.end(), files.begin(), files.end());
  }
  const auto loose = pictures_in(folder);
  if (!loose.empty() && !list.files.empty())
    throw DataError(violation("a folder of pictures", "either flat or one sub-folder per class",
                              "both", folder.string()));
  if (list.files.empty()) {
    list.files = loose;
    list.class_names.clear();
  }
  if (list.files.empty())
    throw DataError(violation("a folder of pictures", "one with PNG or JPEG files", "without any",
                              folder.string()));
  return list;
}

class PictureReader final : public Reader {
 public:
  PictureReader(PictureList list, ReadOptions options)
      : list_(std::move(list)), options_(std::move(options)) {}

  Description describe() override {
    Description description{.format = list_.format,
                            .shape = load(list_.files.front()).shape,
                            .count = static_cast<std::int64_t>(list_.files.size()),
                            .class_names = list_.class_names,
                            .class_counts = {}};
    description.class_counts.resize(list_.class_names.size());
    for (const std::int32_t label : list_.labels)
      ++description.class_counts[static_cast<std::size_t>(label)];
    return description;
  }

  Dataset read() override {
    Progress progress("reading", static_cast<std::int64_t>(list_.files.size()), "pictures");
    Dataset data{.shape = {},
                 .pixels = {},
                 .labels = list_.labels,
                 .class_names = list_.class_names,
                 .declared_size = static_cast<std::int64_t>(list_.files.size())};
    std::vector<std::uint8_t> pixels;
    for (const Path& file : list_.files) {
      check_interrupt();
      if (pixels.empty()) {
        data.shape = load(file).shape;
        reserve(pixels, data.shape);
      }
      append(file, data.shape, pixels);
      progress.advance(1);
    }
    data.pixels = std::move(pixels);
    return data;
  }

  std::unique_ptr<RecordStream> stream() override;

  [[nodiscard]] const PictureList& list() const { return list_; }

  // A picture, which must be of this shape.
  void append(const Path& file, const ImageShape& shape, std::vector<std::uint8_t>& pixels) const {
    Picture picture = load(file);
    if (picture.shape.channels == 1 && shape.channels == 3) spread_grey(picture);
    if (picture.shape != shape)
      throw DataError(
          violation("every picture",
                    fmt::format("{} as the first is (or resized, --resize WxH)", to_string(shape)),
                    to_string(picture.shape), file.string()));
    pixels.insert(pixels.end(), picture.pixels.begin(), picture.pixels.end());
  }

 private:
  void reserve(std::vector<std::uint8_t>& pixels, const ImageShape& shape) const {
    const std::uint64_t size = static_cast<std::uint64_t>(shape.pixels()) * list_.files.size();
    if (size > options_.limits.max_bytes)
      throw DataError(violation("the pictures",
                                fmt::format("at most {} bytes together", options_.limits.max_bytes),
                                size, list_.files.front().parent_path().string()));
    pixels.reserve(static_cast<std::size_t>(size));
  }

  static void spread_grey(Picture& picture) {
    const std::vector<std::uint8_t> plane = picture.pixels;
    for (int c = 1; c < 3; ++c)
      picture.pixels.insert(picture.pixels.end(), plane.begin(), plane.end());
    picture.shape.channels = 3;
  }

  [[nodiscard]] Picture load(const Path& file) const {
    Picture picture = decode(FileBytes(file), options_.limits);
    if (options_.crop) picture = centre_crop(picture, *options_.crop, file.string());
    if (options_.resize) picture = resize(picture, *options_.resize);
    return picture;
  }

  PictureList list_;
  ReadOptions options_;
};

class PictureStream final : public RecordStream {
 public:
  PictureStream(PictureReader reader, const ImageShape& shape)
      : RecordStream(shape, static_cast<std::int64_t>(reader.list().files.size())),
        reader_(std::move(reader)) {}
  Labels labels() override { return {reader_.list().labels, reader_.list().class_names}; }

 private:
  Pixels read(std::int64_t count) override {
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = done(); i < done() + count; ++i)
      reader_.append(reader_.list().files[static_cast<std::size_t>(i)], shape(), pixels);
    return pixels;
  }

  PictureReader reader_;
};

std::unique_ptr<RecordStream> PictureReader::stream() {
  return std::make_unique<PictureStream>(*this, load(list_.files.front()).shape);
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> found;
  for (const std::string& word : split(line, ' '))
    if (!trim(word).empty()) found.emplace_back(trim(word));
  return found;
}

// list_attr_celeba.txt: a count, the attribute names, then "000001.jpg -1 1 -1 ...".
std::map<std::string, std::int32_t> read_attribute(const Path& file, const std::string& attribute) {
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
    if (!is_valid)
      throw DataError(violation(
          "an attribute line", fmt::format("a file name and {} values of 1 or -1", names.size()),
          lines[i].substr(0, 60), fmt::format("{}:{}", file.string(), i + 1)));
    labels[fields[0]] = fields[column] == "1" ? 1 : 0;
  }
  return labels;
}

// list_eval_partition.txt: "000001.jpg 0", with 0 train, 1 validation, 2 test.
std::map<std::string, Split> read_partition(const Path& file) {
  const std::map<std::string, Split> splits = {
      {"0", Split::kTrain}, {"1", Split::kValidation}, {"2", Split::kTest}};
  std::map<std::string, Split> partition;
  const std::vector<std::string> lines = split(read_text(file, kLargestList), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> fields = words(lines[i]);
    if (fields.empty()) continue;
    const auto found = fields.size() == 2 ? splits.find(fields[1]) : splits.end();
    if (found == splits.end())
      throw DataError(violation("a partition line", "a file name and 0, 1 or 2",
                                lines[i].substr(0, 60),
                                fmt::format("{}:{}", file.string(), i + 1)));
    partition[fields[0]] = found->second;
  }
  return partition;
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
  return std::make_unique<PictureReader>(list_folder(has_splits ? inner : folder), options);
}

std::unique_ptr<Reader> open_celeba(const Path& folder, const ReadOptions& options) {
  const Path images = folder / "img_align_celeba";
  const auto partition = read_partition(folder / "list_eval_partition.txt");
  std::map<std::string, std::int32_t> labels;
  PictureList list{.format = "CelebA", .files = {}, .labels = {}, .class_names = {}};
  if (options.attribute) {
    labels = read_attribute(folder / "list_attr_celeba.txt", *options.attribute);
    list.class_names = {"not " + *options.attribute, *options.attribute};
  }
  for (const Path& file : pictures_in(images)) {
    const std::string name = file.filename().string();
    const auto split = partition.find(name);
    if (split == partition.end())
      throw DataError(violation(name, "listed in list_eval_partition.txt", "not", images.string()));
    if (split->second != options.split) continue;
    list.files.push_back(file);
    if (!options.attribute) continue;
    const auto label = labels.find(name);
    if (label == labels.end())
      throw DataError(violation(name, "listed in list_attr_celeba.txt", "not", images.string()));
    list.labels.push_back(label->second);
  }
  if (list.files.empty())
    throw DataError(
        violation("the split", "one with pictures", to_string(options.split), images.string()));
  // The faces are 178 wide and 218 high; the paper's 32x32 comes from the centred square.
  ReadOptions prepared = options;
  if (!prepared.crop) {
    const ImageShape first = decode_shape(FileBytes(list.files.front()), options.limits);
    prepared.crop = std::min(first.width, first.height);
  }
  constexpr std::int64_t kPaperSize = 32;
  if (!prepared.resize) prepared.resize = ImageSize{kPaperSize, kPaperSize};
  return std::make_unique<PictureReader>(std::move(list), prepared);
}

}  // namespace obol::data
