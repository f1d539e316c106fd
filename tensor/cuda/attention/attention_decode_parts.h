#pragma once
// The parts of attention_decode.cu's kernel: how it divides the work, reads keys and values, and combines results.
#include <cstring>

#include "tensor/cuda/attention/attention_tile.h"

namespace pg::cuda {

inline constexpr int kHeld = 8;  // elements of a row of q, k or v that a lane holds

// How the work is divided, in 32 bits, because a division of 64 bits costs as much as several keys; and the results of
// the splits of a set, if there are several.
template <class T>
struct Splits {
  T* out;             // [sets, count, kRows, D]
  T* m;               // [sets, count, kRows], in units of log 2, as all scores here
  T* l;               // [sets, count, kRows]
  unsigned* tickets;  // [sets]
  unsigned count;     // of splits, for the capacity of the cache
  unsigned per_block;
  unsigned blocks;   // per set
  unsigned sharing;  // rows that share a head of keys
  unsigned sets;     // into which they are divided
  bool prefetches;   // keys and values, before the kernel ahead has ended
};

// New keys and values that the kernel stores in the cache at positions starts[b], starts[b] + 1, …, the last ones that
// the queries see. starts is null if there are none.
template <class S>
struct NewKeys {
  Heads<const S> k, v;
  const int32_t* starts;
};

// A lane's elements of a row, as stored. The elements past the row's end are 0.
template <class S>
struct alignas(16) Held {
  static constexpr int kWords = kHeld * sizeof(S) / 16;
  uint4 words[kWords];

  // Reads the row elements at p, of which `count` exist; nothing if `there` is false. kWhole: p is a multiple of 16
  // bytes, and count is 0 or at least kHeld.
  template <bool kWhole>
  static __device__ __forceinline__ Held read(const S* p, int count, bool there) {
    Held x;
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        x.words[i] = there && count > 0 ? reinterpret_cast<const uint4*>(p)[i] : make_uint4(0, 0, 0, 0);
      }
    } else {
      S elements[kHeld];
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        elements[i] = S(0.0f);
        if (there && i < count) elements[i] = p[i];
      }
      std::memcpy(static_cast<void*>(x.words), elements, sizeof(elements));
    }
    return x;
  }
  template <bool kWhole>
  __device__ __forceinline__ void write(S* p, int count) const {
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        if (count > 0) reinterpret_cast<uint4*>(p)[i] = words[i];
      }
    } else {
      S elements[kHeld];
      std::memcpy(elements, words, sizeof(elements));
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (i < count) p[i] = elements[i];
      }
    }
  }
  template <class T>
  __device__ __forceinline__ void get(T (&x)[kHeld]) const {
    S elements[kHeld];
    std::memcpy(elements, words, sizeof(elements));
#pragma unroll
    for (int i = 0; i < kHeld; ++i) x[i] = load<T>(elements + i);
  }
};

// m, l and one element of the output of a row.
template <class T>
struct Partial {
  T m, l, out;
};

// Combines `count` partial results in their order; part(i) returns one of them.
template <class T, class Part>
__device__ __forceinline__ Partial<T> combine(int count, Part part) {
  Partial<T> all{-std::numeric_limits<T>::infinity(), 0, 0};
#pragma unroll
  for (int i = 0; i < count; ++i) all.m = std::max(all.m, part(i).m);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const Partial<T> x = part(i);
    const T factor = x.m == all.m ? T(1) : ::exp2(x.m - all.m);
    all.l += factor * x.l;
    all.out += factor * x.out;
  }
  return all;
}

// The value that is subtracted from scores with maximum m: m, but 0 if there is no score, because -inf + inf is NaN.
template <class T>
__device__ __forceinline__ T reference(T m) {
  return m == -std::numeric_limits<T>::infinity() ? T(0) : m;
}

// The online softmax of a part: of each row the largest score m, the sum l = Σ e^(score - m), and the lane's elements
// of the output Σ e^(score - m)·v. Scores are in units of log 2.
template <class T, int kRows>
struct PartSums {
  T m[kRows], l[kRows], out[kRows][kHeld];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      m[r] = -std::numeric_limits<T>::infinity();
      l[r] = 0;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) out[r][i] = 0;
    }
  }
  // Makes weights of the scores p, and adds them to l.
  template <int kReads>
  __device__ __forceinline__ void weigh(T (&p)[kRows][kReads]) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const T before = m[r];
#pragma unroll
      for (int u = 0; u < kReads; ++u) m[r] = std::max(m[r], p[r][u]);
      const T top = reference(m[r]), alpha = ::exp2(before - top);
      l[r] *= alpha;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) out[r][i] *= alpha;
#pragma unroll
      for (int u = 0; u < kReads; ++u) {
        p[r][u] = ::exp2(p[r][u] - top);
        l[r] += p[r][u];
      }
    }
  }
  // The lanes that hold the same elements, kLanes apart, combine their results; all get the same bits.
  template <int kLanes, int kWarp>
  __device__ __forceinline__ void combine_lanes() {
#pragma unroll
    for (int step = kLanes; step < kWarp; step *= 2) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const T other = __shfl_xor_sync(0xffffffffu, m[r], step), top = reference(std::max(m[r], other));
        const T mine = ::exp2(m[r] - top), theirs = ::exp2(other - top);
        m[r] = std::max(m[r], other);
        l[r] = l[r] * mine + __shfl_xor_sync(0xffffffffu, l[r], step) * theirs;
#pragma unroll
        for (int i = 0; i < kHeld; ++i) {
          out[r][i] = out[r][i] * mine + __shfl_xor_sync(0xffffffffu, out[r][i], step) * theirs;
        }
      }
    }
  }
};

// A step of a part: the keys and values that the lanes of a warp read at once, kReads of each per lane.
template <class S, int kReads>
struct Step {
  Held<S> keys[kReads], values[kReads];
  unsigned there;  // a bit for each key that is attended to
};

}  // namespace pg::cuda
