#include <algorithm>
#include <cmath>

#include "obol/transport/cuda/math.cuh"
#include "obol/transport/cuda/pairwise.h"

namespace obol::transport::cuda {
namespace {

// One launch's problems, as a kernel argument.
template <class T>
struct CostBatch {
  CostProblem<T> problems[kMostAtOnce];
  std::int64_t dimension;
  T mixing;
  T label_penalty;
};

template <class T>
__device__ void store(const CostProblem<T>& p, T label_penalty, std::int64_t i, std::int64_t j,
                      T cost) {
  if (i >= p.x.count || j >= p.y.count) return;
  if (p.x.labels != nullptr && p.x.labels[i] != p.y.labels[j]) cost += label_penalty;
  p.cost[i * p.leading + j] = cost;
}

template <GroundCost kKind, class T>
__device__ T add_term(T sum, T difference, T mixing) {
  const T size = fabs(difference);
  if (kKind == GroundCost::kAbsolute) return sum + size;
  if (kKind == GroundCost::kSquared) return fma(difference, difference, sum);
  return fma(size, size + mixing, sum);
}

constexpr int kPatchWarps = 4;
constexpr int kPatch = 4;  // a block's pairs are a patch of 4 x 4

// For few pairs: a block per patch, its threads along the dimensions, so that the whole chip has
// work and every thread little.
template <GroundCost kKind, class T>
__global__ void __launch_bounds__(kPatchWarps* kWarp)
    cost_by_patches(const __grid_constant__ CostBatch<T> batch) {
  __shared__ T sums_of[kPatchWarps][kPatch * kPatch];
  const CostProblem<T>& p = batch.problems[blockIdx.y];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const std::int64_t patches_across = (p.y.count + kPatch - 1) / kPatch;
  const std::int64_t i0 = blockIdx.x / patches_across * kPatch;
  const std::int64_t j0 = blockIdx.x % patches_across * kPatch;
  if (i0 >= p.x.count) return;
  // Rows beyond the end repeat the last one, and are not stored.
  const T* x[kPatch];
  const T* y[kPatch];
#pragma unroll
  for (int e = 0; e < kPatch; ++e) {
    x[e] = p.x.data + min(i0 + e, p.x.count - 1) * p.x.leading;
    y[e] = p.y.data + min(j0 + e, p.y.count - 1) * p.y.leading;
  }
  T sums[kPatch * kPatch] = {};
#pragma unroll 4
  for (std::int64_t k = threadIdx.x; k < batch.dimension; k += kPatchWarps * kWarp) {
    T left[kPatch];
    T right[kPatch];
#pragma unroll
    for (int e = 0; e < kPatch; ++e) {
      left[e] = __ldg(x[e] + k);
      right[e] = __ldg(y[e] + k);
    }
#pragma unroll
    for (int e = 0; e < kPatch * kPatch; ++e)
      sums[e] = add_term<kKind>(sums[e], left[e / kPatch] - right[e % kPatch], batch.mixing);
  }
  const T part = sum_of_lane_pair(sums);
  if (lane % 2 == 0) sums_of[warp][lane / 2] = part;
  __syncthreads();
  const int mine = threadIdx.x;
  if (mine >= kPatch * kPatch) return;
  T sum = 0;
  for (int w = 0; w < kPatchWarps; ++w) sum += sums_of[w][mine];
  store(p, batch.label_penalty, i0 + mine / kPatch, j0 + mine % kPatch, sum);
}

// For many pairs: a block per tile, as a matrix product would, 16 x 16 threads of kEdge x kEdge
// pairs each.
template <class T>
struct Tile {
  static constexpr int kEdge = sizeof(T) == 4 ? 8 : 4;
  static constexpr int kSide = 16 * kEdge;
  static constexpr int kThreads = 256;
  static constexpr int kDepth = 16;
  static constexpr int kLeading = kSide + 4;  // so that transposed stores meet fewer banks twice

  T x[kDepth][kLeading];
  T y[kDepth][kLeading];

