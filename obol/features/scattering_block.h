// Scattering of up to 16 records at once on the CPU, in float: the loops behind scattering.h. No
// LibTorch.
//
//   BlockScattering scattering({.height = 28, .width = 28, .order = 1});
//   Scratch scratch = scattering.scratch();                        // one for each thread
//   scattering.forward({images, 784, 16}, features, 17 * 49, scratch);
//   scattering.gradient({images, 784, 16}, of_features, 17 * 49, of_images, scratch);
//
// Each record has a lane of its own from the first pixel to the last feature, and no operation
// mixes lanes: whatever else is in a block, a record's features have the same bits. A block with
// fewer than 16 records is filled with black ones and treated alike.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "obol/features/scattering_filters.h"

namespace obol::features {

inline constexpr std::size_t kLanes = 16;

// A number of each of 16 records.
struct alignas(64) Lane {
  float of[kLanes];
};

struct BlockShape {
  std::size_t height;  // of the image
  std::size_t width;
  int order;

  // The image is padded with zeros to multiples of 4, the odd pixel at the end.
  [[nodiscard]] std::size_t rows() const { return (height + 3) / 4 * 4; }
  [[nodiscard]] std::size_t columns() const { return (width + 3) / 4 * 4; }
  // Of features.
  [[nodiscard]] std::size_t channels() const { return order == 1 ? 17 : 81; }
  [[nodiscard]] std::size_t pixels() const { return rows() / 4 * (columns() / 4); }
};

// One channel of up to 16 images: `count` rows, `stride` numbers apart.
struct BlockImages {
  const float* first;
  std::size_t stride;
  std::size_t count;
};

// What the loops keep, with borders of zeros around planes that wavelets read.
struct Scratch {
  std::vector<Lane> image;     // [framed]
  std::vector<Lane> fine;      // [angles, framed]: moduli at full resolution
  std::vector<Lane> coarse;    // [angles, rows / 2, columns / 2]: moduli at half of it
  std::vector<Lane> of_image;  // gradients of these
  std::vector<Lane> of_fine;
  std::vector<Lane> narrowed;  // a plane that is low-passed along one direction
  std::vector<Lane> features;  // [channels, pixels]
};

// Where wavelets are applied.
struct WaveletStage {
  FoldedWavelets wavelets;
  std::size_t stride;
  std::size_t rows;     // of the result
  std::size_t columns;  // of the result
};

struct LowPass {
  std::vector<float> taps;
  std::size_t stride;
};

struct BlockPlan {
  BlockShape shape;
  WaveletStage fine;
  WaveletStage coarse;
  LowPass low;
  LowPass low_halved;
};

// The loops in one instruction set: from scratch.image to scratch.features, and from both to
// scratch.of_image.
struct BlockKernel {
  std::string_view name;
  void (*forward)(const BlockPlan& plan, Scratch& scratch);
  void (*gradient)(const BlockPlan& plan, Scratch& scratch);
};
// Those that this CPU can run, the fastest first.
const std::vector<BlockKernel>& block_kernels();

class BlockScattering {
 public:
  explicit BlockScattering(const BlockShape& shape,
                           const BlockKernel& kernel = block_kernels().front());

  [[nodiscard]] const BlockShape& shape() const noexcept { return plan_.shape; }
  [[nodiscard]] Scratch scratch() const;

  // Writes channels() * pixels() features of each image, `stride` numbers apart.
  void forward(const BlockImages& images, float* features, std::size_t stride,
               Scratch& scratch) const;
  // From the gradient with respect to the features, laid out as forward's, the one with respect to
  // the images, laid out as these.
  void gradient(const BlockImages& images, const float* of_features, std::size_t stride,
                float* of_images, Scratch& scratch) const;

 private:
  void read_images(const BlockImages& images, Scratch& scratch) const;

  BlockPlan plan_;
  BlockKernel kernel_;
};

}  // namespace obol::features
