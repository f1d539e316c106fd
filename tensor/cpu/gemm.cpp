// The matrix product c [M, N] = beta·c + a [M, K] · b [K, N], with bias and GELU fused in at the end.
//
//             N                 The loops, outermost first (run() below):
//        ┌────┬────┬───┐          i   blocks of kBlockM rows of a
//      K │    │ b  │   │          p   blocks of kBlockK of K: pack a's block into panels of `rows` rows   (L3 / L2)
//        ├────┼────┼───┤          j   blocks of kBlockN columns of b: pack b's block into panels of 2 vectors     (L2)
//        └────┴────┴───┘            ii   one panel of a, [kBlockK, rows]                                          (L1)
//     K                               jj   one panel of b, [kBlockK, 2 vectors]: streams from L2
//   ┌───┐┌────┬────┬───┐                 the micro-kernel: a tile of c, rows × 2 vectors, stays in registers
//   │ a ││    │ c  │   │                 while it walks along k
// M ├───┤├────┼────┼───┤
//   │   ││    │ tile   │        Packing puts what the micro-kernel reads next to each other, so that transposed or
//   └───┘└────┴────┴───┘        strided operands cost no more than plain ones.
//
// A row-major a needs no packing: its rows are contiguous as they lie. A transposed one is packed unless it is small.
//
// Threads: all pack the block of a together; then each takes blocks of columns as it becomes free, packing its own b.
// Several per thread, so that one that comes late, or runs on a slow core, costs little.
//
// Arithmetic: an element of c is ONE chain of fused multiply-adds over k = 0 … K-1 that starts at beta·c (0 for beta
// 0). Between two blocks of K the partial sum waits in c. Nothing about the chain depends on M, N, the batch, the
// blocks or the threads, so a row has the same bits alone (decoding) and among others (training), and a product over K
// equals two over its halves, the second with beta 1.
#include "tensor/cpu/gemm.h"

#include <algorithm>
#include <cmath>

#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/gemm_skinny.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/scratch.h"
#include "tensor/cpu/vec_math.h"
#include "tensor/parallel.h"

namespace pg::cpu {

namespace {

using simd::Vec;

template <class T>
constexpr int64_t kBlockK = 1536 / sizeof(T);  // a panel of a fills about half of a 32 KB L1
template <class T>
constexpr int64_t kBlockN = 32 * Vec<T>::size;  // kBlockK × kBlockN of b fill about three quarters of a 1 MB L2
constexpr int64_t kBlockM = 3072;
// With fewer rows than this, or a b this small, b is read from where it lies: packing it would not pay. Nor would
// packing so small a transposed a.
constexpr int64_t kDirectRows = 4 * kMaxRows, kDirectBytes = 32 * 1024;

// Adds the bias and applies the activation to a finished tile, which is still in L1.
template <class T>
void finish(const Product<T>& g, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  T* const c = g.c + row * g.ldc + column;
  const int64_t ldc = g.ldc;
  if (g.bias) {
    const T* const bias = g.bias + column;
    for (int64_t r = 0; r < rows; ++r) {
      T* to = c + r * ldc;
      for_vectors<T>(columns, [=](int64_t j, int64_t n) {
        store_lanes(to + j, load_lanes(to + j, n) + load_lanes(bias + j, n), n);
      });
    }
  }
  if (g.activation == Activation::none) return;
  for (int64_t r = 0; r < rows; ++r) {
    T* to = c + r * ldc;
    if (g.pre) std::copy_n(to, columns, g.pre + (row + r) * g.ld_pre + column);
    for_vectors<T>(columns, [=](int64_t j, int64_t n) { store_lanes(to + j, gelu_tanh(load_lanes(to + j, n)), n); });
  }
}

// A panel of b where the micro-kernel reads it.
template <class T>
struct PanelB {
  const T* data;
  int64_t ld;
};

// One step of the two outer loops: rows [row, row + panels.n) of c, k in [k, k + depth).
template <class T>
struct Step {
  const Product<T>& g;
  int64_t row, k, depth;
  Parts panels;  // of the rows
  bool direct;   // b is read from where it lies
  T* packed_a;   // null: a is read from where it lies
  bool first, last;

