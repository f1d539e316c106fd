#include <algorithm>

#include "tensor/cuda/stream.h"
#include "tensor/cuda/workspace.h"

namespace pg::cuda {

void* workspace(size_t bytes) {
  static void* data = nullptr;
  static size_t held = 0;
  if (bytes <= held) return data;
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  check(cudaFree(std::exchange(data, nullptr)), "cudaFree");
  bytes = std::max(bytes, 2 * std::exchange(held, 0));  // few steps on the way up
  check(cudaMalloc(&data, bytes), "cudaMalloc of the workspace");
  held = bytes;
  return data;
}

}  // namespace pg::cuda
