// unary, binary, where and their backward passes: the functions of tensor/functors.h over any strides.
#include "tensor/cuda/array.h"
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/lane.h"
#include "tensor/functors.h"

namespace pg::cuda {
namespace {

using elementwise::visit_op;

template <class Op, class S, class T>
__global__ void unary_kernel(Walk<2> w, stored_t<S>* y, const stored_t<S>* x, Scalars s) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[2];
    offsets_of(w, i, at);
    store(y + at[0], Op::value(Lane<T>(load<T>(x + at[1])), s).v);
  }
}

// dx = beta·dx + grad; v is x or y, as the derivative wants.
template <class Op, class S, class T>
__global__ void unary_backward_kernel(Walk<3> w, stored_t<S>* dx, const stored_t<S>* dy, const stored_t<S>* v,
                                      Scalars s, T beta) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[3];
    offsets_of(w, i, at);
    const T grad = Op::grad(Lane<T>(load<T>(dy + at[1])), Lane<T>(load<T>(v + at[2])), s).v;
    store(dx + at[0], beta == 0 ? grad : load<T>(dx + at[0]) * beta + grad);
  }
}

}  // namespace

void unary(Unary op, const View& y, const View& x, Scalars s) {
  visit_stored(y.dtype, "unary", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const auto w = plan_walk(y, x);
    visit_op(op, [&](auto f) {
      launch(unary_kernel<decltype(f), S, T>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<S>(y), data_of<S>(x), s);
    });
  });
}

}  // namespace pg::cuda
