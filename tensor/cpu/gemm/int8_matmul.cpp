// The product with a matrix of int8 and a scale for each of its rows. The sums over k are those of gemm.cpp for a
// matrix that holds the integers as f32 or bf16, which are exact: one chain for each element, whatever the number of
// rows. Few rows widen the integers in registers, which reads a quarter of the bytes of f32. Many rows widen a block of
// them at a time into memory that stays in L1, and multiply it as any other matrix.
#include <algorithm>

#include "tensor/base/parallel.h"
#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/kernel.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/scratch.h"
#include "tensor/cpu/simd/vec_int8.h"

namespace pg::cpu {

namespace {

constexpr int64_t kColumns = 16;  // of c, whose bytes for one k are adjacent
constexpr int64_t kVectors = kColumns / Vec<float>::size;
constexpr int64_t kMostVectors = 4 * kVectors;  // that one call computes: 64 columns
constexpr int kFewRows = kMaxRows;              // that are multiplied without storing what is widened

// Rows of x hold S.
template <class S>
struct Int8Product {
  int64_t m, n, k;
  const S* x;
  int64_t x_step;
  const int8_t* w;
  const float* scale;
  const S* bias;  // may be null
  S* c;
  int64_t c_step;

  // The bytes of vector v of the columns, for k = 0; those for the next k are kColumns further.
  const int8_t* bytes(int64_t v) const { return w + v / kVectors * k * kColumns + v % kVectors * Vec<float>::size; }
  // c = sum·scale + bias for the columns [j, j + count) of a row, at most a vector.
  void finish(int64_t row, int64_t j, int64_t count, Vec<float> sum) const {
    const Vec<float> added = bias ? load_lanes(bias + j, count) : Vec<float>(0.0f);
    store_lanes(c + row * c_step + j, fma(sum, load_lanes(scale + j, count), added), count);
  }
};

// Words of a row of x: floats, or with Pairs pairs of bf16.
template <bool Pairs>
int64_t words_of(int64_t k) {
  return Pairs ? (k + 1) / 2 : k;
}
struct Rows {
  const float* data;
  int64_t step;
};

// Chunks of `count` blocks of columns for the threads: one if the product is small, else some for each thread.
template <class S>
int64_t grain(const Int8Product<S>& g, int64_t count) {
  if (product_seconds(g.m, g.n, g.k) < kWorthThreads) return count;
  return std::max<int64_t>(1, count / (4 * parallelism()));
}

// Vectors of columns whose sums fit in the registers for this many rows.
constexpr int64_t vectors_of(int64_t rows) { return std::min(kMostVectors, 2 * kMaxRows / rows); }

// a[i], a copy, because a may hold pairs of bf16.
inline Vec<float> word(const float* a, int64_t i) {
  float x;
  std::memcpy(&x, a + i, sizeof(x));
  return x;
}

// Vectors [v, v + Count) of the columns of all rows. a [Rows, k] holds floats, or with Pairs [Rows, k/2] pairs of bf16,
// an odd k with a 0 at the end.
template <int Rows, int64_t Count, bool Pairs, class S>
void few_columns(const Int8Product<S>& g, const float* a, int64_t a_step, int64_t v) {
  Vec<float> sum[Count][Rows];
  const int8_t* w[Count];
  for (int64_t i = 0; i < Count; ++i) {
    w[i] = g.bytes(v + i);
    for (int r = 0; r < Rows; ++r) sum[i][r] = 0.0f;
  }
  if constexpr (Pairs) {
    const auto step = [&](int64_t pair, bool whole) {
#pragma GCC unroll 16
      for (int64_t i = 0; i < Count; ++i) {
        const int8_t* at = w[i] + 2 * pair * kColumns;
        const Vec<float> words = simd::pair_of(simd::load(at), whole ? simd::load(at + kColumns) : Vec<float>(0.0f));
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) sum[i][r] = simd::dot(word(a, r * a_step + pair), words, sum[i][r]);
      }
    };
    for (int64_t pair = 0; pair < g.k / 2; ++pair) step(pair, true);
    if (g.k % 2 == 1) step(g.k / 2, false);
  } else {
    for (int64_t k = 0; k < g.k; ++k) {
#pragma GCC unroll 16
      for (int64_t i = 0; i < Count; ++i) {
        const Vec<float> values = simd::load(w[i] + k * kColumns);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) sum[i][r] = fma(word(a, r * a_step + k), values, sum[i][r]);
      }
    }
  }
  constexpr int64_t size = Vec<float>::size;
  for (int64_t i = 0; i < Count; ++i) {
    const int64_t j = (v + i) * size, count = std::min(size, g.n - j);
    for (int r = 0; r < Rows && count > 0; ++r) g.finish(r, j, count, sum[i][r]);
  }
}

