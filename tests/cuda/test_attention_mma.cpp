// Tensor-core attention compared with the CPU in f64 and with the CUDA kernels that do not use tensor cores.
#include "tensor/cuda/attention/attention.h"
#include "tests/kernels/attention_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Rows that begin 2 bytes after a multiple of 16: the tensor-core kernels do not accept these.
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

// q, k and v one after another in each token's row: [B, T, 3, H, D].
Attention packed(const Case& c) {
  Attention x = inputs(c, bf16);
  const Tensor qkv = random({c.batch, c.queries, 3, c.heads, c.size}, bf16, 7).to(device());
  const auto part = [&](int64_t i) { return qkv.view_select(2, i).view_transpose(1, 2); };
  x.q = part(0), x.k = part(1), x.v = part(2);
  return x;
}

// The error must be small, and at most about twice the error of the other bf16 kernels.
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
  y.forward(plain_kernels());
  check_error("out", x.out, other.out, y.out);
  check_error("lse", x.lse, other.lse, y.lse);
}

// Gradients with dtype `into`, computed from the device's own forward pass.
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
  // Without tensor cores the attention weights stay f32, so their gradients are stored in bf16 here to give a
  // comparable rounding error.
  for (Tensor* grad : {&other.dq, &other.dk, &other.dv}) *grad = misaligned(grad->to(bf16));
  y.out = wide(x.out), y.lse = wide(x.lse), y.dout = wide(x.dout);
  y.dq = wide(x.dq), y.dk = wide(x.dk), y.dv = wide(x.dv);
  REQUIRE(taken(x));
  REQUIRE_FALSE(taken(other));
  x.backward(kernels(device()), beta);
  other.backward(kernels(device()), beta);
  y.backward(plain_kernels(), beta);
  check_error("dq", x.dq, other.dq, y.dq);
  check_error("dk", x.dk, other.dk, y.dk);
  check_error("dv", x.dv, other.dv, y.dv);
}

}  // namespace

TEST_CASE("CUDA attention on tensor cores agrees with the CPU", "[cuda][attention]") {
  for (const int64_t t : {9, 17, 64, 65, 130}) {
    check_forward(inputs({1, 1, 1, t, t, 64}, bf16));
    check_forward(inputs({1, 1, 1, t, t, 64, false}, bf16));
  }
  check_forward(inputs({2, 2, 1, 128, 128, 64}, bf16));
  check_forward(inputs({1, 1, 1, 65, 65, 128}, bf16));
  check_forward(inputs({1, 1, 1, 17, 130, 128, false}, bf16));
  check_forward(inputs({1, 2, 1, 33, 129, 64}, bf16));  // more keys than queries, as with a cache
  check_forward(inputs({1, 1, 1, 70, 10, 64}, bf16));   // the first 60 queries have no visible key
  check_forward(inputs({3, 1, 1, 10, 70, 64, true, {}, {70, 11, 0}}, bf16));
  check_forward(inputs({1, 1, 1, 9, 0, 64, false}, bf16));
  check_forward(packed({2, 2, 2, 40, 40, 64}));
}

TEST_CASE("CUDA attention backward on tensor cores agrees with the CPU", "[cuda][attention]") {
  check_backward(inputs({1, 2, 1, 1, 20, 64}, bf16), -0.5);
  check_backward(inputs({1, 1, 1, 17, 17, 64}, bf16), 0);
  check_backward(inputs({1, 1, 1, 64, 64, 64, false}, bf16), 1);
  check_backward(inputs({1, 1, 1, 130, 130, 64}, bf16), 0);
  check_backward(inputs({1, 1, 1, 65, 65, 128}, bf16), 1);
  check_backward(inputs({1, 4, 2, 33, 70, 64}, bf16), 0, f32);
  check_backward(inputs({1, 1, 1, 70, 10, 64}, bf16), 1, f32);  // the first 60 queries have no visible key
  check_backward(inputs({3, 1, 1, 10, 70, 128, true, {}, {70, 11, 0}}, bf16), 1);
  check_backward(packed({2, 2, 2, 40, 40, 64}), 1, f32);
}

