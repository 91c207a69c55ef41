#include <algorithm>

#include "obol/transport/cuda/small.cuh"

namespace obol::transport::cuda {
namespace {

// What such a problem takes is not work but waiting: for shared memory, for lanes, for other warps.
// So eight lanes own row k and column k; each keeps its eighth of both's costs, and both
// potentials, in registers. Only potentials pass through shared memory.
constexpr int kLanes = 8;
constexpr int kShare = kSmall / kLanes;
constexpr int kThreads = kSmall * kLanes;
constexpr int kWarps = kThreads / kWarp;

// Where a lane finds its eighth side by side.
__device__ constexpr int place(int k) { return k % kLanes * kShare + k / kLanes; }

template <class T>
struct Shared {
  T rows[kSmall];
  T columns[kSmall];
  T errors[kSmall];
  T largest[kWarps];
  double dual[kWarps];
  double primal[kWarps];
};

template <class T>
class Small {
 public:
  __device__ Small(const SinkhornProblem<T>& problem, const Schedule& schedule, Shared<T>& shared)
      : p_(problem),
        s_(schedule),
        shared_(shared),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        mine_(static_cast<int>(threadIdx.x) / kLanes) {}

  __device__ void solve() {
    load();
    const Progress progress = run<T>(*this, s_, static_cast<double>(largest_));
    finish(progress);
  }

  __device__ static bool is_self() { return false; }

  __device__ double update_rows(const Temperature<T>& t, T step, Look look) {
    const T next = softmin(row_costs_, shared_.columns, p_.columns, column_weight_, f_, t);
    f_before_ = f_;
    f_ = moved(f_, next, step);
    if (is_row_leader()) {
      shared_.rows[place(mine_)] = f_;
      if (look != Look::kNone)
        shared_.errors[place(mine_)] = row_error(row_weight(), f_before_, next, t);
    }
    __syncthreads();
    return look == Look::kNone ? 0 : total_error();
  }

  __device__ void update_columns(const Temperature<T>& t, T step) {
    g_ = moved(g_, softmin(column_costs_, shared_.rows, p_.rows, row_weight_, g_, t), step);
    if (is_column_leader()) shared_.columns[place(mine_)] = g_;
    __syncthreads();
  }

  __device__ void take_back() { f_ = f_before_; }

 private:
  __device__ bool is_row_leader() const { return lane_ == 0 && mine_ < p_.rows; }
  __device__ bool is_column_leader() const { return lane_ == 0 && mine_ < p_.columns; }
  __device__ T row_weight() const { return 1 / static_cast<T>(p_.rows); }

  __device__ void load() {
    // A group without a row or column of its own follows the last one.
    const int i = min(mine_, p_.rows - 1);
    const int j = min(mine_, p_.columns - 1);
#pragma unroll
    for (int u = 0; u < kShare; ++u) {
      const int k = lane_ + u * kLanes;
      row_costs_[u] = __ldg(p_.cost + i * p_.leading + min(k, p_.columns - 1));
      column_costs_[u] = __ldg(p_.cost + min(k, p_.rows - 1) * p_.leading + j);
    }
    f_ = f_before_ = p_.start_f != nullptr ? p_.start_f[i] : T{0};
    g_ = p_.start_g != nullptr ? p_.start_g[j] : T{0};
    if (lane_ == 0) {
      // Points that are not there have no part in any sum.
      constexpr T kNobody = -Range<T>::kLargest / 8;
      for (int k = mine_; k < kSmall; k += static_cast<int>(blockDim.x) / kLanes) {
        shared_.rows[place(k)] = k < p_.rows ? f_ : kNobody;
        shared_.columns[place(k)] = k < p_.columns ? g_ : kNobody;
        shared_.errors[place(k)] = 0;
      }
    }
    T largest = 0;
#pragma unroll
    for (int u = 0; u < kShare; ++u) largest = fmax(largest, fabs(row_costs_[u]));
    largest = max_over_warp(largest);
    if (threadIdx.x % kWarp == 0) shared_.largest[threadIdx.x / kWarp] = largest;
    __syncthreads();
    for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w)
      largest_ = fmax(largest_, shared_.largest[w]);
    is_flat_ = s_.regularization >= static_cast<double>(largest_);
    row_weight_ = -log2(static_cast<T>(p_.rows));
    column_weight_ = -log2(static_cast<T>(p_.columns));
  }

  __device__ static T sum_over_group(T sum) {
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, offset);
    return sum;
  }

  // The new potential of a point, from its costs to `count` others of one weight. Weights are left
  // to the logarithm, and so is what rounding takes from scale * own.
  __device__ T softmin(const T (&costs)[kShare], const T* potentials, int count, T weight, T own,
                       const Temperature<T>& t) const {
    const T shift = t.scale * own;
    const T lost = fma(t.scale, own, -shift);
    T others[kShare];
#pragma unroll
    for (int u = 0; u < kShare; u += 4) load_four(potentials + lane_ * kShare + u, others + u);
    if (is_flat_) return flat_softmin(costs, others, count, own, t);
    // All of them, there or not, so that none waits for another.
    T powers[kShare];
#pragma unroll
    for (int u = 0; u < kShare; ++u)
      powers[u] = power_of_two(fma(t.scale, others[u] - costs[u], shift));
#pragma unroll
    for (int half = kShare / 2; half > 0; half /= 2)
#pragma unroll
      for (int u = 0; u < half; ++u) powers[u] += powers[u + half];
    const T sum = sum_over_group(powers[0]);
    if (!__all_sync(kAllLanes, is_near(sum, false)))
      return far_softmin(costs, others, weight, own, t);
    return bounded(own - t.unscale * (binary_log(sum) + (weight + lost)), own);
  }

