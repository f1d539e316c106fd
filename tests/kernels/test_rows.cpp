// Softmax, cross-entropy and token log-probabilities of rows: of every length, at any address, with extreme logits, and
// with results stored over their inputs.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr DType kFloats[] = {f32, f64, bf16};

Results softmaxes(const Side& s, const Tensor& logits) {
  const Tensor x = s.in(logits), p = s.out(x.shape()), log_p = s.out(x.shape());
  s.k().softmax(p, x, false);
  s.k().softmax(log_p, x, true);
  return {p, log_p};
}
Results softmax_gradients(const Side& s, const Tensor& logits, double beta) {
  const Results y = softmaxes(s, logits);
  const Tensor dy = s.in(uniform(logits.shape(), 2)), dx = s.result(logits.shape(), beta);
  const Tensor log_dx = s.result(logits.shape(), beta);
  s.k().softmax_backward(dx, dy, y[0], false, beta);
  s.k().softmax_backward(log_dx, dy, y[1], true, beta);
  return {dx, log_dx};
}

struct LossOptions {
  double smoothing = 0;
  bool weighted = false;
  double beta = 0;
  bool shared = false;  // one gradient for all rows
};
Results cross_entropies(const Side& s, const Tensor& logits, const Tensor& targets, const LossOptions& o) {
  const int64_t rows = logits.size(0);
  const Tensor x = s.in(logits), ids = s.in(targets), dx = s.result(x.shape(), o.beta);
  const Tensor dloss =
      o.shared ? s.per_row(Tensor::full({1}, 0.25)).view_expand({rows}) : s.per_row(uniform({rows}, 3));
  const Tensor weight = o.weighted ? s.in(uniform({x.size(1)}, 4, 0.5, 2)) : Tensor{};
  const CrossEntropyArgs args{.ignore_index = -100, .label_smoothing = o.smoothing, .weight = weight};
  const Tensor loss = s.per_row(Shape{rows}), stats = s.per_row(Shape{rows, 2});
  s.k().cross_entropy(loss, stats, x, ids, args);
  s.k().cross_entropy_backward(dx, dloss, x, stats, ids, args, o.beta);
  if (o.beta == 0) {
    const Tensor over = s.in(logits), both = s.in(logits), loss_too = s.per_row(Shape{rows});
    s.k().cross_entropy_backward(over, dloss, over, stats, ids, args, 0);
    CHECK(same_bits(over, dx));
    s.k().cross_entropy_with_gradient(loss_too, both, dloss, ids, args);
    CHECK(difference(both, dx, kExact) == "");  // the bits, but for those of NaN
    CHECK(difference(loss_too, loss, kExact) == "");
  }
  return {loss, stats, dx};
}

struct TokenResults {
  Tensor x, ids, log_prob, entropy, stats;
};
TokenResults token_log_prob(const Side& s, const Tensor& logits, const Tensor& tokens) {
  const Shape rows{logits.size(0)};
  const TokenResults r{s.in(logits), s.in(tokens), s.per_row(rows), s.per_row(rows), s.per_row(Shape{rows[0], 2})};
  s.k().token_log_prob(r.log_prob, r.entropy, r.stats, r.x, r.ids);
  return r;
}
// For the gradient of the log-probability, of the entropy and of both.
Results token_gradients(const Side& s, const Tensor& logits, const Tensor& tokens, double beta) {
  const TokenResults t = token_log_prob(s, logits, tokens);
  const Shape rows{logits.size(0)};
  const Tensor d = s.per_row(uniform(rows, 5)), dh = s.per_row(uniform(rows, 6));
  Results results;
  for (const auto& [d_log_prob, d_entropy] : {std::pair(d, Tensor{}), std::pair(Tensor{}, dh), std::pair(d, dh)}) {
    results.push_back(s.result(t.x.shape(), beta));
    s.k().token_log_prob_backward(results.back(), d_log_prob, d_entropy, t.x, t.stats, t.entropy, t.ids, beta);
  }
  if (beta == 0) {
    const Tensor over = s.in(logits);
    s.k().token_log_prob_backward(over, d, dh, over, t.stats, t.entropy, t.ids, 0);
    CHECK(same_bits(over, results.back()));
  }
  return results;
}

