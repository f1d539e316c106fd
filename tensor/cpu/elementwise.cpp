// unary, binary, where and their backward passes: the functions of tensor/functors.h, run over any strides.
#include "tensor/cpu/elementwise_loop.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/simd/vec_pow.h"
#include "tensor/functors.h"

namespace pg::cpu {
namespace {

using elementwise::visit_op;

// The number of elements that is worth a thread.
int64_t grain(auto op) { return cost(op) == Cost::cheap ? kGrain : kCostlyGrain; }

template <class Op, class T>
void unary_row(T* y, const T* x, int64_t n, Scalars s) {
  for_vectors<T>(n, [=](int64_t i, int64_t m) { store_lanes(y + i, Op::value(load_lanes(x + i, m), s), m); });
}

// dx = beta·dx + grad
template <class Op, class T>
void unary_backward_row(T* dx, const T* dy, const T* v, int64_t n, Scalars s, T beta) {
  const auto grad = [=](int64_t i, int64_t m) { return Op::grad(load_lanes(dy + i, m), load_lanes(v + i, m), s); };
  write_gradient(dx, n, beta, grad);
}

template <class Op, class T>
void binary_row(T* z, const T* x, const T* y, int64_t n) {
  for_vectors<T>(
      n, [=](int64_t i, int64_t m) { store_lanes(z + i, Op::value(load_lanes(x + i, m), load_lanes(y + i, m)), m); });
}

template <class Op, int kSide, class T>
void binary_backward_row(T* d, const T* dz, const T* x, const T* y, int64_t n, T beta) {
  write_gradient(d, n, beta, [=](int64_t i, int64_t m) {
    const Vec<T> g = load_lanes(dz + i, m), a = load_lanes(x + i, m), b = load_lanes(y + i, m);
    if constexpr (kSide == 0) return Op::grad_x(g, a, b);
    if constexpr (kSide == 1) return Op::grad_y(g, a, b);
  });
}

template <class Op, class T>
void compare_row(uint8_t* z, const T* x, const T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = Op::holds(x[i], y[i]);
}
template <class T>
void compare_as(Comparison op, const View& z, const View& x, const View& y) {
  using Row = void (*)(uint8_t*, const T*, const T*, int64_t);
  const Row row = visit_op(op, [](auto f) -> Row { return &compare_row<decltype(f), T>; });
  elementwise_loop<uint8_t, T, 2>(z, {&x, &y}, false, kGrain,
                                  [=](uint8_t* out, const T* const* in, int64_t n) { row(out, in[0], in[1], n); });
}

// Whether an input of that step is one element for the whole row, or contiguous.
bool one_or_all(int64_t step) { return step == 0 || step == 1; }

template <int kStepX, int kStepY, class T>
void choose(T* z, const uint8_t* condition, const T* x, const T* y, int64_t n) {
  const T x0 = *x, y0 = *y;
  for (int64_t i = 0; i < n; ++i) z[i] = condition[i] ? (kStepX ? x[i] : x0) : (kStepY ? y[i] : y0);
}

}  // namespace

void unary(Unary op, const View& y, const View& x, Scalars s) {
  visit_floating(y.dtype, "unary", [&]<class T>(std::type_identity<T>) {
    using Row = void (*)(T*, const T*, int64_t, Scalars);
    const Row row = visit_op(op, [](auto f) -> Row { return &unary_row<decltype(f), T>; });
    elementwise_loop<T, T, 1>(y, {&x}, false, grain(op),
                              [=](T* out, const T* const* in, int64_t n) { row(out, in[0], n, s); });
  });
}

void unary_backward(Unary op, const View& dx, const View& dy, const View& kept, Scalars s, double beta) {
  visit_floating(dx.dtype, "unary_backward", [&]<class T>(std::type_identity<T>) {
    using Row = void (*)(T*, const T*, const T*, int64_t, Scalars, T);
    const Row row = visit_op(op, [](auto f) -> Row { return &unary_backward_row<decltype(f), T>; });
    const T b = static_cast<T>(beta);
    elementwise_loop<T, T, 2>(dx, {&dy, keeps(op) == Keeps::nothing ? &dy : &kept}, b != 0, grain(op),
                              [=](T* out, const T* const* in, int64_t n) { row(out, in[0], in[1], n, s, b); });
  });
}

void binary(Binary op, const View& z, const View& x, const View& y) {
  visit_floating(x.dtype, "binary", [&]<class T>(std::type_identity<T>) {
    using Row = void (*)(T*, const T*, const T*, int64_t);
    const Row row = visit_op(op, [](auto f) -> Row { return &binary_row<decltype(f), T>; });
    elementwise_loop<T, T, 2>(z, {&x, &y}, false, grain(op),
                              [=](T* out, const T* const* in, int64_t n) { row(out, in[0], in[1], n); });
  });
}

void binary_backward(Binary op, int side, const View& d, const View& dz, const View& x, const View& y, double beta) {
  visit_floating(d.dtype, "binary_backward", [&]<class T>(std::type_identity<T>) {
    using Row = void (*)(T*, const T*, const T*, const T*, int64_t, T);
    const Row row = visit_op(op, [side](auto f) -> Row {
      return side == 0 ? &binary_backward_row<decltype(f), 0, T> : &binary_backward_row<decltype(f), 1, T>;
    });
    const T b = static_cast<T>(beta);
    elementwise_loop<T, T, 3>(d, {&dz, x ? &x : &dz, y ? &y : &dz}, b != 0, grain(op),
                              [=](T* out, const T* const* in, int64_t n) { row(out, in[0], in[1], in[2], n, b); });
  });
}

void compare(Comparison op, const View& z, const View& x, const View& y) {
  if (x.dtype == i32) return compare_as<int32_t>(op, z, x, y);
  if (x.dtype == u8) return compare_as<uint8_t>(op, z, x, y);
  visit_floating(x.dtype, "compare", [&]<class T>(std::type_identity<T>) { compare_as<T>(op, z, x, y); });
}

void where(const View& z, const View& condition, const View& x, const View& y) {
  visit(z.dtype, [&]<class T>(std::type_identity<T>) {
    const auto w = plan_loop(z, condition, x, y);
    const int64_t step[] = {w.inner_stride(0), w.inner_stride(1), w.inner_stride(2), w.inner_stride(3)};
    parallel_for(w.n, kGrain, [&](int64_t begin, int64_t end) {
      w.run(begin, end, [&](const auto& offset, int64_t n) {
        T* out = z.as<T>() + offset[0];
        const uint8_t* c = condition.as<const uint8_t>() + offset[1];
        const T *a = x.as<const T>() + offset[2], *b = y.as<const T>() + offset[3];
        if (step[0] == 1 && step[1] == 1 && one_or_all(step[2]) && one_or_all(step[3])) {
          // With the steps 0 and 1 as constants the loop is vectorised.
          if (step[2] && step[3]) return choose<1, 1>(out, c, a, b, n);
          if (step[2]) return choose<1, 0>(out, c, a, b, n);
          if (step[3]) return choose<0, 1>(out, c, a, b, n);
          return choose<0, 0>(out, c, a, b, n);
        }
        for (int64_t i = 0; i < n; ++i) out[i * step[0]] = c[i * step[1]] ? a[i * step[2]] : b[i * step[3]];
      });
    });
  });
}

}  // namespace pg::cpu
