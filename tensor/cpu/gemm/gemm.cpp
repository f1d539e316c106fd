// The matrix product c [M, N] = beta·c + a [M, K] · b [K, N], with bias and GELU fused in at the end.
//
//             N                 The loops, outermost first (run() below):
//        ┌────┬────┬───┐          i   blocks of kBlockM rows of a
//      K │    │ b  │   │          p   blocks of block_k of K: pack a's block into panels of `rows` rows   (L3 / L2)
//        ├────┼────┼───┤          j   blocks of kBlockN columns of b: pack b's block into panels of 2 vectors     (L2)
//        └────┴────┴───┘            ii   one panel of a, [block_k, rows]                                          (L1)
//     K                               jj   one panel of b, [block_k, 2 vectors]: streams from L2
//   ┌───┐┌────┬────┬───┐                 the micro-kernel: a tile of c, rows × 2 vectors, stays in registers
//   │ a ││    │ c  │   │                 while it walks along k
// M ├───┤├────┼────┼───┤
//   │   ││    │ tile   │        Packing puts what the micro-kernel reads next to each other, so that transposed or
//   └───┘└────┴────┴───┘        strided operands cost no more than plain ones.
//
// A row-major a needs no packing, because its rows are contiguous; rows of bf16 are read as pairs. A transposed a is
// packed unless it is small.
//
// bf16 operands are widened as they are packed; where the processor multiplies pairs of them, the panels hold pairs
// (multiply_pairs). Their sums are f32, and are stored outside c when c is bf16.
//
// With few rows and b transposed, packing b would be much of the work: see transposed_output.h, and skinny.h for 1 to 8
// rows.
//
// Threads: all threads pack the block of a together; then each takes blocks of columns as it becomes free, and packs
// its own b. There are several blocks per thread, so that a thread that starts late, or runs on a slow core, costs
// little. With few columns each thread takes panels of rows instead, first those of its own range and then what others
// have left (shared_ranges.h), and packs all of b and its own a, if they are packed at all.
//
// Arithmetic: an element of c is ONE chain of fused multiply-adds over k = 0 … K-1 that starts at beta·c (0 for beta
// 0). Between two blocks of K the partial sum is stored in c. Nothing about the chain depends on M, N, the batch, the
// blocks or the threads, so a row has the same bits alone (decoding) and among others (training), and a product over K
// equals two over its halves, the second with beta 1.
#include "tensor/cpu/gemm/gemm.h"

#include <algorithm>
#include <cmath>

#include "tensor/base/parallel.h"
#include "tensor/cpu/gemm/panel_block.h"
#include "tensor/cpu/gemm/skinny.h"
#include "tensor/cpu/gemm/transposed_output.h"
#include "tensor/cpu/scratch.h"

