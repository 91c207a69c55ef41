// Mean features of each class of private images, released once, and the distance of generated
// images to them.
//
//   Moments moments(options, shape, scattering, classes, device);
//   moments.release(door, records, noise_multiplier);                   // one event Gaussian
//   Tensor distance = moments.loss(moments.embed(images, scattered));   // any number of times
//
// The features of an image are its scattering r, random Fourier features of r, and random features
// of windows of two sizes. The first carry texture (energy by scale, angle and place); the means of
// the second are those of a kernel, in which any difference of distributions shows; the third see
// pixels, which scattering blurs. With Fourier features of pixels alone this would be DP-MERF
// (Harder, Adamczewski and Park 2021).
//
// Guarantee: a record adds one vector of length at most 1 to the sum of its class: its scattering,
// scaled down to a public bound, its Fourier features and those of its windows, each of equal
// length at most, and a constant that counts it. One event Gaussian(noise_multiplier)
// (obol/barrier/sum.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/barrier/records.h"
#include "obol/data/dataset.h"
#include "obol/features/fourier.h"
#include "obol/features/patches.h"
#include "obol/features/scattering.h"
#include "obol/method/summit/options.h"
#include "obol/run/checkpoint.h"

namespace obol::method::summit {

class Moments {
 public:
  // `scattering` is of order options.order.
  Moments(const MomentsOptions& options, const data::ImageShape& shape,
          const features::Scattering& scattering, std::int64_t classes,
          const torch::Device& device);

  void release(barrier::Door& door, const barrier::PrivateRecords& records,
               double noise_multiplier);

  // Of images [n, pixels] and their scattering vectors: [n, d], differentiable.
  [[nodiscard]] torch::Tensor embed(const torch::Tensor& images,
                                    const torch::Tensor& scattered) const;
  // Has the gradient of the squared distance between the class-wise means of generated images and
  // the released ones, averaged over the classes. Rows [n, d] are class by class, as many of each,
  // and an even number. The mean of generated images that the gradient looks at comes from other
  // rows than those it moves: the other half of the batch, and earlier batches. A batch compared
  // with its own mean would be rewarded for collapsing.
  torch::Tensor loss(const torch::Tensor& rows);

  // Of the last batch, without bias.
  [[nodiscard]] double distance() const { return distance_.item<double>(); }

  void save(run::Sections& sections) const;
  void load(const run::Sections& sections);

 private:
  [[nodiscard]] torch::Tensor weights_of_parts() const;

  MomentsOptions options_;
  std::int64_t classes_;
  features::Scattering scattering_;
  features::FourierFeatures fourier_;
  std::vector<features::PatchFeatures> patches_;
  torch::Tensor targets_;  // [classes, d], float: released
  torch::Tensor running_;  // [classes, d]: decaying sum of generated means
  torch::Tensor weight_;   // []: of that sum
  torch::Tensor distance_;
};

// Means of each class, from noisy sums [classes, d + 1] whose last column counts and whose others
// are in `parts` of equal length. Without what a record's vector was scaled by.
torch::Tensor means_of(const torch::Tensor& sums, std::size_t parts, double noise_multiplier);

}  // namespace obol::method::summit