template <int Rows, bool Pairs, class S>
void few_rows(const Int8Product<S>& g, const float* a, int64_t a_step) {
  constexpr int64_t many = vectors_of(Rows), size = Vec<float>::size;
  const int64_t vectors = (g.n + size - 1) / size, blocks = (vectors + kMostVectors - 1) / kMostVectors;
  parallel_for(blocks, grain(g, blocks), [&](int64_t begin, int64_t end) {
    int64_t v = begin * kMostVectors;
    const int64_t last = std::min(vectors, end * kMostVectors);
    for (; v + many <= last; v += many) few_columns<Rows, many, Pairs>(g, a, a_step, v);
    for (; v < last; ++v) few_columns<Rows, 1, Pairs>(g, a, a_step, v);
  });
}

// Writes the integers of kPanel<float> columns from vector v on, for the words [k, k + depth), as the micro-kernel
// reads them: [depth, kPanel<float>], floats or with Pairs pairs of bf16. Columns beyond the last are 0.
template <bool Pairs, class S>
void widen(float* to, const Int8Product<S>& g, int64_t v, int64_t k, int64_t depth) {
  constexpr int64_t size = Vec<float>::size, per_word = Pairs ? 2 : 1;
  for (int64_t i = 0; i < kMaxVecs; ++i) {
    float* at = to + i * size;
    if ((v + i) * size >= g.n) {
      for (int64_t d = 0; d < depth; ++d) simd::store(at + d * kPanel<float>, Vec<float>(0.0f));
      continue;
    }
    const int8_t* from = g.bytes(v + i) + per_word * k * kColumns;
    for (int64_t d = 0; d < depth; ++d, from += per_word * kColumns) {
      if constexpr (Pairs) {
        const bool whole = 2 * (k + d) + 1 < g.k;
        simd::store(at + d * kPanel<float>,
                    simd::pair_of(simd::load(from), whole ? simd::load(from + kColumns) : Vec<float>(0.0f)));
      } else {
        simd::store(at + d * kPanel<float>, simd::load(from));
      }
    }
  }
}