  // Which row of the tile is a thread's e-th: groups of four, for loads of 16 bytes.
  static __device__ int place(int thread, int e) { return thread * 4 + e % 4 + e / 4 * 64; }
};

template <class T>
__device__ void fetch(const Points<T>& points, std::int64_t first, std::int64_t k0,
                      std::int64_t dimension, T* out) {
  const std::int64_t k = k0 + threadIdx.x % Tile<T>::kDepth;
#pragma unroll
  for (int e = 0; e < Tile<T>::kEdge; ++e) {
    const std::int64_t i = first + threadIdx.x / Tile<T>::kDepth + e * 16;
    out[e] = k < dimension ? points.data[min(i, points.count - 1) * points.leading + k] : T{0};
  }
}

template <class T>
__device__ void put(const T* values, T (*tile)[Tile<T>::kLeading]) {
#pragma unroll
  for (int e = 0; e < Tile<T>::kEdge; ++e)
    tile[threadIdx.x % Tile<T>::kDepth][threadIdx.x / Tile<T>::kDepth + e * 16] = values[e];
}

template <GroundCost kKind, class T>
__global__ void __launch_bounds__(256, 2)
    cost_by_tiles(const __grid_constant__ CostBatch<T> batch) {
  constexpr int kEdge = Tile<T>::kEdge;
  __shared__ __align__(16) Tile<T> tile;
  const CostProblem<T>& p = batch.problems[blockIdx.z];
  const std::int64_t i0 = std::int64_t{blockIdx.y} * Tile<T>::kSide;
  const std::int64_t j0 = std::int64_t{blockIdx.x} * Tile<T>::kSide;
  if (i0 >= p.x.count || j0 >= p.y.count) return;
  const int down = threadIdx.x / 16;
  const int across = threadIdx.x % 16;
  T sums[kEdge][kEdge] = {};
  T next_x[kEdge];
  T next_y[kEdge];
  fetch(p.x, i0, 0, batch.dimension, next_x);
  fetch(p.y, j0, 0, batch.dimension, next_y);
  for (std::int64_t k0 = 0; k0 < batch.dimension; k0 += Tile<T>::kDepth) {
    put(next_x, tile.x);
    put(next_y, tile.y);
    __syncthreads();
    if (k0 + Tile<T>::kDepth < batch.dimension) {
      fetch(p.x, i0, k0 + Tile<T>::kDepth, batch.dimension, next_x);
      fetch(p.y, j0, k0 + Tile<T>::kDepth, batch.dimension, next_y);
    }
#pragma unroll 4
    for (int k = 0; k < Tile<T>::kDepth; ++k) {
      T left[kEdge];
      T right[kEdge];
#pragma unroll
      for (int e = 0; e < kEdge; e += 4) {
        load_four(&tile.x[k][Tile<T>::place(down, e)], left + e);
        load_four(&tile.y[k][Tile<T>::place(across, e)], right + e);
      }
#pragma unroll
      for (int r = 0; r < kEdge; ++r)
#pragma unroll
        for (int c = 0; c < kEdge; ++c)
          sums[r][c] = add_term<kKind>(sums[r][c], left[r] - right[c], batch.mixing);
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kEdge; ++r)
#pragma unroll
    for (int c = 0; c < kEdge; ++c)
      store(p, batch.label_penalty, i0 + Tile<T>::place(down, r), j0 + Tile<T>::place(across, c),
            sums[r][c]);
}

std::int64_t parts(std::int64_t total, std::int64_t part) { return (total + part - 1) / part; }

template <GroundCost kKind, class T>
void launch_cost(const CostBatch<T>& batch, int count, cudaStream_t stream) {
  std::int64_t most_patches = 0;
  std::int64_t tiles = 0;
  std::int64_t most_down = 0;
  std::int64_t most_across = 0;
  for (const CostProblem<T>* p = batch.problems; p != batch.problems + count; ++p) {
    most_patches = std::max(most_patches, parts(p->x.count, kPatch) * parts(p->y.count, kPatch));
    most_down = std::max(most_down, parts(p->x.count, Tile<T>::kSide));
    most_across = std::max(most_across, parts(p->y.count, Tile<T>::kSide));
    tiles += parts(p->x.count, Tile<T>::kSide) * parts(p->y.count, Tile<T>::kSide);
  }
  if (most_patches == 0) return;
  constexpr std::int64_t kTilesThatFillTheChip = 64;
  if (tiles < kTilesThatFillTheChip) {
    const dim3 grid(static_cast<unsigned>(most_patches), static_cast<unsigned>(count));
    cost_by_patches<kKind, T><<<grid, kPatchWarps * kWarp, 0, stream>>>(batch);
  } else {
    const dim3 grid(static_cast<unsigned>(most_across), static_cast<unsigned>(most_down),
                    static_cast<unsigned>(count));
    cost_by_tiles<kKind, T><<<grid, Tile<T>::kThreads, 0, stream>>>(batch);
  }
  check(cudaGetLastError(), "pairwise_cost");
}

// sum over terms and j of P_ij slope(x_ik - y_jk): a thread per coordinate k, kRows rows of x each.
template <class T>
struct GradientBatch {
  GradientTerm<T> terms[kMostAtOnce];
  T inverse[kMostAtOnce];      // of the terms' regularizations
  T log_weights[kMostAtOnce];  // of pairs, where uniform
  int count;
  Points<T> x;
  std::int64_t dimension;
  T twice_squared;  // factors of the difference and of its sign
  T absolute;
  T* gradient;
  std::int64_t leading;
};

constexpr int kGradientThreads = 256;
constexpr int kChunk = 64;  // columns of the plan in shared memory at a time

// P_ij of a term for row i of x, scaled; 0 where the term has no such row or column.
template <class T>
__device__ T scaled_mass(const GradientBatch<T>& batch, int t, std::int64_t i, std::int64_t j) {
  const GradientTerm<T>& term = batch.terms[t];
  i -= term.first;
  if (i < 0 || i >= term.rows || j >= term.y.count) return 0;
  const T cost = term.cost[i * term.row_stride + j * term.column_stride];
  T log_weight = batch.log_weights[t];
  if (term.log_a != nullptr) log_weight += term.log_a[i];
  if (term.log_b != nullptr) log_weight += term.log_b[j];
  const T gap = (term.g[j] - cost) + term.f[i];
  return finite_exp(fma(gap, batch.inverse[t], log_weight)) * static_cast<T>(term.scale);
}

template <bool kHasAbsolute, class T>
__device__ T slope(T difference, T twice_squared, T absolute) {
  const T straight = twice_squared * difference;
  if (!kHasAbsolute) return straight;
  // Exactly 0 where the points agree, as most pixels of two pictures do.
  return fma(absolute, static_cast<T>(difference > 0) - static_cast<T>(difference < 0), straight);
}

// A block's threads are kGradientThreads / kSlices coordinates, kSlices of them share one's
// columns.
template <int kRows, int kSlices, bool kHasAbsolute, class T>
__global__ void __launch_bounds__(kGradientThreads)
    gradient_kernel(const __grid_constant__ GradientBatch<T> batch) {
  constexpr int kWidth = kGradientThreads / kSlices;
  constexpr int kShare = kChunk / kSlices;
  constexpr int kMasses = kRows * kChunk / kGradientThreads;  // that a thread forms
  constexpr bool kIsSliced = kSlices > 1;
  __shared__ __align__(16) T plan[kChunk][kRows];
  __shared__ T sums_of[kIsSliced ? kRows : 1][kIsSliced ? kSlices : 1][kIsSliced ? kWidth : 1];
  const std::int64_t i0 = std::int64_t{blockIdx.x} * kRows;
  const int slice = threadIdx.x / kWidth;
  const std::int64_t k = std::int64_t{blockIdx.y} * kWidth + threadIdx.x % kWidth;
  const std::int64_t column = min(k, batch.dimension - 1);
  T x[kRows];
  T sums[kRows] = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    x[r] = batch.x.data[min(i0 + r, batch.x.count - 1) * batch.x.leading + column];
  const auto add = [&](int j, T y) {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sums[r] = fma(plan[j][r], slope<kHasAbsolute>(x[r] - y, batch.twice_squared, batch.absolute),
                    sums[r]);
  };
  for (int t = 0; t < batch.count; ++t) {
    const GradientTerm<T>& term = batch.terms[t];
    if (i0 + kRows <= term.first || i0 >= term.first + term.rows) continue;
    for (std::int64_t j0 = 0; j0 < term.y.count; j0 += kChunk) {
      const int columns = static_cast<int>(min(std::int64_t{kChunk}, term.y.count - j0));
      const T* y = term.y.data + j0 * term.y.leading + column;
      // A small problem waits for memory more than it computes: ask for everything first.
      T early[kIsSliced ? kShare : 1];
      if (kIsSliced) {
#pragma unroll
        for (int e = 0; e < kShare; ++e)
          early[e] = __ldg(y + min(slice + e * kSlices, columns - 1) * term.y.leading);
      }
      T masses[kMasses];
#pragma unroll
      for (int e = 0; e < kMasses; ++e) {
        const int place = static_cast<int>(threadIdx.x) + e * kGradientThreads;
        masses[e] = scaled_mass(batch, t, i0 + place / kChunk, j0 + place % kChunk);
      }
      __syncthreads();
#pragma unroll
      for (int e = 0; e < kMasses; ++e) {
        const int place = static_cast<int>(threadIdx.x) + e * kGradientThreads;
        plan[place % kChunk][place / kChunk] = masses[e];
      }
      __syncthreads();
      if (kIsSliced) {
#pragma unroll
        for (int e = 0; e < kShare; ++e) add(slice + e * kSlices, early[e]);  // 0 beyond the end
      } else {
#pragma unroll 8
        for (int j = 0; j < columns; ++j) add(j, __ldg(y + j * term.y.leading));
      }
    }
  }
  if (kIsSliced) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums_of[r][slice][threadIdx.x % kWidth] = sums[r];
    __syncthreads();
    // The first slices write a row each.
    if (slice >= kRows) return;
    sums[0] = 0;
#pragma unroll
    for (int e = 0; e < kSlices; ++e) sums[0] += sums_of[slice][e][threadIdx.x % kWidth];
  }
  if (k >= batch.dimension) return;
#pragma unroll
  for (int r = 0; r < (kIsSliced ? 1 : kRows); ++r) {
    const std::int64_t i = i0 + (kIsSliced ? slice : r);
    if (i >= batch.x.count) break;
    batch.gradient[i * batch.leading + k] = sums[r];
  }
}

template <int kRows, int kSlices, bool kHasAbsolute, class T>
void launch_gradient(const GradientBatch<T>& batch, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(parts(batch.x.count, kRows)),
                  static_cast<unsigned>(parts(batch.dimension, kGradientThreads / kSlices)));
  gradient_kernel<kRows, kSlices, kHasAbsolute, T><<<grid, kGradientThreads, 0, stream>>>(batch);
  check(cudaGetLastError(), "pairwise_gradient");
}

void check_ground(const Ground& ground) {
  require(ground.mixing >= 0, "mixing", "not negative", ground.mixing);
}

}  // namespace

