// Attention: borders of tiles, strides, masks. The expected values come from the plain kernels in f64 on the same,
// already rounded values.
#include "tests/kernels/attention_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// A mix of shapes. On CUDA T > 8 uses the tiled kernels, T <= 8 the decoding kernel.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {2, 2, 2, 9, 9, 4},
      {1, 1, 1, 63, 63, 7},
      {1, 2, 1, 64, 64, 16},
      {1, 1, 1, 65, 65, 32},
      {1, 1, 1, 33, 129, 16},
      {1, 1, 1, 17, 66, 8, false},
      {1, 1, 1, 70, 10, 8, false},
      {2, 4, 2, 12, 40, 5, true, every_third_masked(80)},
      {2, 2, 1, 10, 70, 8, true, {}, {70, 11}},
      {2, 2, 1, 10, 70, 8, false, every_third_masked(140), {0, 65}},
      {1, 1, 1, 9, 20, 1},
      {1, 1, 1, 10, 33, 80},
      {1, 1, 1, 9, 34, 128},
      {1, 1, 1, 9, 33, 256},
      {1, 1, 1, 9, 0, 8, false},
      {1, 2, 2, 1, 2, 8},
      {2, 4, 2, 1, 300, 16, true, every_third_masked(600), {257, 256}},
      {1, 2, 1, 8, 515, 7},
      {2, 1, 1, 3, 12, 256, false, {}, {0, 12}},
      {1, 1, 1, 2, 0, 8, false},
  };
  return all;
}

}  // namespace

TEST_CASE("attention of every shape", "[kernels][attention]") {
  for (const Case& c : cases()) {
    for (const DType dtype : {f32, f64, bf16}) check_forward(c, dtype);
  }
  check_forward({1, 2, 2, 1, 1, 8}, f32);  // forward only: its gradients are 0 except for rounding
  for (const DType dtype : {bf16, f32, f64}) {
    // Few queries: head sizes that fill lanes of 8 elements and others, heads that share keys, several queries.
    for (const Case& c : {Case{6, 2, 2, 1, 70, 64},
                          {6, 1, 1, 1, 70, 128},
                          {6, 4, 1, 1, 70, 64},
                          {6, 6, 2, 1, 70, 80},
                          {6, 5, 1, 1, 70, 64},
                          {6, 2, 1, 3, 70, 64},
                          {6, 1, 1, 8, 70, 128},
                          {6, 2, 2, 1, 70, 33},
                          {6, 2, 1, 2, 70, 256}}) {
      Case with = c;
      with.len = {70, 65, 64, 63, 9, static_cast<int32_t>(c.queries)};
      check_forward(with, dtype);
    }
    check_forward({7, 2, 1, 1, 1100, 64, true, {}, {511, 512, 513, 1024, 1100, 0, 1}}, dtype);  // splits of the keys
  }
}

TEST_CASE("attention of queries without a key is 0 with lse -inf", "[kernels][attention]") {
  for (const int64_t queries : {2, 10}) {
    Attention x = inputs({2, 1, 1, queries, 20, 8, false, std::vector<uint8_t>(40, 0), {}}, f32);
    x.c.mask[0] = 1;  // batch row 0 sees one key, batch row 1 none
    x.forward(kernels(device()));
    CHECK(all_equal(x.out.view_select(0, 1), 0));
    CHECK(all_equal(x.lse.view_select(0, 1), -std::numeric_limits<double>::infinity()));
    CHECK(error_of(x.out.view_select(0, 0), x.v.view_select(0, 0).view_slice(1, 0, 1).view_expand({1, queries, 8})) ==
          0);
  }
}

TEST_CASE("attention never reads keys that are masked for all queries", "[kernels][attention]") {
  for (const int64_t queries : {2, 20}) {
    // NaN is stored in the masked keys, in the keys after the length and in the last key, which only the last query
    // may see.
    Attention x = inputs({2, 2, 1, queries, 70, 8, true, every_third_masked(140), {68, 69}}, f32);
    Attention clean = inputs(x.c, f32);
    clean.forward(kernels(device()));
    for (const Tensor& kv : {x.k, x.v}) {
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t key = 0; key < 70; ++key) {
          const bool last = key == x.c.len[static_cast<size_t>(b)] - 1;
          if (x.c.mask[static_cast<size_t>(b * 70 + key)] && key < x.c.len[static_cast<size_t>(b)] && !last) continue;
          kv.view_select(0, b).view_select(1, key).fill(NAN);
        }
      }
    }
    x.forward(kernels(device()));
    CHECK(same_bits(x.out.view_slice(2, 0, queries - 1), clean.out.view_slice(2, 0, queries - 1)));
    CHECK(same_bits(x.lse.view_slice(2, 0, queries - 1), clean.lse.view_slice(2, 0, queries - 1)));
  }
}

