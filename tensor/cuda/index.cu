// Reading and adding at indices. An index out of range cannot be reported from here without waiting for the GPU: what
// it would have read is NaN (0 in integers), and what it would have received nothing.
#include <limits>

#include "tensor/cuda/array.h"
#include "tensor/cuda/kernels_cuda.h"

namespace pg::cuda {
namespace {

template <class S>
__device__ __forceinline__ S no_value() {
  if constexpr (std::is_same_v<S, __nv_bfloat16>)
    return __float2bfloat16(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::is_floating_point_v<S>)
    return std::numeric_limits<S>::quiet_NaN();
  else
    return S(0);
}

// w walks y, x with the indexed dimension left out, and index; `along` is x's step there, `size` x's size.
template <class S>
__global__ void gather_kernel(Walk<3> w, S* y, const S* x, const int32_t* index, int64_t along, int64_t size) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[3];
    offsets_of(w, i, at);
    const int64_t id = index[at[2]];
    y[at[0]] = id >= 0 && id < size ? x[at[1] + id * along] : no_value<S>();
  }
}

struct Along {  // steps along the indexed dimension, and y's size there
  int64_t length, x, index, y, size;
};

// Each line along the dimension belongs to one thread, which adds in the order of the index.
template <class R, class S, class T>
__global__ void scatter_add_kernel(Walk<3> lines, Along along, stored_t<R>* y, const int32_t* index,
                                   const stored_t<S>* x) {
  for (int64_t i = first_index(); i < lines.n; i += index_step()) {
    int64_t at[3];
    offsets_of(lines, i, at);
    for (int64_t k = 0; k < along.length; ++k) {
      const int64_t id = index[at[1] + k * along.index];
      if (id < 0 || id >= along.size) continue;
      auto* to = y + at[2] + id * along.y;
      store(to, load<T>(to) + load<T>(x + at[0] + k * along.x));
    }
  }
}

template <class S>
__global__ void embedding_kernel(S* y, int64_t y_step, const S* w, int64_t w_step, const int32_t* ids, int64_t rows,
                                 int64_t columns, int64_t vocabulary) {
  for (int64_t i = first_index(); i < rows * columns; i += index_step()) {
    const int64_t row = i / columns, c = i % columns, id = ids[row];
    y[row * y_step + c] = id >= 0 && id < vocabulary ? w[id * w_step + c] : no_value<S>();
  }
}

// Whether scatter_add adds whole rows: y [V, C] receives x [R, C] at index [R].
bool adds_rows(const View& y, const View& index, const View& x, int dim) {
  return x.rank() == 2 && dim == 0 && index.strides[1] == 0 && index.strides[0] == 1 && x.strides[1] == 1 &&
         y.strides[1] == 1 && y.dtype == sum_type(x.dtype);
}

}  // namespace

void gather(const View& y, const View& x, const View& index, int dim) {
  View base = x;  // x as y's shape sees it before the index is added
  base.shape = y.shape;
  base.strides[dim] = 0;
  const auto w = plan_walk(y, base, index);
  visit(y.dtype, [&]<class S>(std::type_identity<S>) {
    launch(gather_kernel<stored_t<S>>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<S>(y), data_of<S>(x),
           index.as<int32_t>(), x.strides[dim], x.shape[dim]);
  });
}

void scatter_add(const View& y, const View& index, const View& x, int dim) {
  if (adds_rows(y, index, x, dim)) {
    View ids = index;
    ids.shape = {index.shape[0]}, ids.strides = {1};
    return embedding_backward(y, x, ids, 1);
  }
  View lines_x = x, lines_index = index, lines_y = y;
  lines_y.shape = x.shape;
  for (View* v : {&lines_x, &lines_index, &lines_y}) v->shape.erase(dim), v->strides.erase(dim);
  const auto lines = plan_walk(lines_x, lines_index, lines_y);
  const Along along{x.shape[dim], x.strides[dim], index.strides[dim], y.strides[dim], y.shape[dim]};
  visit_result(y, x, "scatter_add",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 launch(scatter_add_kernel<R, S, T>, blocks_for(lines.n), kThreads, 0, stream(), lines, along,
                        data_of<R>(y), index.as<int32_t>(), data_of<S>(x));
               });
}

void embedding(const View& y, const View& w, const View& ids) {
  visit(w.dtype, [&]<class S>(std::type_identity<S>) {
    const int64_t rows = y.shape[0], columns = y.shape[1];
    launch(embedding_kernel<stored_t<S>>, blocks_for(rows * columns), kThreads, 0, stream(), data_of<S>(y),
           y.strides[0], data_of<S>(w), w.strides[0], ids.as<int32_t>(), rows, columns, w.shape[0]);
  });
}

}  // namespace pg::cuda
