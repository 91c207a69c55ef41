// Reading data sets of any supported layout.
//
//   Private<Dataset> train = data::read_private("mnist");              // declared in the catalogue
//   Dataset test = data::read("photos/", {.split = Split::kTest});     // photos/test/CLASS/*.png
//   Description d = data::describe("x.npz");                           // headers and labels only
//   auto [train, test] = data::open("mnist");                          // train is Private
//
// What numbers mean comes from the type of the file (bytes) or is declared (declaration.h); for a
// private training all else is declared too. Values outside the declared range are clamped, a
// record with a number that is not finite is black; no record decides about another.
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
#include "obol/data/declaration.h"
#include "obol/data/private.h"
#include "obol/data/stream.h"
#include "obol/recipe/fields.h"

namespace obol::data {

enum class Split { kTrain, kValidation, kTest };
std::string to_string(Split split);

enum class Reading {
  kOpen,    // to look at or to compare with: classes and sizes may be those that are found
  kPrivate  // everything is declared, and no refusal tells which record it was or what it held
};

struct ReadOptions {
  Split split = Split::kTrain;
  std::optional<ImageSize> resize;  // area averaging down, linear up
  // Joined with what the catalogue or the file beside the data declares.
  Declaration declared;
  std::optional<std::int64_t> crop;         // pictures: side of the centred square
  std::optional<std::string> attribute;     // CelebA: the attribute that is the label
  std::optional<std::string> label_column;  // CSV: a name, a number from 0, or "none"
  std::optional<Outside> outside;           // stands over what is declared
  Reading reading = Reading::kOpen;
  ReadLimits limits;
};

// What a file says of itself, before its pixels are read.
struct Description {
  std::string format;
  ImageShape shape;  // after cropping and resizing
  std::int64_t count = 0;
  std::vector<std::string> class_names;
  std::vector<std::int64_t> class_counts;
  bool are_bytes = true;  // what its numbers mean is known by its type
};

// The numbers of data that are not bytes.
struct NumbersSeen {
  ValueRange finite;                    // the smallest and the largest
  std::int64_t records_not_finite = 0;  // records with a number that is not
};

class RecordStream;

// One opened data set of one layout. Resizing of whole data sets is left to read() below.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Description describe() = 0;
  virtual Dataset read() = 0;
  // Before cropping and resizing, where that is done on the way.
  virtual ImageShape stored_shape() { return describe().shape; }
  // Reads all records. Nothing of bytes.
  virtual std::optional<NumbersSeen> see_numbers() { return std::nullopt; }
  // Record by record (record_stream.h); of what read() gives, unless a layout does better.
  virtual std::unique_ptr<RecordStream> stream();
};

// Throws DataError unless the training split is wanted: a file without splits has no test data,
// and handing out its records as such would open private data.
void require_whole(const ReadOptions& options, const std::string& where);

// Throws InvalidArgument where a private reading lacks what must be declared.
void require_classes(const ReadOptions& options, const std::string& path);
void require_declared(bool is_declared, std::string_view key, const ReadOptions& options,
                      const std::string& path);

std::unique_ptr<Reader> open_idx(const Path& images, const ReadOptions& options);
std::unique_ptr<Reader> open_idx_folder(const Path& folder, const ReadOptions& options);
std::unique_ptr<Reader> open_npz(const Path& path, const ReadOptions& options);
std::unique_ptr<Reader> open_npy(const Path& path, const ReadOptions& options);
std::unique_ptr<Reader> open_csv(const Path& path, const ReadOptions& options);
std::unique_ptr<Reader> open_image_folder(const Path& folder, const ReadOptions& options);
std::unique_ptr<Reader> open_celeba(const Path& folder, const ReadOptions& options);

struct Labels {
  using PublicFacts = std::vector<std::string>;  // the names of the classes

  std::vector<std::int32_t> labels;  // empty: unlabelled
  std::vector<std::string> class_names;

  [[nodiscard]] PublicFacts public_facts() const { return class_names; }
};
// Labels as a file has them: by the declared classes, or where none are declared, of as many as
// there are. Without a value, the file has none.
Labels settled_labels(const std::optional<std::vector<double>>& found, const ReadOptions& options,
                      const std::string& source);
void take_labels(Labels labels, Dataset& data);

// For a record of `source` that is not as declared: returns where it is to be mapped, throws
// refuse_outside where the reading is private, else a DataError with `message`.
void on_outside(const ReadOptions& options, const std::string& source, const std::string& message);

Dataset read(const std::string& path, const ReadOptions& options = {});
// For training: InvalidArgument, naming the key, unless everything is declared.
Private<Dataset> read_private(const std::string& path, ReadOptions options = {});
Description describe(const std::string& path, const ReadOptions& options = {});

// What options, catalogue and the file beside the data declare together.
Declaration declared(const std::string& path, const ReadOptions& options = {});

// `options.declared`, and by looking at the data what is missing there: for a curator to check.
struct Proposal {
  Declaration declaration;
  std::vector<std::string> looked_up;  // the keys that were found by looking at records
};
Proposal propose(const std::string& path, const ReadOptions& options = {});
std::optional<NumbersSeen> see_numbers(const std::string& path, const ReadOptions& options = {});

struct Splits {
  Private<Dataset> train;
  Dataset test;
};
Splits open(const std::string& path, ReadOptions options = {});

// One data set per user: every file or folder directly below `folder` is one. What
// FOLDER/declaration.toml declares holds for all of them.
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
  DeclarationKeys declared;
  std::optional<std::int64_t> crop;
  std::optional<std::string> attribute;
  std::optional<std::string> label_column;

  void describe(recipe::Fields& fields);
  [[nodiscard]] ReadOptions options() const;
};

}  // namespace obol::data
