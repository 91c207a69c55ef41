// Reading data sets of any supported layout.
//
//   Dataset train = data::read("mnist");                                  // from the catalogue
//   Dataset test  = data::read("photos/", {.split = Split::kTest});       //
//   photos/test/CLASS/*.png Description d = data::describe("x.npz"); // headers and labels only
//   auto [train, test] = data::open("mnist");                             // train is Private
//
// A path is a name from the catalogue, an IDX file (its labels beside it) or a folder of them, an
// NPZ or NPY file, a CSV file of pixels, CelebA's folder, or a folder of images with one
// sub-folder per class. docs/data.md has the details.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/data/stream.h"
#include "obol/recipe/fields.h"

namespace obol::data {

enum class Split { kTrain, kValidation, kTest };
std::string to_string(Split split);

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};
ImageSize parse_image_size(const std::string& text);  // "WxH"

struct ValueRange {
  double low = 0;
  double high = 1;
};
ValueRange parse_value_range(const std::string& text);  // "LOW,HIGH"

struct ReadOptions {
  Split split = Split::kTrain;
  std::optional<ImageSize> resize;       // area averaging down, linear up
  std::optional<ValueRange> range;       // of the numbers in NPZ, NPY, CSV, if not 0..1 or 0..255
  std::optional<std::int64_t> crop;      // pictures: side of the centred square
  std::optional<std::string> attribute;  // CelebA: the attribute that is the label
  std::optional<std::string> label_column;  // CSV: a name, a number from 0, or "none"
  ReadLimits limits;
};

// What a file says of itself, before its pixels are read.
struct Description {
  std::string format;
  ImageShape shape;  // after cropping and resizing
  std::int64_t count = 0;
  std::vector<std::string> class_names;
  std::vector<std::int64_t> class_counts;
};

class RecordStream;

// One opened data set of one layout. Resizing of whole data sets is left to read() below.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Description describe() = 0;
  virtual Dataset read() = 0;
  // Record by record (record_stream.h); of what read() gives, unless a layout does better.
  virtual std::unique_ptr<RecordStream> stream();
};

// Throws DataError unless the training split is wanted: a file without splits has no test data,
// and handing out its records as such would open private data.
void require_whole(const ReadOptions& options, const std::string& where);

std::unique_ptr<Reader> open_idx(const Path& images, const ReadOptions& options);
std::unique_ptr<Reader> open_idx_folder(const Path& folder, const ReadOptions& options);
std::unique_ptr<Reader> open_npz(const Path& path, const ReadOptions& options);
std::unique_ptr<Reader> open_npy(const Path& path, const ReadOptions& options);
std::unique_ptr<Reader> open_csv(const Path& path, const ReadOptions& options);
std::unique_ptr<Reader> open_image_folder(const Path& folder, const ReadOptions& options);
std::unique_ptr<Reader> open_celeba(const Path& folder, const ReadOptions& options);

Dataset read(const std::string& path, const ReadOptions& options = {});
Description describe(const std::string& path, const ReadOptions& options = {});

struct Splits {
  Private<Dataset> train;
  Dataset test;
};
Splits open(const std::string& path, ReadOptions options = {});

// One data set per user: every file or folder directly below `folder` is one.
struct UserData {
  std::string user;
  Dataset data;
};
std::vector<UserData> read_users(const Path& folder, const ReadOptions& options = {});

// The [data] section of a recipe.
struct RecipeData {
  std::optional<std::string> source;
  std::string split = "train";
  std::optional<std::string> resize;
  std::optional<std::string> range;
  std::optional<std::int64_t> crop;
  std::optional<std::string> attribute;
  std::optional<std::string> label_column;

  void describe(recipe::Fields& fields);
  [[nodiscard]] ReadOptions options() const;
};

}  // namespace obol::data