void check_all(DType dtype, const Layout& layout, const Tensor& x, const Tensor& targets, const Tensor& ids,
               const std::vector<LossOptions>& options) {
  INFO(fmt::format("{}", x.shape()));
  check(dtype, layout, kSoftmax, [&](const Side& s) { return softmaxes(s, x); });
  for (const double beta : {0.0, 1.0, 0.5}) {
    check(dtype, layout, kSoftmaxGradient, [&](const Side& s) { return softmax_gradients(s, x, beta); });
    check(dtype, layout, kTokens, [&](const Side& s) { return token_gradients(s, x, ids, beta); });
  }
  for (const LossOptions& o : options) {
    INFO("smoothing " << o.smoothing << (o.weighted ? ", weighted" : "") << ", beta " << o.beta);
    check(dtype, layout, kLosses, [&](const Side& s) { return cross_entropies(s, x, targets, o); });
  }
  const bool few = x.size(1) <= 200;
  check(dtype, layout, few ? roundings(8, 1) : kTokens, [&](const Side& s) {
    const TokenResults t = token_log_prob(s, x, ids);
    return Results{t.log_prob, t.entropy};
  });
  check(dtype, layout, few ? roundings(4, 1) : kTokens, [&](const Side& s) {  // log-sum-exp from the statistics
    const Tensor stats = token_log_prob(s, x, ids).stats.to(Device{}).to(f64);
    const Tensor sum = stats.view_select(1, 0) + log(stats.view_select(1, 1));
    return Results{s.plain() ? sum : sum.to(sum_type(dtype))};
  });
}

}  // namespace

TEST_CASE("kernels of logits of every length and at any address", "[kernels][slow]") {
  std::vector<LossOptions> options;
  for (const double smoothing : {0.0, 0.1}) {
    for (const bool weighted : {false, true}) {
      for (const double beta : {0.0, 1.0, 0.5}) options.push_back({smoothing, weighted, beta});
      options.push_back({smoothing, weighted, 0, true});
    }
  }
  for (const DType dtype : kFloats) {
    for (const int64_t v : {1, 2, 3, 7, 8, 16, 17, 33, 65, 200, 1000, 1024, 1025, 5003}) {
      Tensor targets = integers({3}, 8, v);
      targets.data<int32_t>()[1] = -100;
      // Rows with the same alignment in every operand (a multiple of 16 bytes or not), and rows with different
      // alignments.
      for (const Layout& layout : kRows) {
        check_all(dtype, layout, uniform({3, v}, 1, -6, 6), targets, integers({3}, 9, v), options);
      }
    }
  }
}

TEST_CASE("kernels of logits of a whole vocabulary", "[kernels]") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{50256, 0, 777}, {3});
  for (const int64_t v : {50257, 50304}) {
    for (const DType dtype : kFloats) check_all(dtype, kContiguous, uniform({3, v}, 1, -6, 6), ids, ids, {{}});
  }
}

TEST_CASE("softmax of more rows than a CUDA grid has blocks, and of none", "[kernels]") {
  for (const int64_t rows : {4096 * 8 + 3, 0}) {
    check(f32, kContiguous, kSoftmax, [&](const Side& s) { return softmaxes(s, uniform({rows, 3}, 1)); });
  }
  const Tensor x = Tensor::empty({0, 7}), ids = Tensor::empty({0}, i32);
  check_all(f32, kContiguous, x, ids, ids, {{.smoothing = 0.1, .weighted = true}});
  check(f32, kContiguous, kExact, [&](const Side& s) {
    const Tensor none = s.in(x);
    s.k().rescale_rows(none, s.per_row(Shape{0}), s.per_row(Shape{0}));
    return Results{none};
  });
}

