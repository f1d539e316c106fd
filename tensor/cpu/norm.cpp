// Layer norm (Ba et al. 2016, arXiv:1607.06450) and RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467) of rows.
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/rows.h"

namespace pg::cpu {

namespace {

constexpr int64_t kColumns = 128;  // columns per task for the gradients of the weights

// Calls f(r, row, n) for the rows of x or, with a residual, of x + residual, which is written to `sum`; f gets it as it
// is stored there, rounded if it is bf16.
template <class T, class F>
void for_sums(const View& x, const View& residual, const View& sum, F f) {
  const InRows<T> in(x, 0), added(residual, 1), stored(sum, 3);
  const OutRows<T> sums(sum, 3);
  const int64_t n = in.size;
  parallel_for(in.count, row_grain(n, kGrain), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = in[r];
      if (!residual) {
        f(r, row, n);
        continue;
      }
      const T* add = added[r];
      {
        const auto total = sums.row(r, false);
        T* to = total;
        for_vectors<T>(
            n, [=](int64_t i, int64_t m) { store_lanes(to + i, load_lanes(row + i, m) + load_lanes(add + i, m), m); });
      }
      f(r, stored[r], n);
    }
  });
}

// y = (x - mean)·rstd·w + b; w and b may be null.
template <class T>
void scale_row(T* y, const T* x, int64_t n, T mean, T rstd, const T* w, const T* b) {
  for_vectors<T>(n, [=](int64_t i, int64_t m) {
    Vec<T> v = (load_lanes(x + i, m) - mean) * rstd;
    if (w) v *= load_lanes(w + i, m);
    if (b) v += load_lanes(b + i, m);
    store_lanes(y + i, v, m);
  });
}

// With h = (x - mean)·rstd and g = dy·w: dx = rstd·(g - avg(g) - h·avg(g·h)); RMS norm omits mean and avg(g).
template <bool kCentred, class T>
void input_gradient(T* dx, const T* dy, const T* x, int64_t n, T mean, T rstd, const T* w, T beta) {
  const auto g = [=](int64_t i, int64_t m) {
    return w ? load_lanes(dy + i, m) * load_lanes(w + i, m) : load_lanes(dy + i, m);
  };
  const auto h = [=](int64_t i, int64_t m) { return (load_lanes(x + i, m) - mean) * rstd; };
  const auto sums = sum_vectors<T, 2, 2>(n, [=](int64_t i, int64_t m) {
    const Vec<T> gi = g(i, m);
    return std::array{gi, gi * h(i, m)};
  });
  const T avg_g = kCentred ? static_cast<T>(sums[0] / static_cast<double>(n)) : T(0);
  const T avg_gh = static_cast<T>(sums[1] / static_cast<double>(n));
  write_gradient(dx, n, beta, [=](int64_t i, int64_t m) { return (g(i, m) - avg_g - h(i, m) * avg_gh) * rstd; });
}

// dw = beta_w·dw + Σ dy·h and db = beta_b·db + Σ dy, row after row in every column: a gradient accumulated over two
// batches has the bits of the gradient of both at once. dw or db may be null.
template <class T, class Mean>
void weight_gradients(T* dw, T* db, const InRows<T>& dy, const InRows<T>& x, Mean mean, const T* rstd, double beta_w,
                      double beta_b) {
  const int64_t grain = std::max(kColumns, row_grain(dy.count, kGrain) / kColumns * kColumns);
  parallel_for(dy.size, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c += kColumns) {
      const int64_t n = std::min(kColumns, end - c);
      alignas(64) T sum_w[kColumns] = {}, sum_b[kColumns] = {};
      if (dw && beta_w != 0) {
        for (int64_t j = 0; j < n; ++j) sum_w[j] = static_cast<T>(beta_w) * dw[c + j];
      }
      if (db && beta_b != 0) {
        for (int64_t j = 0; j < n; ++j) sum_b[j] = static_cast<T>(beta_b) * db[c + j];
      }
      for (int64_t r = 0; r < dy.count; ++r) {
        const T *g = dy.part(r, c, n), *from = x.part(r, c, n);
        const T m = mean(r), s = rstd[r];
        for (int64_t j = 0; j < n; ++j) {
          sum_w[j] += g[j] * ((from[j] - m) * s);
          sum_b[j] += g[j];
        }
      }
      if (dw) std::copy_n(sum_w, n, dw + c);
      if (db) std::copy_n(sum_b, n, db + c);
    }
  });
}

}  // namespace

