// A residual sum, its norm and a linear layer as one operation, for decoding.
#include "autograd/op_util.h"

namespace pg {

using namespace detail;

std::pair<Tensor, Tensor> add_norm_linear(const Tensor& x, const Tensor& residual, const RowNorm& norm,
                                          const Tensor& weight, const Tensor& bias, bool gelu) {
  const char* const op = "add_norm_linear";
  check_floating(x, op);
  check_same_dtype(x, weight, op);
  check(x.rank() >= 1 && weight.rank() == 2 && x.size(-1) == weight.size(1),
        "{}: expected x [..., K] and weight [N, K], got {} and {}", op, x.shape(), weight.shape());
  check(norm.eps >= 0, "{}: expected an eps of 0 or more, got {}", op, norm.eps);
  check(!norm.rms || !norm.bias.defined(), "{}: an RMS norm has no bias", op);
  if (residual.defined()) {
    check_same_dtype(x, residual, op);
    check(x.shape() == residual.shape(), "{}: x is {}, residual {}", op, x.shape(), residual.shape());
  }
  const int64_t k = x.size(-1), n = weight.size(0);
  const auto check_vector = [&](const Tensor& v, int64_t size, const char* what) {
    if (!v.defined()) return;
    check_same_dtype(x, v, op);
    check(v.shape() == Shape{size}, "{}: {} must be [{}], got {}", op, what, size, v.shape());
  };
  check_vector(norm.weight, k, "the norm's weight");
  check_vector(norm.bias, k, "the norm's bias");
  check_vector(bias, n, "bias");
  check(!taped({&x, &residual, &norm.weight, &norm.bias, &weight, &bias}),
        "{}: has no gradient; call it under NoGrad, or use add_layer_norm or add_rms_norm, and linear", op);

  Shape shape = x.shape();
  shape[x.rank() - 1] = n;
  const Tensor x2 = rows(x), added = residual.defined() ? rows(residual) : Tensor{};
  const Tensor sum = residual.defined() ? Tensor::empty(x2.shape(), x.dtype(), x.device()) : Tensor{};
  const Tensor y = aligned_rows(shape, x.dtype(), x.device());
  const Tensor normed = Tensor::empty(x2.shape(), x.dtype(), x.device());
  const Tensor mean = Tensor::empty({x2.size(0)}, sum_type(x.dtype()), x.device());
  const Tensor rstd = Tensor::empty(mean.shape(), mean.dtype(), x.device());
  const Tensor norm_weight = packed(norm.weight), norm_bias = packed(norm.bias), product_bias = packed(bias);
  kernels_of(x).norm_matmul(y.view_reshape({x2.size(0), n}), sum, x2, added, weight.view_transpose(0, 1),
                            {.rms = norm.rms,
                             .norm_weight = norm_weight,
                             .norm_bias = norm_bias,
                             .eps = norm.eps,
                             .bias = product_bias,
                             .activation = gelu ? Activation::gelu_tanh : Activation::none,
                             .normed = normed,
                             .mean = mean,
                             .rstd = rstd});
  return {sum.defined() ? sum.view_reshape(x.shape()) : x.detach(), y};
}

}  // namespace pg
