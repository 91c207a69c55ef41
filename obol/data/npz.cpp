#include "obol/data/npz.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/data/layout.h"
#include "obol/data/npy.h"
#include "obol/data/pixels.h"
#include "obol/data/record_stream.h"
#include "obol/data/zip.h"

namespace obol::data {
namespace {

struct Layout {
  ImageShape shape;
  bool is_channels_last = false;
};

bool can_be_channels(std::uint64_t size) { return size == 1 || size == 3; }

Layout layout_of(const std::vector<std::uint64_t>& shape, const std::string& where) {
  constexpr std::uint64_t kLargestSide = std::uint64_t{1} << 32;
  for (const std::uint64_t side : shape)
    if (side == 0 || side > kLargestSide)
      throw DataError(violation("the shape of the images", "of sides from 1 to 2^32",
                                fmt::format("[{}]", fmt::join(shape, ", ")), where));
  const auto side = [&](std::size_t d) { return static_cast<std::int64_t>(shape[d]); };
  if (shape.size() == 2) return {shape_of_flat(shape[1])};
  if (shape.size() == 3) return {{.channels = 1, .height = side(1), .width = side(2)}};
  // Last before second where both could be: that is how write_npz does it.
  if (shape.size() == 4 && can_be_channels(shape[3]))
    return {{.channels = side(3), .height = side(1), .width = side(2)}, true};
  if (shape.size() == 4 && can_be_channels(shape[1]))
    return {{.channels = side(1), .height = side(2), .width = side(3)}};
  throw DataError(violation("the shape of the images",
                            "[count, height, width], with 1 or 3 channels last or second, or "
                            "[count, pixels]",
                            fmt::format("[{}]", fmt::join(shape, ", ")), where));
}

// The arrays that hold images and labels, by the names in use.
struct Arrays {
  std::optional<ZipEntry> images;
  std::optional<ZipEntry> labels;
};

Arrays find_arrays(const Bytes& bytes, Split split) {
  const std::vector<ZipEntry> entries = read_zip_directory(bytes);
  const auto find = [&](const std::vector<std::string>& names) -> std::optional<ZipEntry> {
    for (const std::string& name : names)
      for (const ZipEntry& entry : entries)
        if (entry.name == name + ".npy") return entry;
    return std::nullopt;
  };
  const std::string ending = to_string(split);
  Arrays arrays{.images = find({"images_" + ending, "x_" + ending}),
                .labels = find({"labels_" + ending, "y_" + ending})};
  if (!arrays.images && split == Split::kTrain)
    arrays = {.images = find({"images", "x", "data", "arr_0"}),
              .labels = find({"labels", "y", "arr_1"})};
  if (!arrays.images) {
    std::vector<std::string> names;
    names.reserve(entries.size());
    for (const ZipEntry& entry : entries) names.push_back(entry.name);
    throw DataError(violation("an NPZ data set", "one with an array named images or x_" + ending,
                              fmt::format("one with [{}]", fmt::join(names, ", ")), bytes.name()));
  }
  return arrays;
}

std::vector<std::int32_t> read_labels(const Bytes& bytes, const ZipEntry& entry,
                                      const ReadLimits& limits) {
  const auto stream = open_zip_entry(bytes, entry, limits);
  const NpyHeader header = read_npy_header(*stream);
  const auto& shape = header.shape;
  if (shape.size() != 1 && !(shape.size() == 2 && shape[1] == 1))
    throw DataError(violation("the shape of the labels", "[count]",
                              fmt::format("[{}]", fmt::join(shape, ", ")), stream->name()));
  std::vector<std::int32_t> labels = read_npy_values<std::int32_t>(*stream, header, limits);
  constexpr std::int32_t kMostClasses = 1 << 16;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= kMostClasses)
      throw DataError(
          violation(fmt::format("label {}", i), "from 0 to 65535", labels[i], stream->name()));
  return labels;
}

// Also where there are none at all, which would pass for unlabelled data.
void check_npz_labels(const std::vector<std::int32_t>& labels, std::uint64_t num_images,
                      const std::string& where) {
  if (labels.size() != num_images)
    throw DataError(violation("the number of labels",
                              fmt::format("{}, the number of images", num_images), labels.size(),
                              where));
}

void put_channels_first(Pixels& pixels, const ImageShape& shape) {
  if (shape.channels == 1) return;
  if (auto* floats = std::get_if<std::vector<float>>(&pixels)) {
    channels_first(*floats, shape);
  } else {
    const auto& stored = std::get<PixelBytes>(pixels);
    std::vector<std::uint8_t> bytes(stored.begin(), stored.end());
    channels_first(bytes, shape);
    pixels = std::move(bytes);
  }
}

Dataset read_images(Stream& stream, const ReadOptions& options) {
  const NpyHeader header = read_npy_header(stream);
  if (header.shape.empty())
    throw DataError(violation("the images", "an array", "one number", stream.name()));
  const Layout layout = layout_of(header.shape, stream.name());
  Dataset data{.shape = layout.shape,
               .pixels = {},
               .labels = {},
               .class_names = {},
               .declared_size = static_cast<std::int64_t>(header.shape[0])};
  const bool is_as_stored =
      !header.is_fortran_order && (!layout.is_channels_last || layout.shape.channels == 1);
  if (header.kind == 'u' && header.item_size == 1 && !options.range) {
    data.pixels = is_as_stored ? read_pixel_bytes(stream, header.shape, options.limits)
                               : read_npy_values<std::uint8_t>(stream, header, options.limits);
  } else {
    auto values = read_npy_values<float>(stream, header, options.limits);
    data.pixels = to_pixels(std::move(values), options.range,
                            static_cast<std::size_t>(layout.shape.pixels()), stream.name());
  }
  if (layout.is_channels_last) put_channels_first(data.pixels, layout.shape);
  return data;
}

// The array of images, from an archive or a file of its own, part by part.
class NpyStream final : public RecordStream {
 public:
  NpyStream(std::unique_ptr<FileBytes> bytes, std::unique_ptr<Stream> stream,
            const NpyHeader& header, const Layout& layout, ReadOptions options,
            std::optional<ZipEntry> labels)
      : RecordStream(layout.shape, static_cast<std::int64_t>(header.shape[0])),
        bytes_(std::move(bytes)),
        stream_(std::move(stream)),
        header_(header),
        layout_(layout),
        options_(std::move(options)),
        labels_(std::move(labels)) {}

