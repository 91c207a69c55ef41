// For tests on a GPU: streams, and graphs that replay what was captured.
#pragma once

#include <cuda_runtime.h>

#include "obol/cuda/testing.cuh"

namespace obol::barrier::cuda::testing {

using obol::cuda::check;
using obol::cuda::Device;
using obol::cuda::has_gpu;

// Runs `work(stream)` from a graph, that many times.
template <class Work>
void replay(int times, const Work& work) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamCreate(&stream), "a stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
  work(stream);
  check(cudaStreamEndCapture(stream, &graph), "a capture");
  check(cudaGraphInstantiate(&exec, graph, 0), "a graph");
  for (int i = 0; i < times; ++i) check(cudaGraphLaunch(exec, stream), "a replay");
  check(cudaStreamSynchronize(stream), "a replay");
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace obol::barrier::cuda::testing
