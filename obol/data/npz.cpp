#include "obol/data/npz.h"

#include <algorithm>
#include <array>
#include <functional>
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

Layout layout_by_header(const std::vector<std::uint64_t>& shape, const Declaration& declared,
                        const std::string& where) {
  constexpr std::uint64_t kLargestSide = std::uint64_t{1} << 32;
  for (const std::uint64_t side : shape)
    if (side == 0 || side > kLargestSide)
      throw DataError(violation("the shape of the images", "of sides from 1 to 2^32",
                                fmt::format("[{}]", fmt::join(shape, ", ")), where));
  const auto side = [&](std::size_t d) { return static_cast<std::int64_t>(shape[d]); };
  if (shape.size() == 2) return {shape_of_flat(shape[1], declared)};
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

Layout layout_of(const NpyHeader& header, const ReadOptions& options, const std::string& where) {
  if (header.shape.empty())
    throw DataError(violation("the images", "an array", "one number", where));
  const Layout layout = layout_by_header(header.shape, options.declared, where);
  check_shape(layout.shape, options.declared, where);
  return layout;
}

// The arrays that hold images and labels, by the names in use.
struct Arrays {
  std::optional<ZipEntry> images;
  std::optional<ZipEntry> labels;
};

// What a split is called in the names of arrays.
std::vector<std::string> words_for(Split split) {
  if (split == Split::kValidation) return {"validation", "val"};
  return {to_string(split)};
}

// With the split last, as Keras does it, or first, as MedMNIST does.
std::vector<std::string> names_of(Split split, const std::vector<std::string>& things,
                                  const std::string& thing_of_medmnist) {
  std::vector<std::string> names;
  for (const std::string& word : words_for(split)) {
    for (const std::string& thing : things) names.push_back(thing + "_" + word);
    names.push_back(word + "_" + thing_of_medmnist);
  }
  return names;
}

[[noreturn]] void refuse_names(const std::vector<ZipEntry>& entries, Split split,
                               const std::string& where) {
  std::vector<std::string> wanted = {"x_" + to_string(split), words_for(split).back() + "_images"};
  if (split == Split::kTrain) wanted.insert(wanted.begin(), "images");
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const ZipEntry& entry : entries) names.push_back(entry.name);
  throw DataError(violation("an NPZ data set",
                            fmt::format("one with an array named {}", fmt::join(wanted, " or ")),
                            fmt::format("one with [{}]", fmt::join(names, ", ")), where));
}

Arrays find_arrays(const Bytes& bytes, Split split) {
  const std::vector<ZipEntry> entries = read_zip_directory(bytes);
  const auto find = [&](const std::vector<std::string>& names) -> std::optional<ZipEntry> {
    for (const std::string& name : names)
      for (const ZipEntry& entry : entries)
        if (entry.name == name + ".npy") return entry;
    return std::nullopt;
  };
  Arrays arrays{.images = find(names_of(split, {"images", "x"}, "images")),
                .labels = find(names_of(split, {"labels", "y"}, "labels"))};
  if (!arrays.images && split == Split::kTrain)
    arrays = {.images = find({"images", "x", "data", "arr_0"}),
              .labels = find({"labels", "y", "arr_1"})};
  if (!arrays.images) refuse_names(entries, split, bytes.name());
  return arrays;
}

// A number of labels that is not that of the images would also be none at all, which would pass for
// unlabelled data.
Labels read_labels(const Bytes& bytes, const std::optional<ZipEntry>& entry,
                   std::uint64_t num_images, const ReadOptions& options) {
  if (!entry) return settled_labels(std::nullopt, options, bytes.name());
  const auto stream = open_zip_entry(bytes, *entry, options.limits);
  const NpyHeader header = read_npy_header(*stream);
  const auto& shape = header.shape;
  if (shape.size() != 1 && !(shape.size() == 2 && shape[1] == 1))
    throw DataError(violation("the shape of the labels", "[count] or [count, 1]",
                              fmt::format("[{}]", fmt::join(shape, ", ")), stream->name()));
  const auto found = read_npy_values<double>(*stream, header, options.limits);
  if (found.size() != num_images)
    throw DataError(violation("the number of labels",
                              fmt::format("{}, the number of images", num_images), found.size(),
                              bytes.name()));
  return settled_labels(found, options, bytes.name());
}

// What the numbers mean comes from their type, or is declared.
bool are_bytes(const NpyHeader& header) { return header.kind == 'u' && header.item_size == 1; }