template <class T>
void pairwise_cost(const CostProblem<T>* problems, int count, std::int64_t dimension,
                   const Ground& ground, cudaStream_t stream) {
  check_ground(ground);
  for (const CostProblem<T>* p = problems; p != problems + count; ++p)
    require((p->x.labels == nullptr) == (p->y.labels == nullptr), "the sides with labels",
            "both or none", 1);
  for (int first = 0; first < count; first += kMostAtOnce) {
    const int now = std::min(count - first, kMostAtOnce);
    CostBatch<T> batch{};
    std::copy_n(problems + first, now, batch.problems);
    batch.dimension = dimension;
    batch.mixing = static_cast<T>(ground.mixing);
    batch.label_penalty = static_cast<T>(ground.label_penalty);
    switch (ground.kind) {
      case GroundCost::kAbsolute:
        launch_cost<GroundCost::kAbsolute>(batch, now, stream);
        break;
      case GroundCost::kSquared:
        launch_cost<GroundCost::kSquared>(batch, now, stream);
        break;
      case GroundCost::kMixture:
        launch_cost<GroundCost::kMixture>(batch, now, stream);
        break;
    }
  }
}

template <class T>
void pairwise_gradient(const Points<T>& x, std::int64_t dimension, const Ground& ground,
                       const GradientTerm<T>* terms, int count, T* gradient, std::int64_t leading,
                       cudaStream_t stream) {
  check_ground(ground);
  require(count <= kMostAtOnce, "the number of terms of a gradient", "at most 8", count);
  if (x.count == 0 || dimension == 0) return;
  GradientBatch<T> batch{};
  std::copy_n(terms, count, batch.terms);
  for (int t = 0; t < count; ++t) {
    batch.inverse[t] = static_cast<T>(1 / terms[t].regularization);
    const double uniform_a = terms[t].log_a == nullptr ? static_cast<double>(terms[t].rows) : 1;
    const double uniform_b = terms[t].log_b == nullptr ? static_cast<double>(terms[t].y.count) : 1;
    batch.log_weights[t] = static_cast<T>(-std::log(uniform_a * uniform_b));
  }
  batch.count = count;
  batch.x = x;
  batch.dimension = dimension;
  const bool is_absolute = ground.kind == GroundCost::kAbsolute;
  batch.twice_squared = is_absolute ? T{0} : T{2};
  batch.absolute = is_absolute ? T{1} : static_cast<T>(ground.mixing);
  batch.gradient = gradient;
  batch.leading = leading;
  // Few rows and shared columns spread a small problem over the chip; many rows reuse what is
  // loaded.
  constexpr std::int64_t kManyRows = 1024;
  const bool is_large = x.count >= kManyRows;
  if (ground.kind == GroundCost::kSquared)
    is_large ? launch_gradient<8, 1, false>(batch, stream)
             : launch_gradient<4, 8, false>(batch, stream);
  else
    is_large ? launch_gradient<8, 1, true>(batch, stream)
             : launch_gradient<4, 8, true>(batch, stream);
}

template void pairwise_cost(const CostProblem<float>*, int, std::int64_t, const Ground&,
                            cudaStream_t);
template void pairwise_cost(const CostProblem<double>*, int, std::int64_t, const Ground&,
                            cudaStream_t);
template void pairwise_gradient(const Points<float>&, std::int64_t, const Ground&,
                                const GradientTerm<float>*, int, float*, std::int64_t,
                                cudaStream_t);
template void pairwise_gradient(const Points<double>&, std::int64_t, const Ground&,
                                const GradientTerm<double>*, int, double*, std::int64_t,
                                cudaStream_t);

}  // namespace obol::transport::cuda
