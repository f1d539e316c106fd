// unary, binary, where and their backward passes: the functions of tensor/functors.h for any strides.
#include "tensor/cuda/array.h"
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/scalar.h"
#include "tensor/functors.h"

namespace pg::cuda {
namespace {

using elementwise::visit_op;

template <class Op, class R, class S, class T>
__global__ void unary_kernel(StridedLoop<2> w, stored_t<R>* y, const stored_t<S>* x, Scalars s) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[2];
    offsets_of(w, i, at);
    store(y + at[0], Op::value(Scalar<T>(load<T>(x + at[1])), s).v);
  }
}

// dx = beta·dx + grad
template <class Op, class R, class S, class T>
__global__ void unary_backward_kernel(StridedLoop<3> w, stored_t<R>* dx, const stored_t<S>* dy, const stored_t<S>* v,
                                      Scalars s, T beta) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[3];
    offsets_of(w, i, at);
    const T grad = Op::grad(Scalar<T>(load<T>(dy + at[1])), Scalar<T>(load<T>(v + at[2])), s).v;
    store(dx + at[0], beta == 0 ? grad : load<T>(dx + at[0]) * beta + grad);
  }
}

template <class Op, class R, class S, class T>
__global__ void binary_kernel(StridedLoop<3> w, stored_t<R>* z, const stored_t<S>* x, const stored_t<S>* y) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[3];
    offsets_of(w, i, at);
    store(z + at[0], Op::value(Scalar<T>(load<T>(x + at[1])), Scalar<T>(load<T>(y + at[2]))).v);
  }
}

// d = beta·d + gradient with respect to x (kSide 0) or y (kSide 1).
template <class Op, int kSide, class R, class S, class T>
__global__ void binary_backward_kernel(StridedLoop<4> w, stored_t<R>* d, const stored_t<S>* dz, const stored_t<S>* x,
                                       const stored_t<S>* y, T beta) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[4];
    offsets_of(w, i, at);
    const Scalar<T> g = load<T>(dz + at[1]), a = load<T>(x + at[2]), b = load<T>(y + at[3]);
    const T grad = kSide == 0 ? Op::grad_x(g, a, b).v : Op::grad_y(g, a, b).v;
    store(d + at[0], beta == 0 ? grad : load<T>(d + at[0]) * beta + grad);
  }
}

template <class Op, class S, class T>
__global__ void compare_kernel(StridedLoop<3> w, uint8_t* z, const stored_t<S>* x, const stored_t<S>* y) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[3];
    offsets_of(w, i, at);
    z[at[0]] = Op::holds(load<T>(x + at[1]), load<T>(y + at[2]));
  }
}

template <class S>
__global__ void where_kernel(StridedLoop<4> w, S* z, const uint8_t* condition, const S* x, const S* y) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[4];
    offsets_of(w, i, at);
    z[at[0]] = condition[at[1]] ? x[at[2]] : y[at[3]];
  }
}

template <class S, class T>
void compare_as(Comparison op, const View& z, const View& x, const View& y) {
  const auto w = plan_loop(z, x, y);
  visit_op(op, [&](auto f) {
    launch(compare_kernel<decltype(f), S, T>, blocks_for(w.n), kThreads, 0, stream(), w, z.as<uint8_t>(), data_of<S>(x),
           data_of<S>(y));
  });
}

}  // namespace

void unary(Unary op, const View& y, const View& x, Scalars s) {
  visit_result(y, x, "unary",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const auto w = plan_loop(y, x);
                 visit_op(op, [&](auto f) {
                   launch(unary_kernel<decltype(f), R, S, T>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<R>(y),
                          data_of<S>(x), s);
                 });
               });
}

void unary_backward(Unary op, const View& dx, const View& dy, const View& kept, Scalars s, double beta) {
  visit_result(dx, dy, "unary_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const View& v = keeps(op) == Keeps::nothing ? dy : kept;
                 const auto w = plan_loop(dx, dy, v);
                 visit_op(op, [&](auto f) {
                   launch(unary_backward_kernel<decltype(f), R, S, T>, blocks_for(w.n), kThreads, 0, stream(), w,
                          data_of<R>(dx), data_of<S>(dy), data_of<S>(v), s, beta);
                 });
               });
}

void binary(Binary op, const View& z, const View& x, const View& y) {
  visit_result(z, x, "binary",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const auto w = plan_loop(z, x, y);
                 visit_op(op, [&](auto f) {
                   launch(binary_kernel<decltype(f), R, S, T>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<R>(z),
                          data_of<S>(x), data_of<S>(y));
                 });
               });
}

void binary_backward(Binary op, int side, const View& d, const View& dz, const View& x, const View& y, double beta) {
  visit_result(d, dz, "binary_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const View &a = x ? x : dz, &b = y ? y : dz;
                 const auto w = plan_loop(d, dz, a, b);
                 visit_op(op, [&](auto f) {
                   const auto kernel = side == 0 ? binary_backward_kernel<decltype(f), 0, R, S, T>
                                                 : binary_backward_kernel<decltype(f), 1, R, S, T>;
                   launch(kernel, blocks_for(w.n), kThreads, 0, stream(), w, data_of<R>(d), data_of<S>(dz),
                          data_of<S>(a), data_of<S>(b), beta);
                 });
               });
}

void compare(Comparison op, const View& z, const View& x, const View& y) {
  if (x.dtype == i32) return compare_as<int32_t, int32_t>(op, z, x, y);
  if (x.dtype == u8) return compare_as<uint8_t, uint8_t>(op, z, x, y);
  visit_stored(x.dtype, "compare",
               [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) { compare_as<S, T>(op, z, x, y); });
}

void where(const View& z, const View& condition, const View& x, const View& y) {
  visit(z.dtype, [&]<class S>(std::type_identity<S>) {
    const auto w = plan_loop(z, condition, x, y);
    launch(where_kernel<stored_t<S>>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<S>(z), condition.as<uint8_t>(),
           data_of<S>(x), data_of<S>(y));
  });
}

}  // namespace pg::cuda
