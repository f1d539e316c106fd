// Attention compared with its composed form; masks; long sequences.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

namespace {

struct Case {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, size = 1;
  bool causal = true;
  std::vector<uint8_t> mask = {};  // [batch, keys] or none
  std::vector<int32_t> len = {};   // [batch] or none
  double scale = 0.3;
};

AttentionArgs arguments(Case& c) {
  AttentionArgs args;
  args.scale = c.scale;
  args.causal = c.causal;
  if (!c.mask.empty()) args.key_mask = view(c.mask, {c.batch, c.keys});
  if (!c.len.empty()) args.kv_len = view(c.len, {c.batch});
  return args;
}

bool attends(const Case& c, int64_t b, int64_t t, int64_t key) {
  const int64_t len = c.len.empty() ? c.keys : c.len[b];
  return key < len && (!c.causal || key <= len - c.queries + t) && (c.mask.empty() || c.mask[b * c.keys + key]);
}

template <class T>
struct Tensors {
  std::vector<T> q, k, v, out, lse, dout, dq, dk, dv;
  explicit Tensors(const Case& c)
      : q(random_values<T>(c.batch * c.heads * c.queries * c.size, 1)),
        k(random_values<T>(c.batch * c.kv_heads * c.keys * c.size, 2)),
        v(random_values<T>(k.size(), 3)),
        out(q.size(), static_cast<T>(std::nan(""))),
        lse(c.batch * c.heads * c.queries, static_cast<T>(std::nan(""))),
        dout(random_values<T>(q.size(), 4)),
        dq(random_values<T>(q.size(), 5)),
        dk(random_values<T>(k.size(), 6)),
        dv(random_values<T>(k.size(), 7)) {}

  void forward(Case& c) {
    const Shape sq{c.batch, c.heads, c.queries, c.size}, sk{c.batch, c.kv_heads, c.keys, c.size};
    cpu::attention(view(out, sq), view(lse, {c.batch, c.heads, c.queries}), view(q, sq), view(k, sk), view(v, sk),
                   arguments(c));
  }
  void backward(Case& c, double beta) {
    const Shape sq{c.batch, c.heads, c.queries, c.size}, sk{c.batch, c.kv_heads, c.keys, c.size};
    cpu::attention_backward(view(dq, sq), view(dk, sk), view(dv, sk), view(dout, sq), view(out, sq),
                            view(lse, {c.batch, c.heads, c.queries}), view(q, sq), view(k, sk), view(v, sk),
                            arguments(c), beta);
  }
};

// The attention formula and its gradients, computed in double.
struct Reference {
  std::vector<double> out, lse, dq, dk, dv;
  template <class T>
  Reference(const Case& c, const Tensors<T>& x, double beta) {
    out.resize(x.q.size());
    lse.resize(x.lse.size());
    for (T g : x.dq) dq.push_back(beta == 0 ? 0 : beta * g);
    for (T g : x.dk) dk.push_back(beta == 0 ? 0 : beta * g);
    for (T g : x.dv) dv.push_back(beta == 0 ? 0 : beta * g);
    const int64_t d = c.size;
    std::vector<double> p(c.keys), dp(c.keys);
    for (int64_t row = 0; row < c.batch * c.heads * c.queries; ++row) {
      const int64_t t = row % c.queries, h = row / c.queries % c.heads, b = row / c.queries / c.heads;
      const int64_t kv = (b * c.kv_heads + h / (c.heads / c.kv_heads)) * c.keys;
      double max = -std::numeric_limits<double>::infinity(), sum = 0, delta = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        p[j] = 0;
        for (int64_t i = 0; i < d; ++i) p[j] += double(x.q[row * d + i]) * x.k[(kv + j) * d + i];
        p[j] *= c.scale;
        if (attends(c, b, t, j)) max = std::max(max, p[j]);
      }
      for (int64_t j = 0; j < c.keys; ++j) sum += p[j] = attends(c, b, t, j) ? std::exp(p[j] - max) : 0;
      lse[row] = max + std::log(sum);
      for (int64_t j = 0; j < c.keys; ++j) {
        if (p[j] == 0) continue;
        p[j] /= sum;
        dp[j] = 0;
        for (int64_t i = 0; i < d; ++i) {
          out[row * d + i] += p[j] * x.v[(kv + j) * d + i];
          dp[j] += double(x.dout[row * d + i]) * x.v[(kv + j) * d + i];
        }
        delta += p[j] * dp[j];
      }
      for (int64_t j = 0; j < c.keys; ++j) {
        if (p[j] == 0) continue;
        const double ds = p[j] * (dp[j] - delta) * c.scale;
        for (int64_t i = 0; i < d; ++i) {
          dq[row * d + i] += ds * x.k[(kv + j) * d + i];
          dk[(kv + j) * d + i] += ds * x.q[row * d + i];
          dv[(kv + j) * d + i] += p[j] * x.dout[row * d + i];
        }
      }
    }
  }
};

