// The matrix product c [M, N] = beta·c + a [M, K] · b [K, N], with bias and GELU fused in at the end, on one thread;
// matmul.cpp cuts a product into pieces for the threads.
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
// Arithmetic: an element of c is ONE chain of fused multiply-adds over k = 0 … K-1 that starts at beta·c (0 for beta
// 0). Between two blocks of K the partial sum waits in c. Nothing about the chain depends on M, N, the batch, the
// blocks or the threads, so a row has the same bits alone (decoding) and among others (training), and a product over K
// equals two over its halves, the second with beta 1.
#include "tensor/cpu/gemm.h"

#include <algorithm>

#include "tensor/cpu/gemm_kernel.h"
#include "tensor/cpu/gemm_skinny.h"
#include "tensor/cpu/scratch.h"
#include "tensor/cpu/vec_math.h"

namespace pg::cpu {

namespace {

using simd::Vec;

template <class T>
constexpr int64_t kBlockK = 1536 / sizeof(T);  // a panel of a fills about half of a 32 KB L1
template <class T>
constexpr int64_t kBlockN = 32 * Vec<T>::size;  // kBlockK × kBlockN of b fill about three quarters of a 1 MB L2
constexpr int64_t kBlockM = 3072;
// With fewer rows than this, or a b this small, b is read from where it lies: packing it would not pay.
constexpr int64_t kDirectRows = 4 * kMaxRows, kDirectBytes = 32 * 1024;

// Adds the bias and applies the activation to a finished tile, which is still in L1.
template <class T>
void finish(const Product<T>& g, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  if (!g.bias && g.activation == Activation::none) return;
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t j = column; j < column + columns; j += Vec<T>::size) {
      const int64_t n = std::min<int64_t>(Vec<T>::size, column + columns - j);
      T* c = g.c + r * g.ldc + j;
      Vec<T> x = simd::load(c, n);
      if (g.bias) x += simd::load(g.bias + j, n);
      if (g.activation == Activation::gelu_tanh) {
        if (g.pre) store(g.pre + r * g.ld_pre + j, x, n);
        x = gelu_tanh(x);
      }
      store(c, x, n);
    }
  }
}

// A panel of b where the micro-kernel reads it.
template <class T>
struct PanelB {
  const T* data;
  int64_t ld;
};

template <class T>
void run(const Product<T>& g) {
  const Parts block_m(g.m, kBlockM), block_k(g.k, kBlockK<T>);
  const bool direct =
      g.b.column == 1 && (g.m <= kDirectRows || g.k * g.n * static_cast<int64_t>(sizeof(T)) <= kDirectBytes);
  for (int64_t i = 0; i < block_m.count; ++i) {
    const int64_t i0 = block_m.begin(i), mc = block_m.size(i);
    const Parts panels(mc, kMaxRows);
    for (int64_t p = 0; p < block_k.count; ++p) {
      const int64_t p0 = block_k.begin(p), kc = block_k.size(p);
      T* packed_a = scratch<T>(Scratch::gemm_a, mc * kc + Vec<T>::size);
      for (int64_t ii = 0; ii < panels.count; ++ii) {
        const int64_t row = panels.begin(ii), rows = panels.size(ii);
        const T* a = g.a.data + (i0 + row) * g.a.row + p0 * g.a.column;
        pack_panel(packed_a + row * kc, a, g.a.row, g.a.column, rows, rows, kc);
      }
      const T beta = p == 0 ? g.beta : T(1);
      const bool last = p + 1 == block_k.count;
      for (int64_t j0 = 0; j0 < g.n; j0 += kBlockN<T>) {
        const int64_t nc = std::min(kBlockN<T>, g.n - j0);
        T* packed_b = scratch<T>(Scratch::gemm_b, kc * (nc + kPanel<T>)+Vec<T>::size);
        PanelB<T> panels_b[kBlockN<T> / kPanel<T>];
        for (int64_t jj = 0; jj < nc; jj += kPanel<T>) {
          const int64_t columns = std::min(kPanel<T>, nc - jj);
          const T* b = g.b.data + p0 * g.b.row + (j0 + jj) * g.b.column;
          if (direct && columns % Vec<T>::size == 0) {
            panels_b[jj / kPanel<T>] = {b, g.b.row};
          } else {
            const int64_t width = columns <= Vec<T>::size ? Vec<T>::size : kPanel<T>;
            pack_panel(packed_b + jj * kc, b, g.b.column, g.b.row, columns, width, kc);
            panels_b[jj / kPanel<T>] = {packed_b + jj * kc, width};
          }
        }
        for (int64_t ii = 0; ii < panels.count; ++ii) {
          const int64_t row = panels.begin(ii), rows = panels.size(ii);
          for (int64_t jj = 0; jj < nc; jj += kPanel<T>) {
            const int64_t columns = std::min(kPanel<T>, nc - jj);
            const PanelB<T> b = panels_b[jj / kPanel<T>];
            T* c = g.c + (i0 + row) * g.ldc + j0 + jj;
            micro_kernels<T, PackedA>[columns > Vec<T>::size][rows - 1](kc, packed_a + row * kc, b.data, b.ld, c, g.ldc,
                                                                        columns, beta);
            if (last) finish(g, i0 + row, j0 + jj, rows, columns);
          }
        }
      }
    }
  }
}

}  // namespace

template <class T>
void multiply(const Product<T>& g) {
  if (g.m == 0 || g.n == 0) return;
  if (multiply_skinny(g)) {
    finish(g, 0, 0, g.m, g.n);
  } else {
    run(g);
  }
}
template void multiply(const Product<float>& g);
template void multiply(const Product<double>& g);

}  // namespace pg::cpu
