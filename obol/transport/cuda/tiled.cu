#include <algorithm>

#include <cooperative_groups.h>

#include "obol/transport/cuda/tiled.cuh"

namespace obol::transport::cuda {
namespace {

// One persistent launch. Every block owns some rows and goes through them in strips of kStrip: the
// new potentials of a strip's rows, then at once, while the strip is still in the first-level
// cache, its part of every column's sum. So the costs come from memory once per iteration. Then the
// blocks' parts are merged by columns.
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kStrip = 4;
// Two hide each other's barriers; powers in double need too many registers for that.
template <class T>
constexpr int kBlocksPerProcessor = sizeof(T) == 4 ? 2 : 1;

// Part of a sum of powers of two: sum * 2^largest. Flat: sum alone.
template <class T>
struct alignas(2 * sizeof(T)) Part {
  T largest;
  T sum;
};
// Finite, so that no difference of two of them is not a number.
template <class T>
__device__ constexpr T nothing() {
  return -Range<T>::kLargest / 4;
}

template <class T>
struct Memory {
  Side<T>* rows;     // [n]
  Side<T>* columns;  // [m]
  T* next;           // [n]
  Part<T>* parts;    // [blocks, m]
  double* totals;    // [3, blocks]: errors or largest costs, dual, primal
};

template <class T>
struct TiledArguments {
  SinkhornProblem<T> problem;
  Schedule schedule;
  Memory<T> memory;
  bool parts_in_shared;
  bool is_aligned;
};

template <class T>
struct Shared {
  T sums[kStrip][kWarps];
  T largest[kStrip];
  T next[kStrip];
  T potential[kStrip];  // after the step
  T weight[kStrip];
  bool is_far;
  Part<T> merge[kWarps][kWarp];
  double totals[kWarps];
};

template <class T>
class Grid {
 public:
  __device__ Grid(const TiledArguments<T>& arguments, Shared<T>& shared, Part<T>* own_parts)
      : p_(arguments.problem),
        s_(arguments.schedule),
        w_(arguments.memory),
        shared_(shared),
        parts_(own_parts),
        n_(p_.rows),
        m_(p_.columns),
        is_aligned_(arguments.is_aligned),
        warp_(threadIdx.x / kWarp),
        lane_(threadIdx.x % kWarp) {
    const std::int64_t share = (n_ + gridDim.x - 1) / gridDim.x;
    begin_ = min(n_, blockIdx.x * share);
    end_ = min(n_, begin_ + share);
    if (is_self()) w_.columns = w_.rows;
  }

  __device__ void solve() {
    load();
    const Progress progress = run<T>(*this, s_, largest_);
    finish(Temperature<T>(s_.regularization, 1 / s_.regularization), progress);
  }

  __device__ bool is_self() const { return p_.mode == Mode::kSelf; }

  // All strips of this block: the rows' next potentials, and its part of the columns' sums. The
  // rows move with the columns.
  __device__ double update_rows(const Temperature<T>& t, T step, Look look) {
    double error = 0;
    for (std::int64_t i0 = begin_; i0 < end_; i0 += kStrip) {
      const int count = static_cast<int>(min(std::int64_t{kStrip}, end_ - i0));
      softmin_strip(i0, count, t);
      if (warp_ < kStrip && lane_ == 0) {
        const bool is_real = warp_ < count;
        const Side<T> row = w_.rows[is_real ? i0 + warp_ : i0];
        const T next = shared_.next[is_real ? warp_ : 0];
        shared_.potential[warp_] = moved(row.potential, next, step);
        // A row that is not there has no weight.
        shared_.weight[warp_] = is_real ? row.weight : is_flat_ ? T{0} : nothing<T>();
        if (is_real) {
          w_.next[i0 + warp_] = next;
          error +=
              static_cast<double>(row_error(plain_weight(row, is_flat_), row.potential, next, t));
        }
      }
      __syncthreads();
      if (!is_self() && look != Look::kLast) add_to_columns(i0, t);
    }
    error = sum_over_block(error);
    if (threadIdx.x == 0) w_.totals[blockIdx.x] = error;
    if (parts_ != own_global_parts() && begin_ < end_)
      for (int j = threadIdx.x; j < m_; j += kThreads) own_global_parts()[j] = parts_[j];
    grid_barrier();
    return total(0);
  }

