#include <array>
#include <csetjmp>
#include <cstdio>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/data/codecs.h"

#if OBOL_HAS_JPEG
#include <jpeglib.h>
#endif

namespace obol::data {

#if OBOL_HAS_JPEG

namespace {

// libjpeg leaves by longjmp. Between setjmp and the jump there are only plain C objects and one
// vector that lives outside, so nothing is skipped that should have been destroyed.
struct Decoder {
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};
  std::jmp_buf failed{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

extern "C" void leave(j_common_ptr jpeg) {
  auto* decoder = static_cast<Decoder*>(jpeg->client_data);
  decoder->errors.format_message(jpeg, decoder->message.data());
  std::longjmp(decoder->failed, 1);
}

extern "C" void be_quiet(j_common_ptr /*jpeg*/) {}

// A progressive picture may ask for thousands of passes over its pixels.
extern "C" void limit_scans(j_common_ptr jpeg) {
  constexpr int kMostScans = 500;
  auto* decoder = static_cast<Decoder*>(jpeg->client_data);
  if (decoder->jpeg.input_scan_number <= kMostScans) return;
  std::snprintf(decoder->message.data(), decoder->message.size(), "more than %d scans", kMostScans);
  std::longjmp(decoder->failed, 1);
}

enum class Outcome { kDone, kDamaged, kTooLarge };

Outcome run(Decoder& decoder, std::span<const std::byte> content, const ReadLimits& limits,
            Picture& picture) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = leave;
  decoder.errors.output_message = be_quiet;
  jpeg.client_data = &decoder;
  if (setjmp(decoder.failed) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return Outcome::kDamaged;
  }
  jpeg_create_decompress(&jpeg);
  decoder.progress.progress_monitor = limit_scans;
  jpeg.progress = &decoder.progress;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(content.data()), content.size());
  jpeg_read_header(&jpeg, TRUE);
  const bool is_grey = jpeg.num_components == 1;
  jpeg.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
  const std::uint64_t size =
      std::uint64_t{jpeg.image_width} * jpeg.image_height * (is_grey ? 1 : 3);
  // Every block of 64 pixels costs at least a bit in the first scan, chroma may be subsampled: a
  // picture larger than this is not in its file.
  constexpr std::uint64_t kLargestJpegRatio = 4096;
  if (size > limits.max_bytes || size / kLargestJpegRatio > content.size()) {
    jpeg_destroy_decompress(&jpeg);
    return Outcome::kTooLarge;
  }
  picture.shape = {.channels = is_grey ? 1 : 3,
                   .height = static_cast<std::int64_t>(jpeg.image_height),
                   .width = static_cast<std::int64_t>(jpeg.image_width)};
  picture.pixels.resize(static_cast<std::size_t>(size));
  jpeg_start_decompress(&jpeg);
  const std::size_t stride = std::size_t{jpeg.output_width} * (is_grey ? 1 : 3);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = picture.pixels.data() + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  // A warning means that pixels were made up: cut off, or damaged inside.
  const bool is_damaged = decoder.errors.num_warnings > 0;
  if (is_damaged)
    decoder.errors.format_message(reinterpret_cast<j_common_ptr>(&jpeg), decoder.message.data());
  jpeg_destroy_decompress(&jpeg);
  return is_damaged ? Outcome::kDamaged : Outcome::kDone;
}

}  // namespace

Picture decode_jpeg(std::span<const std::byte> content, const std::string& name,
                    const ReadLimits& limits) {
  Decoder decoder;
  Picture picture;
  switch (run(decoder, content, limits, picture)) {
    case Outcome::kDone:
      return picture;
    case Outcome::kTooLarge:
      throw DataError(violation(
          "the size of a JPEG picture", "what its file can hold",
          fmt::format("{}x{}", decoder.jpeg.image_width, decoder.jpeg.image_height), name));
    case Outcome::kDamaged:
      break;
  }
  throw DataError(fmt::format("a JPEG picture must be whole, but libjpeg says: {} ({})",
                              decoder.message.data(), name));
}

#else

Picture decode_jpeg(std::span<const std::byte>, const std::string& name, const ReadLimits&) {
  throw InvalidArgument(violation("JPEG support", "built in to read a JPEG picture", "not", name));
}

#endif

}  // namespace obol::data