// Two passes: the variance is summed around the mean, so that a large mean does not cost precision.
void layer_norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
                const View& w, const View& b, double eps) {
  visit_floating(x.dtype, "layer_norm", [&]<class T>(std::type_identity<T>) {
    const OutRows<T> out(y, 2);
    const T *weight = whole_row<T>(w, 4), *bias = whole_row<T>(b, 5);
    for_sums<T>(x, residual, sum, [&](int64_t r, const T* row, int64_t n) {
      const T centre = static_cast<T>(sum_row(row, n) / static_cast<double>(n));
      const double squares = sum_vectors<T, 1>(n, [=](int64_t i, int64_t m) {
        const Vec<T> d = load_lanes(row + i, m) - centre;
        return std::array{d * d};
      })[0];
      const T scale = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
      scale_row<T>(out.row(r, false), row, n, centre, scale, weight, bias);
      mean.as<T>()[r] = centre;
      rstd.as<T>()[r] = scale;
    });
  });
}

void layer_norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                         const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  visit_floating(x.dtype, "layer_norm_backward", [&]<class T>(std::type_identity<T>) {
    const InRows<T> in(x, 0), grads(dy, 1);
    const T *means = mean.as<const T>(), *rstds = rstd.as<const T>(), *weight = whole_row<T>(w, 4);
    if (dx) {
      const OutRows<T> to(dx, 2);
      parallel_for(in.count, row_grain(in.size, kGrain), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          input_gradient<true, T>(to.row(r, beta_x != 0), grads[r], in[r], in.size, means[r], rstds[r], weight,
                                  static_cast<T>(beta_x));
        }
      });
    }
    if (dw || db) {
      weight_gradients(
          dw.as<T>(), db.as<T>(), grads, in, [means](int64_t r) { return means[r]; }, rstds, beta_w, beta_b);
    }
  });
}

void rms_norm(const View& y, const View& rstd, const View& sum, const View& x, const View& residual, const View& w,
              double eps) {
  visit_floating(x.dtype, "rms_norm", [&]<class T>(std::type_identity<T>) {
    const OutRows<T> out(y, 2);
    const T* weight = whole_row<T>(w, 4);
    for_sums<T>(x, residual, sum, [&](int64_t r, const T* row, int64_t n) {
      const double squares = sum_vectors<T, 1>(n, [=](int64_t i, int64_t m) {
        const Vec<T> v = load_lanes(row + i, m);
        return std::array{v * v};
      })[0];
      const T scale = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
      scale_row<T>(out.row(r, false), row, n, T(0), scale, weight, nullptr);
      rstd.as<T>()[r] = scale;
    });
  });
}

void rms_norm_backward(const View& dx, const View& dw, const View& dy, const View& x, const View& w, const View& rstd,
                       double beta_x, double beta_w) {
  visit_floating(x.dtype, "rms_norm_backward", [&]<class T>(std::type_identity<T>) {
    const InRows<T> in(x, 0), grads(dy, 1);
    const T *rstds = rstd.as<const T>(), *weight = whole_row<T>(w, 4);
    if (dx) {
      const OutRows<T> to(dx, 2);
      parallel_for(in.count, row_grain(in.size, kGrain), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          input_gradient<false, T>(to.row(r, beta_x != 0), grads[r], in[r], in.size, T(0), rstds[r], weight,
                                   static_cast<T>(beta_x));
        }
      });
    }
    if (dw) {
      weight_gradients<T>(
          dw.as<T>(), nullptr, grads, in, [](int64_t) { return T(0); }, rstds, beta_w, 0);
    }
  });
}

void norm_matmul(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                 const NormMatmulArgs& args) {
  if (args.rms) {
    rms_norm(args.normed, args.rstd, sum, x, residual, args.norm_weight, args.eps);
  } else {
    layer_norm(args.normed, args.mean, args.rstd, sum, x, residual, args.norm_weight, args.norm_bias, args.eps);
  }
  matmul(c, args.normed, b, {.bias = args.bias, .activation = args.activation});
}

}  // namespace pg::cpu
