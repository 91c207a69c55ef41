// What one person does to one record before it leaves them: transform, project, add noise.
//
//   const Privatization how = plan({.mechanism = Mechanism::kGaussian, .epsilon = 10,
//                                   .delta = 1e-4, .radius = 10}, shape, {});
//   const Privatizer privatizer(how);
//   privatizer.project(record);          // pixels in [0, 1], in place
//   privatizer.add_noise(bits, record);  // now it may go
//
// Guarantee: any two results of project() are at most how.sensitivity apart, l2 for Gaussian and l1
// for Laplace noise: 2 radii; sqrt(2) where negative numbers are set to zero first and nothing is
// transformed, for Gaussian noise. The noise is that of privacy/noise.h over that sensitivity, one
// release per record, and docs/guarantees/local.md has the proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/local/privatized.h"
#include "obol/privacy/gaussian.h"

namespace obol::local {

// Which epsilon is meant: the one that holds, or the one that the paper would claim.
enum class Counting { kValid, kPublished };

struct PrivatizeOptions {
  Mechanism mechanism;
  // One of the two: the guarantee, or the noise on every number, whatever that guarantees.
  std::optional<double> epsilon;
  std::optional<double> noise;
  std::optional<double> delta;  // for Gaussian noise, and only for it
  double radius;
  Transform transform = Transform::kNone;
  std::optional<double> keep;  // with a transform (0.2, as in the paper)
  privacy::GaussianFormula formula = privacy::GaussianFormula::kAnalytic;
  Counting counting = Counting::kValid;
  std::optional<double> label_epsilon;  // of randomised response; without it labels are dropped
};

// InvalidArgument where an option cannot be meant. `class_names` matter where labels are kept.
Privatization plan(const PrivatizeOptions& options, const data::ImageShape& shape,
                   std::vector<std::string> class_names);

// The orthonormal two-dimensional cosine transform (DCT-II), channel by channel.
class CosineTransform {
 public:
  explicit CosineTransform(const data::ImageShape& shape);
  void forward(std::span<double> record) const;
  void inverse(std::span<double> record) const;

 private:
  struct Matrix {
    std::vector<double> plain;
    std::vector<double> transposed;
  };
  // Every channel becomes left channel right.
  void apply(std::span<double> record, std::span<const double> left,
             std::span<const double> right) const;

  data::ImageShape shape_;
  Matrix rows_;     // [height, height]
  Matrix columns_;  // [width, width]
};

// What the first `count` records look like: back from the transform, beyond black and white cut
// off.
data::Dataset as_images(const Privatized& data, std::int64_t count);

// Sets all but the `count` largest magnitudes to zero; of equal ones the first stay.
void keep_largest(std::span<double> values, std::size_t count);

// The nearest point of the ball around zero, and a rounding error inside it.
void project_l2(std::span<double> values, double radius);
void project_l1(std::span<double> values, double radius);

// The true answer with probability e^epsilon / (e^epsilon + classes - 1), any other as often as
// every other. Rounded such that the ratio is never above e^epsilon.
std::int32_t respond(RandomBits& bits, std::int32_t answer,
                     const privacy::LocalRandomizedResponse& response);

class Privatizer {
 public:
  explicit Privatizer(const Privatization& how);
  void project(std::span<double> record) const;
  void add_noise(RandomBits& bits, std::span<double> record) const;

 private:
  Privatization how_;
  double multiplier_;  // of the noise, over the sensitivity
  std::optional<CosineTransform> transform_;
};

}  // namespace obol::local
