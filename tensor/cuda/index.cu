// Reading and adding at indices. An index out of range cannot be reported from a kernel without waiting for the GPU:
// reading there gives NaN (0 for integers), adding there does nothing. If all rows begin and end at multiples of 16
// bytes, they are copied with vectorized 16-byte accesses: the kernels that only copy have a type parameter P, an
// element or a 16-byte vector.
#include <cstring>
#include <limits>

#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/loop32.h"

namespace pg::cuda {
namespace {

constexpr int64_t kVectorBytes = sizeof(uint4);

template <class S>
S no_value() {
  if constexpr (std::is_same_v<S, __nv_bfloat16>)
    return __float2bfloat16(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::is_floating_point_v<S>)
    return std::numeric_limits<S>::quiet_NaN();
  else
    return S(0);
}

template <class S>
uint4 vector_without_value() {
  S values[kVectorBytes / sizeof(S)];
  for (S& value : values) value = no_value<S>();
  unsigned word[4];
  std::memcpy(word, values, sizeof(word));
  return make_uint4(word[0], word[1], word[2], word[3]);
}

// True if every row of x starts 16-byte aligned: the innermost stride is 1, the others are multiples of 16 bytes.
template <class... Steps>
bool is_vector_aligned(const View& x, Steps... steps) {
  const auto size = static_cast<int64_t>(size_of(x.dtype));
  return reinterpret_cast<uintptr_t>(x.data) % kVectorBytes == 0 && (... && (steps * size % kVectorBytes == 0));
}

// w loops over y, x without the indexed dimension, and index; `along` is x's stride in that dimension, `size` its size
// in x.
template <class P>
__global__ void gather_kernel(__grid_constant__ const Loop32<3> w, P* y, const P* x, const int32_t* index,
                              int64_t along, int64_t size, P none) {
  const uint32_t step = gridDim.x * kThreads;
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < w.n; i += step) {
    uint32_t at[3];
    w.offsets(i, at);
    const int64_t id = index[at[2]];
    y[at[0]] = id >= 0 && id < size ? x[at[1] + id * along] : none;
  }
}

// Changes the loop of gather_kernel to 16-byte vectors of y and x, of `per_vector` elements each; returns false if the
// memory layout does not allow that.
bool vectorize(StridedLoop<3>& w, const View& y, const View& x, int64_t along, int64_t per_vector) {
  const int inner = w.rank - 1;
  if (w.stride[0][inner] != 1 || w.stride[1][inner] != 1 || w.stride[2][inner] != 0) return false;
  if (!is_vector_aligned(y, w.size[inner]) || !is_vector_aligned(x, along)) return false;
  for (int d = 0; d < inner; ++d) {
    if (!is_vector_aligned(y, w.stride[0][d]) || !is_vector_aligned(x, w.stride[1][d])) return false;
  }
  for (int d = 0; d < inner; ++d) {
    w.stride[0][d] /= per_vector;
    w.stride[1][d] /= per_vector;
  }
  w.size[inner] /= per_vector;
  w.n /= per_vector;
  return true;
}

struct Along {  // strides along the indexed dimension; its size in x (length) and in y (size)
  int64_t length, x, index, y, size;
};

// Each line along the dimension is processed by one thread, which adds in the order of the index.
template <class R, class S, class T>
__global__ void scatter_add_kernel(StridedLoop<3> lines, Along along, stored_t<R>* y, const int32_t* index,
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

// Whether scatter_add adds whole rows: y [V, C] receives x [R, C] at index [R].
bool adds_rows(const View& y, const View& index, const View& x, int dim) {
  return x.rank() == 2 && dim == 0 && index.strides[1] == 0 && index.strides[0] == 1 && x.strides[1] == 1 &&
         y.strides[1] == 1 && y.dtype == sum_type(x.dtype);
}

}  // namespace

void gather(const View& y, const View& x, const View& index, int dim) {
  View base = x;  // x with y's shape and stride 0 in `dim`: the offset without the index
  base.shape = y.shape;
  base.strides[dim] = 0;
  auto w = plan_loop(y, base, index);
  if (w.n == 0) return;
  visit(y.dtype, [&]<class S>(std::type_identity<S>) {
    constexpr int64_t per_vector = kVectorBytes / sizeof(S);
    const auto start = [&](auto none, int64_t along) {
      using P = decltype(none);
      for_loops32(w, [&](const Loop32<3>& part, const std::array<int64_t, 3>& begin) {
        launch(gather_kernel<P>, blocks_for(part.n), kThreads, 0, stream(), part, y.as<P>() + begin[0],
               x.as<P>() + begin[1], index.as<int32_t>() + begin[2], along, x.shape[dim], none);
      });
    };
    if (vectorize(w, y, x, x.strides[dim], per_vector)) {
      return start(vector_without_value<stored_t<S>>(), x.strides[dim] / per_vector);
    }
    start(no_value<stored_t<S>>(), x.strides[dim]);
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
  const auto lines = plan_loop(lines_x, lines_index, lines_y);
  const Along along{x.shape[dim], x.strides[dim], index.strides[dim], y.strides[dim], y.shape[dim]};
  visit_result(y, x, "scatter_add",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 launch(scatter_add_kernel<R, S, T>, blocks_for(lines.n), kThreads, 0, stream(), lines, along,
                        data_of<R>(y), index.as<int32_t>(), data_of<S>(x));
               });
}

void embedding(const View& y, const View& w, const View& ids) { gather(y, w, {ids.data, i32, y.shape, {1, 0}}, 0); }

}  // namespace pg::cuda
