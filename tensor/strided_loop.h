#pragma once
// Iteration over several views of one shape. Adjacent dimensions that every view steps through evenly are merged first,
// so that the innermost stretch is as long as possible; a contiguous problem becomes one stretch.
#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "tensor/view.h"

namespace pg {

// is_contiguous, inlined: it decides the fast path of kernels that take 20 ns.
inline bool dense(const View& v) {
  int64_t step = 1;
  for (int d = v.rank() - 1; d >= 0; --d) {
    if (v.shape[d] != 1 && v.strides[d] != step) return false;
    step *= v.shape[d];
  }
  return true;
}

template <int N>
struct StridedLoop {
  int rank = 0;  // at least 1 after plan_loop
  int64_t n = 1;
  std::array<int64_t, kMaxDims> size;
  std::array<std::array<int64_t, kMaxDims>, N> stride;  // [operand][dim]

  int64_t inner_stride(int operand) const { return stride[operand][rank - 1]; }

  // Calls segment(offsets, count) for the stretches of the innermost dimension that cover elements [begin, end).
  template <class F>
  void run(int64_t begin, int64_t end, F&& segment) const {
    if (begin >= end) return;
    std::array<int64_t, kMaxDims> at{};
    std::array<int64_t, N> offset{};
    int64_t rest = begin;
    for (int d = rank - 1; rest > 0; --d) {
      at[d] = rest % size[d];
      rest /= size[d];
      for (int k = 0; k < N; ++k) offset[k] += at[d] * stride[k][d];
    }
    const int inner = rank - 1;
    for (;;) {
      const int64_t count = std::min(size[inner] - at[inner], end - begin);
      segment(std::as_const(offset), count);
      begin += count;
      if (begin >= end) return;
      // The innermost dimension is done: return to its start, then carry into the outer dimensions.
      for (int k = 0; k < N; ++k) offset[k] -= at[inner] * stride[k][inner];
      at[inner] = 0;
      for (int d = inner - 1; d >= 0; --d) {
        for (int k = 0; k < N; ++k) offset[k] += stride[k][d];
        if (++at[d] < size[d]) break;
        for (int k = 0; k < N; ++k) offset[k] -= size[d] * stride[k][d];
        at[d] = 0;
      }
    }
  }
};

// Dimensions are ordered by the stride of operand 0, largest first: the result is written front to back.
template <int N>
StridedLoop<N> plan_loop(const Shape& shape, const std::array<const Strides*, N>& strides) {
  StridedLoop<N> w;
  std::array<int, kMaxDims> order;
  for (int d = 0; d < shape.rank(); ++d) {
    w.n *= shape[d];
    if (shape[d] == 1) continue;
    int at = w.rank++;
    for (; at > 0 && (*strides[0])[order[at - 1]] < (*strides[0])[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  int out = -1;
  for (int i = 0; i < w.rank; ++i) {
    const int d = order[i];
    bool merges = out >= 0;
    for (int k = 0; k < N; ++k) merges = merges && w.stride[k][out] == (*strides[k])[d] * shape[d];
    if (merges) {
      w.size[out] *= shape[d];
    } else {
      w.size[++out] = shape[d];
    }
    for (int k = 0; k < N; ++k) w.stride[k][out] = (*strides[k])[d];
  }
  w.rank = out + 1;
  if (w.rank == 0) {
    w.rank = 1;
    w.size[0] = 1;
    for (int k = 0; k < N; ++k) w.stride[k][0] = 1;
  }
  return w;
}

template <class... Views>
StridedLoop<sizeof...(Views)> plan_loop(const Views&... views) {
  const View* first = std::get<0>(std::tuple(&views...));
  return plan_loop<sizeof...(Views)>(first->shape, std::array<const Strides*, sizeof...(Views)>{&views.strides...});
}

// A reduction of x into y, whose size is 1 where it is reduced.
struct ReductionLoops {
  StridedLoop<2> kept;     // x and y over the dimensions that stay
  StridedLoop<1> reduced;  // x over the reduced dimensions
};
inline ReductionLoops plan_reduction(const View& y, const View& x) {
  Shape kept, reduced;
  Strides kept_x, kept_y, reduced_x;
  for (int d = 0; d < x.rank(); ++d) {
    if (y.shape[d] == x.shape[d]) {
      kept.push_back(x.shape[d]);
      kept_x.push_back(x.strides[d]);
      kept_y.push_back(y.strides[d]);
    } else {
      reduced.push_back(x.shape[d]);
      reduced_x.push_back(x.strides[d]);
    }
  }
  return {plan_loop<2>(kept, {&kept_x, &kept_y}), plan_loop<1>(reduced, {&reduced_x})};
}

// A vector [M] as [M, 1], which a reduction of [M, K] writes.
inline View as_column(View x) {
  x.shape.push_back(1);
  x.strides.push_back(0);
  return x;
}

// For c = a·b: folds batch dimensions of a and c into rows where b is shared, because one large product is faster than
// many small ones. `pre` may be empty.
inline void fold_batch_into_rows(View& c, View& a, View& b, View& pre) {
  while (c.rank() > 2) {
    const int d = c.rank() - 3;
    const auto follows = [d](const View& x) {
      return !x || x.shape[d] == 1 || x.strides[d] == x.strides[d + 1] * x.shape[d + 1];
    };
    if (!(b.strides[d] == 0 || b.shape[d] == 1) || !follows(a) || !follows(c) || !follows(pre)) return;
    for (View* x : {&c, &a, &pre}) {
      if (!*x) continue;
      x->shape[d + 1] *= x->shape[d];
      x->shape.erase(d);
      x->strides.erase(d);
    }
    b.shape.erase(d);
    b.strides.erase(d);
  }
}

}  // namespace pg