  __device__ void update_columns(const Temperature<T>& t, T step) {
    for (std::int64_t i = begin_ + threadIdx.x; i < end_; i += kThreads)
      w_.rows[i].potential = moved(w_.rows[i].potential, w_.next[i], is_self() ? T{0.5} : step);
    if (!is_self()) merge_columns(t, step);
    grid_barrier();
  }

  __device__ void take_back() {}  // They have not moved.

 private:
  __device__ const T* cost_row(std::int64_t i) const { return p_.cost + i * p_.leading; }
  static __device__ void grid_barrier() { cooperative_groups::this_grid().sync(); }

  __device__ void load() {
    T largest = 0;
    for (std::int64_t i = begin_; i < end_; ++i)
      for (int j = threadIdx.x; j < m_; j += kThreads)
        largest = fmax(largest, fabs(cost_row(i)[j]));
    largest = max_over_warp(largest);
    if (lane_ == 0) shared_.totals[warp_] = static_cast<double>(largest);
    __syncthreads();
    if (threadIdx.x == 0) {
      double most = 0;
      for (const double total : shared_.totals) most = fmax(most, total);
      w_.totals[blockIdx.x] = most;
    }
    grid_barrier();
    largest_ = 0;
    for (unsigned b = lane_; b < gridDim.x; b += kWarp) largest_ = fmax(largest_, w_.totals[b]);
    largest_ = max_over_warp(largest_);
    is_flat_ = s_.regularization >= largest_;
    for (std::int64_t i = begin_ + threadIdx.x; i < end_; i += kThreads)
      w_.rows[i] = {p_.start_f != nullptr ? p_.start_f[i] : T{0},
                    side_weight(p_.log_a, i, n_, is_flat_)};
    if (!is_self())
      for (std::int64_t j = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; j < m_;
           j += std::int64_t{gridDim.x} * kThreads)
        w_.columns[j] = {p_.start_g != nullptr ? p_.start_g[j] : T{0},
                         side_weight(p_.log_b, j, m_, is_flat_)};
    grid_barrier();
  }

  // Sums over the block, one value per row of the strip, end in shared_.sums.
  __device__ void gather(const T (&values)[kStrip]) {
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kStrip; ++r) {
      const T sum = sum_over_warp(values[r]);
      if (lane_ == 0) shared_.sums[r][warp_] = sum;
    }
    __syncthreads();
  }

  __device__ T gathered(int r) const {
    return sum_over_warp(lane_ < kWarps ? shared_.sums[r][lane_] : T{0});
  }

  template <int kWidth>
  __device__ void add_parts(const T* const (&cost)[kStrip], const T (&own)[kStrip],
                            const Temperature<T>& t, T (&sums)[kStrip]) const {
    for (int j = threadIdx.x * kWidth; j < m_; j += kThreads * kWidth) {
      T costs[kStrip][kWidth];
      Side<T> others[kWidth];
#pragma unroll
      for (int r = 0; r < kStrip; ++r) load_constant<kWidth>(cost[r] + j, costs[r]);
#pragma unroll
      for (int c = 0; c < kWidth; ++c) others[c] = w_.columns[j + c];
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
#pragma unroll
        for (int r = 0; r < kStrip; ++r) sums[r] += part(others[c], costs[r][c], own[r], t);
    }
  }

  // New potentials of the rows from i0 on into shared_.next; `count` of them are real.
  __device__ void softmin_strip(std::int64_t i0, int count, const Temperature<T>& t) {
    const T* cost[kStrip];
    T own[kStrip];
#pragma unroll
    for (int r = 0; r < kStrip; ++r) {
      const std::int64_t i = min(i0 + r, end_ - 1);
      cost[r] = cost_row(i);
      own[r] = w_.rows[i].potential;
    }
    T sums[kStrip] = {};
    if (is_flat_) {
      for (int j = threadIdx.x; j < m_; j += kThreads) {
        const Side<T> other = w_.columns[j];
#pragma unroll
        for (int r = 0; r < kStrip; ++r) sums[r] += flat_part(other, __ldg(cost[r] + j), own[r], t);
      }
    } else if (is_aligned_) {
      add_parts<4>(cost, own, t, sums);
    } else {
      add_parts<1>(cost, own, t, sums);
    }
    if (threadIdx.x == 0) shared_.is_far = false;
    gather(sums);
    if (warp_ < count) {
      const T sum = gathered(warp_);
      const bool is_trusted = is_near(sum, is_flat_);
      if (lane_ == 0 && !is_trusted) shared_.is_far = true;
      const T f = w_.rows[i0 + warp_].potential;
      if (lane_ == 0 && is_trusted) shared_.next[warp_] = from_sum(sum, f, t, is_flat_);
    }
    __syncthreads();
    if (shared_.is_far) far_softmin_strip(i0, count, t);
  }

