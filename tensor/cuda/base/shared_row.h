#pragma once
// Rows in the shared memory of a block, for kernels that use a row several times and read it once. While a block
// writes the results of a row, it copies its next row.
#include "tensor/cuda/base/held_row.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {

// A row of n elements in dynamic shared memory. The chunks of a row and their threads are those of for_chunks; rows in
// device memory begin at multiples of 16 bytes. All threads of the group must call its functions together.
template <class Group, class S>
class SharedRow {
 public:
  __device__ __forceinline__ explicit SharedRow(int64_t n) : row_(dynamic_shared<S>()), n_(n) {}

  // Begins to copy the first row; none if null.
  __device__ __forceinline__ void begin(const S* first) {
    next_ = first;
    for_chunks<Group, N>(n_, [&](int64_t i) {
      if (i + N <= n_) {
        replace(i, std::integral_constant<int, N>{});
      } else {
        for (; i < n_; ++i) replace(i, std::integral_constant<int, 1>{});
      }
    });
  }
  // The row that is being copied, when every thread may read it. After it comes `next`; none if null.
  __device__ __forceinline__ const S* wait(const S* next) {
    cp_async_commit();
    cp_async_wait<0>();
    Group::sync();
    next_ = next;
    return row_;
  }
  // Begins to copy elements [i, i + K) of the next row over those of the row that was waited for. This thread has used
  // them, and no other thread uses them any more. K is N, and i a multiple of it, or 1.
  template <int K>
  __device__ __forceinline__ void replace(int64_t i, std::integral_constant<int, K>) {
    if (!next_) return;
    if constexpr (K == N) {
      cp_async_16(address_in_shared(row_ + i), next_ + i, true);
    } else {
      row_[i] = next_[i];
    }
  }

 private:
  static constexpr int N = kChunk<S>;
  S* row_;
  const S* next_ = nullptr;
  int64_t n_;
};

// Launches the kernel, whose blocks have a SharedRow<ThreadGroup<kThreads>, S>, with parameters `shape, args...`. Does
// nothing and returns false if the device has no cp.async, or if fewer than two blocks fit on a multiprocessor: then
// one could not compute while the other one copies.
template <class S, class... Params, class... Args>
bool launch_with_shared_row(void (*kernel)(Params...), const RowShape& shape, const Args&... args) {
  const Limits& device = limits();
  const int most = device.block_bytes / 2;
  if (device.major < 8 || shape.size > most / static_cast<int>(sizeof(S))) return false;
  const auto set = [&](cudaFuncAttribute attribute, int value) {
    check(cudaFuncSetAttribute(kernel, attribute, value), "cudaFuncSetAttribute");
  };
  // Threads of the host may launch the kernel for rows of different lengths: all of them set the same values.
  set(cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  set(cudaFuncAttributePreferredSharedMemoryCarveout, 100);  // per cent of the memory for cache and shared memory
  const size_t bytes = static_cast<size_t>(shape.size) * sizeof(S);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (blocks < 2) return false;
  launch(kernel, static_cast<unsigned>(std::min<int64_t>(shape.count, int64_t{blocks} * device.multiprocessors)),
         kThreads, bytes, stream(), shape, args...);
  return true;
}

}  // namespace pg::cuda
