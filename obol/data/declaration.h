// What is known of data before any record is looked at: what the numbers mean, the classes, the
// number of channels and the size. A recipe, the catalogue or a small file beside the data declares
// it; it is public, and a training takes nothing of this kind from the records.
//
//   // x.npz.declaration.toml, or FOLDER/declaration.toml
//   range = "0,1"
//   classes = 10
//
//   Declaration declared = declared_at("x.npz");    // empty where there is no such file
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/recipe/fields.h"

namespace obol::data {

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool operator==(const ImageSize&) const = default;
};
ImageSize parse_image_size(const std::string& text);  // "WxH"

struct ValueRange {
  double low = 0;
  double high = 1;
  bool operator==(const ValueRange&) const = default;
};
ValueRange parse_value_range(const std::string& text);  // "LOW,HIGH"

// What happens to a record that is not as declared.
enum class Outside {
  kRefuse,  // the data set is refused, in words that are the same for every record and value
  kMap      // the record is brought inside: nearest label, declared size and channels, else black
};

struct Declaration {
  std::optional<ValueRange> range;       // of the numbers that are black and white
  std::optional<std::int64_t> classes;   // 0: unlabelled
  std::vector<std::string> class_names;  // [classes]; empty: "0", "1", ...
  std::optional<std::int64_t> channels;  // 1 or 3
  std::optional<ImageSize> size;         // of the pictures as they are stored
  std::optional<Outside> outside;        // kRefuse unless declared

  // The names in force; none where there are no classes or nothing declares them.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool maps() const { return outside == Outside::kMap; }
  // Takes from `other` what is not declared here.
  void fill_from(const Declaration& other);
  bool operator==(const Declaration&) const = default;
};

// The keys of a declaration, in the [data] section of a recipe and in a file of its own.
struct DeclarationKeys {
  std::optional<std::string> range;
  std::optional<std::int64_t> classes;
  std::optional<std::string> class_names;
  std::optional<std::int64_t> channels;
  std::optional<std::string> size;
  std::optional<std::string> outside;

  void describe(recipe::Fields& fields);
  // InvalidArgument on values that cannot be meant.
  [[nodiscard]] Declaration declaration() const;
};

// "x.npz" -> "x.npz.declaration.toml", a folder -> "FOLDER/declaration.toml".
Path declaration_path(const Path& data);
bool is_declaration(const Path& path);

// As TOML: `name` is for messages.
Declaration parse_declaration(std::string_view text, const std::string& name);
std::string to_toml(const Declaration& declared);
// "10 classes, 28x28, 1 channel, numbers from 0 to 1"
std::string in_words(const Declaration& declared);

// What the file of the data at `path` declares. A file without one of its own has that of the
// folder it lies in, so that one is enough for a folder with a file per user.
Declaration declared_at(const Path& path);

// Both together; InvalidArgument, naming both, where they contradict each other.
Declaration joined(Declaration first, const std::string& first_name, const Declaration& second,
                   const std::string& second_name);

// InvalidArgument: KEY must be declared for the data at `path`, but is missing.
[[noreturn]] void refuse_undeclared(std::string_view key, const std::string& path);

// DataError about a record that is not as declared: the same sentence whichever record it is and
// whatever its value.
[[noreturn]] void refuse_outside(const Declaration& declared, const std::string& source);

// DataError where the header of a file says another size or number of channels than is declared.
void check_shape(const ImageShape& shape, const Declaration& declared, const std::string& where);

}  // namespace obol::data
