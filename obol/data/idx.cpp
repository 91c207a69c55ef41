#include "obol/data/idx.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "obol/data/layout.h"
#include "obol/data/reader.h"
#include "obol/data/record_stream.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

std::uint32_t big_endian(std::span<const std::byte, 4> bytes) {
  std::uint32_t value = 0;
  for (const std::byte b : bytes) value = value << 8 | std::to_integer<std::uint32_t>(b);
  return value;
}

void append_big_endian(std::string& out, std::int64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

ImageShape image_shape(const IdxHeader& header, const Stream& stream) {
  const auto& d = header.dimensions;
  if (d.size() != 3 && d.size() != 4)
    throw DataError(violation("the rank of IDX images", "3 or 4", d.size(), stream.where()));
  return {.channels = d.size() == 4 ? static_cast<std::int64_t>(d[3]) : 1,
          .height = static_cast<std::int64_t>(d[1]),
          .width = static_cast<std::int64_t>(d[2])};
}

void check_label_count(const std::vector<std::int32_t>& labels, std::int64_t num_images,
                       const Path& where) {
  if (static_cast<std::int64_t>(labels.size()) != num_images)
    throw DataError(violation("the number of labels",
                              fmt::format("{}, the number of images", num_images), labels.size(),
                              where.string()));
}

// "train-images-idx3-ubyte.gz" -> the labels file that lies beside it, if any.
std::optional<Path> labels_beside(const Path& images) {
  std::string name = images.filename().string();
  const auto at = name.find("images");
  if (at == std::string::npos) return std::nullopt;
  name.replace(at, 6, "labels");
  for (const char* rank : {"idx3", "idx4"})
    if (const auto r = name.find(rank); r != std::string::npos) name.replace(r, 4, "idx1");
  const bool is_gzip = name.ends_with(".gz");
  const std::string other = is_gzip ? name.substr(0, name.size() - 3) : name + ".gz";
  for (const std::string& candidate : {name, other})
    if (fs::is_regular_file(images.parent_path() / candidate))
      return images.parent_path() / candidate;
  return std::nullopt;
}

class IdxStream final : public RecordStream {
 public:
  // `bytes` and `stream`, which reads them, are past the header.
  IdxStream(const ImageShape& shape, std::int64_t count, std::unique_ptr<FileBytes> bytes,
            std::unique_ptr<Stream> stream, std::function<Labels()> labels)
      : RecordStream(shape, count),
        bytes_(std::move(bytes)),
        stream_(std::move(stream)),
        labels_(std::move(labels)) {}

 private:
  Labels read_labels() override { return labels_(); }
  Pixels read(std::int64_t count) override {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count * shape().pixels()));
    stream_->read_exactly(std::as_writable_bytes(std::span(pixels)), "the pixels");
    if (count == left()) stream_->expect_end();
    channels_first(pixels, shape());
    return pixels;
  }

  std::unique_ptr<FileBytes> bytes_;
  std::unique_ptr<Stream> stream_;
  std::function<Labels()> labels_;
};

class IdxReader final : public Reader {
 public:
  IdxReader(Path images, ReadOptions options)
      : images_(std::move(images)), labels_(labels_beside(images_)), options_(std::move(options)) {}

  Description describe() override {
    const FileBytes bytes(images_);
    const auto stream = open_array(bytes, options_.limits);
    const IdxHeader header = read_idx_header(*stream);
    Dataset only_labels;
    const auto count = static_cast<std::int64_t>(header.dimensions.front());
    const ImageShape shape = image_shape(header, *stream);
    check_shape(shape, options_.declared, images_.string());
    claimed_bytes(header.dimensions, 1, *stream, {.max_bytes = kNoLimit});
    take_labels(read_labels(count), only_labels);
    return {.format = "IDX",
            .shape = shape,
            .count = count,
            .class_names = only_labels.class_names,
            .class_counts = class_counts(only_labels)};
  }

  Dataset read() override {
    Dataset data = read_idx_images(FileBytes(images_), options_.limits);
    check_shape(data.shape, options_.declared, images_.string());
    take_labels(read_labels(data.declared_size), data);
    return data;
  }

  std::unique_ptr<RecordStream> stream() override {
    const ReadLimits no_limit{.max_bytes = kNoLimit};  // nothing is allocated for it all
    auto bytes = std::make_unique<FileBytes>(images_);
    auto stream = open_stream(*bytes, no_limit);
    const IdxHeader header = read_idx_header(*stream);
    const ImageShape shape = image_shape(header, *stream);
    check_shape(shape, options_.declared, images_.string());
    claimed_bytes(header.dimensions, 1, *stream, no_limit);
    const auto count = static_cast<std::int64_t>(header.dimensions.front());
    return std::make_unique<IdxStream>(
        shape, count, std::move(bytes), std::move(stream),
        [reader = *this, count] { return reader.read_labels(count); });
  }

 private:
  [[nodiscard]] Labels read_labels(std::int64_t count) const {
    if (!labels_) return settled_labels(std::nullopt, options_, images_.string());
    const std::vector<std::int32_t> found = read_idx_labels(FileBytes(*labels_), options_.limits);
    check_label_count(found, count, *labels_);
    return settled_labels(std::vector<double>(found.begin(), found.end()), options_,
                          images_.string());
  }

