#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/data/codecs.h"

#if OBOL_HAS_PNG
#include <png.h>
#endif

namespace obol::data {

#if OBOL_HAS_PNG

namespace {

// libpng's simplified interface reports errors in the struct: no setjmp here.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

[[noreturn]] void refuse(const PngImage& image, const std::string& name) {
  throw DataError(
      fmt::format("a PNG picture must be whole, but libpng says: {} ({})", image.message, name));
}

}  // namespace

Picture decode_png(std::span<const std::byte> content, const std::string& name,
                   const ReadLimits& limits) {
  PngImage image;
  if (png_image_begin_read_from_memory(&image, content.data(), content.size()) == 0)
    refuse(image, name);
  // Without this libpng takes 16-bit samples for linear light and brightens them.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  const bool is_colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  const std::uint64_t size = std::uint64_t{image.width} * image.height * (is_colour ? 3 : 1);
  // One inflated byte holds at most eight one-bit pixels, which become three channels each.
  constexpr std::uint64_t kMostPerByte = 24;
  if (size > limits.max_bytes || size / kMostPerByte > content.size() * kLargestDeflateRatio)
    throw DataError(violation("the size of a PNG picture", "what its file can hold",
                              fmt::format("{}x{}", image.width, image.height), name));
  image.format = is_colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Picture picture{{.channels = is_colour ? 3 : 1, .height = image.height, .width = image.width},
                  std::vector<std::uint8_t>(static_cast<std::size_t>(size))};
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr) == 0 ||
      PNG_IMAGE_FAILED(image))
    refuse(image, name);
  return picture;
}

std::vector<std::byte> encode_png(const std::vector<std::uint8_t>& pixels,
                                  const ImageShape& shape) {
  PngImage image;
  image.width = static_cast<png_uint_32>(shape.width);
  image.height = static_cast<png_uint_32>(shape.height);
  image.format = shape.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    throw DataError(fmt::format("cannot write a PNG picture: {}", image.message));
  bytes.resize(size);
  return bytes;
}

#else

Picture decode_png(std::span<const std::byte>, const std::string& name, const ReadLimits&) {
  throw InvalidArgument(violation("PNG support", "built in to read a PNG picture", "not", name));
}

std::vector<std::byte> encode_png(const std::vector<std::uint8_t>&, const ImageShape&) {
  throw DataError(violation("PNG support", "built in to write a PNG picture", "not"));
}

#endif

}  // namespace obol::data
