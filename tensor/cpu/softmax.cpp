// Softmax and log-softmax of rows.
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/rows.h"
#include "tensor/cpu/softmax_row.h"

namespace pg::cpu {

// A row whose logits are all -inf gives NaN; single -inf logits give probability 0.
void softmax(const View& y, const View& x, bool log) {
  visit_floating(x.dtype, "softmax", [&]<class T>(std::type_identity<T>) {
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