  __device__ T flat_softmin(const T (&costs)[kShare], const T (&others)[kShare], int count, T own,
                            const Temperature<T>& t) const {
    T sum = 0;
#pragma unroll
    for (int u = 0; u < kShare; ++u)
      if (lane_ + u * kLanes < count)
        sum += expm1(((others[u] - costs[u]) + own) * static_cast<T>(t.inverse));
    sum = sum_over_group(sum) / static_cast<T>(count);
    return from_sum(sum, own, t, true);
  }

  __device__ T far_softmin(const T (&costs)[kShare], const T (&others)[kShare], T weight, T own,
                           const Temperature<T>& t) const {
    T largest = -Range<T>::kLargest;
#pragma unroll
    for (int u = 0; u < kShare; ++u) largest = fmax(largest, t.scale * (others[u] - costs[u]));
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2)
      largest = fmax(largest, __shfl_xor_sync(kAllLanes, largest, offset));
    T sum = 0;
#pragma unroll
    for (int u = 0; u < kShare; ++u)
      sum += power_of_two(fma(t.scale, others[u] - costs[u], -largest));
    return from_largest(largest + weight, sum_over_group(sum), own, t);
  }

  // Every group forms the same sum for itself, which saves a barrier.
  __device__ double total_error() const {
    T errors[kShare];
#pragma unroll
    for (int u = 0; u < kShare; u += 4) load_four(shared_.errors + lane_ * kShare + u, errors + u);
    T sum = 0;
#pragma unroll
    for (int u = 0; u < kShare; ++u) sum += errors[u];
    return static_cast<double>(sum_over_group(sum));
  }

  __device__ void finish(const Progress& progress) {
    const Temperature<T> t(s_.regularization, 1 / s_.regularization);
    double dual = 0;
    double primal = 0;
    if (is_row_leader()) {
      p_.f[mine_] = f_;
      dual += static_cast<double>(f_) / p_.rows;
    }
    if (is_column_leader()) {
      p_.g[mine_] = g_;
      dual += static_cast<double>(g_) / p_.columns;
    }
    if (mine_ < p_.rows) {
      const T weights = row_weight_ + column_weight_;
#pragma unroll
      for (int u = 0; u < kShare; ++u) {
        const Side<T> row{f_, weights};
        const Side<T> column{shared_.columns[lane_ * kShare + u], 0};
        if (lane_ + u * kLanes < p_.columns)
          primal += static_cast<double>(pair_mass(row, column, row_costs_[u], t, false)) *
                    static_cast<double>(row_costs_[u]);
      }
    }
    dual = sum_over_warp(dual);
    primal = sum_over_warp(primal);
    const int warp = threadIdx.x / kWarp;
    if (threadIdx.x % kWarp == 0) {
      shared_.dual[warp] = dual;
      shared_.primal[warp] = primal;
    }
    __syncthreads();
    if (warp != 0) return;
    const int lane = threadIdx.x;
    const bool is_there = lane < static_cast<int>(blockDim.x) / kWarp;
    dual = sum_over_warp(is_there ? shared_.dual[lane] : 0.0);
    primal = sum_over_warp(is_there ? shared_.primal[lane] : 0.0);
    if (lane == 0) write_result(progress, dual, primal, p_.result);
  }

  const SinkhornProblem<T>& p_;
  const Schedule& s_;
  Shared<T>& shared_;
  int lane_;
  int mine_;  // row and column
  T row_costs_[kShare];
  T column_costs_[kShare];
  T f_;
  T f_before_;
  T g_;
  T row_weight_;  // binary logarithms
  T column_weight_;
  T largest_ = 0;
  bool is_flat_ = false;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    small_kernel(const __grid_constant__ FusedBatch<T> batch, const __grid_constant__ Schedule s) {
  __shared__ __align__(16) Shared<T> shared;
  const SinkhornProblem<T> problem = batch.problems[blockIdx.x];
  Small<T>(problem, s, shared).solve();
}

}  // namespace

template <class T>
void launch_small(const FusedBatch<T>& batch, int count, int rows, int columns,
                  const Schedule& schedule, cudaStream_t stream) {
  const int threads = (std::max(rows, columns) * kLanes + kWarp - 1) / kWarp * kWarp;
  small_kernel<T><<<static_cast<unsigned>(count), threads, 0, stream>>>(batch, schedule);
  check(cudaGetLastError(), "sinkhorn");
}

template void launch_small(const FusedBatch<float>&, int, int, int, const Schedule&, cudaStream_t);

}  // namespace obol::transport::cuda
