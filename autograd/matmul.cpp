// Matrix products. For c = a·b the gradients are da = dc·bᵀ and db = aᵀ·dc. These products write into the gradient
// buffers with beta: there is no temporary dW and no separate addition.
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

Tensor flat(const Tensor& x) { return reshaped(x, {-1, x.shape().back()}); }  // x must have elements

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

namespace {

int64_t row_count(const Tensor& x) {
  int64_t r = 1;
  for (int i = 0; i < x.rank() - 1; ++i) r *= x.shape()[i];
  return r;
}

Tensor linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const char* op, MatmulArgs args,
                      Tensor& x2) {
  check_same_dtype(x, weight, op);
  check_floating(x, op);
  check(x.rank() >= 1 && weight.rank() == 2 && x.size(-1) == weight.size(1),
        "{}: expected x [..., K] and weight [N, K], got {} and {}", op, x.shape(), weight.shape());
  if (bias.defined()) {
    check_same_dtype(x, bias, op);
    check(bias.rank() == 1 && bias.size(0) == weight.size(0), "{}: bias must be [{}], got {}", op, weight.size(0),
          bias.shape());
  }
  Shape shape = x.shape();
  const int64_t n = weight.size(0), r = row_count(x);
  shape[x.rank() - 1] = n;
  Tensor y = aligned_rows(shape, x.dtype(), x.device());
  x2 = reshaped(x.detach(), {r, x.size(-1)});
  const Tensor packed_bias = packed(bias);
  args.bias = packed_bias;
  kernels_of(x).matmul(y.view_reshape({r, n}), x2, weight.view_transpose(0, 1), args);
  return y;
}

// Gradients of inputs i (a weight [N, K]) and i + 1 (its bias): dw = dyᵀ·x, db[n] = Σ over r of dy[r, n]. dy [R, N], x
// [R, K].
void weight_backward(const Tensor& dy, const Tensor& x, Grads& g, int i) {
  const Kernels& k = kernels_of(dy);
  const GradSlot dw = g[i], db = g[i + 1];
  if (dw) {
    MatmulArgs args{.beta = float(dw.beta)};
    if (db) args.row_sums = *db.into, args.row_sums_beta = float(db.beta);
    k.matmul(*dw.into, dy.view_transpose(0, 1), x, args);
  } else if (db) {
    k.reduce(Reduce::sum, with_rank(*db.into, 2), dy, 1, db.beta);
  }
}

// Gradients of inputs 0 (x [R, K]), 1 (the weight [N, K]) and 2 (its bias); dy [R, N].
void linear_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, Grads& g) {
  if (auto dx = g[0]) kernels_of(dy).matmul(dx.into->view_reshape(x.shape()), dy, weight, {.beta = float(dx.beta)});
  weight_backward(dy, x, g, 1);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor x2;
  Tensor y = linear_forward(x, weight, bias, "linear", {}, x2);
  const Tensor* inputs[] = {&x, &weight, &bias};
  if (!wants_record(inputs, 3)) return y;  // before the closure's copies, whose cost is noticeable for a small layer
  return record(Op::linear, std::move(y), {&x, &weight, &bias},
                {weight.requires_grad() ? &x2 : nullptr, x.requires_grad() ? &weight : nullptr},
                [x2, w = weight.detach()](const Tensor& dy, Grads& g) {
                  linear_backward(reshaped(dy, {x2.size(0), w.size(0)}), x2, w, g);
                });
}

namespace {

// gelu(linear(x)) and, if taped, what a backward needs: x2 [R, K] and pre [R, N], the values before gelu.
struct GeluLayer {
  Tensor y, x2, pre;

  GeluLayer(const Tensor& x, const Tensor& weight, const Tensor& bias, const char* op, bool taped) {
    MatmulArgs args{.activation = Activation::gelu_tanh};
    if (taped) {
      check(x.rank() >= 1 && weight.rank() == 2, "{}: expected x [..., K] and weight [N, K], got {} and {}", op,
            x.shape(), weight.shape());
      pre = Tensor::empty({row_count(x), weight.size(0)}, x.dtype(), x.device());
      args.pre_activation = pre;
    }
    y = linear_forward(x, weight, bias, op, args, x2);
  }
};

}  // namespace

Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor* inputs[] = {&x, &weight, &bias};
  const GeluLayer layer(x, weight, bias, "linear_gelu", wants_record(inputs, 3));
  return record(Op::linear_gelu, layer.y, {&x, &weight, &bias}, {&layer.x2, &weight},
                [x2 = layer.x2, w = weight.detach(), pre = layer.pre](const Tensor& dy, Grads& g) {
                  const Tensor dpre = empty_like(pre);
                  kernels_of(dy).unary_backward(Unary::gelu_tanh, dpre, reshaped(dy, pre.shape()), pre, {}, 0);
                  linear_backward(dpre, x2, w, g);
                });
}

Tensor mlp_gelu(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2) {
  const Tensor* inputs[] = {&x, &w1, &b1, &w2, &b2};
  GeluLayer hidden(x, w1, b1, "mlp_gelu", wants_record(inputs, 5));
  Tensor h2;
  Tensor y = linear_forward(hidden.y, w2, b2, "mlp_gelu", {}, h2);
  return record(Op::mlp_gelu, std::move(y), {&x, &w1, &b1, &w2, &b2}, {&hidden.x2, &w1, &w2},
                [x2 = hidden.x2, pre = hidden.pre, h2, w1 = w1.detach(), w2 = w2.detach()](const Tensor& d, Grads& g) {
                  const Tensor dy = reshaped(d, {h2.size(0), w2.size(0)});
                  weight_backward(dy, h2, g, 3);
                  if (!g.wants(0) && !g.wants(1) && !g.wants(2)) return;
                  const Tensor dpre = empty_like(pre);
                  kernels_of(dy).matmul(dpre, dy, w2,
                                        {.activation = Activation::gelu_tanh_backward, .pre_activation = pre});
                  linear_backward(dpre, x2, w1, g);
                });
}

}  // namespace pg
