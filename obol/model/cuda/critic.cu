#include "obol/cuda/error.h"
#include "obol/model/cuda/critic.h"

namespace obol::model::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kTile = 32;       // columns of a block
constexpr int kRowsAtOnce = 8;  // of a block
constexpr int kChunk = 4096;    // numbers of a block
constexpr float kLeast = 1e-12F;

// Blocks are dealt to the matrices in turn: those of matrix k end at ends[k].
struct Deal {
  int ends[kMostMatrices];
  int blocks = 0;

  template <class BlocksOf>
  Deal(const Matrices& matrices, const BlocksOf& blocks_of) {
    for (int k = 0; k < matrices.count; ++k) {
      blocks += blocks_of(matrices.of[k]);
      ends[k] = blocks;
    }
  }
};

struct Share {
  int matrix;
  int block;  // of those of the matrix
};

__device__ Share share_of(const Deal& deal) {
  const int block = static_cast<int>(blockIdx.x);
  int k = 0;
  while (block >= deal.ends[k]) ++k;
  return {k, k == 0 ? block : block - deal.ends[k - 1]};
}

int blocks_for(int count, int each) { return (count + each - 1) / each; }
int size_of(const Matrix& one) { return one.rows * one.columns; }

Deal by_rows(const Matrices& matrices) {
  return {matrices, [](const Matrix& one) { return one.rows; }};
}
Deal by_chunks(const Matrices& matrices, int chunk) {
  return {matrices, [chunk](const Matrix& one) { return blocks_for(size_of(one), chunk); }};
}

// Over the block, for every thread of it.
__device__ float block_sum(float value) {
  __shared__ float of_warps[kThreads / kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffU, value, offset);
  __syncthreads();  // those who still read an earlier sum
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = 0;
  for (int k = 0; k < kThreads / kWarp; ++k) value += of_warps[k];
  return value;
}

// right = W^T left
__global__ void multiply_transposed(Matrices matrices, Deal deal, const float* weights,
                                    float* vectors) {
  const Share share = share_of(deal);
  const Matrix one = matrices.of[share.matrix];
  const float* w = weights + one.at;
  const float* left = vectors + one.vectors_at;
  const int column = share.block * kTile + static_cast<int>(threadIdx.x);
  float sum = 0;
  if (column < one.columns)
    for (int row = static_cast<int>(threadIdx.y); row < one.rows; row += kRowsAtOnce)
      sum += w[row * one.columns + column] * left[row];
  __shared__ float sums[kRowsAtOnce][kTile];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= one.columns) return;
  for (int k = 1; k < kRowsAtOnce; ++k) sum += sums[k][threadIdx.x];
  vectors[one.vectors_at + one.rows + column] = sum;
}

// left = W right / |right|, a row for each block
__global__ void multiply(Matrices matrices, Deal deal, const float* weights, float* vectors) {
  const Share share = share_of(deal);
  const Matrix one = matrices.of[share.matrix];
  const float* w = weights + one.at + static_cast<std::int64_t>(share.block) * one.columns;
  const float* right = vectors + one.vectors_at + one.rows;
  float product = 0;
  float square = 0;
  for (int c = static_cast<int>(threadIdx.x); c < one.columns; c += kThreads) {
    product += w[c] * right[c];
    square += right[c] * right[c];
  }
  product = block_sum(product);
  square = block_sum(square);
  if (threadIdx.x == 0)
    vectors[one.vectors_at + share.block] = product / fmaxf(sqrtf(square), kLeast);
}

__device__ void to_length_one(float* vector, int count) {
  float square = 0;
  for (int k = static_cast<int>(threadIdx.x); k < count; k += kThreads)
    square += vector[k] * vector[k];
  const float length = fmaxf(sqrtf(block_sum(square)), kLeast);
  for (int k = static_cast<int>(threadIdx.x); k < count; k += kThreads) vector[k] /= length;
}

// A matrix for each block.
__global__ void normalise_vectors(Matrices matrices, float* vectors) {
  const Matrix one = matrices.of[blockIdx.x];
  to_length_one(vectors + one.vectors_at, one.rows);
  to_length_one(vectors + one.vectors_at + one.rows, one.columns);
}

__global__ void add_norms(Matrices matrices, Deal deal, const float* weights, const float* vectors,
                          float* result) {
  const Share share = share_of(deal);
  const Matrix one = matrices.of[share.matrix];
  const float* w = weights + one.at + static_cast<std::int64_t>(share.block) * one.columns;
  const float* left = vectors + one.vectors_at;
  const float* right = left + one.rows;
  float product = 0;
  for (int c = static_cast<int>(threadIdx.x); c < one.columns; c += kThreads)
    product += w[c] * right[c];
  product = block_sum(product);
  if (threadIdx.x == 0) atomicAdd(result + share.matrix, left[share.block] * product);
}