std::vector<uint8_t> random_mask(int64_t n, uint64_t seed) {
  Generator g(seed);
  std::vector<uint8_t> mask(n);
  for (auto& m : mask) m = g.uniform() < 0.6;
  return mask;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool causal : {true, false}) {
    all.push_back({.batch = 2, .heads = 3, .kv_heads = 3, .queries = 7, .keys = 7, .size = 5, .causal = causal});
    all.push_back({.heads = 4, .kv_heads = 2, .queries = 70, .keys = 70, .size = 32, .causal = causal});
    all.push_back({.heads = 3, .queries = 200, .keys = 200, .size = 16, .causal = causal});
    all.push_back({.queries = 130, .keys = 190, .size = 64, .causal = causal});
    all.push_back({.queries = 1, .keys = 1, .size = 1, .causal = causal});
    all.push_back({.queries = 33, .keys = 65, .size = 256, .causal = causal, .scale = 1.0 / 16});
    all.push_back({.queries = 90, .keys = 20, .size = 9, .causal = causal});  // causal: the first rows see no key
    all.push_back(
        {.batch = 3, .heads = 2, .queries = 5, .keys = 100, .size = 24, .causal = causal, .len = {100, 5, 71}});
    all.push_back({.batch = 2, .queries = 150, .keys = 150, .size = 17, .causal = causal, .mask = random_mask(300, 1)});
    all.push_back({.batch = 2,
                   .heads = 2,
                   .kv_heads = 1,
                   .queries = 4,
                   .keys = 140,
                   .size = 8,
                   .causal = causal,
                   .mask = random_mask(280, 2),
                   .len = {3, 139}});
    all.push_back({.queries = 3, .keys = 66, .size = 4, .causal = causal, .mask = std::vector<uint8_t>(66, 0)});
    std::vector<uint8_t> late(130, 0);
    late[127] = late[128] = 1;  // a whole block of masked keys before the first unmasked key
    all.push_back({.queries = 130, .keys = 130, .size = 12, .causal = causal, .mask = late});
  }
  return all;
}

std::string describe(const Case& c) {
  return fmt::format("B {} H {}/{} T {} S {} D {} causal {} mask {} len {}", c.batch, c.heads, c.kv_heads, c.queries,
                     c.keys, c.size, c.causal, !c.mask.empty(), !c.len.empty());
}

}  // namespace

TEMPLATE_TEST_CASE("attention equals its formula", "[attention]", float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 1e-6 : 1e-13;
  for (Case& c : cases()) {
    INFO(describe(c));
    Tensors<TestType> x(c);
    x.forward(c);
    const Reference expected(c, x, 0);
    REQUIRE(relative_error(x.out, expected.out) <= tolerance);
    REQUIRE(relative_error(x.lse, expected.lse) <= tolerance);
    for (size_t row = 0; row < x.lse.size(); ++row) {
      if (!std::isinf(expected.lse[row])) continue;
      REQUIRE(x.lse[row] == -std::numeric_limits<TestType>::infinity());
      for (int64_t i = 0; i < c.size; ++i) REQUIRE(x.out[row * c.size + i] == 0);
    }
  }
}

TEMPLATE_TEST_CASE("attention has the same bits for any number of threads", "[attention]", float, double) {
  for (Case& c : cases()) {
    INFO(describe(c));
    Tensors<TestType> one(c);
    {
      Threads guard(1);
      one.forward(c);
      one.backward(c, 1);
    }
    for (int threads : {2, 3}) {
      Threads guard(threads);
      Tensors<TestType> more(c);
      more.forward(c);
      REQUIRE(same_bits(one.out, more.out));
      REQUIRE(same_bits(one.lse, more.lse));
      more.backward(c, 1);
      REQUIRE(same_bits(one.dq, more.dq));
      REQUIRE(same_bits(one.dk, more.dk));
      REQUIRE(same_bits(one.dv, more.dv));
    }
  }
}