  Path images_;
  std::optional<Path> labels_;
  ReadOptions options_;
};

}  // namespace

IdxHeader read_idx_header(Stream& stream) {
  std::array<std::byte, 4> magic{};
  stream.read_exactly(magic, "the IDX magic number");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0})
    throw DataError(violation("an IDX file", "begun by two zero bytes",
                              fmt::format("begun by {:#x}", big_endian(magic)), stream.name()));
  if (magic[2] != std::byte{0x08})
    throw DataError(violation("the IDX element type", "0x08, unsigned bytes",
                              fmt::format("{:#04x}", std::to_integer<int>(magic[2])),
                              fmt::format("{}, offset 2", stream.name())));
  IdxHeader header;
  for (int i = 0; i < std::to_integer<int>(magic[3]); ++i) {
    std::array<std::byte, 4> dimension{};
    stream.read_exactly(dimension, "an IDX dimension");
    header.dimensions.push_back(big_endian(dimension));
    if (header.dimensions.back() == 0)
      throw DataError(violation("an IDX dimension", "at least 1", 0, stream.where()));
  }
  return header;
}

std::string idx_header(const std::vector<std::int64_t>& dimensions) {
  std::string header = {0, 0, 8, static_cast<char>(dimensions.size())};
  for (const std::int64_t dimension : dimensions) append_big_endian(header, dimension);
  return header;
}

Dataset read_idx_images(const Bytes& bytes, const ReadLimits& limits) {
  const auto stream = open_array(bytes, limits);
  const IdxHeader header = read_idx_header(*stream);
  Dataset data{.shape = image_shape(header, *stream),
               .pixels = {},
               .labels = {},
               .class_names = {},
               .declared_size = static_cast<std::int64_t>(header.dimensions[0])};
  if (data.shape.channels == 1) {
    data.pixels = read_pixel_bytes(*stream, header.dimensions, limits);
    return data;
  }
  std::vector<std::uint8_t> pixels(claimed_bytes(header.dimensions, 1, *stream, limits));
  stream->read_exactly(std::as_writable_bytes(std::span(pixels)), "the pixels");
  stream->expect_end();
  channels_first(pixels, data.shape);
  data.pixels = std::move(pixels);
  return data;
}

std::vector<std::int32_t> read_idx_labels(const Bytes& bytes, const ReadLimits& limits) {
  const auto stream = open_stream(bytes, limits);
  const IdxHeader header = read_idx_header(*stream);
  if (header.dimensions.size() != 1)
    throw DataError(
        violation("the rank of IDX labels", "1", header.dimensions.size(), stream->where()));
  std::vector<std::uint8_t> labels(claimed_bytes(header.dimensions, 1, *stream, limits));
  stream->read_exactly(std::as_writable_bytes(std::span(labels)), "the labels");
  stream->expect_end();
  return {labels.begin(), labels.end()};
}

void write_idx(const Dataset& data, const Path& folder) {
  constexpr std::int64_t kLargestLabel = 255;
  if (data.num_classes() > kLargestLabel + 1)
    throw DataError(violation("the number of classes", "at most 256 in IDX", data.num_classes()));
  const bool in_colour = data.shape.channels > 1;
  AtomicFolder out(folder);
  AtomicFile images(out.inside() / (in_colour ? "images-idx4-ubyte" : "images-idx3-ubyte"));
  std::vector<std::int64_t> dimensions = {data.count(), data.shape.height, data.shape.width};
  if (in_colour) dimensions.push_back(data.shape.channels);
  images.write(idx_header(dimensions));
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const auto record = interleaved(record_bytes(data, i), data.shape);
    images.write(std::as_bytes(std::span(record)));
  }
  images.commit();
  if (data.is_labelled()) {
    AtomicFile labels(out.inside() / "labels-idx1-ubyte");
    std::string text = idx_header({data.count()});
    for (const std::int32_t label : data.labels) text += static_cast<char>(label);
    labels.write(text);
    labels.commit();
  }
  out.commit();
}

std::unique_ptr<Reader> open_idx(const Path& images, const ReadOptions& options) {
  require_whole(options, images.string());
  require_classes(options, images.string());
  return std::make_unique<IdxReader>(images, options);
}

std::unique_ptr<Reader> open_idx_folder(const Path& folder, const ReadOptions& options) {
  require_classes(options, folder.string());
  // Split names as MNIST has them; a folder without a split holds "images-idx3-ubyte".
  const std::string prefix = options.split == Split::kTrain  ? "train-"
                             : options.split == Split::kTest ? "t10k-"
                                                             : "validation-";
  for (const std::string& start : {prefix, std::string{}}) {
    if (start.empty() && options.split != Split::kTrain) break;
    for (const char* rest : {"images-idx3-ubyte", "images-idx4-ubyte"})
      for (const char* ending : {"", ".gz"})
        if (const Path file = folder / (start + rest + ending); fs::is_regular_file(file))
          return std::make_unique<IdxReader>(file, options);
  }
  throw DataError(violation("a folder of IDX files", "one with " + prefix + "images-idx3-ubyte",
                            "one without", folder.string()));
}

}  // namespace obol::data
