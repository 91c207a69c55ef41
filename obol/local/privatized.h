// Records that were privatised before anything left their owners, together with how.
//
//   Privatized data = read_privatized("private.npz");   // DataError where it is a plain data set
//   data.how.mechanism, data.how.scale, data.records    // all that a training needs
//
// The file is an NPZ that NumPy opens too: `records` [count, numbers] floats, `labels` [count]
// where they were kept, and `privatization`, the bytes of a JSON object that says the rest. It has
// no array of images: nothing that reads plain data sets takes it for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"
#include "obol/base/sha256.h"
#include "obol/data/dataset.h"
#include "obol/data/stream.h"
#include "obol/data/zip.h"
#include "obol/privacy/plan.h"

namespace obol::local {

enum class Mechanism { kGaussian, kLaplace };
enum class Transform { kNone, kDct };

// "gaussian", "laplace"; "none", "dct"; and back, where another word is InvalidArgument.
std::string_view name_of(Mechanism mechanism);
std::string_view name_of(Transform transform);
Mechanism mechanism_from(std::string_view name);
Transform transform_from(std::string_view name);

inline constexpr const char* kRecordsPurpose = "records";
inline constexpr const char* kLabelsPurpose = "labels";

struct Privatization {
  Mechanism mechanism = Mechanism::kGaussian;
  double scale = 0;        // of the noise on every number: standard deviation, or Laplace scale
  double radius = 0;       // of the ball, l2 or l1
  double sensitivity = 0;  // the most that two inputs can differ: 2 or sqrt(2) radii
  Transform transform = Transform::kNone;
  double keep = 1;         // share of a record's transformed numbers that were kept
  data::ImageShape shape;  // of the images
  // Of each person: the records' first, the labels' where they were kept.
  std::vector<privacy::PlannedEvent> events;
  double delta = 0;                      // at which the guarantee was stated; 0 for Laplace
  std::vector<std::string> class_names;  // empty: labels were dropped
  std::string randomness;                // RandomBits::provenance()
  std::string fingerprint;               // PrivatizedWriter::fingerprint()
  std::string denoised;                  // "haar, 3 levels, threshold 1.2 (...)", or empty

  // Noise from a fixed seed protects nobody, and what was chosen on clean data tells of it.
  [[nodiscard]] bool is_private() const {
    return !randomness.starts_with("not private") &&
           denoised.find("not private") == std::string::npos;
  }
};

struct Privatized {
  Privatization how;
  std::vector<float> records;  // [count, shape.pixels()], channels first; in the transform's space
  std::vector<std::int32_t> labels;

  [[nodiscard]] std::int64_t count() const;
};

// "sha256:...", of records and labels as they are.
std::string fingerprint_of(const Privatized& data);

// How the paper counts the release of the records: the radius in place of the sensitivity. Nothing
// where its formula does not hold.
std::optional<privacy::PublishedCount> published_count(const Privatization& how);

// By its name in the archive; any other file is none.
bool is_privatized(const Path& path);

// DataError where anything is missing, damaged, of another size, or not finite.
Privatized read_privatized(const Path& path, const data::ReadLimits& limits = {});
Privatized read_privatized(const Bytes& bytes, const data::ReadLimits& limits = {});

void write_privatized(const Privatized& data, const Path& path);

// Writes records as they come, so that no more than a few need be in memory. Nothing appears
// before commit().
class PrivatizedWriter {
 public:
  // `count` records will be added, whole, in as many pieces as there are.
  PrivatizedWriter(const Path& path, const data::ImageShape& shape, std::int64_t count);
  void add(std::span<const float> records);
  // After the records, where labels are kept.
  void add_labels(std::span<const std::int32_t> labels);
  // "sha256:...", of all that was added.
  [[nodiscard]] std::string fingerprint() const;
  void commit(const Privatization& how);

 private:
  AtomicFile file_;
  data::ZipWriter zip_;
  Sha256 hash_;
};

}  // namespace obol::local
