// The layers y = x·weightᵀ + bias and their backward: dx = dy·weight, dw = dyᵀ·x, and db is the sum of the rows of dy.
// The products write into the gradient buffers with beta, as those of matmul() do.
#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

int64_t row_count(const Tensor& x) {
  int64_t r = 1;
  for (int i = 0; i < x.rank() - 1; ++i) r *= x.shape()[i];
  return r;
}

// y = x·weightᵀ + bias. x2 becomes x as a matrix [R, K], which the backward reads. Error messages name `op`.
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
  if (!taped({&x, &weight, &bias}))
    return y;  // before the closure's copies, whose cost is noticeable for a small layer
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
  const GeluLayer layer(x, weight, bias, "linear_gelu", taped({&x, &weight, &bias}));
  return record(Op::linear_gelu, layer.y, {&x, &weight, &bias}, {&layer.x2, &weight},
                [x2 = layer.x2, w = weight.detach(), pre = layer.pre](const Tensor& dy, Grads& g) {
                  const Tensor dpre = empty_like(pre);
                  kernels_of(dy).unary_backward(Unary::gelu_tanh, dpre, reshaped(dy, pre.shape()), pre, {}, 0);
                  linear_backward(dpre, x2, w, g);
                });
}

Tensor mlp_gelu(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2) {
  GeluLayer hidden(x, w1, b1, "mlp_gelu", taped({&x, &w1, &b1, &w2, &b2}));
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
