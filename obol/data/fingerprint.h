// Which data it was, for whoever holds the key; nothing to anyone else.
//
//   fingerprint(data, key, log)    // "hmac-sha256:3f..."
//
// A plain hash of private data would let anyone check a guess at the whole data set, or, of few
// records, find them by trying. With a random key kept beside the data, the curator can show later
// that a certificate is about this data.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "obol/base/file.h"
#include "obol/base/sha256.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"

namespace obol::data {

// Shape, pixels and labels count; class names do not. The key has 16 bytes or more. What it is for
// is kept in the log.
std::string fingerprint(const Private<Dataset>& data, std::span<const std::byte> key,
                        DisclosureLog& log,
                        std::string_view reason = "keyed fingerprint of the data");

// The key in a file, which is made, of 32 random bytes and for its owner's eyes only, where there
// is none.
std::string key_in(const Path& file);

// Whether any record of the one is among the other's, by all its pixels and whatever its label.
bool share_records(const Private<Dataset>& data, const Dataset& others, DisclosureLog& log);

// Which pictures they are, whatever they are called and however they are labelled: for finding
// other uses of the same data. In parts, for data that are read in parts.
class PixelFingerprint {
 public:
  PixelFingerprint(std::span<const std::byte> key, const ImageShape& shape);
  void add(const Dataset& next);
  [[nodiscard]] std::string finish();

 private:
  HmacSha256 hash_;
};

std::string pixel_fingerprint(const Private<Dataset>& data, std::span<const std::byte> key,
                              DisclosureLog& log);

}  // namespace obol::data
