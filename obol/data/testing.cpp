#include "obol/data/testing.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <zlib.h>

#include "obol/data/layout.h"

#if OBOL_HAS_JPEG
#include <jpeglib.h>
#endif

namespace obol::data::testing {
namespace {

std::uint32_t checksum(const std::string& content) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

template <class Wanted>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Wanted& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

template <class T>
Dataset counting(std::int64_t count, const ImageShape& shape, std::int32_t num_classes, T unit) {
  Dataset data{
      .shape = shape, .pixels = {}, .labels = {}, .class_names = {}, .declared_size = count};
  std::vector<T> pixels;
  for (std::int64_t i = 0; i < count * shape.pixels(); ++i)
    pixels.push_back(static_cast<T>(static_cast<T>(i % 256) * unit));
  data.pixels = std::move(pixels);
  for (std::int64_t i = 0; num_classes > 0 && i < count; ++i)
    data.labels.push_back(static_cast<std::int32_t>(i % num_classes));
  for (std::int32_t c = 0; c < num_classes; ++c) data.class_names.push_back(fmt::format("{}", c));
  return data;
}

}  // namespace

std::string big_endian(std::uint64_t value, int size) {
  std::string text;
  for (int i = size; i-- > 0;) text += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  return text;
}

std::string little_endian(std::uint64_t value, int size) {
  const std::string text = big_endian(value, size);
  return {text.rbegin(), text.rend()};
}

std::string idx(const std::vector<std::uint32_t>& dimensions,
                const std::vector<std::uint8_t>& values) {
  std::string text = big_endian(0x0800 + dimensions.size(), 4);
  for (const std::uint32_t dimension : dimensions) text += big_endian(dimension, 4);
  return text + raw(values);
}

std::string deflated(const std::string& content, Packing packing) {
  const int bits = packing == Packing::kGzip ? 15 + 16 : packing == Packing::kRaw ? -15 : 15;
  z_stream zlib{};
  deflateInit2(&zlib, Z_BEST_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&zlib, content.size()) + 32, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  zlib.avail_in = static_cast<uInt>(content.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - zlib.avail_out);
  deflateEnd(&zlib);
  return out;
}

std::string npy_with_header(const std::string& dict, const std::string& values, int version) {
  const int length_size = version == 1 ? 2 : 4;
  std::string text = dict;
  while ((8 + static_cast<std::size_t>(length_size) + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         little_endian(text.size(), length_size) + text + values;
}

std::string npy(const std::string& type, const std::string& shape, const std::string& values,
                bool is_fortran_order) {
  return npy_with_header(fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                                     is_fortran_order ? "True" : "False", shape),
                         values);
}

std::string zip(const std::vector<ZipPart>& parts, const ZipEnd& end) {
  constexpr std::uint64_t kIn64 = 0xffffffff;
  std::string file;
  std::string directory;
  for (const ZipPart& part : parts) {
    const std::uint64_t offset = part.local_header.value_or(file.size());
    const std::string packed =
        part.is_deflated ? deflated(part.content, Packing::kRaw) : part.content;
    const std::uint64_t size = part.size.value_or(part.content.size());
    const std::uint64_t packed_size = part.packed_size.value_or(packed.size());
    const std::string extra =
        part.is_in64 ? little_endian(1, 2) + little_endian(24, 2) + little_endian(size, 8) +
                           little_endian(packed_size, 8) + little_endian(offset, 8) + part.extra
                     : part.extra;
    const auto field = [&](std::uint64_t value) {
      return little_endian(part.is_in64 ? kIn64 : value, 4);
    };
    const std::string common =
        little_endian(45, 2) + little_endian(static_cast<std::uint64_t>(part.flags), 2) +
        little_endian(static_cast<std::uint64_t>(part.method.value_or(part.is_deflated ? 8 : 0)),
                      2) +
        little_endian(0, 4) + little_endian(part.crc.value_or(checksum(part.content)), 4) +
        field(packed_size) + field(size) + little_endian(part.name.size(), 2) +
        little_endian(extra.size(), 2);
    file += little_endian(0x04034b50, 4) + common + part.name + extra + packed;
    directory += little_endian(0x02014b50, 4) + little_endian(45, 2) + common +
                 little_endian(0, 2 + 2 + 2 + 4) + field(offset) + part.name + extra;
  }
  const std::uint64_t start = end.directory_offset.value_or(file.size());
  const std::uint64_t size = end.directory_size.value_or(directory.size());
  const std::uint64_t entries = end.entries.value_or(parts.size());
  file += directory;
  if (end.is_in64) {
    const std::uint64_t end64 = file.size();
    file += little_endian(0x06064b50, 4) + little_endian(44, 8) + little_endian(45, 2) +
            little_endian(45, 2) + little_endian(0, 8) + little_endian(entries, 8) +
            little_endian(entries, 8) + little_endian(size, 8) + little_endian(start, 8);
    file += little_endian(0x07064b50, 4) + little_endian(0, 4) + little_endian(end64, 8) +
            little_endian(1, 4);
  }
  const std::uint64_t shown_entries = end.is_in64 ? 0xffff : entries;
  return file + little_endian(0x06054b50, 4) + little_endian(0, 4) +
         little_endian(shown_entries, 2) + little_endian(shown_entries, 2) +
         little_endian(end.is_in64 ? kIn64 : size, 4) +
         little_endian(end.is_in64 ? kIn64 : start, 4) + little_endian(end.comment.size(), 2) +
         end.comment;
}

std::string png_chunk(const std::string& type, const std::string& content) {
  return big_endian(content.size(), 4) + type + content + big_endian(checksum(type + content), 4);
}

std::string png(const PngHeader& header, const std::string& rows,
                const std::string& chunks_before) {
  return "\x89PNG\r\n\x1a\n" +
         png_chunk("IHDR", big_endian(header.width, 4) + big_endian(header.height, 4) +
                               std::string{static_cast<char>(header.depth),
                                           static_cast<char>(header.colour_type), 0, 0, 0}) +
         chunks_before + png_chunk("IDAT", deflated(rows, Packing::kZlib)) + png_chunk("IEND", "");
}

std::string png(const Picture& picture) {
  const ImageShape& shape = picture.shape;
  const std::string pixels = raw(interleaved(picture.pixels, shape));
  const auto stride = static_cast<std::size_t>(shape.width * shape.channels);
  std::string rows;
  for (std::size_t at = 0; at < pixels.size(); at += stride)
    rows += '\0' + pixels.substr(at, stride);
  return png({.width = static_cast<std::uint32_t>(shape.width),
              .height = static_cast<std::uint32_t>(shape.height),
              .depth = 8,
              .colour_type = shape.channels == 3 ? 2 : 0},
             rows);
}

#if OBOL_HAS_JPEG
std::string jpeg(const Picture& picture, int quality, bool is_progressive) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &buffer, &size);
  const bool is_colour = picture.shape.channels == 3;
  encoder.image_width = static_cast<JDIMENSION>(picture.shape.width);
  encoder.image_height = static_cast<JDIMENSION>(picture.shape.height);
  encoder.input_components = is_colour ? 3 : 1;
  encoder.in_color_space = is_colour ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, quality, TRUE);
  if (is_progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<std::uint8_t> pixels = interleaved(picture.pixels, picture.shape);
  const auto stride = static_cast<std::size_t>(picture.shape.width * picture.shape.channels);
  while (encoder.next_scanline < encoder.image_height) {
    JSAMPROW row = pixels.data() + encoder.next_scanline * stride;
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  std::string out(reinterpret_cast<const char*>(buffer), size);
  jpeg_destroy_compress(&encoder);
  std::free(buffer);
  return out;
}
#endif

Picture plain_picture(const ImageShape& shape, std::uint8_t value) {
  return {shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.pixels()), value)};
}

