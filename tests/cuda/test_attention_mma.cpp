// Attention on tensor cores against the CPU in f64 and against the kernels of CUDA that do without them.
#include "tensor/cuda/attention_mma.h"
#include "tests/cuda/attention_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Rows that begin 2 bytes behind a multiple of 16: tensor cores are not for these.
Tensor misaligned(const Tensor& x) {
  const Shape s = x.shape();
  const Tensor copy = Tensor::full({s[0], s[1], s[2], s[3] + 8}, NAN, x.dtype(), x.device()).view_slice(3, 1, s[3] + 1);
  copy.copy_from(x);
  return copy;
}
Attention without_tensor_cores(const Attention& x) {
  Attention y = x;
  for (Tensor* t : {&y.q, &y.k, &y.v, &y.out, &y.dout, &y.dq, &y.dk, &y.dv}) {
    if (t->defined()) *t = misaligned(*t);
  }
  y.lse = Tensor::full(x.lse.shape(), NAN, f32, device());
  return y;
}
bool taken(const Attention& x) {
  const bool forward = cuda::takes_mma({x.q, x.k, x.v, x.out}, {});
  if (!x.dq.defined()) return forward;
  return forward && cuda::takes_mma({x.q, x.k, x.v, x.out, x.dout, x.dq, x.dk, x.dv}, {});
}

// q, k and v behind one another in each token's row: [B, T, 3, H, D].
Attention packed(const Case& c) {
  Attention x = inputs(c, bf16);
  const Tensor qkv = random({c.batch, c.queries, 3, c.heads, c.size}, bf16, 7).to(device());
  const auto part = [&](int64_t i) { return qkv.view_select(2, i).view_transpose(1, 2); };
  x.q = part(0), x.k = part(1), x.v = part(2);
  return x;
}

// An error that other kernels for bf16 would make too, and small.
void check_error(const char* what, const Tensor& got, const Tensor& other, const Tensor& expected) {
  const double error = error_of(got, expected), usual = error_of(other, expected);
  INFO(what << ": error " << error << ", without tensor cores " << usual);
  CHECK(error <= 1e-2);
  CHECK(error <= 2 * usual + 1e-6);
}

void check_forward(Attention x) {
  INFO(x.c.title());
  Attention y = reference_of(x), other = without_tensor_cores(x);
  REQUIRE(taken(x));
  REQUIRE_FALSE(taken(other));
  x.forward(kernels(device()));
  other.forward(kernels(device()));
  y.forward(cpu_kernels());
  check_error("out", x.out, other.out, y.out);
  check_error("lse", x.lse, other.lse, y.lse);
}

// Gradients of the dtype `into`, from the device's own forward pass.
void check_backward(Attention x, double beta, DType into = bf16) {
  INFO(x.c.title() << ", beta " << beta << ", into " << name_of(into));
  x.forward(kernels(device()));
  x.dout = random(x.q.shape(), bf16, 4).to(device());
  uint64_t seed = 5;
  for (Tensor* grad : {&x.dq, &x.dk, &x.dv}) {
    const Shape shape = grad == &x.dq ? x.q.shape() : x.k.shape();
    *grad = beta == 0 ? Tensor::full({shape[0], shape[2], shape[1], shape[3]}, NAN, into, device())
                      : random({shape[0], shape[2], shape[1], shape[3]}, into, seed++).to(device());
    *grad = grad->view_transpose(1, 2);
  }
  Attention y = reference_of(x), other = without_tensor_cores(x);
  other.lse = x.lse;
  // Without tensor cores weights stay f32: what they lose here is measured by a gradient of bf16.
  for (Tensor* grad : {&other.dq, &other.dk, &other.dv}) *grad = misaligned(grad->to(bf16));
  y.out = wide(x.out), y.lse = wide(x.lse), y.dout = wide(x.dout);
  y.dq = wide(x.dq), y.dk = wide(x.dk), y.dv = wide(x.dv);
  REQUIRE(taken(x));
  REQUIRE_FALSE(taken(other));
  x.backward(kernels(device()), beta);
  other.backward(kernels(device()), beta);
  y.backward(cpu_kernels(), beta);
  check_error("dq", x.dq, other.dq, y.dq);
  check_error("dk", x.dk, other.dk, y.dk);
  check_error("dv", x.dv, other.dv, y.dv);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {1, 1, 1, 9, 9, 64},
      {1, 2, 2, 17, 17, 64},
      {2, 1, 1, 64, 64, 64},
      {1, 1, 1, 65, 65, 128},
      {1, 1, 1, 128, 128, 64, false},
      {1, 1, 1, 130, 130, 64},
      {1, 1, 1, 130, 130, 128},
      {1, 1, 1, 33, 129, 64},  // behind keys of a cache
      {1, 1, 1, 70, 10, 64},   // the first 60 queries see nothing
      {1, 1, 1, 17, 66, 128, false},
      {1, 4, 2, 12, 70, 64, true, every_third_masked(70)},
      {3, 1, 1, 10, 70, 64, true, {}, {70, 11, 0}},
      {2, 2, 1, 10, 70, 64, false, every_third_masked(140), {0, 65}},
  };
  return all;
}

}  // namespace

TEST_CASE("CUDA attention on tensor cores agrees with the CPU", "[cuda][attention]") {
  for (const Case& c : cases()) check_forward(inputs(c, bf16));
  check_forward(packed({2, 2, 2, 40, 40, 64}));
}

TEST_CASE("CUDA attention backward on tensor cores agrees with the CPU", "[cuda][attention]") {
  for (size_t i = 0; i < cases().size(); ++i) check_backward(inputs(cases()[i], bf16), i % 2 == 0 ? 0 : 1);
  check_backward(inputs({1, 2, 1, 1, 20, 64}, bf16), -0.5);
  check_backward(inputs({1, 2, 1, 3, 70, 128}, bf16), 1, f32);
  check_backward(inputs({2, 2, 1, 70, 70, 64}, bf16), 0, f32);
  check_backward(packed({2, 2, 2, 40, 40, 64}), 0, f32);
}
