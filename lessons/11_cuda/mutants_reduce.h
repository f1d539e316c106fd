#pragma once
// What the tables of answers to 11.2 share.
#include "lessons/11_cuda/harness.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

inline constexpr unsigned kAll = 0xffffffffu;
inline constexpr int kWarps = kThreads / kWarp;
__device__ int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
__device__ int warp() { return static_cast<int>(threadIdx.x) / kWarp; }

// f over the 32 lanes, as the right answer has it.
template <class T, class F>
__device__ T over_warp(T x, F f) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAll, x, step));
  return x;
}

// One number per warp, and all of them folded: the right answer for the warps of a block.
template <class T>
__device__ void share(T (&parts)[kWarps], T x) {
  if (lane() == 0) parts[warp()] = x;
  __syncthreads();
}
template <class T, class F, int kSize>
__device__ T all_of(const T (&parts)[kSize], F f) {
  T x = parts[0];
  for (int i = 1; i < kWarps; ++i) x = f(x, parts[i]);
  __syncthreads();
  return x;
}

template <class Answer>
void reduce_by(Impl& m) {
  m.reduce = reduced<Answer>;
  m.layer_norm = layer_norm<Answer>;
}

}  // namespace
}  // namespace pg::lesson11
