#pragma once
// The statistics of a row's norm, computed in one order by every kernel that normalises.
#include "tensor/cuda/base/held_row.h"

namespace pg::cuda {

// x as an element of type R stores it.
template <class R, class T>
__device__ __forceinline__ T as_stored(T x) {
  R element;
  store(&element, x);
  return load<T>(&element);
}

// norm(x) = (x - centre)·scale; centre is 0 for an RMS norm.
template <class T>
struct NormStats {
  T centre, scale;
};

// The statistics of one row of n elements: for layer norm if `centred`, else for RMS norm. load(v, i, other) loads
// elements [i, i + N) into v; those past the row's end must be `other`. The squared differences from the mean are
// summed, so that a large mean does not cost precision.
template <class Group, int N, class T, class Load>
__device__ __forceinline__ NormStats<T> norm_stats(int64_t n, bool centred, T eps, Load load) {
  T centre = 0;
  if (centred) {
    T total = 0;
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N];
      load(v, i, T(0));
      for (int j = 0; j < N; ++j) total += v[j];
    });
    centre = Group::sum(total) / static_cast<T>(n);
  }
  T squares = 0;
  for_chunks<Group, N>(n, [&](int64_t i) {
    T v[N];
    load(v, i, centre);
    for (int j = 0; j < N; ++j) squares += (v[j] - centre) * (v[j] - centre);
  });
  const T scale = 1 / ::sqrt(Group::sum(squares) / static_cast<T>(n) + eps);
  return {centre, scale};
}

// norm_stats, with the same bits, of a row that the group holds in v as HeldRow does.
template <class Group, int kChunks, int N, class T>
__device__ __forceinline__ NormStats<T> held_norm_stats(const T (&v)[kChunks][N], int n, bool centred, T eps) {
  const auto index = [](int k) { return (k * Group::kThreadsPerRow + Group::rank()) * N; };
  T centre = 0;
  if (centred) {
    T total = 0;
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (index(k) >= n) continue;
      for (int j = 0; j < N; ++j) total += v[k][j];
    }
    centre = Group::sum(total) / static_cast<T>(n);
  }
  T squares = 0;
#pragma unroll
  for (int k = 0; k < kChunks; ++k) {
    if (index(k) >= n) continue;
    for (int j = 0; j < N; ++j) squares += (v[k][j] - centre) * (v[k][j] - centre);
  }
  const T scale = 1 / ::sqrt(Group::sum(squares) / static_cast<T>(n) + eps);
  return {centre, scale};
}

}  // namespace pg::cuda