TEST_CASE("f32 results of bf16 logits", "[kernels]") {
  const int64_t v = 1029;
  const Tensor logits = uniform({2, v}, 1, -6, 6), ids = integers({2}, 2, v), columns = uniform({v}, 3);
  check(bf16, kContiguous, kSoftmaxGradient, [&](const Side& s) {
    const Tensor x = s.in(logits), tokens = s.in(ids), d = s.per_row(uniform({2}, 4)), dy = s.in(uniform({2, v}, 5));
    const auto wide = [&] { return s.per_row(Shape{2, v}); };
    const Tensor p = wide(), dx = wide(), de = wide(), dt = wide(), y = wide(), dn = wide(), rstd = s.per_row(Shape{2});
    const Tensor loss = s.per_row(Shape{2}), stats = s.per_row(Shape{2, 2}), log_prob = s.per_row(Shape{2});
    const Tensor entropy = s.per_row(Shape{2});
    s.k().softmax(p, x, false);
    s.k().softmax_backward(dx, dy, x, true, 0);
    s.k().cross_entropy(loss, stats, x, tokens, {});
    s.k().cross_entropy_backward(de, d, x, stats, tokens, {}, 0);
    s.k().token_log_prob(log_prob, entropy, stats, x, tokens);
    s.k().token_log_prob_backward(dt, d, {}, x, stats, entropy, tokens, 0);
    s.k().rms_norm(y, rstd, {}, x, {}, s.in(columns), 1e-5);
    s.k().rms_norm_backward(dn, {}, dy, x, s.in(columns), rstd, 0, 0);
    for (const Tensor& t : {p, dx, de, dt, y, dn}) CHECK(t.dtype() == s.stored(f32));
    return Results{p, dx, de, dt, y, dn};
  });
}

TEST_CASE("log-probabilities of all kernels agree to the bit", "[kernels]") {
  for (const DType dtype : kFloats) {
    for (const int64_t v : {301, 10007, 10008}) {  // rows of 10008 are held in shared memory by some CUDA kernels
      const Side s(device(), dtype, kContiguous), apart(device(), dtype, {.begin = 1, .spare = 1});
      const Tensor logits = uniform({5, v}, 1, -20, 20), tokens = integers({5}, 2, v);
      const TokenResults t = token_log_prob(s, logits, tokens);
      const Tensor y = s.per_row(t.x.shape()), loss = s.per_row(Shape{5}), stats = s.per_row(Shape{5, 2});
      s.k().softmax(y, t.x, true);
      s.k().cross_entropy(loss, stats, t.x, t.ids, {});
      CHECK(same_bits(stats, t.stats));
      const auto at = tokens.to_vector(), all = y.to_vector(), want = t.log_prob.to_vector(), losses = loss.to_vector();
      for (size_t r = 0; r < 5; ++r) {
        CHECK(want[r] == all[r * static_cast<size_t>(v) + static_cast<size_t>(at[r])]);
        CHECK(want[r] == -losses[r]);
        const auto row = static_cast<int64_t>(r);
        const auto of = [row](const Tensor& x) { return x.view_slice(0, row, row + 1); };
        const TokenResults alone = token_log_prob(s, of(logits), of(tokens));
        CHECK(same_bits(alone.log_prob, of(t.log_prob)));
        CHECK(same_bits(alone.entropy, of(t.entropy)));
        CHECK(same_bits(alone.stats, of(t.stats)));
      }
      const TokenResults moved = token_log_prob(apart, logits, tokens);  // the same rows at other addresses
      CHECK(same_bits(moved.log_prob, t.log_prob));
      CHECK(same_bits(moved.entropy, t.entropy));
      const Tensor y_too = s.per_row(t.x.shape());
      s.k().softmax(y_too, moved.x, true);
      CHECK(same_bits(y, y_too));
    }
  }
}

TEST_CASE("gradients of logits far from 0 keep their precision", "[kernels]") {
  for (const int64_t v : {33, 1100}) {
    // Multiples of 1/16, which f32 holds exactly up to a million.
    const Tensor x = integers({4, v}, 3, 97).to(f64) / 16.0 + 1e6, ids = integers({4}, 2, v);
    for (const DType dtype : {f32, f64}) {
      for (const LossOptions& o : {LossOptions{}, {.smoothing = 0.1, .weighted = true}}) {
        check(dtype, kContiguous, kLosses, [&](const Side& s) { return cross_entropies(s, x, ids, o); });
      }
      check(dtype, kContiguous, kTokens, [&](const Side& s) { return token_gradients(s, x, ids, 0); });
      check(dtype, kContiguous, kTokens, [&](const Side& s) {
        const TokenResults t = token_log_prob(s, x, ids);
        return Results{t.log_prob, t.entropy, t.stats};
      });
    }
  }
}

