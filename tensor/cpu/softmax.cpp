// Softmax and log-softmax of rows, and of the columns of matrices.
#include <cmath>

#include "tensor/cpu/column_ops.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/rows.h"
#include "tensor/cpu/softmax_row.h"

namespace pg::cpu {
namespace {

// Matrix `a` of [A, R, C], in which R is contiguous, as [C, R].
View matrix(const View& v, int64_t a) {
  View m{.data = static_cast<std::byte*>(v.data) + a * v.strides[0] * static_cast<int64_t>(size_of(v.dtype)),
         .dtype = v.dtype,
         .shape = {v.shape[2], v.shape[1]},
         .strides = {v.strides[2], 1}};
  return m;
}

// Calls f(a, first, n) for the columns [first, first + n) of each matrix, n at most kStripe.
template <class F>
void for_stripes(const View& v, F f) {
  const int64_t stripes = (v.shape[1] + kStripe - 1) / kStripe;
  const int64_t width = std::min(v.shape[1], kStripe) * v.shape[2];
  parallel_for(v.shape[0] * stripes, row_grain(width, kCostlyGrain), [=, &v](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % stripes * kStripe;
      f(i / stripes, first, std::min(kStripe, v.shape[1] - first));
    }
  });
}

// The result is computed as softmax computes that of a row.
template <class T>
void softmax_columns(const View& y, const View& x, bool log) {
  for_stripes(x, [&](int64_t a, int64_t first, int64_t n) {
    const View from = matrix(x, a), to = matrix(y, a);
    const InRows<T> in(from, 0);
    const OutRows<T> out(to, 1);
    alignas(64) T top[kStripe], last[kStripe];  // last: the logarithm of the sum, or its inverse
    double sum[kStripe];
    max_columns(top, in.count, n, [&](int64_t r) { return in.part(r, first, n); });
    sum_columns<T>(sum, in.count, n, [&](int64_t r) {
      return [&, row = in.part(r, first, n)](int64_t i, int64_t m) {
        return exp_flushed(load_lanes(row + i, m) - simd::load(top + i));
      };
    });
    if (log && sizeof(T) == 4) {
      for_vectors<double>(
          n, [&](int64_t i, int64_t m) { store_lanes(sum + i, log_for_single(load_lanes(sum + i, m)), m); });
    }
    for (int64_t i = 0; i < n; ++i) {
      last[i] = static_cast<T>(!log ? 1 / sum[i] : sizeof(T) == 4 ? sum[i] : std::log(sum[i]));
    }
    for (int64_t r = 0; r < in.count; ++r) {
      const T* row = in.part(r, first, n);
      const auto result = out.part(r, first, n, false);
      const auto write = [to = static_cast<T*>(result), n](auto f) {
        for_vectors<T>(n, [=](int64_t i, int64_t m) { store_lanes(to + i, f(i, m), m); });
      };
      const auto shifted = [=, top = top](int64_t i, int64_t m) {
        return load_lanes(row + i, m) - simd::load(top + i);
      };
      if (log) {
        write([=, last = last](int64_t i, int64_t m) { return shifted(i, m) - simd::load(last + i); });
      } else {
        write([=, last = last](int64_t i, int64_t m) { return exp_flushed(shifted(i, m)) * simd::load(last + i); });
      }
    }
  });
}

template <class T>
void softmax_columns_backward(const View& dx, const View& dy, const View& y, bool log, T beta) {
  for_stripes(y, [&](int64_t a, int64_t first, int64_t n) {
    const View to = matrix(dx, a), dy_a = matrix(dy, a), y_a = matrix(y, a);
    const OutRows<T> out(to, 0);
    const InRows<T> grads(dy_a, 1), results(y_a, 2);
    double total[kStripe];
    alignas(64) T sum[kStripe];  // of the gradients, for softmax times the probabilities
    sum_columns<T>(total, grads.count, n, [&](int64_t r) {
      return [log, g = grads.part(r, first, n), p = results.part(r, first, n)](int64_t i, int64_t m) {
        return log ? load_lanes(g + i, m) : load_lanes(g + i, m) * load_lanes(p + i, m);
      };
    });
    for (int64_t i = 0; i < n; ++i) sum[i] = static_cast<T>(total[i]);
    for (int64_t r = 0; r < grads.count; ++r) {
      const T *g = grads.part(r, first, n), *p = results.part(r, first, n);
      write_gradient<T>(out.part(r, first, n, beta != 0), n, beta, [&](int64_t i, int64_t m) {
        const Vec<T> grad = load_lanes(g + i, m), result = load_lanes(p + i, m), s = simd::load(sum + i);
        return log ? grad - exp_flushed(result) * s : result * (grad - s);
      });
    }
  });
}

}  // namespace

// A row whose logits are all -inf gives NaN; single -inf logits give probability 0.
void softmax(const View& y, const View& x, bool log) {
  visit_floating(x.dtype, "softmax", [&]<class T>(std::type_identity<T>) {
    if (x.rank() == 3) return softmax_columns<T>(y, x, log);
    const InRows<T> in(x, 0);
    const OutRows<T> out(y, 1);
    const int64_t n = in.size;
    parallel_for(in.count, row_grain(n, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* from = in[r];
        const auto row = out.row(r, false);
        T* to = row;
        if (log) {
          const auto stats = row_stats<false>(from, n);
          for_vectors<T>(n, [=](int64_t i, int64_t m) {
            store_lanes(to + i, load_lanes(from + i, m) - stats.max - stats.log_sum, m);
          });
        } else {
          const auto stats =
              row_stats<false>(from, n, [to](int64_t i, int64_t m, Vec<T> e) { store_lanes(to + i, e, m); });
          const T inverse = static_cast<T>(1 / stats.sum);
          for_vectors<T>(n, [=](int64_t i, int64_t m) { store_lanes(to + i, load_lanes(to + i, m) * inverse, m); });
        }
      }
    });
  });
}

// dx = y·(dy - Σ dy·y); for log-softmax, dx = dy - e^y·Σ dy.
void softmax_backward(const View& dx, const View& dy, const View& y, bool log, double beta) {
  visit_floating(y.dtype, "softmax_backward", [&]<class T>(std::type_identity<T>) {
    if (y.rank() == 3) return softmax_columns_backward<T>(dx, dy, y, log, static_cast<T>(beta));
    const OutRows<T> to(dx, 0);
    const InRows<T> grads(dy, 1), results(y, 2);
    const int64_t n = to.size;
    const T b = static_cast<T>(beta);
    parallel_for(to.count, row_grain(n, log ? kCostlyGrain : kGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T *g = grads[r], *p = results[r];
        if (log) {
          const T sum = static_cast<T>(sum_row(g, n));
          write_gradient<T>(to.row(r, b != 0), n, b, [=](int64_t i, int64_t m) {
            return load_lanes(g + i, m) - exp_flushed(load_lanes(p + i, m)) * sum;
          });
        } else {
          const T dot = static_cast<T>(sum_vectors<T, 1>(
              n, [=](int64_t i, int64_t m) { return std::array{load_lanes(g + i, m) * load_lanes(p + i, m)}; })[0]);
          write_gradient<T>(to.row(r, b != 0), n, b,
                            [=](int64_t i, int64_t m) { return load_lanes(p + i, m) * (load_lanes(g + i, m) - dot); });
        }
      }
    });
  });
}

}  // namespace pg::cpu