namespace pg::cpu {

namespace {

using simd::Vec;

constexpr int64_t kBlockM = 3072;
constexpr int64_t kMostPartial = 16 << 20;  // elements of partial sums stored outside c
// With at most kDirectRows rows, or a b of at most kDirectBytes, b is read in place: packing it would not pay off. A
// transposed a of at most kDirectBytes is read in place too, and with few columns a b whose rows are at most
// kDirectStep bytes apart.
constexpr int64_t kDirectRows = 4 * kMaxRows, kDirectBytes = 32 * 1024, kDirectStep = 2048;

template <class F>
void for_each(int threads, int64_t n, int64_t grain, F&& f) {
  if (threads == 1) return f(0, n);
  parallel_for(n, grain, f);
}

// Chunks of rows × blocks of columns, in panels, that the threads take one by one.
struct Tiling {
  Split rows, columns;
};
// The tiling for which the busiest thread finishes first. Each chunk of rows packs b again, which takes as long as
// about kPackRows rows of arithmetic.
Tiling choose_tiling(int64_t panels_a, int64_t panels_b, int threads, double seconds, int64_t most_columns) {
  constexpr double shortest_task = 1e-4;
  constexpr int64_t kPackRows = 16;
  const auto wanted = std::clamp<int64_t>(static_cast<int64_t>(seconds / shortest_task), threads, 4 * threads);
  Tiling best{Split(panels_a, panels_a), Split(panels_b, most_columns)};
  if (threads == 1) return best;
  double shortest = HUGE_VAL;
  const auto consider = [&](int64_t chunks, int64_t blocks) {
    const int64_t width = (panels_b + blocks - 1) / blocks;
    const Tiling one{Split(panels_a, (panels_a + chunks - 1) / chunks), Split(panels_b, std::min(most_columns, width))};
    const int64_t rounds = (one.rows.count * one.columns.count + threads - 1) / threads;
    const int64_t rows = one.rows.most() * gemm_tuning().tile_rows + kPackRows;
    const auto time = static_cast<double>(rounds * one.columns.most() * rows);
    if (time < shortest) best = one, shortest = time;
  };
  for (int64_t chunks = 1; chunks <= std::min(wanted, panels_a); chunks *= 2) {
    const int64_t blocks = (wanted + chunks - 1) / chunks;
    consider(chunks, blocks);
    // Somewhat fewer or more may divide evenly. With 36 panels in 8 blocks one thread takes 20 panels, the other 16.
    for (int64_t other = (3 * blocks + 3) / 4; other <= (3 * blocks + 1) / 2; ++other) consider(chunks, other);
  }
  return best;
}

template <class T>
bool is_aligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % alignof(T) == 0;
}

template <bool Pairs, class S, class C>
void run(const Product<S, C>& g, int threads) {
  using T = computes_t<S>;
  constexpr auto bytes = static_cast<int64_t>(sizeof(T));
  // Only operands of the type of computation can be read in place, and rows of a that consist of whole pairs.
  constexpr bool same_type = std::is_same_v<S, T>;
  const bool whole_pairs = Pairs && g.k % 2 == 0 && g.a.row % 2 == 0 && is_aligned<T>(g.a.data);
  const bool reads_a = ((same_type || whole_pairs) && g.a.column == 1) ||
                       (same_type && g.a.row == 1 && g.m * g.k * bytes <= kDirectBytes);
  // Rows a multiple of 4 KB apart would evict one another from an L1 with fewer ways of 4 KB than a panel has rows.
  const bool evict =
      l1_bytes() < 12 * 4096 && std::max(g.a.row, g.a.column) * static_cast<int64_t>(sizeof(S)) % 4096 == 0;
  const bool in_place = kAllForms<T> && reads_a && !evict;
  // With few columns each thread multiplies panels of rows by all columns, if L2 holds these and the rows are many
  // enough to pack b for them alone.
  const bool near_rows = same_type && g.b.column == 1 && g.b.row * bytes <= kDirectStep;
  const bool few_columns = gemm_tuning().shared_rows && g.n <= (in_place ? 2 : 3) * kBlockN<T> && g.n <= g.m &&
                           g.m >= (near_rows ? 64 : 128) * threads;
  const bool direct = kAllForms<T> && same_type && g.b.column == 1 &&
                      (g.m <= kDirectRows || g.k * g.n * bytes <= kDirectBytes || (few_columns && near_rows));
  const Split blocks_k(Pairs ? (g.k + 1) / 2 : g.k, block_k<T>(few_columns ? g.n : kBlockN<T>));
  const bool partial = !std::is_same_v<C, T> && blocks_k.count > 1;
  const Split block_m(g.m, partial ? std::clamp<int64_t>(kMostPartial / g.n, 16 * kMaxRows, kBlockM) : kBlockM);
  for (int64_t i = 0; i < block_m.count; ++i) {
    for (int64_t p = 0; p < blocks_k.count; ++p) {
      const int64_t mc = block_m.size(i), kc = blocks_k.size(p);
      const Split panels(mc, gemm_tuning().tile_rows);
      PanelBlock<S, C, Pairs> block{.g = g,
                                    .row = block_m.begin(i),
                                    .k = blocks_k.begin(p),
                                    .depth = kc,
                                    .panels = panels,
                                    .direct = direct,
                                    .packed_a = nullptr,
                                    .partial = partial ? scratch<T>(Scratch::gemm_sums, mc * g.n) : nullptr,
                                    .first = p == 0,
                                    .last = p + 1 == blocks_k.count};
      if (few_columns) {
        SharedRanges ranges(panels.count, threads);
        for_each(threads, threads, 1, [&](int64_t x, int64_t) { block.multiply_all_columns(ranges, x, in_place); });
        continue;
      }
      if (!in_place) {
        block.packed_a = scratch<T>(Scratch::gemm_a, block.packed_size(mc, kc, panels.count));
        for_each(threads, panels.count, panels.count / (2 * threads) + 1,
                 [&](int64_t x, int64_t end) { block.pack_a(x, end); });
      }

      const int64_t panels_b = (g.n + kPanel<T> - 1) / kPanel<T>;
      const Tiling tiling =
          choose_tiling(panels.count, panels_b, threads, product_seconds(mc, g.n, kc), kBlockN<T> / kPanel<T>);
      for_each(threads, tiling.rows.count * tiling.columns.count, 1, [&](int64_t x, int64_t end) {
        const auto columns_of = [&](int64_t task) -> Columns {
          const int64_t c = task / tiling.rows.count, j0 = tiling.columns.begin(c) * kPanel<T>;
          if (c >= tiling.columns.count) return {0, 0};
          return {j0, std::min(g.n - j0, tiling.columns.size(c) * kPanel<T>)};
        };
        for (; x < end; ++x) {
          const int64_t r = x % tiling.rows.count;
          const Columns columns = columns_of(x);
          block.multiply(tiling.rows.begin(r), tiling.rows.begin(r + 1), columns.begin, columns.count,
                         columns_of(x + threads));
        }
      });
    }
  }
}

// Rows of contiguous elements.
template <class T>
struct RowsOf {
  const T* data;
  int64_t ld;
};

// Computes the columns [begin, end) of a product with few rows; a and b are in the form that multiply_skinny expects.
template <class S, class C, class B, class T>
void run_skinny(const Product<S, C>& g, Matrix<B> b, int64_t k, RowsOf<T> a, int64_t begin, int64_t end) {
  const int64_t n = end - begin;
  Sums<T> sums;
  if constexpr (std::is_same_v<C, T>) {
    sums = {g.c + begin, g.ldc};
  } else {
    sums = {scratch<T>(Scratch::gemm_sums, g.m * n), n};
    if (g.beta != T(0)) begin_sums(g, sums, 0, begin, g.m, n);
  }
  b.data += begin * b.column;
  multiply_skinny(SkinnyProduct<B, T>{g.m, n, k, a.data, a.ld, b, sums.data, sums.ld, g.beta});
  finish(g, sums, 0, begin, g.m, n);
}

int threads_for(int64_t m, int64_t n, int64_t k) {
  return product_seconds(m, n, k) < kWorthThreads ? 1 : parallelism();
}

// Calls f(begin, end) for ranges of columns in whole cache lines. Each range begins with a wait for memory, so only
// many columns are divided into more ranges than there are threads.
template <class S, class F>
void for_columns(int64_t n, int threads, F f) {
  constexpr int64_t line = 64 / sizeof(S), many = 2048;
  const int64_t ranges = threads * std::clamp<int64_t>(n / threads / many, 1, 4);
  for_each(threads, n, threads == 1 ? n : (n / ranges / line + 1) * line, f);
}

template <bool Pairs, class S, class C>
void run_transposed_output(const Product<S, C>& g, int threads) {
  using Transposed = TransposedOutput<S, C, Pairs>;
  const Transposed product(g);
  auto* packed_a = scratch<computes_t<S>>(Scratch::gemm_a, product.packed_size());
  constexpr int64_t worth_a_thread = 32 << 10;  // elements
  for_each(threads, product.panels(), worth_a_thread * product.panels() / product.packed_size() + 1,
           [&](int64_t i, int64_t end) {
             for (; i < end; ++i) product.pack(packed_a, i);
           });
  constexpr int64_t most = Transposed::kColumns;
  for_each(threads, (g.n + most - 1) / most, g.n / (8 * threads * most) + 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) product.columns(packed_a, i * most, std::min(most, g.n - i * most));
  });
}

