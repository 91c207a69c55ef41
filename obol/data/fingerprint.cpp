#include "obol/data/fingerprint.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/error.h"
#include "obol/base/random.h"
#include "obol/base/sha256.h"

namespace obol::data {
namespace {

void write_for_owner(const Path& path, std::span<const std::byte> bytes) {
  constexpr mode_t kOwnerOnly = 0600;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (descriptor < 0) fail_file("write", path, errno);
  try {
    write_all(descriptor, bytes, path);
    synchronise(descriptor, path);
  } catch (...) {
    ::close(descriptor);
    ::unlink(path.c_str());
    throw;
  }
  ::close(descriptor);
}

// A byte and the float that it stands for are the same pixel.
std::string hash_of_record(const Dataset& data, std::int64_t index) {
  constexpr float kWhite = 255;
  const auto size = static_cast<std::size_t>(data.shape.pixels());
  const std::size_t from = static_cast<std::size_t>(index) * size;
  std::vector<float> values(size);
  std::visit(
      [&](const auto& pixels) {
        const float unit = sizeof(pixels[0]) == 1 ? kWhite : 1.0F;
        for (std::size_t k = 0; k < size; ++k)
          values[k] = static_cast<float>(pixels[from + k]) / unit;
      },
      data.pixels);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(values)));
  return hash.hex();
}

}  // namespace

std::string fingerprint(const Private<Dataset>& data, std::span<const std::byte> key,
                        DisclosureLog& log, std::string_view reason) {
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
  return result.declassify(std::string(reason), log).value;
}

std::string key_in(const Path& file) {
  constexpr std::size_t kKeyBytes = 32;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    std::array<std::uint64_t, kKeyBytes / sizeof(std::uint64_t)> key{};
    SecureBits bits;
    bits.fill(key);
    const Path aside = fmt::format("{}.partial-{:016x}", file.string(), bits());
    write_for_owner(aside, std::as_bytes(std::span(key)));
    // Another process may have been first; then its key stays.
    const bool is_there = ::link(aside.c_str(), file.c_str()) == 0 || errno == EEXIST;
    const int error = errno;
    ::unlink(aside.c_str());
    if (!is_there) fail_file("write", file, error);
  }
  std::string key = read_text(file, kKeyBytes);
  if (key.size() != kKeyBytes)
    throw DataError(violation(file.string(), fmt::format("a key of {} bytes", kKeyBytes),
                              fmt::format("{} bytes long", key.size())));
  return key;
}

bool share_records(const Private<Dataset>& data, const Dataset& others, DisclosureLog& log) {
  if (data.facts().shape != others.shape) return false;
  std::unordered_set<std::string> known;
  for (std::int64_t k = 0; k < others.count(); ++k) known.insert(hash_of_record(others, k));
  const Private<bool> is_shared = data.map([&](const Dataset& records) {
    bool is_found = false;
    for (std::int64_t k = 0; k < records.count() && !is_found; ++k)
      is_found = known.contains(hash_of_record(records, k));
    return is_found;
  });
  return is_shared.declassify("whether images to compare with are among the training records", log)
      .value;
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
