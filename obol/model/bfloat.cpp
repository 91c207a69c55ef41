#include "obol/model/bfloat.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace obol::model {

#if defined(__x86_64__)
namespace {

#define OBOL_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

constexpr std::int64_t kLanes = 16;  // of floats, or pairs of bfloats, in a register

OBOL_TARGET inline __m512bh pairs(const Bfloat* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}

// The pair at `from` in every lane.
OBOL_TARGET inline __m512bh pair(const Bfloat* from) {
  std::int32_t both = 0;
  __builtin_memcpy(&both, from, sizeof both);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
}

OBOL_TARGET inline __m512 rectified(__m512 x, __m512 slope) {
  return _mm512_max_ps(x, _mm512_mul_ps(x, slope));
}

template <int kVectors>
OBOL_TARGET void add_group(const Taps& taps, const BfloatGroup& group, const Bfloat* weights,
                           const float* shift, float slope) {
  __m512 sums[kBfloatPixels][kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const __m512 start = _mm512_loadu_ps(shift + v * kLanes);
#pragma GCC unroll 8
    for (int p = 0; p < kBfloatPixels; ++p) sums[p][v] = start;
  }
  for (std::int64_t tap = 0; tap < taps.count; ++tap) {
    const Bfloat* x[kBfloatPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kBfloatPixels; ++p)
      x[p] = group.from + group.from_offsets[p] + taps.offsets[tap];
    for (std::int64_t k = 0; k < taps.channels; k += 2, weights += 2 * kLanes * kVectors) {
      __m512bh w[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) w[v] = pairs(weights + 2 * kLanes * v);
#pragma GCC unroll 8
      for (int p = 0; p < kBfloatPixels; ++p) {
        const __m512bh both = pair(x[p] + k);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[p][v] = _mm512_dpbf16_ps(sums[p][v], both, w[v]);
      }
    }
  }
  const __m512 slopes = _mm512_set1_ps(slope);
#pragma GCC unroll 8
  for (int p = 0; p < kBfloatPixels; ++p) {
    Bfloat* to = group.to + group.to_offsets[p];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; v += 2) {
      const __m512bh two =
          _mm512_cvtne2ps_pbh(rectified(sums[p][v + 1], slopes), rectified(sums[p][v], slopes));
      _mm512_storeu_si512(to + v * kLanes, reinterpret_cast<__m512i>(two));
    }
  }
}

}  // namespace

bool has_bfloat_products() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bf16");
}

void add_products(const Taps& taps, const BfloatGroup& group, const Bfloat* weights,
                  std::int64_t columns, const float* shift, float slope) {
  if (columns == 2 * kBfloatChannels)
    add_group<4>(taps, group, weights, shift, slope);
  else
    add_group<2>(taps, group, weights, shift, slope);
}

OBOL_TARGET void add_dots(const Taps& taps, const Bfloat* from, std::int64_t pixels,
                          const Bfloat* weights, float shift, float* to, std::int64_t to_step) {
  for (std::int64_t i = 0; i < pixels; ++i, from += taps.channels, to += to_step) {
    const Bfloat* w = weights;
    __m512 sums = _mm512_setzero_ps();
    for (std::int64_t tap = 0; tap < taps.count; ++tap)
      for (std::int64_t k = 0; k < taps.channels; k += kBfloatChannels, w += kBfloatChannels)
        sums = _mm512_dpbf16_ps(sums, pairs(from + taps.offsets[tap] + k), pairs(w));
    *to = shift + _mm512_reduce_add_ps(sums);
  }
}

#else

bool has_bfloat_products() noexcept { return false; }
void add_products(const Taps&, const BfloatGroup&, const Bfloat*, std::int64_t, const float*,
                  float) {}
void add_dots(const Taps&, const Bfloat*, std::int64_t, const Bfloat*, float, float*,
              std::int64_t) {}

#endif

}  // namespace obol::model