TEST_CASE("CUDA attention on tensor cores has the same bits again, and for fewer queries", "[cuda][attention][slow]") {
  std::vector<Tensor> first;
  Attention all;
  for (int run = 0; run < 2; ++run) {
    all = inputs({1, 2, 1, 130, 130, 64}, bf16);
    all.dout = random(all.q.shape(), bf16, 4).to(device());
    all.dq = empty_like(all.q), all.dk = empty_like(all.k), all.dv = empty_like(all.v);
    REQUIRE(taken(all));
    poison_free_memory(device());
    all.forward(kernels(device()));
    all.backward(kernels(device()), 0);
    const std::vector<Tensor> results{all.out, all.lse, all.dq, all.dk, all.dv};
    if (run == 0) first = results;
    for (size_t i = 0; i < results.size(); ++i) CHECK(same_bits(results[i], first[i]));
  }
  // The last 39 queries alone, and the first 37 with fewer keys: rows and tiles differ, the visible keys of each query
  // do not.
  const auto alone = [&](int64_t begin, int64_t end) {
    Attention some = inputs({1, 2, 1, end - begin, end, 64}, bf16);
    some.q = all.q.view_slice(2, begin, end);
    some.k = all.k.view_slice(2, 0, end), some.v = all.v.view_slice(2, 0, end);
    some.forward(kernels(device()));
    CHECK(same_bits(some.out, all.out.view_slice(2, begin, end)));
    CHECK(same_bits(some.lse, all.lse.view_slice(2, begin, end)));
  };
  alone(91, 130);
  alone(0, 37);
}

TEST_CASE("CUDA attention on tensor cores never reads past the keys in use", "[cuda][attention]") {
  Attention x = inputs({2, 2, 1, 20, 70, 64, true, {}, {35, 64}}, bf16), clean = inputs(x.c, bf16);
  for (Attention* a : {&x, &clean}) {
    a->dout = random(a->q.shape(), bf16, 4).to(device());
    a->dq = empty_like(a->q), a->dk = empty_like(a->k), a->dv = empty_like(a->v);
  }
  for (const Tensor& kv : {x.k, x.v}) {
    for (int64_t b = 0; b < 2; ++b) kv.view_select(0, b).view_slice(1, x.c.len[static_cast<size_t>(b)], 70).fill(NAN);
  }
  for (Attention* a : {&x, &clean}) {
    REQUIRE(taken(*a));
    a->forward(kernels(device()));
    a->backward(kernels(device()), 0);
  }
  CHECK(same_bits(x.out, clean.out));
  CHECK(same_bits(x.dq, clean.dq));
  CHECK(same_bits(x.dk, clean.dk));
  CHECK(same_bits(x.dv, clean.dv));
  CHECK(all_equal(x.dv.view_select(0, 0).view_slice(1, 35, 70), 0));
}

TEST_CASE("attention uses tensor cores only for supported shapes and types", "[cuda][attention]") {
  const Device there = device();
  const auto takes = [](const Attention& x, const AttentionArgs& args) {
    return cuda::takes_mma({x.q, x.k, x.v, x.out}, args);
  };
  const Case c{1, 1, 1, 9, 9, 64};
  CHECK(takes(inputs(c, bf16), {}));
  CHECK(takes(inputs({1, 1, 1, 9, 9, 128}, bf16), {}));
  CHECK_FALSE(takes(inputs(c, f32), {}));
  CHECK_FALSE(takes(inputs({1, 1, 1, 9, 9, 80}, bf16), {}));
  CHECK_FALSE(takes(inputs(c, bf16), {.scale = -1}));
  CHECK_FALSE(takes(inputs(c, bf16), {.scale = 0}));
  const Tensor mask = Tensor::from(std::vector<uint8_t>(9, 1), {1, 9}).to(there);
  CHECK_FALSE(takes(inputs(c, bf16), {.key_mask = mask}));
  Attention x = inputs(c, bf16);
  x.k = misaligned(x.k);
  CHECK_FALSE(takes(x, {}));
}
