// The part of a transposed convolution of stride 1 that is not a product of matrices, on a GPU.
//
// With few output channels it is one product, [pixels, in] by [in, taps outputs], whose columns are
// planes of the size of the input; added up, each shifted by its tap, they are the output.
//
//   Planes shape{.images = 70, .height = 28, .width = 28, .outputs = 1, .kernel = 3, .padding = 1};
//   add_planes(products, shape, bias, y, stream);       // forward
//   spread_planes(gradient, shape, products, stream);   // its gradient
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace obol::model::cuda {

struct Planes {
  std::int64_t images;
  int height;  // of the input
  int width;
  int outputs;  // channels
  int kernel;
  int padding;  // taken off every side of the output

  [[nodiscard]] __host__ __device__ int columns() const { return kernel * kernel * outputs; }
  [[nodiscard]] __host__ __device__ int out_height() const { return height + grown(); }
  [[nodiscard]] __host__ __device__ int out_width() const { return width + grown(); }

 private:
  [[nodiscard]] __host__ __device__ int grown() const { return kernel - 1 - 2 * padding; }
};

// products [images, height, width, kernel, kernel, outputs], bias [outputs] or null
// -> y [images, outputs, out_height, out_width].
template <class T>
void add_planes(const T* products, const Planes& shape, const float* bias, float* y,
                cudaStream_t stream);

// gradient [images, outputs, out_height, out_width] -> what each product is multiplied by in it.
template <class T>
void spread_planes(const float* gradient, const Planes& shape, T* products, cudaStream_t stream);

}  // namespace obol::model::cuda
