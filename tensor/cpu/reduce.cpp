// Reductions. Every sum has one order, determined by shapes and strides: either the results are divided among the
// threads, or fixed chunks are, whose partial sums are then added in index order.
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/rows.h"

namespace pg::cpu {
namespace {

constexpr int64_t kChunk = 16384;  // elements per partial result
constexpr int64_t kChain = 8192;   // rows added one after another before a column's sum is added to a double
constexpr int64_t kColumns = 256;

template <Reduce kOp>
constexpr double kNothing = kOp == Reduce::sum ? 0 : -std::numeric_limits<double>::infinity();

template <Reduce kOp, class A>
A combine(A a, A b) {
  if constexpr (kOp == Reduce::sum) return a + b;
  if constexpr (kOp == Reduce::max) return max_with_nan(a, b);
}

// partial(begin, end) of the chunks of [0, n), combined in order; chunks run in parallel.
template <Reduce kOp, class F>
double combine_chunks(int64_t n, F partial) {
  constexpr int64_t kBatch = 256;  // chunks at a time
  double total = kNothing<kOp>;
  for (int64_t start = 0; start < n; start += kBatch * kChunk) {
    const int64_t batch = std::min(n - start, kBatch * kChunk);
    std::array<double, kBatch> result;
    parallel_for(batch, kChunk, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kChunk) {
        result[begin / kChunk] = partial(start + begin, start + std::min(begin + kChunk, end));
      }
    });
    for (int64_t i = 0; i * kChunk < batch; ++i) total = combine<kOp>(total, result[i]);
  }
  return total;
}

// bf16 is widened into a buffer, so that its sums are those of the same values in f32. n is at most kChunk.
template <Reduce kOp, class X>
double contiguous(const X* x, int64_t n) {
  if constexpr (std::is_same_v<X, BFloat16>) {
    float* wide = row_buffer<float>(0, kChunk);
    simd::convert(wide, x, n);
    return contiguous<kOp>(static_cast<const float*>(wide), n);
  } else {
    if constexpr (kOp == Reduce::sum) return sum_row(x, n);
    if constexpr (kOp == Reduce::max) return max_row(x, n);
  }
}

template <class X>
double to_double(X x) {
  if constexpr (std::is_same_v<X, BFloat16>) return static_cast<double>(static_cast<float>(x));
  if constexpr (!std::is_same_v<X, BFloat16>) return static_cast<double>(x);
}

template <Reduce kOp, class Y>
void write_result(Y& to, double total, double divisor, double beta) {
  if constexpr (kOp == Reduce::sum) {
    total /= divisor;
    if (beta != 0) total += beta * to_double(to);
  }
  to = static_cast<Y>(total);
}

// x of type X is summed in T into y of type Y.
template <class X, class T, class Y, Reduce kOp>
struct Reduction {
  StridedLoop<2> kept;     // x and y over the dimensions that stay
  StridedLoop<1> reduced;  // x over the reduced dimensions
  const X* x;
  Y* y;
  double divisor, beta;

  double stretch(const X* p, int64_t n) const {
    const int64_t step = reduced.inner_stride(0);
    if (step == 1) return contiguous<kOp>(p, n);
    double total = kNothing<kOp>;
    for (int64_t i = 0; i < n; ++i) total = combine<kOp>(total, to_double(p[i * step]));
    return total;
  }

  void write(Y& to, double total) const { write_result<kOp>(to, total, divisor, beta); }

