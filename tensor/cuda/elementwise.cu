// unary, binary, where and their backward passes: the functions of tensor/functors.h for any strides.
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/scalar.h"
#include "tensor/cuda/elementwise_loop.h"
#include "tensor/functors.h"

namespace pg::cuda {
namespace {

using elementwise::visit_op;

template <class Op, class T>
struct UnaryFunction : OverwritingFunction {
  Scalars s;
  explicit UnaryFunction(Scalars scalars) : s(scalars) {}
  template <class R, class S>
  __device__ void operator()(R* y, const S* x) const {
    store(y, Op::value(Scalar<T>(load<T>(x)), s).v);
  }
};

// dx = beta·dx + grad
template <class T>
struct GradientFunction {
  T beta;
  __device__ bool reads_result() const { return beta != 0; }
  template <class R>
  __device__ void write(R* dx, T grad) const {
    store(dx, beta == 0 ? grad : load<T>(dx) * beta + grad);
  }
};

template <class Op, class T>
struct UnaryGradient : GradientFunction<T> {
  Scalars s;
  UnaryGradient(Scalars scalars, double beta) : GradientFunction<T>{static_cast<T>(beta)}, s(scalars) {}
  template <class R, class S>
  __device__ void operator()(R* dx, const S* dy, const S* kept) const {
    this->write(dx, Op::grad(Scalar<T>(load<T>(dy)), Scalar<T>(load<T>(kept)), s).v);
  }
};

template <class Op, class T>
struct BinaryFunction : OverwritingFunction {
  template <class R, class S>
  __device__ void operator()(R* z, const S* x, const S* y) const {
    store(z, Op::value(Scalar<T>(load<T>(x)), Scalar<T>(load<T>(y))).v);
  }
};

// The gradient with respect to x (kSide 0) or y (kSide 1).
template <class Op, int kSide, class T>
struct BinaryGradient : GradientFunction<T> {
  template <class R, class S>
  __device__ void operator()(R* d, const S* dz, const S* x, const S* y) const {
    const Scalar<T> g = load<T>(dz), a = load<T>(x), b = load<T>(y);
    this->write(d, kSide == 0 ? Op::grad_x(g, a, b).v : Op::grad_y(g, a, b).v);
  }
};

template <class Op, class T>
struct Compare : OverwritingFunction {
  template <class S>
  __device__ void operator()(uint8_t* z, const S* x, const S* y) const {
    *z = Op::holds(load<T>(x), load<T>(y));
  }
};

struct Where : OverwritingFunction {
  template <class S>
  __device__ void operator()(S* z, const uint8_t* condition, const S* x, const S* y) const {
    *z = *condition ? *x : *y;
  }
};

template <class S, class T>
void compare_as(Comparison op, const View& z, const View& x, const View& y) {
  visit_op(op, [&](auto f) {
    elementwise(Compare<decltype(f), T>{}, Operand<uint8_t>{z}, Operand<stored_t<S>>{x}, Operand<stored_t<S>>{y});
  });
}

}  // namespace

void unary(Unary op, const View& y, const View& x, Scalars s) {
  visit_result(y, x, "unary",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 visit_op(op, [&](auto f) {
                   elementwise(UnaryFunction<decltype(f), T>(s), Operand<stored_t<R>>{y}, Operand<stored_t<S>>{x});
                 });
               });
}

void unary_backward(Unary op, const View& dx, const View& dy, const View& kept, Scalars s, double beta) {
  visit_result(dx, dy, "unary_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const View& v = keeps(op) == Keeps::nothing ? dy : kept;
                 visit_op(op, [&](auto f) {
                   elementwise(UnaryGradient<decltype(f), T>(s, beta), Operand<stored_t<R>>{dx},
                               Operand<stored_t<S>>{dy}, Operand<stored_t<S>>{v});
                 });
               });
}

void binary(Binary op, const View& z, const View& x, const View& y) {
  visit_result(z, x, "binary",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 visit_op(op, [&](auto f) {
                   elementwise(BinaryFunction<decltype(f), T>{}, Operand<stored_t<R>>{z}, Operand<stored_t<S>>{x},
                               Operand<stored_t<S>>{y});
                 });
               });
}

void binary_backward(Binary op, int side, const View& d, const View& dz, const View& x, const View& y, double beta) {
  visit_result(d, dz, "binary_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const View &a = x ? x : dz, &b = y ? y : dz;
                 const T scale = static_cast<T>(beta);
                 visit_op(op, [&](auto f) {
                   const auto run = [&](const auto& gradient) {
                     elementwise(gradient, Operand<stored_t<R>>{d}, Operand<stored_t<S>>{dz}, Operand<stored_t<S>>{a},
                                 Operand<stored_t<S>>{b});
                   };
                   if (side == 0) return run(BinaryGradient<decltype(f), 0, T>{{scale}});
                   run(BinaryGradient<decltype(f), 1, T>{{scale}});
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
    elementwise(Where{}, Operand<stored_t<S>>{z}, Operand<uint8_t>{condition}, Operand<stored_t<S>>{x},
                Operand<stored_t<S>>{y});
  });
}

}  // namespace pg::cuda
