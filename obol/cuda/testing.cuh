// What the tests of the GPU's side share: arrays on the device, points, and skipping without a GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "obol/cuda/error.h"

#define OBOL_NEEDS_GPU() \
  if (!obol::cuda::has_gpu()) GTEST_SKIP() << "no GPU"

namespace obol::cuda {

inline bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

// Full of NaN (all bits set) until something is put there.
template <class T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, bytes() + 1), "memory");
    check(cudaMemset(data_, 0xff, bytes() + 1), "memory");
  }
  template <class U>
  explicit Device(const std::vector<U>& values) : Device(values.size()) {
    const std::vector<T> mine(values.begin(), values.end());
    check(cudaMemcpy(data_, mine.data(), bytes(), cudaMemcpyHostToDevice), "a copy");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { cudaFree(data_); }

  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    check(cudaDeviceSynchronize(), "what was launched");
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "a copy");
    return values;
  }
  T only() const { return host().front(); }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::size_t count_;
  T* data_ = nullptr;
};

inline std::vector<double> normals(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  // Floats, so that both precisions see the same problem.
  for (double& value : values) value = static_cast<float>(normal(bits));
  return values;
}

inline double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

template <class T, class U>
void expect_close(const std::vector<T>& found, const std::vector<U>& expected, double tolerance,
                  double floor = 0) {
  ASSERT_EQ(found.size(), expected.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double gap = static_cast<double>(found[i]) - static_cast<double>(expected[i]);
    difference += gap * gap;
    size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  EXPECT_LE(std::sqrt(difference), tolerance * (std::sqrt(size) + floor));
}

template <class T>
constexpr double kClose = sizeof(T) == 4 ? 1e-4 : 1e-9;

}  // namespace obol::cuda
