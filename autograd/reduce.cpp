// Reductions over dimensions, cumulative sums and argmax.
#include <limits>

#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

struct Plan {
  Shape keep;    // x's shape with 1 at the reduced dims
  Shape result;  // keep, or keep without those dims
  double count;  // elements per result
};

Plan plan(const Tensor& x, const std::vector<int>& dims, bool keepdim, const char* op) {
  check_floating(x, op);
  unsigned reduced = 0;
  for (int dim : dims) {
    const int d = dim_along(x, dim, op);
    check(!(reduced >> d & 1), "{}: dim {} appears twice", op, d);
    reduced |= 1u << d;
  }
  if (dims.empty()) reduced = ~0u;
  Plan p{x.shape(), {}, 1};
  for (int i = 0; i < x.rank(); ++i) {
    if (reduced >> i & 1) {
      p.count *= static_cast<double>(x.shape()[i]);
      p.keep[i] = 1;
    }
    if (keepdim || !(reduced >> i & 1)) p.result.push_back(p.keep[i]);
  }
  return p;
}

Tensor reduced(Reduce op, const Tensor& x, const Plan& p, double divisor = 1) {
  const Tensor y = Tensor::empty(p.keep, x.dtype(), x.device());
  kernels_of(x).reduce(op, y, x, divisor, 0);
  return y;
}

}  // namespace

Tensor sum(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  const Plan p = plan(x, dims, keepdim, "sum");
  Tensor y = reduced(Reduce::sum, x, p).view_reshape(p.result);
  return record(Op::sum, y, {&x}, [keep = p.keep, shape = x.shape()](const Tensor& dy, Grads& g) {
    g.pass(0, dy.view_reshape(keep).view_expand(shape));
  });
}

Tensor mean(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  const Plan p = plan(x, dims, keepdim, "mean");
  Tensor y = reduced(Reduce::sum, x, p, p.count).view_reshape(p.result);
  return record(Op::mean, y, {&x}, [keep = p.keep, shape = x.shape(), n = p.count](const Tensor& dy, Grads& g) {
    g.pass(0, div(dy, n).view_reshape(keep).view_expand(shape));
  });
}

Tensor amax(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  const Plan p = plan(x, dims, keepdim, "amax");
  check(p.count > 0, "amax: no maximum of zero elements, shape {}", x.shape());
  if (x.dtype() == bf16) return in_f32(x, [&](const Tensor& wide) { return amax(wide, dims, keepdim); });
  const Tensor top = reduced(Reduce::max, x, p);
  return record(Op::amax, top.view_reshape(p.result), {&x}, {&x, &top},
                [x = x.detach(), top, dims](const Tensor& dy, Grads& g) {
                  const Tensor is_top = eq(x, top).to(x.dtype());
                  const Tensor share = div(dy.view_reshape(top.shape()), sum(is_top, dims, true));
                  g.pass(0, mul(is_top, share));
                });
}

Tensor logsumexp(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  const Plan p = plan(x, dims, keepdim, "logsumexp");
  if (x.dtype() == bf16) return in_f32(x, [&](const Tensor& wide) { return logsumexp(wide, dims, keepdim); });
  Tensor y, top, total;
  {
    NoGrad guard;
    top = reduced(Reduce::max, x, p);
    const Tensor infinity = Tensor::scalar(std::numeric_limits<double>::infinity(), x.dtype(), x.device());
    const Tensor shift = where(lt(abs(top), infinity), top, zeros_like(top));  // x - (±inf) would give NaN
    total = sum(exp(sub(x, shift)), dims, true);
    y = add(log(total), shift);
  }
  // The backward does not use y: its rounding would lose digits for large x.
  return record(Op::logsumexp, y.view_reshape(p.result), {&x}, {&x},
                [x = x.detach(), top, total](const Tensor& dy, Grads& g) {
                  g.pass(0, mul(exp(sub(x, top)), div(dy.view_reshape(total.shape()), total)));
                });
}

Tensor var(const Tensor& x, const ReduceDims& dims, int correction, bool keepdim) {
  const Plan p = plan(x, dims, keepdim, "var");
  check(correction >= 0, "var: expected a correction of 0 or more, got {}", correction);
  if (x.dtype() == bf16) return in_f32(x, [&](const Tensor& wide) { return var(wide, dims, correction, keepdim); });
  const double divisor = std::max(0.0, p.count - correction);
  const Tensor centred = [&] {
    NoGrad guard;
    return sub(x, reduced(Reduce::sum, x, p, p.count));
  }();
  Tensor y = Tensor::empty(p.keep, x.dtype(), x.device());
  {
    NoGrad guard;
    kernels_of(x).reduce(Reduce::sum, y, mul(centred, centred), divisor, 0);
  }
  return record(Op::var, y.view_reshape(p.result), {&x}, [centred, keep = p.keep, divisor](const Tensor& dy, Grads& g) {
    g.pass(0, mul(centred, div(dy, divisor / 2).view_reshape(keep)));
  });
}

Tensor cumsum(const Tensor& x, int dim) {
  check_floating(x, "cumsum");
  const int d = dim_along(x, dim, "cumsum");
  Tensor y = empty_like(x);
  kernels_of(x).cumsum(at_least_1d(y), at_least_1d(x), d, false, 0);
  return record(Op::cumsum, y, {&x}, [d](const Tensor& dy, Grads& g) {
    if (auto dx = g[0]) kernels_of(dy).cumsum(at_least_1d(*dx.into), at_least_1d(dy), d, true, dx.beta);
  });
}

Tensor argmax(const Tensor& x, int dim, bool keepdim) {
  check_floating(x, "argmax");
  const int d = dim_along(x, dim, "argmax");
  if (x.rank() == 0) return argmax(at_least_1d(x), 0, false);
  check(x.shape()[d] > 0, "argmax: no elements along dim {}, shape {}", d, x.shape());
  check(x.shape()[d] <= std::numeric_limits<int32_t>::max(),
        "argmax: expected at most 2^31 - 1 elements along dim {}, whose indices an i32 holds, got shape {}", d,
        x.shape());
  const Tensor moved = packed(x.view_transpose(d, -1));
  Shape shape = moved.shape();
  const Tensor flat = rows(moved);
  const Tensor index = Tensor::empty({flat.size(0)}, i32, x.device());
  kernels_of(x).argmax(index, flat);
  shape[shape.rank() - 1] = 1;
  Tensor y = index.view_reshape(shape).view_transpose(d, -1);
  if (!keepdim) y = y.view_select(d, 0);
  return packed(y);
}

}  // namespace pg