__global__ void divide(Matrices matrices, Deal deal, const float* weights, const float* norms,
                       float* result) {
  const Share share = share_of(deal);
  const Matrix one = matrices.of[share.matrix];
  const int k = share.block * kThreads + static_cast<int>(threadIdx.x);
  if (k >= one.rows * one.columns) return;
  const int channels = one.columns / one.positions;
  const int column = k % one.columns;
  const int to = column % one.positions * channels + column / one.positions;
  result[one.at + (k - column) + to] = weights[one.at + k] / norms[share.matrix];
}

// <G, W>
__global__ void add_products(Matrices matrices, Deal deal, Gradients gradients,
                             const float* weights, float* along) {
  const Share share = share_of(deal);
  const Matrix one = matrices.of[share.matrix];
  const float* g = gradients.of[share.matrix].numbers;
  const int begin = share.block * kChunk;
  const int end = min(begin + kChunk, one.rows * one.columns);
  float product = 0;
  for (int k = begin + static_cast<int>(threadIdx.x); k < end; k += kThreads)
    product += g[k] * weights[one.at + k];
  product = block_sum(product);
  if (threadIdx.x == 0) atomicAdd(along + share.matrix, product);
}

__global__ void subtract_along(Matrices matrices, Deal deal, Gradients gradients,
                               const float* vectors, const float* along, float* result) {
  const Share share = share_of(deal);
  const Matrix one = matrices.of[share.matrix];
  const int k = share.block * kThreads + static_cast<int>(threadIdx.x);
  if (k >= one.rows * one.columns) return;
  const float* left = vectors + one.vectors_at;
  const float* right = left + one.rows;
  const Gradient g = gradients.of[share.matrix];
  const float outer = left[k / one.columns] * right[k % one.columns];
  result[one.at + k] = (g.numbers[k] - along[share.matrix] / *g.norm * outer) / *g.norm;
}

__global__ void step_of_adam(Adam how, const float* gradient, const float* steps, float* weights,
                             float* first, float* second, std::int64_t count) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= count) return;
  constexpr float kAddend = 1e-8F;
  const float of_first = 1 - powf(how.beta1, *steps);
  const float of_second = 1 - powf(how.beta2, *steps);
  const float g = gradient[k];
  const float m = g + (first[k] - g) * how.beta1;
  const float v = second[k] * how.beta2 + g * g * (1 - how.beta2);
  first[k] = m;
  second[k] = v;
  weights[k] -= m / (sqrtf(v / of_second) + kAddend) * (how.rate / of_first);
}

void check_launch(const char* what) { obol::cuda::check(cudaGetLastError(), what); }

void zero(float* numbers, int count, cudaStream_t stream) {
  obol::cuda::check(
      cudaMemsetAsync(numbers, 0, static_cast<std::size_t>(count) * sizeof(float), stream),
      "a critic's sums");
}

}  // namespace

void iterate(const Matrices& matrices, const float* weights, float* vectors, cudaStream_t stream) {
  const Deal tiles(matrices, [](const Matrix& one) { return blocks_for(one.columns, kTile); });
  const Deal rows = by_rows(matrices);
  multiply_transposed<<<tiles.blocks, dim3(kTile, kRowsAtOnce), 0, stream>>>(matrices, tiles,
                                                                             weights, vectors);
  multiply<<<rows.blocks, kThreads, 0, stream>>>(matrices, rows, weights, vectors);
  normalise_vectors<<<matrices.count, kThreads, 0, stream>>>(matrices, vectors);
  check_launch("a critic's power iteration");
}

void norms(const Matrices& matrices, const float* weights, const float* vectors, float* result,
           cudaStream_t stream) {
  const Deal rows = by_rows(matrices);
  zero(result, matrices.count, stream);
  add_norms<<<rows.blocks, kThreads, 0, stream>>>(matrices, rows, weights, vectors, result);
  check_launch("a critic's norms");
}

void normalise(const Matrices& matrices, const float* weights, const float* norms, float* result,
               cudaStream_t stream) {
  const Deal chunks = by_chunks(matrices, kThreads);
  divide<<<chunks.blocks, kThreads, 0, stream>>>(matrices, chunks, weights, norms, result);
  check_launch("a critic's normalised matrices");
}

void through_norms(const Matrices& matrices, const Gradients& gradients, const float* weights,
                   const float* vectors, float* along, float* result, cudaStream_t stream) {
  const Deal sums = by_chunks(matrices, kChunk);
  const Deal chunks = by_chunks(matrices, kThreads);
  zero(along, matrices.count, stream);
  add_products<<<sums.blocks, kThreads, 0, stream>>>(matrices, sums, gradients, weights, along);
  subtract_along<<<chunks.blocks, kThreads, 0, stream>>>(matrices, chunks, gradients, vectors,
                                                         along, result);
  check_launch("a critic's gradient");
}

void adam(const Adam& how, const float* gradient, const float* steps, float* weights, float* first,
          float* second, std::int64_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  step_of_adam<<<blocks, kThreads, 0, stream>>>(how, gradient, steps, weights, first, second,
                                                count);
  check_launch("a critic's step");
}

}  // namespace obol::model::cuda
