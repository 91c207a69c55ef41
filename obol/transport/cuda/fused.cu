#include <algorithm>
#include <type_traits>

#include "obol/transport/cuda/fused.cuh"
#include "obol/transport/cuda/small.cuh"

namespace obol::transport::cuda {
namespace {

// Eight lanes share a row in one pass, and a column in the other.
constexpr int kLanes = 8;
constexpr int kGroupsPerWarp = kWarp / kLanes;
constexpr int kMostThreads = 1024;
constexpr int kMostWarps = kMostThreads / kWarp;
constexpr std::size_t kSharedMemory = 227 * 1024;

// A warp meets every bank once if rows of costs begin 4 banks apart, its columns are neighbours,
// and its rows are every other one.
__host__ __device__ constexpr int padded(int columns) { return (columns + 27) / 32 * 32 + 4; }
__device__ int row_of_group(int group) {
  const int warp = group / kGroupsPerWarp;
  return warp / 2 * 8 + warp % 2 + group % kGroupsPerWarp * 2;
}

// What one block works on, all in shared memory but the problem.
template <class T>
class Block {
 public:
  __device__ Block(const SinkhornProblem<T>& problem, const Schedule& schedule, char* shared)
      : p_(problem), s_(schedule), n_(problem.rows), m_(problem.columns), leading_(padded(m_)) {
    totals_ = reinterpret_cast<double*>(shared);
    rows_ = reinterpret_cast<Side<T>*>(totals_ + 2 * kMostWarps);
    columns_ = rows_ + n_;
    previous_ = reinterpret_cast<T*>(columns_ + m_);
    error_ = previous_ + n_;
    cost_ = error_ + n_;
    if (is_self()) columns_ = rows_;
  }

  __device__ void solve() {
    load();
    const Progress progress = run<T>(*this, s_, largest_);
    finish(Temperature<T>(s_.regularization, 1 / s_.regularization), progress);
  }

  __device__ bool is_self() const { return p_.mode == Mode::kSelf; }

  // Moves the rows at once and keeps where they were: most looks do not end the solve, and this
  // saves a barrier. One side alone is still being read, and moves with its columns.
  __device__ double update_rows(const Temperature<T>& t, T step, Look look) {
    const int groups = blockDim.x / kLanes;
    const int mine = row_of_group(threadIdx.x / kLanes);
    for (int base = 0; base < n_; base += groups) {
      // Groups beyond the end go through the last row's costs, so that whole warps stay together.
      const bool is_there = base + mine < n_;
      const int i = is_there ? base + mine : n_ - 1;
      const Side<T> row = is_there ? rows_[i] : Side<T>{};
      const T next = softmin(cost_ + i * leading_, 1, columns_, m_, row.potential, is_there, t);
      if (threadIdx.x % kLanes != 0 || !is_there) continue;
      previous_[i] = is_self() ? next : row.potential;
      if (!is_self()) rows_[i].potential = moved(row.potential, next, step);
      if (look != Look::kNone)
        error_[i] = row_error(plain_weight(row, is_flat_), row.potential, next, t);
    }
    __syncthreads();
    return look == Look::kNone ? 0 : total_error();
  }

  __device__ void update_columns(const Temperature<T>& t, T step) {
    if (is_self()) {
      for (int i = threadIdx.x; i < n_; i += blockDim.x)
        rows_[i].potential = moved(rows_[i].potential, previous_[i], T{0.5});
      __syncthreads();
      return;
    }
    const int groups = blockDim.x / kLanes;
    const int mine = threadIdx.x / kLanes;
    for (int base = 0; base < m_; base += groups) {
      const bool is_there = base + mine < m_;
      const int j = is_there ? base + mine : m_ - 1;
      const T own = is_there ? columns_[j].potential : T{0};
      const T next = softmin(cost_ + j, leading_, rows_, n_, own, is_there, t);
      if (threadIdx.x % kLanes == 0 && is_there) columns_[j].potential = moved(own, next, step);
    }
    __syncthreads();
  }