  __device__ void far_softmin_strip(std::int64_t i0, int count, const Temperature<T>& t) {
    for (int r = 0; r < count; ++r) {
      T largest = nothing<T>();
      for (int j = threadIdx.x; j < m_; j += kThreads)
        largest = fmax(largest, log_part(w_.columns[j], cost_row(i0 + r)[j], t, is_flat_));
      largest = max_over_warp(largest);
      if (lane_ == 0) shared_.sums[r][warp_] = largest;
    }
    __syncthreads();
    if (warp_ < count) {
      const T largest = max_over_warp(lane_ < kWarps ? shared_.sums[warp_][lane_] : nothing<T>());
      if (lane_ == 0) shared_.largest[warp_] = largest;
    }
    __syncthreads();
    for (int r = 0; r < count; ++r) {
      T sum = 0;
      for (int j = threadIdx.x; j < m_; j += kThreads)
        sum += power_of_two(log_part(w_.columns[j], cost_row(i0 + r)[j], t, is_flat_) -
                            shared_.largest[r]);
      sum = sum_over_warp(sum);
      if (lane_ == 0) shared_.sums[r][warp_] = sum;
    }
    __syncthreads();
    if (warp_ < count) {
      const T sum = gathered(warp_);
      const T own = w_.rows[i0 + warp_].potential;
      if (lane_ == 0) shared_.next[warp_] = from_largest(shared_.largest[warp_], sum, own, t);
    }
    __syncthreads();
  }

  // The strip's rows, after their step, in the sums of all columns.
  __device__ void add_to_columns(std::int64_t i0, const Temperature<T>& t) {
    const bool is_first = i0 == begin_;
    const T* cost[kStrip];
    T potential[kStrip];
    T weight[kStrip];
#pragma unroll
    for (int r = 0; r < kStrip; ++r) {
      cost[r] = cost_row(min(i0 + r, end_ - 1));
      potential[r] = shared_.potential[r];
      weight[r] = shared_.weight[r];
    }
    if (is_flat_) {
      for (int j = threadIdx.x; j < m_; j += kThreads) {
        T sum = is_first ? T{0} : parts_[j].sum;
#pragma unroll
        for (int r = 0; r < kStrip; ++r)
          sum +=
              flat_part({potential[r], weight[r]}, __ldg(cost[r] + j), w_.columns[j].potential, t);
        parts_[j] = {0, sum};
      }
      return;
    }
    if (is_aligned_)
      add_exponents<4>(is_first, cost, potential, weight, t);
    else
      add_exponents<1>(is_first, cost, potential, weight, t);
  }

  template <int kWidth>
  __device__ void add_exponents(bool is_first, const T* const (&cost)[kStrip],
                                const T (&potential)[kStrip], const T (&weight)[kStrip],
                                const Temperature<T>& t) {
    for (int j = threadIdx.x * kWidth; j < m_; j += kThreads * kWidth) {
      T costs[kStrip][kWidth];
#pragma unroll
      for (int r = 0; r < kStrip; ++r) load_constant<kWidth>(cost[r] + j, costs[r]);
#pragma unroll
      for (int c = 0; c < kWidth; ++c) {
        const T own = w_.columns[j + c].potential;
        Part<T> sum = is_first ? Part<T>{nothing<T>(), 0} : parts_[j + c];
        T exponents[kStrip];
        T largest = sum.largest;
#pragma unroll
        for (int r = 0; r < kStrip; ++r) {
          exponents[r] = fma(t.scale, (own - costs[r][c]) + potential[r], weight[r]);
          largest = fmax(largest, exponents[r]);
        }
        sum.sum *= power_of_two(sum.largest - largest);
#pragma unroll
        for (int r = 0; r < kStrip; ++r) sum.sum += power_of_two(exponents[r] - largest);
        sum.largest = largest;
        parts_[j + c] = sum;
      }
    }
  }

