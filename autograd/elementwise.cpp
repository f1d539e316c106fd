// One result element from the elements at the same place: forward and backward of each are one functor in the backend.
#include <limits>

#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

// What the derivative is a function of, hence what the tape keeps.
enum class Saves { nothing, input, output };

Saves saves(Unary u) {
  switch (u) {
    case Unary::neg:
    case Unary::affine:
    case Unary::div_scalar:
      return Saves::nothing;
    case Unary::exp:
    case Unary::expm1:
    case Unary::sqrt:
    case Unary::rsqrt:
    case Unary::reciprocal:
    case Unary::tanh:
    case Unary::sigmoid:
    case Unary::relu:
      return Saves::output;
    default:
      return Saves::input;
  }
}

Tensor unary(Op op, Unary u, const Tensor& x, Scalars s = {}) {
  check_floating(x, name_of(op));
  Tensor y = empty_like(x);
  kernels_of(x).unary(u, y, x, s);
  if (!taped({&x})) return y;
  Tensor saved = saves(u) == Saves::input ? x.detach() : saves(u) == Saves::output ? y : Tensor{};
  return record(op, y, {&x}, {&saved}, [u, s, saved](const Tensor& dy, Grads& g) {
    const Tensor& kept = saved.defined() ? saved : dy;  // the functor reads only what `saves` names
    if (auto dx = g[0]) kernels_of(dy).unary_backward(u, *dx.into, dy, kept, kept, s, dx.beta);
  });
}

Tensor forward_binary(const char* name, Binary b, const Tensor& x, const Tensor& y, bool comparison) {
  check_same_dtype(x, y, name);
  if (!comparison) check_floating(x, name);
  if (x.shape() == y.shape()) {
    Tensor z = Tensor::empty(x.shape(), comparison ? u8 : x.dtype(), x.device());
    kernels_of(x).binary(b, z, x, y);
    return z;
  }
  const Shape shape = broadcast_shapes(x.shape(), y.shape(), name);
  Tensor z = Tensor::empty(shape, comparison ? u8 : x.dtype(), x.device());
  kernels_of(x).binary(b, z, x.view_expand(shape), y.view_expand(shape));
  return z;
}

Tensor binary(Op op, Binary b, const Tensor& x, const Tensor& y) {
  Tensor z = forward_binary(name_of(op), b, x, y, false);
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

Tensor compare(const char* name, Binary b, const Tensor& x, const Tensor& y) {
  return forward_binary(name, b, x, y, true);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor z = forward_binary("add", Binary::add, a, b, false);
  return record(Op::add, std::move(z), {&a, &b}, [sa = a.shape(), sb = b.shape()](const Tensor& dz, Grads& g) {
    pass_summed(g, 0, dz, sa);
    pass_summed(g, 1, dz, sb);
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor z = forward_binary("sub", Binary::sub, a, b, false);
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

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", Binary::eq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", Binary::ne, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", Binary::lt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", Binary::le, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", Binary::gt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", Binary::ge, a, b); }

Tensor neg(const Tensor& x) { return unary(Op::neg, Unary::neg, x); }
Tensor abs(const Tensor& x) { return unary(Op::abs, Unary::abs, x); }
Tensor exp(const Tensor& x) { return unary(Op::exp, Unary::exp, x); }
Tensor expm1(const Tensor& x) { return unary(Op::expm1, Unary::expm1, x); }
Tensor log(const Tensor& x) { return unary(Op::log, Unary::log, x); }
Tensor log1p(const Tensor& x) { return unary(Op::log1p, Unary::log1p, x); }
Tensor sqrt(const Tensor& x) { return unary(Op::sqrt, Unary::sqrt, x); }
Tensor rsqrt(const Tensor& x) { return unary(Op::rsqrt, Unary::rsqrt, x); }
Tensor reciprocal(const Tensor& x) { return unary(Op::reciprocal, Unary::reciprocal, x); }
Tensor sin(const Tensor& x) { return unary(Op::sin, Unary::sin, x); }
Tensor cos(const Tensor& x) { return unary(Op::cos, Unary::cos, x); }
Tensor tanh(const Tensor& x) { return unary(Op::tanh, Unary::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary(Op::sigmoid, Unary::sigmoid, x); }
Tensor softplus(const Tensor& x) { return unary(Op::softplus, Unary::softplus, x); }
Tensor relu(const Tensor& x) { return unary(Op::relu, Unary::relu, x); }
Tensor silu(const Tensor& x) { return unary(Op::silu, Unary::silu, x); }
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