  // Panel ii of a, [depth, rows of the panel], with room for what pack_panel writes beyond it.
  T* panel_a(int64_t ii) const { return packed_a + panels.begin(ii) * depth + ii * Vec<T>::size; }

  void pack_a(int64_t begin, int64_t end) const {
    for (int64_t ii = begin; ii < end; ++ii) {
      const int64_t at = panels.begin(ii), rows = panels.size(ii);
      const T* a = g.a.data + (row + at) * g.a.row + k * g.a.column;
      pack_panel(panel_a(ii), a, g.a.row, g.a.column, rows, rows, depth);
    }
  }

  // The panels [begin, end) of rows times nc <= kBlockN columns from j0 on.
  void multiply(int64_t begin, int64_t end, int64_t j0, int64_t nc) const {
    T* packed_b = scratch<T>(Scratch::gemm_b, depth * (nc + kPanel<T>)+Vec<T>::size);
    PanelB<T> panels_b[kBlockN<T> / kPanel<T>];
    for (int64_t jj = 0; jj < nc; jj += kPanel<T>) {
      const int64_t columns = std::min(kPanel<T>, nc - jj);
      const T* b = g.b.data + k * g.b.row + (j0 + jj) * g.b.column;
      if (direct && columns % Vec<T>::size == 0) {
        panels_b[jj / kPanel<T>] = {b, g.b.row};
      } else {
        const int64_t width = columns <= Vec<T>::size ? Vec<T>::size : kPanel<T>;
        pack_panel(packed_b + jj * depth, b, g.b.column, g.b.row, columns, width, depth);
        panels_b[jj / kPanel<T>] = {packed_b + jj * depth, width};
      }
    }
    const bool by_rows = !packed_a && g.a.column == 1;
    const auto& kernels = by_rows ? micro_kernels<T, RowsA> : micro_kernels<T, ColumnsA>;
    for (int64_t ii = begin; ii < end; ++ii) {
      const int64_t at = panels.begin(ii), rows = panels.size(ii);
      const T* a = packed_a ? panel_a(ii) : g.a.data + (row + at) * g.a.row + k * g.a.column;
      const int64_t lda = packed_a ? rows : by_rows ? g.a.row : g.a.column;
      for (int64_t jj = 0; jj < nc; jj += kPanel<T>) {
        const int64_t columns = std::min(kPanel<T>, nc - jj);
        const PanelB<T> b = panels_b[jj / kPanel<T>];
        T* c = g.c + (row + at) * g.ldc + j0 + jj;
        kernels[columns > Vec<T>::size][rows - 1](depth, a, lda, b.data, b.ld, c, g.ldc, columns,
                                                  first ? g.beta : T(1));
        if (last) finish(g, row + at, j0 + jj, rows, columns);
      }
    }
  }
};

template <class F>
void for_each(int threads, int64_t n, int64_t grain, F&& f) {
  if (threads == 1) return f(0, n);
  parallel_for(n, grain, f);
}

// Chunks of rows × blocks of columns, in panels, that the threads take one by one.
struct Cut {
  Parts rows, columns;
};
// The cut that makes the busiest thread's work shortest. Cutting rows packs b anew for each chunk, which takes as long
// as about kPackRows rows of arithmetic.
Cut cut(int64_t panels_a, int64_t panels_b, int threads, double seconds, int64_t most_columns) {
  constexpr double short_piece = 1e-4;
  constexpr int64_t kPackRows = 16;
  const auto wanted = std::clamp<int64_t>(static_cast<int64_t>(seconds / short_piece), threads, 4 * threads);
  Cut best{Parts(panels_a, panels_a), Parts(panels_b, most_columns)};
  if (threads == 1) return best;
  double shortest = HUGE_VAL;
  for (int64_t chunks = 1; chunks <= std::min(wanted, panels_a); chunks *= 2) {
    const int64_t blocks = std::clamp<int64_t>((wanted + chunks - 1) / chunks, 1, panels_b);
    const Cut one{Parts(panels_a, (panels_a + chunks - 1) / chunks),
                  Parts(panels_b, std::min(most_columns, (panels_b + blocks - 1) / blocks))};
    const int64_t rounds = (one.rows.count * one.columns.count + threads - 1) / threads;
    const int64_t rows = one.rows.most() * kMaxRows + kPackRows;
    const auto time = static_cast<double>(rounds * one.columns.most() * rows);
    if (time < shortest) best = one, shortest = time;
  }
  return best;
}

template <class T>
void run(const Product<T>& g, int threads) {
  const Parts block_m(g.m, kBlockM), block_k(g.k, kBlockK<T>);
  const bool direct =
      g.b.column == 1 && (g.m <= kDirectRows || g.k * g.n * static_cast<int64_t>(sizeof(T)) <= kDirectBytes);
  const bool reads_a = g.a.column == 1 || (g.a.row == 1 && g.m * g.k * static_cast<int64_t>(sizeof(T)) <= kDirectBytes);
  // Rows a multiple of 4 KB apart would fall on one another in L1.
  const bool in_place = reads_a && std::max(g.a.row, g.a.column) * static_cast<int64_t>(sizeof(T)) % 4096 != 0;
  for (int64_t i = 0; i < block_m.count; ++i) {
    for (int64_t p = 0; p < block_k.count; ++p) {
      const int64_t mc = block_m.size(i), kc = block_k.size(p);
      const Parts panels(mc, kMaxRows);
      const Step<T> step{
          .g = g,
          .row = block_m.begin(i),
          .k = block_k.begin(p),
          .depth = kc,
          .panels = panels,
          .direct = direct,
          .packed_a = in_place ? nullptr : scratch<T>(Scratch::gemm_a, mc * kc + panels.count * Vec<T>::size),
          .first = p == 0,
          .last = p + 1 == block_k.count};
      if (!in_place) {
        for_each(threads, panels.count, panels.count / (2 * threads) + 1,
                 [&](int64_t x, int64_t end) { step.pack_a(x, end); });
      }

      const int64_t panels_b = (g.n + kPanel<T> - 1) / kPanel<T>;
      const Cut pieces = cut(panels.count, panels_b, threads, product_seconds(mc, g.n, kc), kBlockN<T> / kPanel<T>);
      for_each(threads, pieces.rows.count * pieces.columns.count, 1, [&](int64_t x, int64_t end) {
        for (; x < end; ++x) {
          const int64_t r = x % pieces.rows.count, c = x / pieces.rows.count, j0 = pieces.columns.begin(c) * kPanel<T>;
          step.multiply(pieces.rows.begin(r), pieces.rows.begin(r + 1), j0,
                        std::min(g.n - j0, pieces.columns.size(c) * kPanel<T>));
        }
      });
    }
  }
}

}  // namespace

double product_seconds(int64_t m, int64_t n, int64_t k) {
  const double work = static_cast<double>(m) * n * k, data = static_cast<double>(m) * k + k * n + 2 * m * n;
  return work / 60e9 + data / 12e9;
}

template <class T>
void multiply(const Product<T>& g) {
  if (g.m == 0 || g.n == 0) return;
  const int threads = product_seconds(g.m, g.n, g.k) < kWorthThreads ? 1 : parallelism();
  if (!is_skinny(g)) return run(g, threads);
  constexpr int64_t line = 64 / sizeof(T);
  for_each(threads, g.n, threads == 1 ? g.n : (g.n / (4 * threads) / line + 1) * line, [&](int64_t j, int64_t end) {
    const Product<T> part = g.columns(j, end);
    multiply_skinny(part);
    finish(part, 0, 0, part.m, part.n);
  });
}
template void multiply(const Product<float>& g);
template void multiply(const Product<double>& g);

}  // namespace pg::cpu