  __device__ Part<T>* own_global_parts() const { return w_.parts + std::int64_t{blockIdx.x} * m_; }

  __device__ double total(int kind) const {
    double sum = 0;
    for (unsigned b = lane_; b < gridDim.x; b += kWarp) sum += w_.totals[kind * gridDim.x + b];
    return sum_over_warp(sum);
  }

  __device__ static void merge(Part<T>& into, const Part<T>& from) {
    const T largest = fmax(into.largest, from.largest);
    into.sum = into.sum * power_of_two(into.largest - largest) +
               from.sum * power_of_two(from.largest - largest);
    into.largest = largest;
  }

  // 32 columns at a time; warps share the blocks' parts.
  __device__ void merge_columns(const Temperature<T>& t, T step) {
    const std::int64_t share = (n_ + gridDim.x - 1) / gridDim.x;
    const std::int64_t blocks_with_rows = (n_ + share - 1) / share;
    for (std::int64_t j0 = std::int64_t{blockIdx.x} * kWarp; j0 < m_;
         j0 += std::int64_t{gridDim.x} * kWarp) {
      const std::int64_t j = min(j0 + lane_, std::int64_t{m_} - 1);
      Part<T> sum{is_flat_ ? T{0} : nothing<T>(), 0};
#pragma unroll 4
      for (std::int64_t b = warp_; b < blocks_with_rows; b += kWarps)
        merge(sum, w_.parts[b * m_ + j]);
      shared_.merge[warp_][lane_] = sum;
      __syncthreads();
      if (warp_ == 0 && j0 + lane_ < m_) {
        for (int w = 1; w < kWarps; ++w) merge(sum, shared_.merge[w][lane_]);
        const T own = w_.columns[j].potential;
        const T change = is_flat_ ? static_cast<T>(t.value) * log1p(sum.sum)
                                  : t.unscale * (sum.largest + binary_log(sum.sum));
        w_.columns[j].potential = moved(own, bounded(own - change, own), step);
      }
      __syncthreads();
    }
  }

  __device__ double sum_over_block(double value) {
    value = sum_over_warp(value);
    __syncthreads();
    if (lane_ == 0) shared_.totals[warp_] = value;
    __syncthreads();
    return sum_over_warp(lane_ < kWarps ? shared_.totals[lane_] : 0.0);
  }

  __device__ void finish(const Temperature<T>& t, const Progress& progress) {
    double dual = 0;
    double primal = 0;
    for (std::int64_t i = begin_ + threadIdx.x; i < end_; i += kThreads) {
      const T f = w_.rows[i].potential;
      const T weight = plain_weight(w_.rows[i], is_flat_);
      p_.f[i] = f;
      dual += static_cast<double>(weight) * static_cast<double>(f);
      if (is_self()) dual += self_correction(weight, f, w_.next[i], t);
    }
    for (std::int64_t j = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; j < m_;
         j += std::int64_t{gridDim.x} * kThreads) {
      const Side<T> column = w_.columns[j];
      p_.g[j] = column.potential;
      dual += static_cast<double>(plain_weight(column, is_flat_)) *
              static_cast<double>(column.potential);
    }
    for (std::int64_t i = begin_; i < end_; ++i)
      for (int j = threadIdx.x; j < m_; j += kThreads) {
        const T cost = cost_row(i)[j];
        primal += static_cast<double>(pair_mass(w_.rows[i], w_.columns[j], cost, t, is_flat_)) *
                  static_cast<double>(cost);
      }
    dual = sum_over_block(dual);
    primal = sum_over_block(primal);
    if (threadIdx.x == 0) {
      w_.totals[gridDim.x + blockIdx.x] = dual;
      w_.totals[2 * gridDim.x + blockIdx.x] = primal;
    }
    grid_barrier();
    if (blockIdx.x != 0 || warp_ != 0) return;
    dual = total(1);
    primal = total(2);
    if (lane_ == 0) write_result(progress, dual, primal, p_.result);
  }

