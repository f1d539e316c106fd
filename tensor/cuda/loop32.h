#pragma once
// A StridedLoop for kernels: 32-bit indices and no division. Host code only makes loops; it needs no CUDA header.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "tensor/strided_loop.h"

namespace pg::cuda {

// n / d for n < 2^31 by a product and a shift, 0 < d < 2^31: Granlund and Montgomery, "Division by invariant integers
// using multiplication" (1994), figure 4.1. No sum overflows, because n has 31 bits.
class Divisor {
 public:
  constexpr Divisor() = default;
  constexpr explicit Divisor(uint32_t d)
      : shift_(static_cast<uint32_t>(std::bit_width(d - 1))),
        multiplier_(static_cast<uint32_t>((((uint64_t{1} << shift_) - d) << 32) / d + 1)) {}
  constexpr uint32_t quotient(uint32_t n) const {
    return (static_cast<uint32_t>(uint64_t{n} * multiplier_ >> 32) + n) >> shift_;
  }

 private:
  uint32_t shift_ = 0, multiplier_ = 1;
};

// The offsets of elements in N operands, all below 2^31. Dimensions are innermost first.
template <int N>
struct Loop32 {
  static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

  uint32_t n;
  int rank;
  uint32_t size[kMaxDims];
  Divisor by[kMaxDims];
  uint32_t stride[kMaxDims][N];

  // w must fit.
  explicit Loop32(const StridedLoop<N>& w) : n(static_cast<uint32_t>(w.n)), rank(w.rank) {
    for (int d = 0; d < rank; ++d) {
      size[d] = static_cast<uint32_t>(w.size[rank - 1 - d]);
      by[d] = Divisor(size[d]);
      for (int k = 0; k < N; ++k) stride[d][k] = static_cast<uint32_t>(w.stride[k][rank - 1 - d]);
    }
  }

  // offset[k]: where element i < n is in operand k.
  constexpr void offsets(uint32_t i, uint32_t (&offset)[N]) const {
    for (int k = 0; k < N; ++k) offset[k] = 0;
    add_offsets<0>(i, offset);
  }

 private:
  // Adds what dimensions d and further out contribute; i counts their positions. The outermost needs no division. A
  // recursion, because nvcc leaves a loop over the rank in place.
  template <int d>
  constexpr void add_offsets(uint32_t i, uint32_t (&offset)[N]) const {
    const bool outermost = d + 1 == rank;
    const uint32_t rest = outermost ? 0 : by[d].quotient(i), at = i - rest * size[d];
    for (int k = 0; k < N; ++k) offset[k] += at * stride[d][k];
    if constexpr (d + 1 < kMaxDims) {
      if (!outermost) add_offsets<d + 1>(rest, offset);
    }
  }
};

// Calls f(Loop32, begin) for the whole of a loop that is not empty, or for parts of it that fit: begin[k] is the offset
// of a part in operand k.
template <int N, class F>
void for_loops32(const StridedLoop<N>& w, F&& f, const std::type_identity_t<std::array<int64_t, N>>& begin = {}) {
  int longest = 0;
  int64_t most = 0;
  bool fits = w.n <= Loop32<N>::kMost;
  for (int k = 0; k < N; ++k) {
    int64_t last = 0;
    for (int d = 0; d < w.rank; ++d) {
      const int64_t length = (w.size[d] - 1) * std::abs(w.stride[k][d]);
      last += length;
      if (length > most) most = length, longest = d;
    }
    fits = fits && last <= Loop32<N>::kMost;
  }
  if (fits) return f(Loop32<N>(w), begin);
  StridedLoop<N> half = w;
  auto from = begin;
  for (const int64_t size : {w.size[longest] / 2, w.size[longest] - w.size[longest] / 2}) {
    half.size[longest] = size;
    half.n = w.n / w.size[longest] * size;
    for_loops32(half, f, from);
    for (int k = 0; k < N; ++k) from[k] += size * w.stride[k][longest];
  }
}

}  // namespace pg::cuda