  Labels labels() override {
    if (!labels_) return {};
    Labels result{.labels = read_labels(*bytes_, *labels_, options_.limits), .class_names = {}};
    check_npz_labels(result.labels, static_cast<std::uint64_t>(count()), bytes_->name());
    result.class_names = numbered_classes(result.labels);
    return result;
  }

 private:
  Pixels read(std::int64_t count) override {
    const bool are_bytes = header_.kind == 'u' && header_.item_size == 1 && !options_.range;
    Pixels result = are_bytes ? Pixels(read_as<std::uint8_t>(count)) : read_as<float>(count);
    if (count == left()) stream_->expect_end();
    if (auto* floats = std::get_if<std::vector<float>>(&result))
      *floats = unit_pixels(std::move(*floats), options_.range,
                            static_cast<std::size_t>(shape().pixels()),
                            static_cast<std::size_t>(done()), stream_->name());
    if (layout_.is_channels_last) put_channels_first(result, shape());
    return result;
  }

  template <class T>
  std::vector<T> read_as(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count * shape().pixels()));
    read_npy_part(*stream_, header_, std::span(values));
    return values;
  }

  std::unique_ptr<FileBytes> bytes_;
  std::unique_ptr<Stream> stream_;
  NpyHeader header_;
  Layout layout_;
  ReadOptions options_;
  std::optional<ZipEntry> labels_;
};

std::unique_ptr<RecordStream> stream_images(std::unique_ptr<FileBytes> bytes,
                                            std::unique_ptr<Stream> stream,
                                            const ReadOptions& options,
                                            std::optional<ZipEntry> labels) {
  const NpyHeader header = read_npy_header(*stream);
  if (header.shape.empty())
    throw DataError(violation("the images", "an array", "one number", stream->name()));
  const Layout layout = layout_of(header.shape, stream->name());
  claimed_bytes(header.shape, header.item_size, *stream, {.max_bytes = kNoLimit});
  if (header.is_fortran_order)  // one pixel of all records after the other
    throw DataError(violation("an array that is read record by record",
                              "in C's order (numpy.ascontiguousarray)", "in Fortran's",
                              stream->name()));
  return std::make_unique<NpyStream>(std::move(bytes), std::move(stream), header, layout, options,
                                     std::move(labels));
}

class NpzReader final : public Reader {
 public:
  NpzReader(const Path& path, ReadOptions options) : bytes_(path), options_(std::move(options)) {}