TEST_CASE("kernels of huge, infinite and impossible logits", "[kernels]") {
  for (const int64_t v : {20, 40, 64, 1037, 2051, 2056}) {
    // Row 0: huge but equal; 1: one logit far above the others; 2: every third is -inf; 3: all are -inf; 4: one NaN;
    // 5: one NaN among -inf and one 0, each read by another thread; 6: one +inf; 7: ignored by cross-entropy.
    const int64_t at = std::min<int64_t>(40, v - 1);
    std::vector<double> values;
    for (int r = 0; r < 8; ++r) {
      for (int64_t i = 0; i < v; ++i) {
        const double rows[] = {1e4,
                               i == 18 ? 1e4 : -1e4,
                               i % 3 == 0 ? -kInf : 0,
                               -kInf,
                               i == at ? kNan : 0,
                               i == at ? kNan : (i == 1 ? 0 : -kInf),
                               i == at ? kInf : 0,
                               static_cast<double>(i % 61) - 30};
        values.push_back(rows[r]);
      }
    }
    const Tensor x = Tensor::from(values, {8, v});
    const Tensor ids = Tensor::from(std::vector<int32_t>{3, 18, 10, 5, 6, 1, 2, 4}, {8}), targets = ids.clone();
    targets.data<int32_t>()[7] = -100;
    for (const DType dtype : kFloats) {
      INFO("V = " << v);
      check(dtype, kContiguous, kSoftmax, [&](const Side& s) { return softmaxes(s, x); });
      // Some gradients are 0 but for rounding.
      check(dtype, kContiguous, {kTokens.each, 1, kAny}, [&](const Side& s) { return token_gradients(s, x, ids, 0); });
      for (const double smoothing : {0.0, 0.1}) {
        check(dtype, kPadded, kLosses, [&](const Side& s) {
          const Results r =
              cross_entropies(s, x, targets, {.smoothing = smoothing});  // compares the bits of the kernels
          return Results{r[0], r[2]};
        });
      }
      const Results r = check(dtype, kContiguous, kTokens, [&](const Side& s) {
        const TokenResults t = token_log_prob(s, x, ids);
        if (s.plain()) return Results{t.log_prob, t.entropy};
        const auto sums = t.stats.to_vector();
        CHECK(sums[6] == -kInf);
        for (const size_t r : {3, 4, 5, 6}) CHECK(std::isnan(sums[2 * r + 1]));
        return Results{t.log_prob, t.entropy};
      });
      const auto lp = r[0].to_vector(), h = r[1].to_vector();
      const double possible = static_cast<double>(v - (v + 2) / 3);
      CHECK(lp[0] == Approx(-std::log(v)).epsilon(1e-5));
      CHECK((lp[1] == 0 && h[1] == 0));
      CHECK(lp[2] == Approx(-std::log(possible)).epsilon(1e-5));
      CHECK(h[2] == Approx(std::log(possible)).epsilon(1e-5));
    }
  }
}

TEST_CASE("rescale_rows multiplies the rows whose factors differ", "[kernels]") {
  for (const DType dtype : kFloats) {
    for (const int64_t v : {1, 5, 7, 64, 1000, 3001}) {
      for (const Layout& layout : {kContiguous, kWide, kOdd, kPadded}) {
        check(dtype, layout, kExact, [&](const Side& s) {
          const Tensor values = uniform({4, v}, 1);
          values.view_slice(0, 0, 1).view_slice(1, 0, 1).fill(kNan);
          const auto factors = [&](const std::vector<float>& f) { return s.per_row(Tensor::from(f, {4})); };
          const Tensor x = s.in(values);  // the products are exact
          s.k().rescale_rows(x, factors({0.75, -3, 0, 8}), factors({0.75, 1.5, 7, 0.5}));
          return Results{x};
        });
        // A quotient that is not exact: one rounding more than the product.
        check(dtype, layout, roundings(2, 0), [&](const Side& s) {
          const Tensor x = s.in(uniform({4, v}, 2));
          const auto all = [&](double f) { return s.per_row(Tensor::full({1}, f)).view_expand({4}); };
          s.k().rescale_rows(x, all(1), all(3));
          return Results{x};
        });
      }
    }
  }
}
