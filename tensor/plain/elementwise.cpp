// Copies, and the functions of tensor/elementwise.def with their gradients, element by element.
#include "tensor/functors.h"
#include "tensor/plain/access.h"
#include "tensor/plain/real.h"

namespace pg::plain {

void copy(const View& y, const View& x) {
  each(y.shape, [&](const Dims& i) { put(y, at(y, i), of(x, i)); });
}

void fill(const View& y, double value) {
  each(y.shape, [&](const Dims& i) { put(y, at(y, i), value); });
}

void accumulate(const View& y, const View& x, double beta) {
  each(y.shape, [&](const Dims& i) { add(y, at(y, i), of(x, i), beta); });
}

void unary(Unary op, const View& y, const View& x, Scalars s) {
  elementwise::visit_op(
      op, [&](auto f) { each(y.shape, [&](const Dims& i) { put(y, at(y, i), Real(f.value(Real(of(x, i)), s)).v); }); });
}

void unary_backward(Unary op, const View& dx, const View& dy, const View& kept, Scalars s, double beta) {
  elementwise::visit_op(op, [&](auto f) {
    each(dx.shape, [&](const Dims& i) {
      const Real g = of(dy, i), k = keeps(op) == Keeps::nothing ? 0.0 : of(kept, i);
      add(dx, at(dx, i), Real(f.grad(g, k, s)).v, beta);
    });
  });
}

void binary(Binary op, const View& z, const View& x, const View& y) {
  elementwise::visit_op(op, [&](auto f) {
    each(z.shape, [&](const Dims& i) { put(z, at(z, i), Real(f.value(Real(of(x, i)), Real(of(y, i)))).v); });
  });
}

void binary_backward(Binary op, int side, const View& d, const View& dz, const View& x, const View& y, double beta) {
  elementwise::visit_op(op, [&](auto f) {
    each(d.shape, [&](const Dims& i) {
      const Real g = of(dz, i), a = x ? of(x, i) : 0.0, b = y ? of(y, i) : 0.0;
      add(d, at(d, i), (side == 0 ? Real(f.grad_x(g, a, b)) : Real(f.grad_y(g, a, b))).v, beta);
    });
  });
}

void compare(Comparison op, const View& z, const View& x, const View& y) {
  elementwise::visit_op(op, [&](auto f) {
    each(z.shape, [&](const Dims& i) { put(z, at(z, i), f.holds(Real(of(x, i)), Real(of(y, i)))); });
  });
}

void where(const View& z, const View& condition, const View& x, const View& y) {
  each(z.shape, [&](const Dims& i) { put(z, at(z, i), of(condition, i) != 0 ? of(x, i) : of(y, i)); });
}

}  // namespace pg::plain
