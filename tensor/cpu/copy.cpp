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

// A stretch of n elements whose neighbours are y_step and x_step elements apart. The loops below know only the sizes of
// elements: one for each pair of types would take long to compile.
using Row = void (*)(void* y, int64_t y_step, const void* x, int64_t x_step, int64_t n);
template <class Y, class X>
void copy_row(void* to, int64_t y_step, const void* from, int64_t x_step, int64_t n) {
  Y* y = static_cast<Y*>(to);
  const X* x = static_cast<const X*>(from);
  if (y_step == 1 && x_step == 1) return copy_run(y, x, n);
  if (y_step == 1 && x_step == 0) return static_cast<void>(std::fill_n(y, n, convert<Y>(*x)));
  for (int64_t i = 0; i < n; ++i) y[i * y_step] = convert<Y>(x[i * x_step]);
}

// y[i·y_step + j] = x[i + j·x_step] for i < rows, j < columns.
using Tile = void (*)(void* y, int64_t y_step, const void* x, int64_t x_step, int64_t rows, int64_t columns);
template <class Y, class X>
void transpose_tile(void* to, int64_t y_step, const void* from, int64_t x_step, int64_t rows, int64_t columns) {
  Y* y = static_cast<Y*>(to);
  const X* x = static_cast<const X*>(from);
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

// The operands of a copy without their types.
struct Operands {
  char* y;
  const char* x;
  int64_t y_bytes, x_bytes;  // of an element
  char* y_at(int64_t offset) const { return y + offset * y_bytes; }
  const char* x_at(int64_t offset) const { return x + offset * x_bytes; }
};

// A plane y[i, j] = x[i, j] where y is contiguous in j and x in i: with small tiles, the cache lines of both sides stay
// in the cache.
void copy_transposed(const StridedLoop<2>& w, int along, const Operands& operands, Tile tile) {
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
        tile(operands.y_at(offset[0] + j0), w.stride[0][along], operands.x_at(offset[1] + j0 * w.stride[1][inner]),
             w.stride[1][inner], rows, std::min(kTile, w.size[inner] - j0));
      }
    });
  });
}

// The functions for two types. A copy within one type moves bits, so i32 uses the functions of f32.
struct Functions {
  Row row;
  Tile tile;  // or null: tiles are for the copies that a training step makes
};
template <class Y, class X>
Functions functions_of() {
  constexpr bool stores_bf16 = std::is_same_v<std::pair<Y, X>, std::pair<BFloat16, float>>;
  constexpr bool loads_bf16 = std::is_same_v<std::pair<Y, X>, std::pair<float, BFloat16>>;
  if constexpr (std::is_same_v<Y, X> && std::is_same_v<Y, int32_t>) {
    return functions_of<float, float>();
  } else if constexpr (std::is_same_v<Y, X> || stores_bf16 || loads_bf16) {
    return {&copy_row<Y, X>, &transpose_tile<Y, X>};
  } else {
    return {&copy_row<Y, X>, nullptr};
  }
}

}  // namespace

void copy(const View& y, const View& x) {
  const Functions functions = visit(y.dtype, [&]<class Y>(std::type_identity<Y>) {
    return visit(x.dtype, [&]<class X>(std::type_identity<X>) { return functions_of<Y, X>(); });
  });
  const Operands operands{y.as<char>(), x.as<const char>(), static_cast<int64_t>(size_of(y.dtype)),
                          static_cast<int64_t>(size_of(x.dtype))};
  if (dense(y) && dense(x)) {
    parallel_for(y.numel(), kGrain, [&](int64_t begin, int64_t end) {
      functions.row(operands.y_at(begin), 1, operands.x_at(begin), 1, end - begin);
    });
    return;
  }
  const auto w = plan_loop(y, x);
  if (w.n == 0) return;
  const int64_t y_step = w.inner_stride(0), x_step = w.inner_stride(1);
  if (functions.tile && y_step == 1 && x_step > 1) {
    for (int d = 0; d + 1 < w.rank; ++d) {
      if (w.stride[1][d] == 1) return copy_transposed(w, d, operands, functions.tile);
    }
  }
  parallel_for(w.n, kGrain, [&](int64_t begin, int64_t end) {
    w.run(begin, end, [&](const auto& offset, int64_t count) {
      functions.row(operands.y_at(offset[0]), y_step, operands.x_at(offset[1]), x_step, count);
    });
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
