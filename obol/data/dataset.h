// Labelled images, one byte or one float a pixel.
//
//   Dataset data = data::read("fashion-mnist", {.split = Split::kTest});
//   data.count(), data.shape, data.labels[0]
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "obol/data/pixel_bytes.h"

namespace obol::data {

struct ImageShape {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;

  [[nodiscard]] std::int64_t pixels() const noexcept { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

std::string to_string(const ImageShape& shape);  // "28x28", "32x32x3" (height, width, channels)

// [count, channels, height, width]: bytes 0..255, or floats in [0, 1].
using Pixels = std::variant<PixelBytes, std::vector<float>>;

struct Dataset {
  // What is known of the data even when it is private. The number of records M is a public
  // constant of a run (see docs/guarantees), a drawn batch's size is not: a batch keeps the M of
  // the data it was drawn from.
  struct PublicFacts {
    ImageShape shape;
    std::int64_t num_classes = 0;
    std::int64_t declared_size = 0;
  };

  ImageShape shape;
  Pixels pixels;
  std::vector<std::int32_t> labels;      // [count], or empty: unlabelled
  std::vector<std::string> class_names;  // [num_classes]
  std::int64_t declared_size = 0;

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int64_t num_classes() const noexcept {
    return static_cast<std::int64_t>(class_names.size());
  }
  // Not by the labels: an empty batch of labelled data is labelled.
  [[nodiscard]] bool is_labelled() const noexcept { return !class_names.empty(); }
  [[nodiscard]] PublicFacts public_facts() const { return {shape, num_classes(), declared_size}; }
  // Record by record, so that none decides about another: one with a number that is not finite is
  // black, other numbers are brought into [0, 1], labels into the classes. Private data are so.
  void make_sound();
};

// Numbers by their size, anything else by the alphabet.
void sort_class_names(std::vector<std::string>& names);

// "0", "1", ... up to the largest label.
std::vector<std::string> numbered_classes(const std::vector<std::int32_t>& labels);
std::vector<std::int64_t> class_counts(const Dataset& data);

// The records at `indices`, in that order. Keeps the declared size of `data`.
Dataset select(const Dataset& data, const std::vector<std::int64_t>& indices);

// One record as bytes, [channels, height, width].
std::vector<std::uint8_t> record_bytes(const Dataset& data, std::int64_t index);

// Throws DataError, naming `where`, unless the parts fit each other.
void check_consistent(const Dataset& data, const std::string& where);

}  // namespace obol::data
