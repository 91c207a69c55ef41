// Mean features of each class of private images, released once, and the distance of generated
// images to them.
//
//   Moments moments(options, scattering_dimension, classes, device);
//   moments.release(door, records, scattering, noise_multiplier);    // one event Gaussian
//   Tensor distance = moments.loss(moments.embed(scattered));        // any number of times
//
// The features of an image are its scattering r and random Fourier features of r. The first carry
// texture (energy by scale, angle and place); the means of the second are those of a kernel, in
// which any difference of distributions shows. With Fourier features of pixels alone this would be
// DP-MERF (Harder, Adamczewski and Park 2021).
//
// Guarantee: a record adds one vector of length at most 1 to the sum of its class: its scattering,
// scaled down to a public bound, its Fourier features, and a constant that counts it. One event
// Gaussian(noise_multiplier) (obol/barrier/sum.h).
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/barrier/records.h"
#include "obol/features/fourier.h"
#include "obol/features/scattering.h"
#include "obol/method/summit/options.h"
#include "obol/run/checkpoint.h"

namespace obol::method::summit {

class Moments {
 public:
  Moments(const MomentsOptions& options, std::int64_t scattering_dimension, std::int64_t classes,
          const torch::Device& device);

  // `scattering` is of order options.order.
  void release(barrier::Door& door, const barrier::PrivateRecords& records,
               const features::Scattering& scattering, double noise_multiplier);

  // Of scattering vectors [n, scattering dimension]: [n, d], differentiable.
  [[nodiscard]] torch::Tensor embed(const torch::Tensor& scattered) const;
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
  MomentsOptions options_;
  std::int64_t classes_;
  features::FourierFeatures fourier_;
  torch::Tensor targets_;  // [classes, d], float: released
  torch::Tensor running_;  // [classes, d]: decaying sum of generated means
  torch::Tensor weight_;   // []: of that sum
  torch::Tensor distance_;
};

// Means of each class, from noisy sums [classes, scattering + fourier + 1] whose last column
// counts.
struct ReleasedMeans {
  torch::Tensor scattering;
  torch::Tensor fourier;
};
ReleasedMeans means_of(const torch::Tensor& sums, std::int64_t scattering_dimension,
                       const MomentsOptions& options, double noise_multiplier);

}  // namespace obol::method::summit
