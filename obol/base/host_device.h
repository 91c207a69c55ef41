// For arithmetic that a processor and a GPU share: compiled by C++20 here and by CUDA C++17 there.
//
//   OBOL_INLINE double half_of(double x) { return x / 2; }
#pragma once

#if defined(__CUDACC__)
#define OBOL_HOST_DEVICE __host__ __device__
#else
#define OBOL_HOST_DEVICE
#endif

// Before a loop on a GPU: so that arrays stay in registers.
#if defined(__CUDA_ARCH__)
#define OBOL_UNROLL _Pragma("unroll")
#else
#define OBOL_UNROLL
#endif

// Inlined whatever the compiler thinks of its length: into one function per instruction set, say,
// each of which is then vectorised on its own.
#define OBOL_INLINE OBOL_HOST_DEVICE inline __attribute__((always_inline))
