#include "obol/features/scattering_block.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "obol/base/instruction_sets.h"

namespace obol::features {
namespace {

// Zeros around planes that wavelets read: as far as the coarse ones reach.
constexpr std::size_t kFrame = 8;

struct Frame {
  explicit Frame(const BlockShape& shape)
      : pitch(shape.columns() + 2 * kFrame),
        inside(kFrame * pitch + kFrame),
        size((shape.rows() + 2 * kFrame) * pitch) {}

  std::size_t pitch;
  std::size_t inside;  // the first pixel that is none of the frame's
  std::size_t size;
};

struct PlaneSize {
  std::size_t rows;
  std::size_t columns;
  std::size_t pitch;
};

#define OBOL_KERNEL "obol/features/scattering_kernel.inc"
#include "obol/base/instruction_sets.inc"

std::vector<float> single(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

BlockPlan plan_of(const BlockShape& shape) {
  const ScatteringFilters filters = scattering_filters();
  const std::size_t rows = shape.rows();
  const std::size_t columns = shape.columns();
  return {.shape = shape,
          .fine = {.wavelets = folded(filters.fine), .stride = 1, .rows = rows, .columns = columns},
          .coarse = {.wavelets = folded(filters.coarse),
                     .stride = 2,
                     .rows = rows / 2,
                     .columns = columns / 2},
          .low = {.taps = single(filters.low), .stride = 4},
          .low_halved = {.taps = single(filters.low_halved), .stride = 2}};
}

// Where the image begins within its padding.
std::size_t first_pixel(const BlockShape& shape, const Frame& frame) {
  return frame.inside + (shape.rows() - shape.height) / 2 * frame.pitch +
         (shape.columns() - shape.width) / 2;
}

}  // namespace

const std::vector<BlockKernel>& block_kernels() {
  static const std::vector<BlockKernel> kKernels = OBOL_KERNELS(kernel());
  return kKernels;
}

BlockScattering::BlockScattering(const BlockShape& shape, const BlockKernel& kernel)
    : plan_(plan_of(shape)), kernel_(kernel) {}

Scratch BlockScattering::scratch() const {
  const BlockShape& shape = plan_.shape;
  const std::size_t framed = Frame(shape).size;
  const std::size_t pixels = shape.rows() * shape.columns();
  return {.image = std::vector<Lane>(framed),
          .fine = std::vector<Lane>(kAngles * framed),
          .coarse = std::vector<Lane>(kAngles * pixels / 4),
          .of_image = std::vector<Lane>(framed),
          .of_fine = std::vector<Lane>(kAngles * framed),
          .narrowed = std::vector<Lane>(pixels / 2),
          .features = std::vector<Lane>(shape.channels() * shape.pixels())};
}

void BlockScattering::read_images(const BlockImages& images, Scratch& scratch) const {
  const BlockShape& shape = plan_.shape;
  const Frame frame(shape);
  Lane* first = scratch.image.data() + first_pixel(shape, frame);
  for (std::size_t y = 0; y < shape.height; ++y)
    for (std::size_t x = 0; x < shape.width; ++x) {
      const float* from = images.first + y * shape.width + x;
      Lane pixel = {};
      for (std::size_t l = 0; l < images.count; ++l) pixel.of[l] = from[l * images.stride];
      first[y * frame.pitch + x] = pixel;
    }
}

void BlockScattering::forward(const BlockImages& images, float* features, std::size_t stride,
                              Scratch& scratch) const {
  read_images(images, scratch);
  kernel_.forward(plan_, scratch);
  for (std::size_t l = 0; l < images.count; ++l)
    for (std::size_t k = 0; k < scratch.features.size(); ++k)
      features[l * stride + k] = scratch.features[k].of[l];
}

void BlockScattering::gradient(const BlockImages& images, const float* of_features,
                               std::size_t stride, float* of_images, Scratch& scratch) const {
  read_images(images, scratch);
  for (std::size_t k = 0; k < scratch.features.size(); ++k) {
    Lane lane = {};
    for (std::size_t l = 0; l < images.count; ++l) lane.of[l] = of_features[l * stride + k];
    scratch.features[k] = lane;
  }
  kernel_.gradient(plan_, scratch);
  const BlockShape& shape = plan_.shape;
  const Frame frame(shape);
  const Lane* first = scratch.of_image.data() + first_pixel(shape, frame);
  for (std::size_t l = 0; l < images.count; ++l)
    for (std::size_t y = 0; y < shape.height; ++y)
      for (std::size_t x = 0; x < shape.width; ++x)
        of_images[l * images.stride + y * shape.width + x] = first[y * frame.pitch + x].of[l];
}

}  // namespace obol::features