ValueRange range_of(const ReadOptions& options, const std::string& source) {
  if (!options.declared.range) refuse_undeclared("range", source);
  return *options.declared.range;
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

// `source` is the file that the stream is from.
Dataset read_images(Stream& stream, const ReadOptions& options, const std::string& source) {
  const NpyHeader header = read_npy_header(stream);
  const Layout layout = layout_of(header, options, stream.name());
  Dataset data{.shape = layout.shape,
               .pixels = {},
               .labels = {},
               .class_names = {},
               .declared_size = static_cast<std::int64_t>(header.shape[0])};
  const bool is_as_stored =
      !header.is_fortran_order && (!layout.is_channels_last || layout.shape.channels == 1);
  if (are_bytes(header) && !options.declared.range) {
    data.pixels = is_as_stored ? read_pixel_bytes(stream, header.shape, options.limits)
                               : read_npy_values<std::uint8_t>(stream, header, options.limits);
  } else {
    const ValueRange range = range_of(options, source);
    data.pixels = unit_pixels(read_npy_values<float>(stream, header, options.limits), range,
                              static_cast<std::size_t>(layout.shape.pixels()));
  }
  if (layout.is_channels_last) put_channels_first(data.pixels, layout.shape);
  return data;
}

// Nothing of bytes.
std::optional<NumbersSeen> see_images(Stream& stream, const ReadOptions& options) {
  const NpyHeader header = read_npy_header(stream);
  const Layout layout = layout_of(header, options, stream.name());
  if (are_bytes(header)) return std::nullopt;
  return numbers_seen(read_npy_values<float>(stream, header, options.limits),
                      static_cast<std::size_t>(layout.shape.pixels()));
}

// The array of images, from an archive or a file of its own, part by part.
class NpyStream final : public RecordStream {
 public:
  NpyStream(std::unique_ptr<FileBytes> bytes, std::unique_ptr<Stream> stream,
            const NpyHeader& header, const Layout& layout, ReadOptions options,
            std::function<Labels(const Bytes&)> labels)
      : RecordStream(layout.shape, static_cast<std::int64_t>(header.shape[0])),
        bytes_(std::move(bytes)),
        stream_(std::move(stream)),
        header_(header),
        layout_(layout),
        options_(std::move(options)),
        labels_(std::move(labels)) {}

 private:
  Labels read_labels() override { return labels_(*bytes_); }
  Pixels read(std::int64_t count) override {
    const bool stay_bytes = are_bytes(header_) && !options_.declared.range;
    Pixels result = stay_bytes ? Pixels(read_as<std::uint8_t>(count)) : read_as<float>(count);
    if (count == left()) stream_->expect_end();
    if (auto* floats = std::get_if<std::vector<float>>(&result))
      *floats = unit_pixels(std::move(*floats), range_of(options_, bytes_->name()),
                            static_cast<std::size_t>(shape().pixels()));
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
  std::function<Labels(const Bytes&)> labels_;
};

std::unique_ptr<RecordStream> stream_images(std::unique_ptr<FileBytes> bytes,
                                            std::unique_ptr<Stream> stream,
                                            const ReadOptions& options,
                                            const std::optional<ZipEntry>& labels) {
  const NpyHeader header = read_npy_header(*stream);
  const Layout layout = layout_of(header, options, stream->name());
  if (!are_bytes(header)) static_cast<void>(range_of(options, bytes->name()));
  claimed_bytes(header.shape, header.item_size, *stream, {.max_bytes = kNoLimit});
  if (header.is_fortran_order)  // one pixel of all records after the other
    throw DataError(violation("an array that is read record by record",
                              "in C's order (numpy.ascontiguousarray)", "in Fortran's",
                              stream->name()));
  return std::make_unique<NpyStream>(std::move(bytes), std::move(stream), header, layout, options,
                                     [labels, options, count = header.shape[0]](const Bytes& file) {
                                       return read_labels(file, labels, count, options);
                                     });
}

class NpzReader final : public Reader {
 public:
  NpzReader(const Path& path, ReadOptions options) : bytes_(path), options_(std::move(options)) {}

  Description describe() override {
    const Arrays arrays = find_arrays(bytes_, options_.split);
    const auto stream = open_zip_entry(bytes_, *arrays.images, options_.limits);
    const NpyHeader header = read_npy_header(*stream);
    const Layout layout = layout_of(header, options_, stream->name());
    claimed_bytes(header.shape, header.item_size, *stream, {.max_bytes = kNoLimit});
    Dataset only_labels;
    take_labels(read_labels(bytes_, arrays.labels, header.shape[0], options_), only_labels);
    return {.format = fmt::format("NPZ ({})", header.type_name()),
            .shape = layout.shape,
            .count = static_cast<std::int64_t>(header.shape[0]),
            .class_names = only_labels.class_names,
            .class_counts = class_counts(only_labels),
            .are_bytes = are_bytes(header)};
  }

  std::optional<NumbersSeen> see_numbers() override {
    const Arrays arrays = find_arrays(bytes_, options_.split);
    return see_images(*open_zip_entry(bytes_, *arrays.images, options_.limits), options_);
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
    const Layout layout = layout_of(header, options_, stream->name());
    claimed_bytes(header.shape, header.item_size, *stream, {.max_bytes = kNoLimit});
    static_cast<void>(settled_labels(std::nullopt, options_, bytes_.name()));
    return {.format = fmt::format("NPY ({})", header.type_name()),
            .shape = layout.shape,
            .count = static_cast<std::int64_t>(header.shape[0]),
            .class_names = {},
            .class_counts = {},
            .are_bytes = are_bytes(header)};
  }

  Dataset read() override {
    static_cast<void>(settled_labels(std::nullopt, options_, bytes_.name()));
    const auto stream = open_array(bytes_, options_.limits);
    return read_images(*stream, options_, bytes_.name());
  }

  std::optional<NumbersSeen> see_numbers() override {
    return see_images(*open_array(bytes_, options_.limits), options_);
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
  Dataset data = read_images(*stream, options, bytes.name());
  take_labels(
      read_labels(bytes, arrays.labels, static_cast<std::uint64_t>(data.declared_size), options),
      data);
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
  require_classes(options, path.string());
  return std::make_unique<NpzReader>(path, options);
}

std::unique_ptr<Reader> open_npy(const Path& path, const ReadOptions& options) {
  require_whole(options, path.string());
  return std::make_unique<NpyReader>(path, options);
}

}  // namespace obol::data