Dataset counting_bytes(std::int64_t count, const ImageShape& shape, std::int32_t num_classes) {
  return counting<std::uint8_t>(count, shape, num_classes, 1);
}

Dataset counting_floats(std::int64_t count, const ImageShape& shape, std::int32_t num_classes) {
  return counting<float>(count, shape, num_classes, 1.0F / 255.0F);
}

std::vector<std::uint8_t> bytes_of(const Dataset& data) {
  const auto& bytes = std::get<PixelBytes>(data.pixels);
  return {bytes.begin(), bytes.end()};
}

const std::vector<float>& floats_of(const Dataset& data) {
  return std::get<std::vector<float>>(data.pixels);
}

Path put(const Path& folder, const std::string& name, const std::string& content) {
  const Path path = folder / name;
  std::filesystem::create_directories(path.parent_path());
  write_file(path, content);
  return path;
}

std::string refusal(const std::function<void()>& action) { return message_of<DataError>(action); }

std::string usage_refusal(const std::function<void()>& action) {
  return message_of<InvalidArgument>(action);
}

::testing::AssertionResult says(const std::string& message,
                                std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (message.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << message;
  return ::testing::AssertionSuccess();
}

WithVariable::WithVariable(std::string name, const std::optional<std::string>& value)
    : name_(std::move(name)) {
  if (const char* before = std::getenv(name_.c_str())) before_ = before;
  set(name_, value);
}

WithVariable::~WithVariable() { set(name_, before_); }

void WithVariable::set(const std::string& name, const std::optional<std::string>& value) {
  if (value)
    setenv(name.c_str(), value->c_str(), 1);
  else
    unsetenv(name.c_str());
}

}  // namespace obol::data::testing
