// matmul: batches, any strides, and the pieces that the threads compute. The arithmetic is in gemm.cpp; an element's
// bits don't depend on the piece it lies in, so the cut may follow the number of threads.
#include <algorithm>

#include "tensor/cpu/gemm.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/scratch.h"
#include "tensor/cpu/vec.h"
#include "tensor/parallel.h"

namespace pg::cpu {

namespace {

// Estimated time on one thread: arithmetic, and bringing in the operands once.
double nanoseconds(int64_t m, int64_t n, int64_t k, int64_t bytes_per_element) {
  const double work = static_cast<double>(m) * n * k, data = static_cast<double>(m) * k + k * n + 2 * m * n;
  return (work / 120 + data / 12) * bytes_per_element / 4;
}
constexpr double kWorthThreads = 20e3, kLongPiece = 2e6;  // ns

template <class T>
struct Matmul {
  View c, a, b;
  const MatmulArgs& args;
  View pre;

  int64_t m() const { return c.shape[c.rank() - 2]; }
  int64_t n() const { return c.shape.back(); }
  int64_t k() const { return a.shape.back(); }
  int64_t batch() const { return m() * n() == 0 ? 0 : c.numel() / (m() * n()); }

  // Makes batches of rows into more rows where b is the same for all: one large product is faster than many small.
  void fold_batch_into_rows() {
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

  // Where matrix `entry` of the batch begins.
  T* matrix(const View& x, int64_t entry) const {
    T* data = x.as<T>();
    for (int d = x.rank() - 3; d >= 0; --d) {
      data += entry % x.shape[d] * x.strides[d];
      entry /= x.shape[d];
    }
    return data;
  }

  // Rows [i, i + rows) and columns [j, j + columns) of one entry.
  void piece(int64_t entry, int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    const int r = c.rank() - 2;
    const auto row = [r](const View& x) { return x.strides[r]; };
    const auto column = [r](const View& x) { return x.strides[r + 1]; };
    Product<T> g{.m = rows, .n = columns, .k = k(), .a = {}, .b = {}, .c = nullptr, .ldc = 0};
    g.a = {matrix(a, entry) + i * row(a), row(a), column(a)};
    g.b = {matrix(b, entry) + j * column(b), row(b), column(b)};
    g.beta = static_cast<T>(args.beta);
    g.activation = args.activation;
    if (args.bias) {
      const int64_t step = args.bias.strides[0];
      g.bias = args.bias.as<T>() + j * step;
      if (step != 1) {
        T* copy = scratch<T>(Scratch::gemm_bias, columns);
        for (int64_t x = 0; x < columns; ++x) copy[x] = g.bias[x * step];
        g.bias = copy;
      }
    }
    T* out = matrix(c, entry) + i * row(c) + j * column(c);
    T* out_pre = pre ? matrix(pre, entry) + i * row(pre) + j * column(pre) : nullptr;
    if (column(c) == 1 && (!pre || column(pre) == 1)) {
      g.c = out, g.ldc = row(c);
      if (pre) g.pre = out_pre, g.ld_pre = row(pre);
      multiply(g);
      return;
    }
    // Results whose columns don't lie side by side go through a plain copy.
    g.c = scratch<T>(Scratch::gemm_c, rows * columns * 2), g.ldc = columns;
    if (pre) g.pre = g.c + rows * columns, g.ld_pre = columns;
    for (int64_t x = 0; g.beta != T(0) && x < rows * columns; ++x) {
      g.c[x] = out[x / columns * row(c) + x % columns * column(c)];
    }
    multiply(g);
    for (int64_t x = 0; x < rows * columns; ++x) {
      const int64_t y = x / columns, z = x % columns;
      out[y * row(c) + z * column(c)] = g.c[x];
      if (pre) out_pre[y * row(pre) + z * column(pre)] = g.pre[x];
    }
  }

  void run() const {
    const double cost = nanoseconds(m(), n(), k(), sizeof(T));
    const int64_t threads = cost * static_cast<double>(batch()) < kWorthThreads ? 1 : num_threads();
    // Halve the longer side until every thread has a piece, or a few where pieces are long: a late thread then costs
    // less. Columns are cut between panels of the micro-kernel.
    constexpr int64_t panel = 2 * simd::Vec<T>::size;
    int64_t wanted = 1, cut_m = 1, cut_n = 1;
    if (threads > 1) {
      const int64_t per_thread = std::clamp<int64_t>(static_cast<int64_t>(cost * batch() / threads / kLongPiece), 1, 4);
      wanted = (threads * per_thread + batch() - 1) / batch();
    }
    while (cut_m * cut_n < wanted) {
      const int64_t piece_m = m() / cut_m, piece_n = n() / cut_n;
      if (piece_n >= 2 * panel && piece_n >= piece_m) {
        cut_n *= 2;
      } else if (piece_m > 1 && piece_m * piece_n > panel) {
        cut_m *= 2;
      } else {
        break;
      }
    }
    const int64_t panels = (n() + panel - 1) / panel, pieces = cut_m * cut_n;
    const auto compute = [&](int64_t begin, int64_t end) {
      for (int64_t x = begin; x < end; ++x) {
        const int64_t ci = x % pieces / cut_n, cj = x % cut_n;
        const int64_t i0 = ci * m() / cut_m, i1 = (ci + 1) * m() / cut_m;
        const int64_t j0 = cj * panels / cut_n * panel, j1 = std::min(n(), (cj + 1) * panels / cut_n * panel);
        piece(x / pieces, i0, i1 - i0, j0, j1 - j0);
      }
    };
    const int64_t total = batch() * pieces;
    if (threads == 1) return compute(0, total);
    parallel_for(total, std::max<int64_t>(1, total / (threads * 4)), compute);
  }
};

}  // namespace

void matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  visit_floating(c.dtype, "matmul", [&]<class T>(std::type_identity<T>) {
    Matmul<T> product{c, a, b, args, args.pre_activation};
    if (product.batch() == 0) return;
    if (product.k() == 0) product.a.data = product.b.data = c.data;  // not read; offsets from null would be undefined
    product.fold_batch_into_rows();
    product.run();
  });
}

}  // namespace pg::cpu