  const SinkhornProblem<T>& p_;
  const Schedule& s_;
  Memory<T> w_;
  Shared<T>& shared_;
  Part<T>* parts_;  // of this block: in shared memory where they fit
  std::int64_t n_;
  int m_;
  bool is_aligned_;  // four costs can be loaded at once
  int warp_;
  int lane_;
  std::int64_t begin_;
  std::int64_t end_;
  double largest_ = 0;
  bool is_flat_ = false;
};

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor<T>)
    tiled_kernel(const __grid_constant__ TiledArguments<T> arguments) {
  __shared__ Shared<T> shared;
  extern __shared__ __align__(16) char dynamic[];
  Part<T>* parts =
      arguments.parts_in_shared
          ? reinterpret_cast<Part<T>*>(dynamic)
          : arguments.memory.parts + blockIdx.x * std::int64_t{arguments.problem.columns};
  Grid<T>(arguments, shared, parts).solve();
}

// How a problem is spread over the chip.
struct Layout {
  int blocks;
  std::size_t shared_bytes;  // of parts; 0: they are in global memory
};

template <class T>
Layout layout(int rows, int columns) {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "the device");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "the device");
  const std::size_t parts = static_cast<std::size_t>(columns) * sizeof(Part<T>);
  // Leaves the first-level cache about half of a multiprocessor's 256 KiB.
  constexpr std::size_t kMostShared = 66 * 1024;
  const int most = processors * kBlocksPerProcessor<T>;
  return {std::min(most, (rows + kStrip - 1) / kStrip), parts <= kMostShared ? parts : 0};
}

template <class T>
bool is_aligned(const SinkhornProblem<T>& p) {
  const bool rows_are = p.columns % 4 == 0 && p.leading % 4 == 0;
  return rows_are && reinterpret_cast<std::uintptr_t>(p.cost) % 16 == 0;
}

// Regions of the workspace, each on a boundary of 256 bytes.
template <class T>
class Carver {
 public:
  explicit Carver(void* base) : at_(static_cast<char*>(base)) {}

  template <class U>
  U* take(std::size_t count) {
    U* region = reinterpret_cast<U*>(at_);
    at_ += (count * sizeof(U) + 255) / 256 * 256;
    return region;
  }
  [[nodiscard]] std::size_t bytes() const { return reinterpret_cast<std::size_t>(at_); }

 private:
  char* at_;
};

template <class T>
Memory<T> carve(Carver<T>& carver, int rows, int columns) {
  const auto blocks = static_cast<std::size_t>(layout<T>(rows, columns).blocks);
  const auto n = static_cast<std::size_t>(rows);
  const auto m = static_cast<std::size_t>(columns);
  Memory<T> memory{};
  memory.rows = carver.template take<Side<T>>(n);
  memory.columns = carver.template take<Side<T>>(m);
  memory.next = carver.template take<T>(n);
  memory.parts = carver.template take<Part<T>>(blocks * m);
  memory.totals = carver.template take<double>(3 * blocks);
  return memory;
}

}  // namespace

template <class T>
std::size_t tiled_workspace(int rows, int columns) {
  Carver<T> carver(nullptr);
  carve(carver, rows, columns);
  return carver.bytes();
}

template <class T>
void launch_tiled(const SinkhornProblem<T>& problem, const Schedule& schedule, void* workspace,
                  cudaStream_t stream) {
  require(workspace != nullptr, "the workspace of a large problem", "memory", 0);
  Carver<T> carver(workspace);
  const Layout spread = layout<T>(problem.rows, problem.columns);
  TiledArguments<T> arguments{problem, schedule, carve(carver, problem.rows, problem.columns),
                              spread.shared_bytes > 0, is_aligned(problem)};
  check(cudaFuncSetAttribute(tiled_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(spread.shared_bytes)),
        "the shared memory of sinkhorn");
  void* parameters[] = {&arguments};
  check(cudaLaunchCooperativeKernel(tiled_kernel<T>, dim3(static_cast<unsigned>(spread.blocks)),
                                    dim3(kThreads), parameters, spread.shared_bytes, stream),
        "sinkhorn");
}

template std::size_t tiled_workspace<float>(int, int);
template std::size_t tiled_workspace<double>(int, int);
template void launch_tiled(const SinkhornProblem<float>&, const Schedule&, void*, cudaStream_t);
template void launch_tiled(const SinkhornProblem<double>&, const Schedule&, void*, cudaStream_t);

}  // namespace obol::transport::cuda