  __device__ void take_back() {
    __syncthreads();
    if (is_self()) return;
    for (int i = threadIdx.x; i < n_; i += blockDim.x) rows_[i].potential = previous_[i];
    __syncthreads();
  }

 private:
  __device__ void load() {
    T largest = 0;
    for (int i = threadIdx.x / kWarp; i < n_; i += blockDim.x / kWarp)
      for (int j = threadIdx.x % kWarp; j < m_; j += kWarp) {
        const T cost = p_.cost[i * p_.leading + j];
        cost_[i * leading_ + j] = cost;
        largest = fmax(largest, fabs(cost));
      }
    largest = max_over_warp(largest);
    if (threadIdx.x % kWarp == 0) totals_[threadIdx.x / kWarp] = static_cast<double>(largest);
    __syncthreads();
    largest_ = 0;
    for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w)
      largest_ = fmax(largest_, totals_[w]);
    is_flat_ = s_.regularization >= largest_;
    for (int i = threadIdx.x; i < n_; i += blockDim.x)
      rows_[i] = {p_.start_f != nullptr ? p_.start_f[i] : T{0},
                  side_weight(p_.log_a, i, n_, is_flat_)};
    if (!is_self())
      for (int j = threadIdx.x; j < m_; j += blockDim.x)
        columns_[j] = {p_.start_g != nullptr ? p_.start_g[j] : T{0},
                       side_weight(p_.log_b, j, m_, is_flat_)};
    __syncthreads();
  }

  // The new potential of a point whose costs to the `count` others lie `stride` apart. Whole warps
  // call; each lane gets its group's.
  __device__ T softmin(const T* cost, int stride, const Side<T>* others, int count, T own,
                       bool is_there, const Temperature<T>& t) const {
    constexpr int kUnroll = 4;
    const int lane = threadIdx.x % kLanes;
    T sum = 0;
    if (is_flat_) {
      for (int k = lane; k < count; k += kLanes)
        sum += flat_part(others[k], cost[k * stride], own, t);
    } else {
      for (int k0 = lane; k0 < count; k0 += kLanes * kUnroll) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const int k = k0 + u * kLanes;
          if (k < count) sum += part(others[k], cost[k * stride], own, t);
        }
      }
    }
    sum = sum_over_group(sum);
    if (__all_sync(kAllLanes, !is_there || is_near(sum, is_flat_)))
      return from_sum(sum, own, t, is_flat_);
    return far_softmin(cost, stride, others, count, own, t);
  }

  __device__ T far_softmin(const T* cost, int stride, const Side<T>* others, int count, T own,
                           const Temperature<T>& t) const {
    const int lane = threadIdx.x % kLanes;
    T largest = -Range<T>::kLargest;
    for (int k = lane; k < count; k += kLanes)
      largest = fmax(largest, log_part(others[k], cost[k * stride], t, is_flat_));
    for (int offset = kLanes / 2; offset > 0; offset /= 2)
      largest = fmax(largest, __shfl_xor_sync(kAllLanes, largest, offset));
    T sum = 0;
    for (int k = lane; k < count; k += kLanes)
      sum += power_of_two(log_part(others[k], cost[k * stride], t, is_flat_) - largest);
    return from_largest(largest, sum_over_group(sum), own, t);
  }

  static __device__ T sum_over_group(T sum) {
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, offset);
    return sum;
  }

  // Every warp forms the same sum for itself, which saves a barrier.
  __device__ double total_error() const {
    T sum = 0;
    for (int i = threadIdx.x % kWarp; i < n_; i += kWarp) sum += error_[i];
    return static_cast<double>(sum_over_warp(sum));
  }

  __device__ void finish(const Temperature<T>& t, const Progress& progress) {
    double dual = 0;
    double primal = 0;
    for (int i = threadIdx.x; i < n_; i += blockDim.x) {
      const T f = rows_[i].potential;
      const T weight = plain_weight(rows_[i], is_flat_);
      p_.f[i] = f;
      dual += static_cast<double>(weight) * static_cast<double>(f);
      if (is_self()) dual += self_correction(weight, f, previous_[i], t);
    }
    for (int j = threadIdx.x; j < m_; j += blockDim.x) {
      p_.g[j] = columns_[j].potential;
      dual += static_cast<double>(plain_weight(columns_[j], is_flat_)) *
              static_cast<double>(columns_[j].potential);
    }
    for (int i = threadIdx.x / kWarp; i < n_; i += blockDim.x / kWarp)
      for (int j = threadIdx.x % kWarp; j < m_; j += kWarp) {
        const T cost = cost_[i * leading_ + j];
        primal += static_cast<double>(pair_mass(rows_[i], columns_[j], cost, t, is_flat_)) *
                  static_cast<double>(cost);
      }
    dual = sum_over_warp(dual);
    primal = sum_over_warp(primal);
    if (threadIdx.x % kWarp == 0) {
      totals_[threadIdx.x / kWarp] = dual;
      totals_[kMostWarps + threadIdx.x / kWarp] = primal;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int w = 1; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
      dual += totals_[w];
      primal += totals_[kMostWarps + w];
    }
    write_result(progress, dual, primal, p_.result);
  }

  const SinkhornProblem<T>& p_;
  const Schedule& s_;
  int n_;
  int m_;
  int leading_;
  double* totals_;
  Side<T>* rows_;
  Side<T>* columns_;
  T* previous_;  // the rows' other potential: what they were, or would be next
  T* error_;
  T* cost_;
  double largest_ = 0;
  bool is_flat_ = false;
};