// The rows of a, as T and contiguous: a itself or a copy.
template <class T, class S>
RowsOf<T> contiguous_rows(const Matrix<S>& a, int64_t m, int64_t k) {
  if constexpr (std::is_same_v<S, T>) {
    if (a.column == 1) return {a.data, a.row};
  }
  T* to = scratch<T>(Scratch::gemm_a, m * k);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < k; ++j) to[i * k + j] = static_cast<T>(a.data[i * a.row + j * a.column]);
  }
  return {to, k};
}

// Few rows times a b whose columns are contiguous and of even length: b is read in pairs.
template <class C>
bool is_skinny_pairs(const Product<BFloat16, C>& g) {
  return g.m <= kSkinnyRows && g.b.row == 1 && g.b.column % 2 == 0 && g.k % 2 == 0;
}
template <class C>
void run_skinny_pairs(const Product<BFloat16, C>& g, int threads) {
  RowsOf<float> a;
  if constexpr (simd::kHasDot) {
    float* words = scratch<float>(Scratch::gemm_a, g.m * g.k / 2 + Vec<float>::size);
    for (int64_t i = 0; i < g.m; ++i) {
      pack_pairs(words + i * g.k / 2, g.a.data + i * g.a.row, 2, g.a.column, 1, 1, g.k);
    }
    a = {words, g.k / 2};
  } else {
    a = contiguous_rows<float>(g.a, g.m, g.k);
  }
  const Matrix<simd::Pair> b{reinterpret_cast<const simd::Pair*>(g.b.data), 1, g.b.column / 2};
  for_columns<BFloat16>(g.n, threads, [&](int64_t j, int64_t end) { run_skinny(g, b, g.k / 2, a, j, end); });
}

}  // namespace

