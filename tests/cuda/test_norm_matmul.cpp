// A residual sum, its norm and a linear layer in one kernel, compared with the CPU's operations in f64 and with CUDA's
// separate ones.
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

struct Case {
  int64_t rows, k, n;
  bool rms = false, residual = true, affine = true, bias = true, gelu = false, transposed = false;
};

struct Tensors {
  Tensor x, residual, weight, bias;
  RowNorm norm;
};

// Values rounded to `dtype`, on the host.
Tensors inputs(const Case& c, DType dtype) {
  Tensors t{.x = random({c.rows, c.k}, dtype, 1),
            .residual = {},
            .weight = random({c.n, c.k}, dtype, 2),
            .bias = {},
            .norm = {.rms = c.rms}};
  if (c.residual) t.residual = random({c.rows, c.k}, dtype, 3);
  if (c.affine) t.norm.weight = random({c.k}, dtype, 4);
  if (c.affine && !c.rms) t.norm.bias = random({c.k}, dtype, 5);
  if (c.bias) t.bias = random({c.n}, dtype, 6);
  return t;
}
Tensors mapped(Tensors t, const std::function<Tensor(const Tensor&)>& f) {
  for (Tensor* x : {&t.x, &t.residual, &t.weight, &t.bias, &t.norm.weight, &t.norm.bias}) {
    if (x->defined()) *x = f(*x);
  }
  return t;
}
std::pair<Tensor, Tensor> fused(const Tensors& t, bool gelu) {
  return add_norm_linear(t.x, t.residual, t.norm, t.weight, t.bias, gelu);
}
// The separate operations.
std::pair<Tensor, Tensor> separate(const Tensors& t, bool gelu) {
  const Tensor sum = t.residual.defined() ? t.x + t.residual : t.x;
  const Tensor normed =
      t.norm.rms ? rms_norm(sum, t.norm.weight, t.norm.eps) : layer_norm(sum, t.norm.weight, t.norm.bias, t.norm.eps);
  return {sum, gelu ? linear_gelu(normed, t.weight, t.bias) : linear(normed, t.weight, t.bias)};
}

void check_case(const Case& c, DType dtype) {
  INFO(name_of(dtype) << ", " << c.rows << " x " << c.k << " x " << c.n << (c.rms ? ", rms" : "")
                      << (c.residual ? ", residual" : "") << (c.affine ? ", affine" : "") << (c.bias ? ", bias" : "")
                      << (c.gelu ? ", gelu" : "") << (c.transposed ? ", transposed" : ""));
  const Tensors host = inputs(c, dtype);
  Tensors there = mapped(host, [](const Tensor& x) { return x.to(device()); });
  if (c.transposed) there.weight = there.weight.view_transpose(0, 1).contiguous_copy().view_transpose(0, 1);
  const auto [sum, y] = fused(there, c.gelu);
  const auto [wide_sum, wide_y] = separate(mapped(host, [](const Tensor& x) { return x.to(f64); }), c.gelu);
  // A value of y is a sum of k terms.
  CHECK(relative_error(y, wide_y) <= 2 * tolerance(dtype));
  CHECK(relative_error(sum, wide_sum) <= tolerance(dtype));
  const auto [apart_sum, apart_y] = separate(there, c.gelu);
  CHECK(same_bits(sum, apart_sum));
  CHECK(relative_error(y, apart_y) <=
        (dtype == bf16 ? 0x1p-7 : tolerance(dtype)));  // in bf16 one unit in the last place
  // Within one kernel a row does not depend on the other rows, and the CPU's bits are those of the separate operations.
  if (c.rows > 1 && c.rows <= 8 && c.k < 4096 && dtype != f64 && !c.transposed) {  // one kernel for both
    Tensors first = there;
    first.x = there.x.view_slice(0, 0, 1);
    if (c.residual) first.residual = there.residual.view_slice(0, 0, 1);
    CHECK(same_bits(fused(first, c.gelu).second, y.view_slice(0, 0, 1)));
  }
  const auto [host_sum, host_y] = fused(host, c.gelu);
  const auto [expected_sum, expected_y] = separate(host, c.gelu);
  CHECK(same_bits(host_sum, expected_sum));
  CHECK(same_bits(host_y, expected_y));
}

}  // namespace

TEST_CASE("CUDA add_norm_linear of every row count, size and option", "[cuda][decode][norm_matmul]") {
  NoGrad no_grad;
  for (const DType dtype : {f32, bf16, f64}) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9}) check_case({rows, 64, 40}, dtype);
    for (const int64_t k : {1, 7, 8, 33, 264, 1028, 1100, 2056}) check_case({3, k, 19}, dtype);
    for (const int64_t n : {1, 7, 9, 257}) check_case({2, 48, n}, dtype);
    check_case({1, 16, 5000}, dtype);  // more columns than all warps of the kernel
    check_case({8, 4096, 9}, dtype);   // rows that do not fit into shared memory
    check_case({0, 16, 8}, dtype);
    for (const bool flag : {false, true}) {
      check_case({.rows = 2, .k = 80, .n = 33, .rms = flag, .residual = !flag, .gelu = true}, dtype);
      check_case({.rows = 2, .k = 80, .n = 33, .rms = true, .residual = flag, .affine = !flag, .bias = false}, dtype);
      check_case({.rows = 1, .k = 1200, .n = 24, .rms = flag, .affine = false, .bias = flag}, dtype);
      check_case({.rows = 3, .k = 40, .n = 24, .rms = flag, .gelu = flag, .transposed = true}, dtype);
    }
  }
}

TEST_CASE("CUDA add_norm_linear takes views at any address", "[cuda][decode][norm_matmul]") {
  NoGrad no_grad;
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t skip : {0, 1, 8}) {
      INFO(name_of(dtype) << ", " << skip << " elements before the weights");
      const Tensors host = inputs({2, 56, 21}, dtype);
      const Tensors there = mapped(host, [&](const Tensor& x) {
        Shape wider = x.shape();
        wider[x.rank() - 1] += skip;
        const Tensor memory = Tensor::full(wider, NAN, dtype, device());
        const Tensor part = memory.view_slice(-1, skip, wider.back());
        part.copy_from(x.to(device()));
        return part;
      });
      const auto [sum, y] = fused(there, true);
      const auto [wide_sum, wide_y] = separate(mapped(host, [](const Tensor& x) { return x.to(f64); }), true);
      CHECK(relative_error(y, wide_y) <= 2 * tolerance(dtype));
      CHECK(relative_error(sum, wide_sum) <= tolerance(dtype));
    }
  }
}

TEST_CASE("CUDA add_norm_linear in a graph follows its inputs", "[cuda][decode][norm_matmul]") {
  need_graphs();
  NoGrad no_grad;
  const Tensors t = mapped(inputs({2, 64, 24}, bf16), [](const Tensor& x) { return x.to(device()); });
  std::pair<Tensor, Tensor> recorded;
  fused(t, true);
  const Graph graph(device(), [&] { recorded = fused(t, true); });
  for (const uint64_t seed : {7, 8}) {
    t.x.copy_from(random({2, 64}, bf16, seed).to(device()));
    graph.replay();
    const auto [sum, y] = fused(t, true);
    CHECK(same_bits(recorded.first, sum));
    CHECK(same_bits(recorded.second, y));
  }
}