// Compares row t of a training pass over T positions with the same row when the query comes alone (or with a few
// queries before it), on a cache of another capacity whose unused slots hold NaN.
TEMPLATE_TEST_CASE("a decoding step of attention has the bits of the training pass", "[attention]", float, double) {
  using T = TestType;
  for (int64_t size : {8, 21, 64}) {
    for (int64_t length : {1, 3, 64, 65, 131, 200}) {
      Case train{.batch = 2, .heads = 4, .kv_heads = 2, .queries = length, .keys = length, .size = size};
      Tensors<T> x(train);
      x.forward(train);
      for (int64_t queries : {1, 2, 13}) {
        for (int64_t end = length; end >= queries; end -= 1 + length / 4) {
          INFO("size " << size << " length " << length << " queries " << queries << " end " << end);
          Case step = train;
          step.queries = queries;
          step.keys = length + 37;
          step.len = {static_cast<int32_t>(end), static_cast<int32_t>(end)};
          Tensors<T> y(step);
          const T nan = static_cast<T>(std::nan(""));
          std::fill(y.k.begin(), y.k.end(), nan);
          std::fill(y.v.begin(), y.v.end(), nan);
          for (int64_t bh = 0; bh < 4; ++bh) {
            std::copy_n(&x.k[bh * length * size], end * size, &y.k[bh * step.keys * size]);
            std::copy_n(&x.v[bh * length * size], end * size, &y.v[bh * step.keys * size]);
          }
          for (int64_t bh = 0; bh < 8; ++bh) {
            std::copy_n(&x.q[(bh * length + end - queries) * size], queries * size, &y.q[bh * queries * size]);
          }
          y.forward(step);
          for (int64_t bh = 0; bh < 8; ++bh) {
            const int64_t row = bh * length + end - queries;
            REQUIRE(std::memcmp(&y.out[bh * queries * size], &x.out[row * size], queries * size * sizeof(T)) == 0);
            REQUIRE(std::memcmp(&y.lse[bh * queries], &x.lse[row], queries * sizeof(T)) == 0);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("the gradients of attention equal their formula", "[attention]", float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 2e-6 : 1e-13;
  for (Case& c : cases()) {
    for (double beta : {0.0, 1.0}) {
      INFO(describe(c) << " beta " << beta);
      Tensors<TestType> x(c);
      x.forward(c);
      const Reference expected(c, x, beta);
      if (beta == 0) {  // c must be overwritten, not multiplied by beta
        for (auto* g : {&x.dq, &x.dk, &x.dv}) std::fill(g->begin(), g->end(), static_cast<TestType>(std::nan("")));
      }
      x.backward(c, beta);
      REQUIRE(relative_error(x.dv, expected.dv) <= tolerance);
      REQUIRE(relative_error(x.dq, expected.dq) <= tolerance);
      REQUIRE(relative_error(x.dk, expected.dk) <= tolerance);
    }
  }
}

TEST_CASE("the gradients of attention are exactly 0 where nothing was attended to", "[attention]") {
  for (Case& c : cases()) {
    INFO(describe(c));
    Tensors<float> x(c);
    x.forward(c);
    x.backward(c, 0);
    std::vector<bool> key_used(c.batch * c.keys), row_used(c.batch * c.queries);
    for (int64_t b = 0; b < c.batch; ++b) {
      for (int64_t t = 0; t < c.queries; ++t) {
        for (int64_t j = 0; j < c.keys; ++j) {
          if (attends(c, b, t, j)) key_used[b * c.keys + j] = row_used[b * c.queries + t] = true;
        }
      }
    }
    for (size_t i = 0; i < x.dk.size(); ++i) {
      const int64_t row = i / c.size, b = row / c.keys / c.kv_heads;
      if (!key_used[b * c.keys + row % c.keys]) REQUIRE((x.dk[i] == 0 && x.dv[i] == 0));
    }
    for (size_t i = 0; i < x.dq.size(); ++i) {
      const int64_t row = i / c.size, b = row / c.queries / c.heads;
      if (!row_used[b * c.queries + row % c.queries]) REQUIRE(x.dq[i] == 0);
    }
  }
}

TEST_CASE("masked keys contribute nothing even if they are NaN", "[attention]") {
  Case c{.batch = 2, .queries = 100, .keys = 100, .size = 20, .causal = false, .mask = random_mask(200, 5)};
  Tensors<float> clean(c), dirty(c);
  for (int64_t row = 0; row < 200; ++row) {
    for (int64_t i = 0; i < c.size && !c.mask[row]; ++i) {
      dirty.k[row * c.size + i] = i % 2 ? NAN : INFINITY;
      dirty.v[row * c.size + i] = NAN;
    }
  }
  clean.forward(c);
  dirty.forward(c);
  CHECK(same_bits(clean.out, dirty.out));
  CHECK(same_bits(clean.lse, dirty.lse));
  clean.backward(c, 0);
  dirty.backward(c, 0);
  CHECK(same_bits(clean.dq, dirty.dq));
  CHECK(same_bits(clean.dk, dirty.dk));
  CHECK(same_bits(clean.dv, dirty.dv));
}

TEST_CASE("a NaN query or key shows in the output", "[attention]") {
  Case c{.queries = 10, .keys = 10, .size = 4};
  Tensors<float> x(c);
  x.q[2 * 4 + 1] = NAN;
  x.k[6 * 4] = NAN;
  x.forward(c);
  for (int64_t t = 0; t < 10; ++t) {
    INFO("row " << t);
    CHECK(std::isnan(x.out[t * 4]) == (t == 2 || t >= 6));
    CHECK(std::isnan(x.lse[t]) == (t == 2 || t >= 6));
  }
}

TEST_CASE("attention of large scores stays finite", "[attention]") {
  for (double scale : {300.0, 1e4}) {
    Case c{.queries = 80, .keys = 80, .size = 16, .scale = scale};
    Tensors<double> x(c);
    x.forward(c);
    const Reference expected(c, x, 0);
    CHECK(relative_error(x.out, expected.out) <= 1e-11);  // the scores, about 1e5, keep 16 digits
    CHECK(relative_error(x.lse, expected.lse) <= 1e-13);
  }
}

TEST_CASE("attention reads views of any strides", "[attention]") {
  // q, k and v as slices of one projection [B, T, 3, H, D], out as [B, T, H, D]: the layout of a transformer block.
  const int64_t batch = 2, heads = 3, t = 75, d = 16;
  Case c{.batch = batch, .heads = heads, .kv_heads = heads, .queries = t, .keys = t, .size = d};
  auto qkv = random_values<float>(batch * t * 3 * heads * d, 1);
  const Shape shape{batch, heads, t, d};
  const Strides strides{t * 3 * heads * d, d, 3 * heads * d, 1};
  Tensors<float> x(c);
  for (int64_t i = 0; i < batch * heads * t * d; ++i) {
    const int64_t e = i % d, row = i / d % t, h = i / d / t % heads, b = i / d / t / heads;
    const int64_t from = ((b * t + row) * 3 * heads + h) * d + e;
    x.q[i] = qkv[from], x.k[i] = qkv[from + heads * d], x.v[i] = qkv[from + 2 * heads * d];
  }
  x.forward(c);
  std::vector<float> out(x.out.size()), lse(x.lse.size());
  cpu::attention(view(out, shape, {t * heads * d, d, heads * d, 1}), view(lse, {batch, heads, t}),
                 view(qkv, shape, strides), view(qkv, shape, strides, heads * d),
                 view(qkv, shape, strides, 2 * heads * d), arguments(c));
  for (int64_t i = 0; i < batch * heads * t * d; ++i) {
    const int64_t e = i % d, row = i / d % t, h = i / d / t % heads, b = i / d / t / heads;
    REQUIRE(out[((b * t + row) * heads + h) * d + e] == x.out[i]);
  }
  CHECK(same_bits(lse, x.lse));

  x.backward(c, 0);
  std::vector<float> dqkv(qkv.size()), dout(out.size());
  for (int64_t i = 0; i < batch * heads * t * d; ++i) {
    const int64_t e = i % d, row = i / d % t, h = i / d / t % heads, b = i / d / t / heads;
    dout[((b * t + row) * heads + h) * d + e] = x.dout[i];
  }
  const Strides by_row{t * heads * d, d, heads * d, 1};
  cpu::attention_backward(
      view(dqkv, shape, strides), view(dqkv, shape, strides, heads * d), view(dqkv, shape, strides, 2 * heads * d),
      view(dout, shape, by_row), view(out, shape, by_row), view(lse, {batch, heads, t}), view(qkv, shape, strides),
      view(qkv, shape, strides, heads * d), view(qkv, shape, strides, 2 * heads * d), arguments(c), 0);
  for (int64_t i = 0; i < batch * heads * t * d; ++i) {
    const int64_t e = i % d, row = i / d % t, h = i / d / t % heads, b = i / d / t / heads;
    const int64_t from = ((b * t + row) * 3 * heads + h) * d + e;
    REQUIRE(dqkv[from] == x.dq[i]);
    REQUIRE(dqkv[from + heads * d] == x.dk[i]);
    REQUIRE(dqkv[from + 2 * heads * d] == x.dv[i]);
  }
}

TEST_CASE("attention without queries or keys or rows", "[attention]") {
  for (auto [batch, queries, keys] : {std::array<int64_t, 3>{0, 3, 3}, {2, 0, 3}, {2, 3, 0}}) {
    Case c{.batch = batch, .queries = queries, .keys = keys, .size = 4};
    Tensors<float> x(c);
    x.forward(c);
    for (float o : x.out) REQUIRE(o == 0);
    for (float l : x.lse) REQUIRE(l == -INFINITY);
    x.backward(c, 0);
    for (const auto* g : {&x.dq, &x.dk, &x.dv}) {
      for (float y : *g) REQUIRE(y == 0);
    }
  }
}
