// Copy with conversion, fill, accumulate.
#include <cstring>
#include <limits>

#include "tensor/cpu/elementwise_loop.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/simd/transpose.h"

namespace pg::cpu {
namespace {

// To an integer: towards zero, clamped to its range, NaN to 0.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if (x != x) return 0;
    const double wide = static_cast<double>(x);
    return static_cast<To>(wide < Limits::min() ? Limits::min() : wide > Limits::max() ? Limits::max() : wide);
  } else {
    return static_cast<To>(x);
  }
}

template <class Y, class X>
void copy_run(Y* y, const X* x, int64_t n) {
  if constexpr (std::is_same_v<Y, X>) {
    std::memcpy(y, x, static_cast<size_t>(n) * sizeof(Y));
  } else if constexpr (std::is_same_v<std::pair<Y, X>, std::pair<float, BFloat16>> ||
                       std::is_same_v<std::pair<Y, X>, std::pair<BFloat16, float>>) {
    simd::convert(y, x, n);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = convert<Y>(x[i]);
  }
}

// y[i·y_step + j] = x[i + j·x_step] for i < rows, j < columns.
template <class Y, class X>
void transpose_tile(Y* y, int64_t y_step, const X* x, int64_t x_step, int64_t rows, int64_t columns) {
  if constexpr (std::is_same_v<Y, X> && std::is_floating_point_v<X>) {
    constexpr int size = simd::Vec<X>::size;
    if (rows % size == 0 && columns % size == 0) {
      for (int64_t j = columns; j < 2 * columns; ++j) {  // the next tile; a prefetch may be of any address
        for (int64_t i = 0; i < rows; i += 64 / sizeof(X)) __builtin_prefetch(x + i + j * x_step);
      }
      for (int64_t i = 0; i < rows; i += size) {
        for (int64_t j = 0; j < columns; j += size) {
          simd::Vec<X> block[size];
          load_transposed<true>(block, x + i + j * x_step, x_step, size, size);
          for (int k = 0; k < size; ++k) store(y + (i + k) * y_step + j, block[k]);
        }
      }
      return;
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) y[i * y_step + j] = convert<Y>(x[i + j * x_step]);
  }
}

// A plane y[i, j] = x[i, j] where y is contiguous in j and x in i: with small tiles, the cache lines of both sides stay
// in the cache.
template <class Y, class X>
void copy_transposed(const StridedLoop<2>& w, int along, Y* y, const X* x) {
  constexpr int64_t kTile = 32;
  const int inner = w.rank - 1;
  StridedLoop<2> outer = w;  // the other dimensions, and the tiles of `along`
  outer.size[along] = (w.size[along] + kTile - 1) / kTile;
  outer.size[inner] = 1;
  outer.n = w.n / w.size[inner] / w.size[along] * outer.size[along];
  for (int k = 0; k < 2; ++k) outer.stride[k][along] *= kTile;
  // A flat index of `outer` is in tile (index / below) % outer.size[along] of `along`.
  int64_t below = 1;
  for (int d = along + 1; d < inner; ++d) below *= w.size[d];

  parallel_for(outer.n, row_grain(kTile * w.size[inner], kGrain), [&](int64_t begin, int64_t end) {
    int64_t item = begin;
    outer.run(begin, end, [&](const auto& offset, int64_t) {
      const int64_t first = item++ / below % outer.size[along] * kTile;
      const int64_t rows = std::min(kTile, w.size[along] - first);
      for (int64_t j0 = 0; j0 < w.size[inner]; j0 += kTile) {
        transpose_tile(y + offset[0] + j0, w.stride[0][along], x + offset[1] + j0 * w.stride[1][inner],
                       w.stride[1][inner], rows, std::min(kTile, w.size[inner] - j0));
      }
    });
  });
}

template <class Y, class X>
void copy_as(const View& y, const View& x) {
  Y* to = y.as<Y>();
  const X* from = x.as<const X>();
  if (dense(y) && dense(x)) {
    parallel_for(y.numel(), kGrain,
                 [&](int64_t begin, int64_t end) { copy_run(to + begin, from + begin, end - begin); });
    return;
  }
  const auto w = plan_loop(y, x);
  if (w.n == 0) return;
  const int64_t y_step = w.inner_stride(0), x_step = w.inner_stride(1);
  if (y_step == 1 && x_step > 1) {
    for (int d = 0; d + 1 < w.rank; ++d) {
      if (w.stride[1][d] == 1) return copy_transposed(w, d, to, from);
    }
  }
  parallel_for(w.n, kGrain, [&](int64_t begin, int64_t end) {
    w.run(begin, end, [&](const auto& offset, int64_t count) {
      Y* a = to + offset[0];
      const X* b = from + offset[1];
      if (y_step == 1 && x_step == 1) {
        copy_run(a, b, count);
      } else if (y_step == 1 && x_step == 0) {
        std::fill_n(a, count, convert<Y>(*b));
      } else {
        for (int64_t i = 0; i < count; ++i) a[i * y_step] = convert<Y>(b[i * x_step]);
      }
    });
  });
}

}  // namespace

void copy(const View& y, const View& x) {
  visit(y.dtype, [&]<class Y>(std::type_identity<Y>) {
    visit(x.dtype, [&]<class X>(std::type_identity<X>) { copy_as<Y, X>(y, x); });
  });
}

void fill(const View& y, double value) {
  visit(y.dtype, [&]<class T>(std::type_identity<T>) {
    const T v = convert<T>(value);
    elementwise_loop<T, T, 0>(y, {}, false, kGrain,
                              [v](T* out, const T* const*, int64_t n) { std::fill_n(out, n, v); });
  });
}

void accumulate(const View& y, const View& x, double beta) {
  if (beta == 0) return copy(y, x);
  visit_floating(y.dtype, "accumulate", [&]<class T>(std::type_identity<T>) {
    const T factor = static_cast<T>(beta);
    elementwise_loop<T, T, 1>(y, {&x}, true, kGrain, [factor](T* out, const T* const* in, int64_t n) {
      const T* from = in[0];
      if (factor == 1) {
        for (int64_t i = 0; i < n; ++i) out[i] += from[i];
      } else {
        for (int64_t i = 0; i < n; ++i) out[i] = factor * out[i] + from[i];
      }
    });
  });
}

}  // namespace pg::cpu
