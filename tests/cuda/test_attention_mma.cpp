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
bool taken(const Attention& x) { return cuda::takes_mma({x.q, x.k, x.v, x.out}, {}); }

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

const std::vector<Case>& forward_cases() {
  static const std::vector<Case> all = {
      {1, 1, 1, 9, 9, 64},
      {1, 2, 2, 17, 17, 64},
      {2, 1, 1, 64, 64, 64},
      {1, 1, 1, 65, 65, 128},
      {1, 1, 1, 128, 128, 64, false},
      {1, 1, 1, 130, 130, 64},
      {1, 1, 1, 130, 130, 128},
      {1, 1, 1, 33, 129, 64},          // behind keys of a cache
      {1, 1, 1, 70, 10, 64},           // the first 60 queries see nothing
      {1, 1, 1, 17, 66, 128, false},
      {1, 4, 2, 12, 70, 64, true, every_third_masked(70)},
      {3, 1, 1, 10, 70, 64, true, {}, {70, 11, 0}},
      {2, 2, 1, 10, 70, 64, false, every_third_masked(140), {0, 65}},
  };
  return all;
}

}  // namespace

TEST_CASE("CUDA attention on tensor cores agrees with the CPU", "[cuda][attention]") {
  for (const Case& c : forward_cases()) check_forward(inputs(c, bf16));
  check_forward(packed({2, 2, 2, 40, 40, 64}));
}