template <class T>
__global__ void __launch_bounds__(kMostThreads)
    fused_kernel(const __grid_constant__ FusedBatch<T> batch, const __grid_constant__ Schedule s) {
  extern __shared__ __align__(16) char shared[];
  const SinkhornProblem<T> problem = batch.problems[blockIdx.x];
  Block<T>(problem, s, shared).solve();
}

}  // namespace

template <class T>
std::size_t fused_bytes(int rows, int columns) {
  const auto n = static_cast<std::size_t>(rows);
  const auto m = static_cast<std::size_t>(columns);
  return 2 * kMostWarps * sizeof(double) + (n + m) * sizeof(Side<T>) + 2 * n * sizeof(T) +
         n * static_cast<std::size_t>(padded(columns)) * sizeof(T);
}

template <class T>
bool is_fused(int rows, int columns) {
  constexpr int kMost = 4096;  // what a few rows or columns could have within shared memory
  return rows <= kMost && columns <= kMost && fused_bytes<T>(rows, columns) <= kSharedMemory;
}

template <class T>
void launch_fused(const FusedBatch<T>& batch, int count, int rows, int columns,
                  const Schedule& schedule, cudaStream_t stream) {
  if constexpr (std::is_same_v<T, float>) {
    if (std::all_of(batch.problems, batch.problems + count, is_small<T>)) {
      launch_small(batch, count, rows, columns, schedule, stream);
      return;
    }
  }
  std::size_t bytes = 0;
  for (int k = 0; k < count; ++k)
    bytes = std::max(bytes, fused_bytes<T>(batch.problems[k].rows, batch.problems[k].columns));
  // Pairs of warps, for row_of_group.
  const int wanted = (std::max(rows, columns) * kLanes + 2 * kWarp - 1) / (2 * kWarp) * 2 * kWarp;
  check(cudaFuncSetAttribute(fused_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(kSharedMemory)),
        "the shared memory of sinkhorn");
  fused_kernel<T><<<count, std::min(wanted, kMostThreads), bytes, stream>>>(batch, schedule);
  check(cudaGetLastError(), "sinkhorn");
}

template std::size_t fused_bytes<float>(int, int);
template std::size_t fused_bytes<double>(int, int);
template bool is_fused<float>(int, int);
template bool is_fused<double>(int, int);
template void launch_fused(const FusedBatch<float>&, int, int, int, const Schedule&, cudaStream_t);
template void launch_fused(const FusedBatch<double>&, int, int, int, const Schedule&, cudaStream_t);

}  // namespace obol::transport::cuda
