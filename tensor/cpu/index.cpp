// Reading and adding at indices. The operations have validated every index.
#include <cstring>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/rows.h"

namespace pg::cpu {
namespace {

// to[i] = at(i). Four elements of 4 bytes are stored together. Vector instructions that load from several addresses
// take longer on AMD's processors, and the compiler does not use them for such a list.
template <class T, class At>
void gather_run(T* to, int64_t n, At at) {
  int64_t i = 0;
  if constexpr (std::is_arithmetic_v<T> && sizeof(T) == 4) {
    typedef T Four __attribute__((vector_size(16)));
    for (; i + 4 <= n; i += 4) {
      const Four four = {at(i), at(i + 1), at(i + 2), at(i + 3)};
      std::memcpy(to + i, &four, sizeof four);
    }
  }
  for (; i < n; ++i) to[i] = at(i);
}

// to[ids[i]] += from[i], in order. Four indices are loaded together, because a store may not pass a later load.
template <class T, class X>
void add_run(T* to, const X* from, const int32_t* ids, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const int64_t id[] = {ids[i], ids[i + 1], ids[i + 2], ids[i + 3]};
    for (int j = 0; j < 4; ++j) to[id[j]] += static_cast<T>(from[i + j]);
  }
  for (; i < n; ++i) to[ids[i]] += static_cast<T>(from[i]);
}

}  // namespace

void gather(const View& y, const View& x, const View& index, int dim) {
  visit(y.dtype, [&]<class T>(std::type_identity<T>) {
    const int64_t along = x.strides[dim];  // elements per step of the index
    View base = x;                         // x seen with y's shape, before the index is added
    base.shape = y.shape;
    base.strides[dim] = 0;
    const auto w = plan_loop(y, base, index);
    const int64_t y_step = w.inner_stride(0), x_step = w.inner_stride(1), index_step = w.inner_stride(2);
    parallel_for(w.n, kCostlyGrain, [&](int64_t begin, int64_t end) {
      w.run(begin, end, [&](const auto& at, int64_t n) {
        T* to = y.as<T>() + at[0];
        const T* from = x.as<const T>() + at[1];
        const int32_t* ids = index.as<const int32_t>() + at[2];
        if (index_step == 0 && x_step == 1 && y_step == 1) {  // one index for a whole row
          std::copy_n(from + *ids * along, n, to);
        } else if (x_step == 0 && along == 1 && y_step == 1 && index_step == 1) {  // all from one contiguous row
          gather_run(to, n, [=](int64_t i) { return from[ids[i]]; });
        } else if (y_step == 1) {
          gather_run(to, n, [=](int64_t i) { return from[i * x_step + ids[i * index_step] * along]; });
        } else {
          for (int64_t i = 0; i < n; ++i) to[i * y_step] = from[i * x_step + ids[i * index_step] * along];
        }
      });
    });
  });
}

// Lines along `dim` are independent; within a line the additions keep the order of the index.
void scatter_add(const View& y, const View& index, const View& x, int dim) {
  visit_stored(x.dtype, "scatter_add", [&]<class X, class T>(std::type_identity<X>, std::type_identity<T>) {
    View lines_x = x, lines_index = index, lines_y = y;
    lines_y.shape = x.shape;
    for (View* v : {&lines_x, &lines_index, &lines_y}) v->shape.erase(dim), v->strides.erase(dim);
    const auto w = plan_loop(lines_x, lines_index, lines_y);
    const int64_t length = x.shape[dim];
    const int64_t x_step = w.inner_stride(0), index_step = w.inner_stride(1), y_step = w.inner_stride(2);
    const auto add = [=](T* to, const X* from, const int32_t* ids) {
      to[*ids * y.strides[dim]] += static_cast<T>(*from);
    };
    // The walk follows `dim` if its stride is the smallest, because neighbours in memory are then added one after
    // another.
    const bool by_line = x.strides[dim] < x_step;
    const bool contiguous = x.strides[dim] == 1 && index.strides[dim] == 1 && y.strides[dim] == 1;
    // Contiguous lines are shared out in parts of a few cache lines.
    const int64_t lines = by_line ? row_grain(length, kCostlyGrain) : std::max<int64_t>(128, row_grain(length, kGrain));
    parallel_for(w.n, lines, [&](int64_t begin, int64_t end) {
      w.run(begin, end, [&](const auto& at, int64_t n) {
        const X* from = x.as<const X>() + at[0];
        const int32_t* ids = index.as<const int32_t>() + at[1];
        T* to = y.as<T>() + at[2];
        if (by_line) {
          for (int64_t i = 0; i < n; ++i) {
            if (contiguous) {
              add_run(to + i * y_step, from + i * x_step, ids + i * index_step, length);
              continue;
            }
            for (int64_t k = 0; k < length; ++k) {
              add(to + i * y_step, from + i * x_step + k * x.strides[dim],
                  ids + i * index_step + k * index.strides[dim]);
            }
          }
          return;
        }
        for (int64_t k = 0; k < length; ++k, from += x.strides[dim], ids += index.strides[dim]) {
          if (index_step == 0 && x_step == 1 && y_step == 1) {
            T* row = to + *ids * y.strides[dim];
            for (int64_t i = 0; i < n; ++i) row[i] += static_cast<T>(from[i]);
          } else {
            for (int64_t i = 0; i < n; ++i) add(to + i * y_step, from + i * x_step, ids + i * index_step);
          }
        }
      });
    });
  });
}

void embedding(const View& y, const View& w, const View& ids) {
  visit(w.dtype, [&]<class T>(std::type_identity<T>) {
    const InRows<T> table(w, 0);
    const int32_t* id = ids.as<const int32_t>();
    T* to = y.as<T>();
    parallel_for(y.shape[0], row_grain(table.size, kGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) std::copy_n(table[id[r]], table.size, to + r * y.strides[0]);
    });
  });
}

// The columns are divided among the threads, so that each entry of dw receives its rows in order.
void embedding_backward(const View& dw, const View& dy, const View& ids, double beta) {
  visit_floating(dy.dtype, "embedding_backward", [&]<class T>(std::type_identity<T>) {
    const int64_t vocabulary = dw.shape[0], step = dw.strides[0];
    const InRows<T> rows(dy, 0);
    T* table = dw.as<T>();
    const int32_t* id = ids.as<const int32_t>();
    if (beta != 1) {
      const T factor = static_cast<T>(beta);
      parallel_for(vocabulary, row_grain(rows.size, kGrain), [&](int64_t begin, int64_t end) {
        for (int64_t v = begin; v < end; ++v) {
          T* row = table + v * step;
          for (int64_t i = 0; i < rows.size; ++i) row[i] = factor == 0 ? T(0) : factor * row[i];
        }
      });
    }
    parallel_for(rows.size, std::max<int64_t>(64, row_grain(rows.count, kGrain)), [&](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < rows.count; ++r) {
        const T* from = rows.part(r, begin, end - begin);
        T* to = table + id[r] * step + begin;
        for (int64_t i = 0; i < end - begin; ++i) to[i] += from[i];
      }
    });
  });
}

}  // namespace pg::cpu
