// Problems for the whole chip, one at a time.
#pragma once

#include "obol/transport/cuda/softmin.cuh"

namespace obol::transport::cuda {

template <class T>
std::size_t tiled_workspace(int rows, int columns);

template <class T>
void launch_tiled(const SinkhornProblem<T>& problem, const Schedule& schedule, void* workspace,
                  cudaStream_t stream);

}  // namespace obol::transport::cuda
