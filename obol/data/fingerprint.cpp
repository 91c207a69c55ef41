#include "obol/data/fingerprint.h"

#include <fmt/format.h>

namespace obol::data {

std::string fingerprint(const Private<Dataset>& data, std::span<const std::byte> key,
                        DisclosureLog& log) {
  constexpr std::size_t kShortestKey = 16;
  if (key.size() < kShortestKey)
    throw InvalidArgument(violation("the key of a fingerprint", "16 bytes or longer", key.size()));
  const Private<std::string> result = data.map([&](const Dataset& records) {
    HmacSha256 hash(key);
    hash.update(fmt::format("obol data 1 {} {} {} ", records.count(), to_string(records.shape),
                            records.pixels.index()));
    std::visit([&](const auto& pixels) { hash.update(std::as_bytes(std::span(pixels))); },
               records.pixels);
    hash.update(std::as_bytes(std::span(records.labels)));
    return "hmac-sha256:" + hash.hex();
  });
  return result.declassify("keyed fingerprint of the data", log).value;
}

PixelFingerprint::PixelFingerprint(std::span<const std::byte> key, const ImageShape& shape)
    : hash_(key) {
  hash_.update(fmt::format("obol pixels 1 {} ", to_string(shape)));
}

void PixelFingerprint::add(const Dataset& next) {
  std::visit([&](const auto& pixels) { hash_.update(std::as_bytes(std::span(pixels))); },
             next.pixels);
}

std::string PixelFingerprint::finish() { return "hmac-sha256:" + hash_.hex(); }

std::string pixel_fingerprint(const Private<Dataset>& data, std::span<const std::byte> key,
                              DisclosureLog& log) {
  const Private<std::string> result = data.map([&](const Dataset& records) {
    PixelFingerprint fingerprint(key, records.shape);
    fingerprint.add(records);
    return fingerprint.finish();
  });
  return result.declassify("keyed fingerprint of the data", log).value;
}

}  // namespace obol::data
