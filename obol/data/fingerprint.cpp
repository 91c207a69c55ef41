#include "obol/data/fingerprint.h"

#include <fmt/format.h>

#include "obol/base/sha256.h"

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

}  // namespace obol::data