double product_seconds(int64_t m, int64_t n, int64_t k) {
  const double work = static_cast<double>(m) * n * k, data = static_cast<double>(m) * k + k * n + 2 * m * n;
  return work / 60e9 + data / 12e9;
}

template <class S, class C>
void multiply(const Product<S, C>& g) {
  if (g.m == 0 || g.n == 0) return;
  const int threads = threads_for(g.m, g.n, g.k);
  if constexpr (std::is_same_v<S, BFloat16>) {
    if (simd::kHasDot) return multiply_pairs(g);
    if (is_skinny_pairs(g)) return run_skinny_pairs(g, threads);
  }
  if constexpr (kAllForms<computes_t<S>>) {
    if (is_skinny(g)) {
      const auto a = contiguous_rows<computes_t<S>>(g.a, g.m, g.k);
      return for_columns<S>(g.n, threads, [&](int64_t j, int64_t end) { run_skinny(g, g.b, g.k, a, j, end); });
    }
    if (suits_transposed_output<false>(g)) return run_transposed_output<false>(g, threads);
  }
  run<false>(g, threads);
}

template <class C>
void multiply_pairs(const Product<BFloat16, C>& g) {
  if (g.m == 0 || g.n == 0) return;
  const int threads = threads_for(g.m, g.n, g.k);
  if (is_skinny_pairs(g)) return run_skinny_pairs(g, threads);
  suits_transposed_output<true>(g) ? run_transposed_output<true>(g, threads) : run<true>(g, threads);
}
template void multiply(const Product<float, float>& g);
template void multiply(const Product<double, double>& g);
template void multiply_pairs(const Product<BFloat16, float>& g);
template void multiply_pairs(const Product<BFloat16, BFloat16>& g);
template void multiply(const Product<BFloat16, float>& g);
template void multiply(const Product<BFloat16, BFloat16>& g);

}  // namespace pg::cpu
