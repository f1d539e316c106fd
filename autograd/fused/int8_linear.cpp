// Linear layers with 8-bit weights.
#include "autograd/int8_linear.h"

#include <cmath>

#include "autograd/op_util.h"
#include "tensor/backend.h"
#include "tensor/base/parallel.h"

namespace pg {

using namespace detail;

namespace {

constexpr int64_t kPanel = Int8Weight::kPanel;
constexpr int64_t kMostCudaRows = 8;  // more rows read the weight again for every 4

// q as floating values [N, K].
Tensor integers(const Int8Weight& w, DType dtype) {
  const Tensor bytes = cast(w.q, f32), signs = cast(gt(bytes, Tensor::full({1}, 127, f32, bytes.device())), f32);
  const Tensor values = transpose(bytes - signs * 256, 1, 2);
  const int64_t k = w.columns();
  return cast(slice(reshape(values, {w.q.size(0) * kPanel, k}), 0, 0, w.rows()), dtype);
}

}  // namespace

Int8Weight quantize_int8(const Tensor& weight, std::string_view name) {
  check(weight.rank() == 2 && weight.size(1) >= 1 && (weight.dtype() == f32 || weight.dtype() == bf16),
        "quantize_int8: expected a weight [N, K] of f32 or bf16, '{}' is {} {}", name, weight.dtype(), weight.shape());
  const int64_t n = weight.size(0), k = weight.size(1), panels = (n + kPanel - 1) / kPanel;
  const Tensor host = packed(weight.detach().to(Device{}).to(f32));
  const auto from = host.data<const float>();
  const Tensor q = Tensor::zeros({panels, k, kPanel}, u8), scale = Tensor::zeros({n}, f32);
  const auto to = q.data<uint8_t>();
  const auto scales = scale.data<float>();
  parallel_for(n, kPanel, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* w = from.data() + row * k;
      float largest = 0;
      for (int64_t i = 0; i < k; ++i) {
        check(std::isfinite(w[i]), "quantize_int8: '{}' has a non-finite value ({}) in row {}, column {}", name, w[i],
              row, i);
        largest = std::max(largest, std::abs(w[i]));
      }
      if (largest == 0) continue;
      float step = largest / 127;
      // Denormal scales have few digits: the next one, if the largest value would not fit.
      if (step * 127.5 < largest) step = std::nextafter(step, INFINITY);
      scales[row] = step;
      uint8_t* const panel = to.data() + row / kPanel * k * kPanel + row % kPanel;
      for (int64_t i = 0; i < k; ++i) {
        panel[i * kPanel] = static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(double{w[i]} / step)));
      }
    }
  });
  return {q.to(weight.device()), scale.to(weight.device())};
}

Tensor dequantized(const Int8Weight& w) {
  const NoGrad no_grad;
  return integers(w, f32) * w.scale.view_reshape({w.rows(), 1});
}

Tensor int8_linear(const Tensor& x, const Int8Weight& w, const Tensor& bias) {
  const char* const op = "int8_linear";
  check(x.dtype() == f32 || x.dtype() == bf16, "{}: expected x of f32 or bf16, got {}", op, x.dtype());
  check(x.rank() >= 1 && x.size(-1) == w.columns(), "{}: expected x [..., {}], got {}", op, w.columns(), x.shape());
  check_device(x, w.q, op);
  if (bias.defined()) {
    check_same_dtype(x, bias, op);
    check(bias.shape() == Shape{w.rows()}, "{}: bias must be [{}], got {}", op, w.rows(), bias.shape());
  }
  check(!taped({&x, &bias}), "{}: 8-bit weights have no gradient; they are for decoding under NoGrad, not for training",
        op);
  const NoGrad no_grad;
  Shape shape = x.shape();
  shape[x.rank() - 1] = w.rows();
  const Tensor x2 = rows(x);
  const int64_t count = x2.size(0);
  if (x.device().on_host() || (count <= kMostCudaRows && !backend(x.device()).exact())) {
    const Tensor y = aligned_rows(shape, x.dtype(), x.device());
    kernels_of(x).int8_matmul(y.view_reshape({count, w.rows()}), x2, w.q, w.scale, packed(bias));
    return y;
  }
  const Tensor sums = Tensor::empty({count, w.rows()}, f32, x.device());
  kernels_of(x).matmul(sums, x2, integers(w, x.dtype()).view_transpose(0, 1), {});
  const Tensor scaled = sums * w.scale;
  return cast(bias.defined() ? scaled + cast(bias, f32) : scaled, x.dtype()).view_reshape(shape);
}

}  // namespace pg