  // Each result is one (usually contiguous) sweep over x.
  void along_rows() const {
    const auto chunk = [&](const X* row, int64_t begin, int64_t end) {
      double total = kNothing<kOp>;
      reduced.run(begin, end, [&](const auto& at, int64_t n) { total = combine<kOp>(total, stretch(row + at[0], n)); });
      return total;
    };
    if (kept.n == 1) {
      return write(*y, combine_chunks<kOp>(reduced.n, [&](int64_t b, int64_t e) { return chunk(x, b, e); }));
    }
    parallel_for(kept.n, row_grain(reduced.n, kGrain), [&](int64_t begin, int64_t end) {
      kept.run(begin, end, [&](const auto& at, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          const X* row = x + at[0] + i * kept.inner_stride(0);
          double total = kNothing<kOp>;
          for (int64_t c = 0; c < reduced.n; c += kChunk) {
            total = combine<kOp>(total, chunk(row, c, std::min(reduced.n, c + kChunk)));
          }
          write(y[at[1] + i * kept.inner_stride(1)], total);
        }
      });
    });
  }

  // Combines acc[j] with rows [begin, end) of column j, in order.
  void add_rows(T* acc, const X* columns, int64_t n, int64_t begin, int64_t end) const {
    const int64_t column_step = kept.inner_stride(0), row_step = reduced.inner_stride(0);
    reduced.run(begin, end, [&](const auto& at, int64_t rows) {
      const X* row = columns + at[0];
      for (int64_t r = 0; r < rows; ++r, row += row_step) {
        if (column_step != 1) {
          for (int64_t j = 0; j < n; ++j) acc[j] = combine<kOp>(acc[j], static_cast<T>(row[j * column_step]));
        } else if constexpr (std::is_same_v<X, T>) {
          for (int64_t j = 0; j < n; ++j) acc[j] = combine<kOp>(acc[j], row[j]);
        } else {
          T* wide = row_buffer<T>(0, kColumns);
          simd::convert(wide, row, n);
          for (int64_t j = 0; j < n; ++j) acc[j] = combine<kOp>(acc[j], wide[j]);
        }
      }
    });
  }

  // Adjacent results are summed together, row after row. Up to kChain rows the sum starts from beta·y, so that a
  // gradient accumulated over two batches has the bits of the gradient of both at once.
  void along_columns() const {
    const int64_t y_step = kept.inner_stride(1);
    const bool one_chain = kOp == Reduce::sum && divisor == 1 && beta != 0 && reduced.n <= kChain;
    parallel_for(kept.n, std::max<int64_t>(64, row_grain(reduced.n, kGrain)), [&](int64_t first, int64_t last) {
      alignas(64) T acc[kColumns];
      double total[kColumns];
      kept.run(first, last, [&](const auto& at, int64_t count) {
        for (int64_t j0 = 0; j0 < count; j0 += kColumns) {
          const int64_t n = std::min(kColumns, count - j0);
          const X* columns = x + at[0] + j0 * kept.inner_stride(0);
          Y* to = y + at[1] + j0 * y_step;
          if (one_chain) {
            for (int64_t j = 0; j < n; ++j) acc[j] = static_cast<T>(beta) * static_cast<T>(to[j * y_step]);
            add_rows(acc, columns, n, 0, reduced.n);
            for (int64_t j = 0; j < n; ++j) to[j * y_step] = static_cast<Y>(acc[j]);
            continue;
          }
          std::fill_n(total, n, kNothing<kOp>);
          for (int64_t r = 0; r < reduced.n; r += kChain) {
            std::fill_n(acc, n, static_cast<T>(kNothing<kOp>));
            add_rows(acc, columns, n, r, std::min(reduced.n, r + kChain));
            for (int64_t j = 0; j < n; ++j) total[j] = combine<kOp>(total[j], static_cast<double>(acc[j]));
          }
          for (int64_t j = 0; j < n; ++j) write(to[j * y_step], total[j]);
        }
      });
    });
  }
};

template <class X, class T, class Y, Reduce kOp>
void reduce_as(const View& y, const View& x, double divisor, double beta) {
  if (y.numel() == 1 && dense(x)) {  // a whole tensor is reduced: no plan is needed
    const X* from = x.as<const X>();
    const double total =
        combine_chunks<kOp>(x.numel(), [from](int64_t b, int64_t e) { return contiguous<kOp>(from + b, e - b); });
    return write_result<kOp>(*y.as<Y>(), total, divisor, beta);
  }
  const auto [kept, reduced] = plan_reduction(y, x);
  const Reduction<X, T, Y, kOp> r{kept, reduced, x.as<const X>(), y.as<Y>(), divisor, beta};
  if (r.kept.n == 0) return;
  // The dimension with the smaller step goes innermost.
  if (r.kept.n == 1 || (r.reduced.n > 1 && r.reduced.inner_stride(0) < r.kept.inner_stride(0))) {
    r.along_rows();
  } else {
    r.along_columns();
  }
}

}  // namespace