TEST_CASE("attention of one query is a row of the full pass", "[kernels][attention]") {
  const int64_t keys = 300, queries = 12;
  Attention all = inputs({1, 4, 2, queries, keys, 16}, f32);
  all.forward(kernels(device()));
  for (const int64_t t : {int64_t{0}, queries - 1}) {
    Attention one = inputs({1, 4, 2, 1, keys, 16, true, {}, {static_cast<int32_t>(keys - queries + t + 1)}}, f32);
    one.q = all.q.view_slice(2, t, t + 1);
    one.forward(kernels(device()));
    CHECK(relative_error(one.out, all.out.view_slice(2, t, t + 1)) <= 1e-6);
    CHECK(relative_error(one.lse, all.lse.view_slice(2, t, t + 1)) <= 1e-6);
    // Cache slots after the keys in use do not change any bit.
    Attention tight = one;
    tight.c.keys = one.c.len[0], tight.c.len = {};
    tight.k = one.k.view_slice(2, 0, tight.c.keys), tight.v = one.v.view_slice(2, 0, tight.c.keys);
    tight.out = Tensor::full(one.out.shape(), NAN, f32, device());
    tight.lse = Tensor::full(one.lse.shape(), NAN, f32, device());
    tight.forward(kernels(device()));
    CHECK(same_bits(tight.out, one.out));
    CHECK(same_bits(tight.lse, one.lse));
  }
}

TEST_CASE("gradients of attention of every shape", "[kernels][attention]") {
  for (size_t i = 0; i < cases().size(); ++i) {
    const Case& c = cases()[i];
    if (c.size > 128 && c.queries < 9) continue;
    const double beta = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : -0.5;
    check_backward(c, f64, beta);
    if (c.keys <= 65 || i % 2 == 0) check_backward(c, f32, beta);
    if (c.keys <= 40) check_backward(c, bf16, beta);
  }
  check_backward({1, 4, 2, 12, 20, 8}, bf16, 1, f32);
  check_backward({1, 4, 2, 12, 20, 8}, bf16, 0, f32);
}

TEST_CASE("attention backward ignores NaN in masked keys", "[kernels][attention]") {
  Attention x = inputs({1, 2, 1, 10, 20, 8, true, every_third_masked(20), {18}}, f32);
  for (const Tensor& kv : {x.k, x.v}) {
    for (int64_t key = 0; key < 20; ++key) {
      if (key % 3 == 0 || key >= 18) kv.view_select(2, key).fill(NAN);
    }
  }
  x.forward(kernels(device()));
  x.dout = random(x.q.shape(), f32, 4).to(device());
  x.dq = empty_like(x.q), x.dk = empty_like(x.k), x.dv = empty_like(x.v);
  x.backward(kernels(device()), 0);
  for (const Tensor& grad : {x.dq, x.dk, x.dv}) {
    for (const double g : grad.to_vector()) REQUIRE(std::isfinite(g));
  }
  CHECK(all_equal(x.dk.view_slice(2, 18, 20), 0));
  CHECK(all_equal(x.dv.view_slice(2, 0, 1), 0));
}

TEST_CASE("a rerun of attention has the same bits", "[kernels][attention][slow]") {
  for (const int64_t queries : {4, 70}) {
    std::vector<Tensor> first;
    for (int run = 0; run < 2; ++run) {
      Attention x = inputs({1, 2, 1, queries, 70, 16}, f32);
      x.dout = random(x.q.shape(), f32, 4).to(device());
      x.dq = empty_like(x.q), x.dk = empty_like(x.k), x.dv = empty_like(x.v);
      poison_free_memory(device());
      x.forward(kernels(device()));
      x.backward(kernels(device()), 0);
      const std::vector<Tensor> results{x.out, x.lse, x.dq, x.dk, x.dv};
      if (run == 0) first = results;
      for (size_t i = 0; i < results.size(); ++i) CHECK(same_bits(results[i], first[i]));
    }
  }
}
