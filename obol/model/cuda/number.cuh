// Floats and bfloat16 as kernels read and write them.
#pragma once

#include <cuda_bf16.h>

namespace obol::model::cuda {

__device__ inline float number(float x) { return x; }
__device__ inline float number(__nv_bfloat16 x) { return __bfloat162float(x); }

__device__ inline void store(float x, float* to) { *to = x; }
__device__ inline void store(float x, __nv_bfloat16* to) { *to = __float2bfloat16_rn(x); }

}  // namespace obol::model::cuda
