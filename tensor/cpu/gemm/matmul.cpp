// matmul: batches and any strides, built on the product of two matrices in gemm.cpp.
#include <algorithm>

#include "tensor/base/parallel.h"
#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/scratch.h"
#include "tensor/cpu/simd/vec.h"
#include "tensor/strided_loop.h"

namespace pg::cpu {

namespace {

template <class S, class C>
struct Matmul {
  using T = computes_t<S>;
  View c, a, b;
  const MatmulArgs& args;
  View pre;

  int64_t m() const { return c.shape[c.rank() - 2]; }
  int64_t n() const { return c.shape.back(); }
  int64_t k() const { return a.shape.back(); }
  int64_t batch() const { return m() * n() == 0 ? 0 : c.numel() / (m() * n()); }

  // The start of matrix `entry` of the batch.
  template <class E>
  E* matrix(const View& x, int64_t entry) const {
    E* data = x.as<E>();
    for (int d = x.rank() - 3; d >= 0; --d) {
      data += entry % x.shape[d] * x.strides[d];
      entry /= x.shape[d];
    }
    return data;
  }

  // One entry of the batch.
  void compute(int64_t entry) const {
    const int r = c.rank() - 2;
    const auto row = [r](const View& x) { return x.strides[r]; };
    const auto column = [r](const View& x) { return x.strides[r + 1]; };
    Product<S, C> g{.m = m(), .n = n(), .k = k(), .a = {}, .b = {}, .c = nullptr, .ldc = 0};
    g.a = {matrix<S>(a, entry), row(a), column(a)};
    g.b = {matrix<S>(b, entry), row(b), column(b)};
    g.beta = static_cast<T>(args.beta);
    g.activation = args.activation;
    if (args.bias) {
      const int64_t step = args.bias.strides[0];
      if (step == 1 && args.bias.dtype == dtype_of<T>()) {
        g.bias = args.bias.as<T>();
      } else {
        T* copy = scratch<T>(Scratch::gemm_bias, g.n);
        for (int64_t x = 0; x < g.n; ++x) copy[x] = static_cast<T>(args.bias.as<S>()[x * step]);
        g.bias = copy;
      }
    }
    C* out = matrix<C>(c, entry);
    C* out_pre = pre ? matrix<C>(pre, entry) : nullptr;
    if (column(c) == 1 && (!pre || column(pre) == 1)) {
      g.c = out, g.ldc = row(c);
      if (pre) g.pre = out_pre, g.ld_pre = row(pre);
      multiply(g);
      return;
    }
    // Results whose rows are not contiguous go through a contiguous copy.
    const int64_t size = g.m * g.n;
    g.c = scratch<C>(Scratch::gemm_c, size * 2), g.ldc = g.n;
    if (pre) g.pre = g.c + size, g.ld_pre = g.n;
    const auto place = [&](const View& x, int64_t i) { return i / g.n * row(x) + i % g.n * column(x); };
    const bool reads_pre = g.activation == Activation::gelu_tanh_backward;
    for (int64_t x = 0; g.beta != T(0) && x < size; ++x) g.c[x] = out[place(c, x)];
    for (int64_t x = 0; reads_pre && x < size; ++x) g.pre[x] = out_pre[place(pre, x)];
    multiply(g);
    for (int64_t x = 0; x < size; ++x) out[place(c, x)] = g.c[x];
    for (int64_t x = 0; pre && !reads_pre && x < size; ++x) out_pre[place(pre, x)] = g.pre[x];
  }

  // Many small entries are divided among the threads; all threads work together on each of a few large ones.
  void run() const {
    const double cost = product_seconds(m(), n(), k());
    const int64_t count = batch(), threads = num_threads();
    const auto some = [&](int64_t begin, int64_t end) {
      for (int64_t entry = begin; entry < end; ++entry) compute(entry);
    };
    if (count >= 4 * threads && cost * static_cast<double>(count) > kWorthThreads) {
      parallel_for(count, std::max<int64_t>(1, count / (threads * 4)), some);
    } else {
      some(0, count);
    }
  }
};

}  // namespace

void matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  if (args.row_sums) reduce(Reduce::sum, as_column(args.row_sums), a, 1, args.row_sums_beta);
  visit_stored(a.dtype, "matmul", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const auto into = [&]<class C>(std::type_identity<C>) {
      Matmul<S, C> product{c, a, b, args, args.pre_activation};
      if (product.batch() == 0) return;
      if (product.k() == 0) product.a.data = product.b.data = c.data;  // not read; offsets from null would be undefined
      fold_batch_into_rows(product.c, product.a, product.b, product.pre);
      product.run();
    };
    c.dtype == a.dtype ? into(std::type_identity<S>{}) : into(std::type_identity<T>{});
  });
}

}  // namespace pg::cpu
