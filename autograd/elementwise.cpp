// Elementwise operations. The formulas, forward and backward, are in tensor/elementwise.def.
#include <limits>

#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

Tensor unary(Op op, Unary u, const Tensor& x, Scalars s = {}) {
  check_floating(x, name_of(op));
  Tensor y = empty_like(x);
  kernels_of(x).unary(u, y, x, s);
  if (!taped({&x})) return y;
  // y has no node yet, so the closure that holds it does not hold its own node. Where the derivative reads neither x
  // nor y, dy takes the place of `kept`, and the kernel does not read it.
  Tensor kept = keeps(u) == Keeps::input ? x.detach() : keeps(u) == Keeps::output ? y : Tensor{};
  return record(op, y, {&x}, {&kept}, [u, s, kept](const Tensor& dy, Grads& g) {
    if (auto dx = g[0]) kernels_of(dy).unary_backward(u, *dx.into, dy, kept.defined() ? kept : dy, s, dx.beta);
  });
}

// Calls f(z, x, y) with x and y of one shape, broadcast where necessary, and a new z of that shape.
template <class F>
Tensor broadcast_into(const char* name, DType result, const Tensor& x, const Tensor& y, F&& f) {
  if (x.shape() == y.shape()) {
    Tensor z = Tensor::empty(x.shape(), result, x.device());
    f(z, x, y);
    return z;
  }
  const Shape shape = broadcast_shapes(x.shape(), y.shape(), name);
  Tensor z = Tensor::empty(shape, result, x.device());
  f(z, x.view_expand(shape), y.view_expand(shape));
  return z;
}

Tensor forward_binary(Op op, Binary b, const Tensor& x, const Tensor& y) {
  check_same_dtype(x, y, name_of(op));
  check_floating(x, name_of(op));
  return broadcast_into(name_of(op), x.dtype(), x, y, [&](const View& z, const View& left, const View& right) {
    kernels_of(x).binary(b, z, left, right);
  });
}

Tensor compare(const char* name, Comparison c, const Tensor& x, const Tensor& y) {
  check_same_dtype(x, y, name);
  return broadcast_into(name, u8, x, y, [&](const View& z, const View& left, const View& right) {
    kernels_of(x).compare(c, z, left, right);
  });
}

Tensor binary(Op op, Binary b, const Tensor& x, const Tensor& y) {
  Tensor z = forward_binary(op, b, x, y);
  const bool product = b == Binary::mul;  // its gradient for one side reads the other side only
  const Tensor* const kept_x = product && !y.requires_grad() ? nullptr : &x;
  const Tensor* const kept_y = product && !x.requires_grad() ? nullptr : &y;
  return record(
      op, std::move(z), {&x, &y}, {kept_x, kept_y}, [b, x = x.detach(), y = y.detach()](const Tensor& dz, Grads& g) {
        for (int side = 0; side < 2; ++side) {
          const Shape& shape = side == 0 ? x.shape() : y.shape();
          if (!g.wants(side)) continue;
          if (x.shape() == y.shape()) {
            auto slot = g[side];
            kernels_of(x).binary_backward(b, side, *slot.into, dz, x, y, slot.beta);
          } else {
            const Tensor d = Tensor::empty(dz.shape(), dz.dtype(), dz.device());
            kernels_of(x).binary_backward(b, side, d, dz, x.view_expand(dz.shape()), y.view_expand(dz.shape()), 0);
            pass_summed(g, side, d, shape);
          }
        }
      });
}

}  // namespace

// The gradients of add and sub read neither input, so the tape keeps none.
Tensor add(const Tensor& a, const Tensor& b) {
  Tensor z = forward_binary(Op::add, Binary::add, a, b);
  return record(Op::add, std::move(z), {&a, &b}, [sa = a.shape(), sb = b.shape()](const Tensor& dz, Grads& g) {
    pass_summed(g, 0, dz, sa);
    pass_summed(g, 1, dz, sb);
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor z = forward_binary(Op::sub, Binary::sub, a, b);
  return record(Op::sub, std::move(z), {&a, &b}, [sa = a.shape(), sb = b.shape()](const Tensor& dz, Grads& g) {
    pass_summed(g, 0, dz, sa);
    if (g.wants(1)) pass_summed(g, 1, neg(dz), sb);
  });
}

Tensor mul(const Tensor& a, const Tensor& b) { return binary(Op::mul, Binary::mul, a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return binary(Op::div, Binary::div, a, b); }
Tensor pow(const Tensor& a, const Tensor& b) { return binary(Op::pow, Binary::pow, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary(Op::minimum, Binary::minimum, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary(Op::maximum, Binary::maximum, a, b); }
Tensor swiglu(const Tensor& gate, const Tensor& x) { return binary(Op::swiglu, Binary::swiglu, gate, x); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check(condition.defined(), "where: the condition is undefined");
  check(condition.dtype() == u8, "where: the condition must be u8, got {}", condition.dtype());
  check_same_dtype(a, b, "where");
  check_device(a, condition, "where");
  const Shape shape = broadcast_shapes(broadcast_shapes(a.shape(), b.shape(), "where"), condition.shape(), "where");
  Tensor z = Tensor::empty(shape, a.dtype(), a.device());
  const Tensor c = condition.view_expand(shape);
  kernels_of(a).where(z, c, a.view_expand(shape), b.view_expand(shape));
  return record(Op::where, z, {&a, &b}, {&c}, [c, sa = a.shape(), sb = b.shape()](const Tensor& dz, Grads& g) {
    const Tensor zero = Tensor::zeros({}, dz.dtype(), dz.device()).view_expand(dz.shape());
    for (int side = 0; side < 2; ++side) {
      if (!g.wants(side)) continue;
      const Tensor d = Tensor::empty(dz.shape(), dz.dtype(), dz.device());
      kernels_of(dz).where(d, c, side == 0 ? dz : zero, side == 0 ? zero : dz);
      pass_summed(g, side, d, side == 0 ? sa : sb);
    }
  });
}

Tensor affine(const Tensor& x, double scale, double shift) {
  return unary(Op::affine, Unary::affine, x, {scale, shift});
}
Tensor div(const Tensor& x, double divisor) { return unary(Op::div, Unary::div_scalar, x, {divisor, 0}); }
Tensor pow(const Tensor& x, double exponent) { return unary(Op::pow_scalar, Unary::pow_scalar, x, {exponent, 0}); }
Tensor clamp(const Tensor& x, double min, double max) {
  check(min <= max, "clamp: expected min <= max, got {} and {}", min, max);
  return unary(Op::clamp, Unary::clamp, x, {min, max});
}

#define COMPARISON(name, condition) \
  Tensor name(const Tensor& a, const Tensor& b) { return compare(#name, Comparison::name, a, b); }
#define UNARY(name, ...) \
  Tensor name(const Tensor& x) { return unary(Op::name, Unary::name, x); }
#include "tensor/elementwise.def"
Tensor gelu(const Tensor& x, Gelu approximate) {
  return unary(Op::gelu, approximate == Gelu::tanh ? Unary::gelu_tanh : Unary::gelu_erf, x);
}

Tensor cast(const Tensor& x, DType dtype) {
  check(x.defined(), "cast: the tensor is undefined");
  if (dtype == x.dtype()) return x;
  Tensor y = x.to(dtype);
  if (!is_floating(dtype)) return y;
  return record(Op::cast, y, {&x}, [](const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, dy.to(g.dtype(0)));
  });
}

}  // namespace pg