void reduce(Reduce op, const View& y, const View& x, double divisor, double beta) {
  visit_stored(x.dtype, "reduce", [&]<class X, class T>(std::type_identity<X>, std::type_identity<T>) {
    const auto into = [&]<class Y>(std::type_identity<Y>) {
      if (op == Reduce::sum) return reduce_as<X, T, Y, Reduce::sum>(y, x, divisor, beta);
      return reduce_as<X, T, Y, Reduce::max>(y, x, divisor, beta);
    };
    return y.dtype == x.dtype ? into(std::type_identity<X>{}) : into(std::type_identity<T>{});
  });
}

void cumsum(const View& y, const View& x, int dim, bool reverse, double beta) {
  const auto run = [&]<class X, class Y>(std::type_identity<X>, std::type_identity<Y>) {
    View lines_y = y, lines_x = x;  // without `dim`
    for (View* v : {&lines_y, &lines_x}) v->shape.erase(dim), v->strides.erase(dim);
    const auto w = plan_loop(lines_y, lines_x);
    const int64_t length = x.shape[dim], lines_step_y = w.inner_stride(0), lines_step_x = w.inner_stride(1);
    const int64_t sign = reverse ? -1 : 1;
    const int64_t y_step = sign * y.strides[dim], x_step = sign * x.strides[dim];
    const int64_t y_start = reverse ? (length - 1) * y.strides[dim] : 0;
    const int64_t x_start = reverse ? (length - 1) * x.strides[dim] : 0;
    if (length == 0) return;
    parallel_for(w.n, row_grain(length, kGrain), [&](int64_t begin, int64_t end) {
      constexpr int64_t kLines = 64;  // summed together, so that either layout uses whole cache lines
      w.run(begin, end, [&](const auto& at, int64_t count) {
        for (int64_t first = 0; first < count; first += kLines) {
          const int64_t lines = std::min(kLines, count - first);
          double sum[kLines] = {};
          Y* to = y.as<Y>() + at[0] + first * lines_step_y + y_start;
          const X* from = x.as<const X>() + at[1] + first * lines_step_x + x_start;
          for (int64_t i = 0; i < length; ++i) {
            for (int64_t j = 0; j < lines; ++j) {
              sum[j] += to_double(from[i * x_step + j * lines_step_x]);
              Y& out = to[i * y_step + j * lines_step_y];
              out = static_cast<Y>(beta == 0 ? sum[j] : beta * to_double(out) + sum[j]);
            }
          }
        }
      });
    });
  };
  visit_stored(x.dtype, "cumsum", [&]<class X, class T>(std::type_identity<X> held, std::type_identity<T> computes) {
    y.dtype == x.dtype ? run(held, held) : run(held, computes);
  });
}

// NaN counts as the largest.
void argmax(const View& index, const View& x) {
  visit_floating(x.dtype, "argmax", [&]<class T>(std::type_identity<T>) {
    const InRows<T> rows(x, 0);
    int32_t* to = index.as<int32_t>();
    parallel_for(rows.count, row_grain(rows.size, kGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = rows[r];
        const T top = max_row(row, rows.size);
        int64_t i = 0;
        while (row[i] != top && row[i] == row[i]) ++i;
        to[r] = static_cast<int32_t>(i);
      }
    });
  });
}

// Computed in double, so that the squared norm of a gradient does not overflow.
void sum_of_squares(const View& y, const View& x) {
  visit_stored(x.dtype, "sum_of_squares", [&]<class X, class T>(std::type_identity<X>, std::type_identity<T>) {
    const X* p = x.as<const X>();
    *y.as<double>() = combine_chunks<Reduce::sum>(x.numel(), [p](int64_t begin, int64_t end) {
      constexpr int64_t kLanes = 16;
      double lanes[kLanes] = {};
      int64_t i = begin;
      for (; i + kLanes <= end; i += kLanes) {
        for (int64_t j = 0; j < kLanes; ++j) lanes[j] += to_double(p[i + j]) * to_double(p[i + j]);
      }
      for (int64_t j = 0; i + j < end; ++j) lanes[j] += to_double(p[i + j]) * to_double(p[i + j]);
      double total = 0;
      for (double lane : lanes) total += lane;
      return total;
    });
  });
}

}  // namespace pg::cpu