  Description describe() override {
    const Arrays arrays = find_arrays(bytes_, options_.split);
    const auto stream = open_zip_entry(bytes_, *arrays.images, options_.limits);
    const NpyHeader header = read_npy_header(*stream);
    if (header.shape.empty())
      throw DataError(violation("the images", "an array", "one number", stream->name()));
    Dataset only_labels;
    if (arrays.labels) only_labels.labels = read_labels(bytes_, *arrays.labels, options_.limits);
    only_labels.class_names = numbered_classes(only_labels.labels);
    if (arrays.labels) check_npz_labels(only_labels.labels, header.shape[0], bytes_.name());
    const Layout layout = layout_of(header.shape, stream->name());
    claimed_bytes(header.shape, header.item_size, *stream, {.max_bytes = kNoLimit});
    return {.format = fmt::format("NPZ ({})", header.type_name()),
            .shape = layout.shape,
            .count = static_cast<std::int64_t>(header.shape[0]),
            .class_names = only_labels.class_names,
            .class_counts = class_counts(only_labels)};
  }

  Dataset read() override { return read_npz(bytes_, options_); }

  std::unique_ptr<RecordStream> stream() override {
    auto bytes = std::make_unique<FileBytes>(bytes_.name());
    const Arrays arrays = find_arrays(*bytes, options_.split);
    auto entry = open_zip_entry(*bytes, *arrays.images, {.max_bytes = kNoLimit});
    return stream_images(std::move(bytes), std::move(entry), options_, arrays.labels);
  }

 private:
  FileBytes bytes_;
  ReadOptions options_;
};

class NpyReader final : public Reader {
 public:
  NpyReader(const Path& path, ReadOptions options) : bytes_(path), options_(std::move(options)) {}

  Description describe() override {
    const auto stream = open_array(bytes_, options_.limits);
    const NpyHeader header = read_npy_header(*stream);
    if (header.shape.empty())
      throw DataError(violation("the images", "an array", "one number", stream->name()));
    const Layout layout = layout_of(header.shape, stream->name());
    claimed_bytes(header.shape, header.item_size, *stream, {.max_bytes = kNoLimit});
    return {.format = fmt::format("NPY ({})", header.type_name()),
            .shape = layout.shape,
            .count = static_cast<std::int64_t>(header.shape[0]),
            .class_names = {},
            .class_counts = {}};
  }

  Dataset read() override {
    const auto stream = open_array(bytes_, options_.limits);
    return read_images(*stream, options_);
  }

  std::unique_ptr<RecordStream> stream() override {
    auto bytes = std::make_unique<FileBytes>(bytes_.name());
    auto content = open_stream(*bytes, {.max_bytes = kNoLimit});
    return stream_images(std::move(bytes), std::move(content), options_, std::nullopt);
  }

 private:
  FileBytes bytes_;
  ReadOptions options_;
};

}  // namespace

Dataset read_npz(const Bytes& bytes, const ReadOptions& options) {
  const Arrays arrays = find_arrays(bytes, options.split);
  const auto stream = open_zip_entry(bytes, *arrays.images, options.limits);
  Dataset data = read_images(*stream, options);
  if (arrays.labels) {
    data.labels = read_labels(bytes, *arrays.labels, options.limits);
    check_npz_labels(data.labels, static_cast<std::uint64_t>(data.declared_size), bytes.name());
    data.class_names = numbered_classes(data.labels);
  }
  return data;
}

void write_npz(const Dataset& data, const Path& path) {
  AtomicFile file(path);
  ZipWriter zip(file);
  std::vector<std::int64_t> shape = {data.count(), data.shape.height, data.shape.width};
  if (data.shape.channels > 1) shape.push_back(data.shape.channels);
  zip.add("images.npy", [&](const ZipWriter::Sink& sink) {
    std::visit(
        [&](const auto& pixels) {
          using T = typename std::decay_t<decltype(pixels)>::value_type;
          const std::string header = npy_header<T>(shape);
          sink(std::as_bytes(std::span(header)));
          const auto per_record = static_cast<std::size_t>(data.shape.pixels());
          for (std::size_t start = 0; start < pixels.size(); start += per_record) {
            const auto record = std::span(pixels).subspan(start, per_record);
            if (data.shape.channels == 1) {
              sink(std::as_bytes(record));
            } else {
              const auto out =
                  interleaved(std::vector<T>(record.begin(), record.end()), data.shape);
              sink(std::as_bytes(std::span(out)));
            }
          }
        },
        data.pixels);
  });
  if (data.is_labelled())
    zip.add("labels.npy", [&](const ZipWriter::Sink& sink) {
      const std::string header = npy_header<std::int32_t>({data.count()});
      sink(std::as_bytes(std::span(header)));
      sink(std::as_bytes(std::span(data.labels)));
    });
  zip.finish();
  file.commit();
}

std::unique_ptr<Reader> open_npz(const Path& path, const ReadOptions& options) {
  return std::make_unique<NpzReader>(path, options);
}

std::unique_ptr<Reader> open_npy(const Path& path, const ReadOptions& options) {
  require_whole(options, path.string());
  return std::make_unique<NpyReader>(path, options);
}

}  // namespace obol::data