// Blocks of kDepth words of k by a panel of columns are widened, and multiplied while they are in L1.
template <bool Pairs, class S>
void many_rows(const Int8Product<S>& g, const float* a, int64_t a_step) {
  constexpr int64_t kDepth = 128, kMostRows = 768, width = kPanel<float>;  // a block of a stays in L2
  const int64_t words = words_of<Pairs>(g.k), panels = (g.n + width - 1) / width;
  parallel_for(panels, grain(g, panels), [&](int64_t begin, int64_t end) {
    const Split blocks(g.m, kMostRows);
    float* const wide = scratch<float>(Scratch::gemm_b, kDepth * width);
    float* const sums = scratch<float>(Scratch::gemm_sums, blocks.most() * width);
    for (int64_t block = 0; block < blocks.count; ++block) {
      const int64_t row0 = blocks.begin(block), rows = blocks.size(block);
      const Split groups(rows, kMaxRows);
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t k = 0; k < words; k += kDepth) {
          const int64_t depth = std::min(kDepth, words - k);
          widen<Pairs>(wide, g, p * kMaxVecs, k, depth);
          for (int64_t i = 0; i < groups.count; ++i) {
            const int64_t row = groups.begin(i);
            const auto kernel = micro_kernels<float, RowsA, Pairs>[1][static_cast<size_t>(groups.size(i) - 1)];
            kernel(depth, a + (row0 + row) * a_step + k, a_step, wide, width, sums + row * width, width, width,
                   k == 0 ? 0.0f : 1.0f, nullptr, 0);
          }
        }
        for (int64_t row = 0; row < rows; ++row) {
          for_vectors<float>(std::min(width, g.n - p * width), [&](int64_t j, int64_t lanes) {
            g.finish(row0 + row, p * width + j, lanes, load_lanes(sums + row * width + j, lanes));
          });
        }
      }
    }
  });
}

// The rows of x as the words that a sum takes: x itself or a copy. Rows a multiple of 4 KB apart would evict one
// another from L1.
template <bool Pairs, class S>
Rows words_in(const Int8Product<S>& g) {
  constexpr int64_t per_word = sizeof(float) / sizeof(S);
  if constexpr (Pairs || std::is_same_v<S, float>) {
    if (g.k % per_word == 0 && g.x_step % per_word == 0 && reinterpret_cast<uintptr_t>(g.x) % alignof(float) == 0 &&
        (g.m == 1 || g.x_step / per_word % 1024 != 0)) {
      return {reinterpret_cast<const float*>(g.x), g.x_step / per_word};
    }
  }
  const int64_t words = words_of<Pairs>(g.k), step = words % 1024 == 0 ? words + 16 : words;
  float* const to = scratch<float>(Scratch::gemm_a, g.m * step);
  for (int64_t i = 0; i < g.m; ++i) {
    const S* const from = g.x + i * g.x_step;
    if constexpr (Pairs || std::is_same_v<S, float>) {
      to[i * step + words - 1] = 0;  // the second of the last pair
      std::memcpy(to + i * step, from, static_cast<size_t>(g.k) * sizeof(S));
    } else {
      simd::convert(to + i * step, from, g.k);
    }
  }
  return {to, step};
}

template <class S>
void run(const Int8Product<S>& g) {
  constexpr bool pairs = std::is_same_v<S, BFloat16> && simd::kHasDot;
  const Rows a = words_in<pairs>(g);
  if (g.m > kFewRows) return many_rows<pairs>(g, a.data, a.step);
  using Run = void (*)(const Int8Product<S>&, const float*, int64_t);
  static constexpr auto runs = []<int... R>(std::integer_sequence<int, R...>) {
    return std::array<Run, sizeof...(R)>{few_rows<R + 1, pairs, S>...};
  }
  (std::make_integer_sequence<int, kFewRows>());
  runs[static_cast<size_t>(g.m - 1)](g, a.data, a.step);
}

}  // namespace

void int8_matmul(const View& c, const View& x, const View& w, const View& scale, const View& bias) {
  const int64_t m = c.shape[0], n = c.shape[1], k = x.shape[1];
  if (m == 0 || n == 0) return;
  const auto go = [&]<class S>(std::type_identity<S>) {
    const Int8Product<S> g{.m = m,
                           .n = n,
                           .k = k,
                           .x = x.as<S>(),
                           .x_step = x.strides[0],
                           .w = reinterpret_cast<const int8_t*>(w.as<uint8_t>()),
                           .scale = scale.as<float>(),
                           .bias = bias ? bias.as<S>() : nullptr,
                           .c = c.as<S>(),
                           .c_step = c.strides[0]};
    run(g);
  };
  x.dtype == bf16 ? go(std::type_identity<BFloat16>{}) : go(std::type_identity<float>{});
}

}  // namespace pg::cpu
