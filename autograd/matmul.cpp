// matmul(). For c = a·b the gradients are da = dc·bᵀ and db = aᵀ·dc. These products write into the gradient buffers
// with beta: there is no temporary gradient and no separate addition.
#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

Shape with_matrix(const Shape& batch, int64_t rows, int64_t columns) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}
Shape batch_of(const Tensor& x) { return Shape(std::span(x.shape().begin(), static_cast<size_t>(x.rank() - 2))); }

// x [..., C] as a matrix [R, C]; x must have elements.
Tensor flat(const Tensor& x) { return reshaped(x, {-1, x.shape().back()}); }

// If b is a single matrix, the leading dims of a are merged into its rows, and the product is one 2-d product.
Tensor matmul_rows(const Tensor& a, const Tensor& b) {
  Shape shape = a.shape();
  shape[a.rank() - 1] = b.size(1);
  Tensor c = Tensor::empty(shape, a.dtype(), a.device());
  const Tensor a2 = flat(a.detach());
  kernels_of(a).matmul(c.view_reshape({a2.size(0), b.size(1)}), a2, b, {});
  return record(Op::matmul, c, {&a, &b}, {b.requires_grad() ? &a2 : nullptr, a.requires_grad() ? &b : nullptr},
                [a2, b = b.detach()](const Tensor& dc, Grads& g) {
                  const Tensor dc2 = flat(dc);
                  if (auto da = g[0]) {
                    kernels_of(dc).matmul(da.into->view_reshape(a2.shape()), dc2, b.view_transpose(0, 1),
                                          {.beta = float(da.beta)});
                  }
                  if (auto db = g[1])
                    kernels_of(dc).matmul(*db.into, a2.view_transpose(0, 1), dc2, {.beta = float(db.beta)});
                });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_same_dtype(a, b, "matmul");
  check_floating(a, "matmul");
  check(a.rank() >= 2 && b.rank() >= 2, "matmul: expected matrices, got {} and {}; unsqueeze() a vector first",
        a.shape(), b.shape());
  if (a.size(-1) != b.size(-2)) {
    fail("matmul: inner sizes differ: a is {}, b is {} ({} vs {}){}", a.shape(), b.shape(), a.size(-1), b.size(-2),
         a.size(-1) == b.size(-1) ? "; did you mean transpose(b)?" : "");
  }
  if (b.rank() == 2 && a.numel() > 0 && b.numel() > 0) return matmul_rows(a, b);
  const Shape batch = broadcast_shapes(batch_of(a), batch_of(b), "matmul");
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  Tensor c = Tensor::empty(with_matrix(batch, m, n), a.dtype(), a.device());
  const Tensor av = a.view_expand(with_matrix(batch, m, k)), bv = b.view_expand(with_matrix(batch, k, n));
  kernels_of(a).matmul(c, av, bv, {});
  return record(Op::matmul, c, {&a, &b}, {b.requires_grad() ? &av : nullptr, a.requires_grad() ? &bv : nullptr},
                [av, bv, sa = a.shape(), sb = b.shape()](const Tensor& dc, Grads& g) {
                  for (int side = 0; side < 2; ++side) {
                    if (!g.wants(side)) continue;
                    const Tensor left = side == 0 ? dc : av.view_transpose(-2, -1);
                    const Tensor right = side == 0 ? bv.view_transpose(-2, -1) : dc;
                    const Tensor& input = side == 0 ? av : bv;
                    if (input.shape() == (side == 0 ? sa : sb)) {
                      auto slot = g[side];
                      kernels_of(dc).matmul(*slot.into, left, right, {.beta = float(slot.beta)});
                    } else {
                      const Tensor d = Tensor::empty(input.shape(), dc.dtype(), dc.device());
                      kernels_of(dc).matmul(d, left, right, {});
                      pass_summed(g, side, d, side == 0 ? sa : sb);
                    }
                  }
                });
}

}  // namespace pg
