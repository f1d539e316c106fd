// Softmax, cross-entropy and token log-probabilities on CUDA in cases that the op samples do not cover: long rows, odd
// row lengths, extreme logits, invalid ids, results stored over their inputs. The expected values come from the plain
// kernels in f64 or from mathematics.
#include <cmath>

#include "tensor/base/parallel.h"
#include "tests/cuda/sides.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// All kernels that work on logits [R, V].
std::vector<Tensor> softmaxes(const Side& s, const Tensor& logits, double beta) {
  const Tensor x = s.in(logits), dy = s.in(uniform(x.shape(), 2));
  std::vector<Tensor> results;
  for (bool log : {false, true}) {
    const Tensor y = s.out(x.shape()), dx = s.gradient(x.shape(), beta);
    s.k().softmax(y, x, log);
    s.k().softmax_backward(dx, dy, y, log, beta);
    results.insert(results.end(), {y, dx});
  }
  return results;
}
std::vector<Tensor> cross_entropies(const Side& s, const Tensor& logits, const Tensor& targets, double smoothing,
                                    bool weighted, double beta) {
  const Tensor x = s.in(logits), ids = s.in(targets), dloss = s.per_row(uniform({x.size(0)}, 3));
  const Tensor weight = weighted ? s.in(uniform({x.size(1)}, 4, 0.5, 2)) : Tensor{};
  const CrossEntropyArgs args{.ignore_index = -100, .label_smoothing = smoothing, .weight = weight};
  const Tensor loss = s.per_row(x.size(0)), stats = s.per_row_stats(x.size(0)), dx = s.gradient(x.shape(), beta);
  s.k().cross_entropy(loss, stats, x, ids, args);
  s.k().cross_entropy_backward(dx, dloss, x, stats, ids, args, beta);
  if (beta == 0) {
    const Tensor over = s.in(logits), loss_too = s.per_row(x.size(0));
    s.k().cross_entropy_with_gradient(loss_too, over, dloss, ids, args);
    CHECK(same_bits(over, dx));
    CHECK(same_bits(loss_too, loss));
  }
  return {loss, stats, dx};
}
std::vector<Tensor> token_log_probs(const Side& s, const Tensor& logits, const Tensor& tokens, double beta) {
  const Tensor x = s.in(logits), ids = s.in(tokens);
  const Tensor d = s.per_row(uniform({x.size(0)}, 5)), dh = s.per_row(uniform({x.size(0)}, 6));
  const Tensor log_prob = s.per_row(x.size(0)), entropy = s.per_row(x.size(0)), stats = s.per_row_stats(x.size(0));
  s.k().token_log_prob(log_prob, entropy, stats, x, ids);
  std::vector<Tensor> results{log_prob, entropy, stats};
  for (const auto& [d_log_prob, d_entropy] : {std::pair(d, Tensor{}), std::pair(Tensor{}, dh), std::pair(d, dh)}) {
    const Tensor dx = s.gradient(x.shape(), beta);
    s.k().token_log_prob_backward(dx, d_log_prob, d_entropy, x, stats, entropy, ids, beta);
    results.push_back(dx);
  }
  return results;
}

}  // namespace

TEST_CASE("CUDA logits of every length", "[cuda][slow]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t v : {1, 2, 7, 8, 33, 1000, 1024, 1025, 5003}) {
      INFO("V = " << v);
      const Tensor x = uniform({3, v}, 1, -6, 6);
      Tensor ids = integers(3, 8, v);
      ids.data<int32_t>()[1] = -100;
      // Rows with the same alignment in every operand (a multiple of 16 bytes or not), and rows with different
      // alignments.
      for (int64_t spare : {0, 16, 5}) {
        const Side cuda = on_cuda(dtype, spare);
        for (double beta : {0.0, 0.5}) {
          check_against_plain(cuda, [&](const Side& s) { return softmaxes(s, x, beta); });
          for (double smoothing : {0.0, 0.1}) {
            for (bool weighted : {false, true}) {
              check_against_plain(cuda,
                                  [&](const Side& s) { return cross_entropies(s, x, ids, smoothing, weighted, beta); });
            }
          }
          check_against_plain(cuda, [&](const Side& s) { return token_log_probs(s, x, integers(3, 9, v), beta); });
        }
      }
    }
  }
}

TEST_CASE("CUDA logits of a whole vocabulary", "[cuda]") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{50256, 0, 777}, {3});
  for (const int64_t v : {50257, 50304}) {
    const Tensor x = uniform({3, v}, 1, -6, 6);
    for (DType dtype : {f32, f64, bf16}) {
      const Side cuda = on_cuda(dtype);
      check_against_plain(cuda, [&](const Side& s) { return softmaxes(s, x, 0); });
      check_against_plain(cuda, [&](const Side& s) { return cross_entropies(s, x, ids, 0, false, 0); });
      check_against_plain(cuda, [&](const Side& s) { return token_log_probs(s, x, ids, 0); });
    }
  }
}

TEST_CASE("CUDA row kernels with more rows than blocks", "[cuda]") {
  const Tensor x = uniform({4096 * 8 + 3, 3}, 1);
  check_against_plain(on_cuda(f32), [&](const Side& s) {
    const Tensor y = s.out(x.shape());
    s.k().softmax(y, s.in(x), false);
    return std::vector{y};
  });
}

TEST_CASE("CUDA writes f32 results of bf16 logits", "[cuda]") {
  const int64_t v = 1029;
  const Tensor logits = uniform({2, v}, 1, -6, 6), ids = integers(2, 2, v), columns = uniform({v}, 3);
  check_against_plain(on_cuda(bf16), [&](const Side& s) {
    const Tensor x = s.in(logits), tokens = s.in(ids), d = s.per_row(uniform({2}, 4)), dy = s.in(uniform({2, v}, 5));
    const auto wide = [&] { return Tensor::full({2, v}, NAN, sum_type(s.dtype), s.device); };
    const Tensor p = wide(), dx = wide(), de = wide(), dt = wide(), y = wide(), dn = wide();
    const Tensor loss = s.per_row(2), stats = s.per_row_stats(2), log_prob = s.per_row(2), entropy = s.per_row(2);
    s.k().softmax(p, x, false);
    s.k().softmax_backward(dx, dy, x, true, 0);
    s.k().cross_entropy(loss, stats, x, tokens, {});
    s.k().cross_entropy_backward(de, d, x, stats, tokens, {}, 0);
    s.k().token_log_prob(log_prob, entropy, stats, x, tokens);
    s.k().token_log_prob_backward(dt, d, {}, x, stats, entropy, tokens, 0);
    s.k().rms_norm(y, loss, {}, x, {}, s.in(columns), kEps);
    s.k().rms_norm_backward(dn, {}, dy, x, s.in(columns), loss, 0, 0);
    for (const Tensor& t : {p, dx, de, dt, y, dn}) CHECK(t.dtype() == sum_type(s.dtype));
    return std::vector{p, dx, de, dt, y, dn};
  });
}

TEST_CASE("CUDA log-probabilities of all kernels agree to the bit", "[cuda]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t v : {301, 10007, 10008}) {  // rows of 10008 are held in shared memory by some kernels
      const Side s = on_cuda(dtype);
      const Tensor x = s.in(uniform({5, v}, 1, -20, 20)), ids = s.in(integers(5, 2, v));
      const Tensor y = Tensor::empty(x.shape(), sum_type(dtype), s.device);
      const Tensor loss = s.per_row(5), stats = s.per_row_stats(5), log_prob = s.per_row(5), entropy = s.per_row(5);
      const Tensor stats_too = s.per_row_stats(5);
      s.k().softmax(y, x, true);
      s.k().cross_entropy(loss, stats, x, ids, {});
      s.k().token_log_prob(log_prob, entropy, stats_too, x, ids);
      CHECK(same_bits(stats, stats_too));
      const auto at = ids.to_vector(), all = y.to_vector(), want = log_prob.to_vector(), losses = loss.to_vector();
      for (size_t r = 0; r < 5; ++r) {
        CHECK(want[r] == all[r * static_cast<size_t>(v) + static_cast<size_t>(at[r])]);
        CHECK(want[r] == -losses[r]);
      }
      // The same rows at other addresses.
      const Side apart = on_cuda(dtype, 1);
      const Tensor moved = apart.out(x.shape()), log_prob_too = s.per_row(5), entropy_too = s.per_row(5);
      moved.copy_from(x);
      s.k().token_log_prob(log_prob_too, entropy_too, stats_too, moved, ids);
      CHECK(same_bits(log_prob, log_prob_too));
      CHECK(same_bits(entropy, entropy_too));
      const Tensor y_too = Tensor::empty(x.shape(), y.dtype(), s.device);
      s.k().softmax(y_too, moved, true);
      CHECK(same_bits(y, y_too));
    }
  }
}

TEST_CASE("CUDA gradients of logits may be written over the logits", "[cuda]") {
  for (DType dtype : {f32, bf16}) {
    for (int64_t v : {40, 3001}) {
      const Side s = on_cuda(dtype);
      const Tensor x = s.in(uniform({3, v}, 1)), ids = s.in(integers(3, 2, v)), weight = s.in(uniform({v}, 3, 0.5, 2));
      const Tensor loss = s.per_row(3), stats = s.per_row_stats(3), log_prob = s.per_row(3), entropy = s.per_row(3);
      const Tensor one = s.per_row(Tensor::full({1}, 0.25)).view_expand({3});  // one gradient, shared by all rows
      const CrossEntropyArgs args{.label_smoothing = 0.1, .weight = weight};
      s.k().cross_entropy(loss, stats, x, ids, args);
      s.k().token_log_prob(log_prob, entropy, stats, x, ids);
      const Tensor apart = s.out(x.shape()), over = x.clone(), apart_too = s.out(x.shape()), over_too = x.clone();
      s.k().cross_entropy_backward(apart, one, x, stats, ids, args, 0);
      s.k().cross_entropy_backward(over, one, over, stats, ids, args, 0);
      CHECK(same_bits(over, apart));
      s.k().token_log_prob_backward(apart_too, one, one, x, stats, entropy, ids, 0);
      s.k().token_log_prob_backward(over_too, one, one, over_too, stats, entropy, ids, 0);
      CHECK(same_bits(over_too, apart_too));
    }
  }
}

TEST_CASE("CUDA gradients of logits far from 0 keep their precision", "[cuda]") {
  for (int64_t v : {33, 1100}) {
    // Multiples of 1/16, which f32 holds exactly up to a million.
    const Tensor x = (integers(4 * v, 3, 97).to(f64) / 16.0 + 1e6).to(f32).view_reshape({4, v}),
                 ids = integers(4, 2, v);
    for (DType dtype : {f32, f64}) {
      check_against_plain(on_cuda(dtype), [&](const Side& s) { return cross_entropies(s, x, ids, 0, false, 0); });
      check_against_plain(on_cuda(dtype), [&](const Side& s) { return cross_entropies(s, x, ids, 0.1, true, 0); });
      check_against_plain(on_cuda(dtype), [&](const Side& s) { return token_log_probs(s, x, ids, 0); });
    }
  }
}

TEST_CASE("CUDA handles huge and infinite logits", "[cuda]") {
  for (int64_t v : {64, 2051, 2056}) {
    // Row 0: huge but equal; 1: one logit far above the others; 2: every third is -inf; 3: all are -inf; 4: one NaN;
    // 5: one NaN among -inf and one 0, each read by another thread; 6: one +inf.
    std::vector<float> values;
    for (int r = 0; r < 7; ++r) {
      for (int64_t i = 0; i < v; ++i) {
        const double rows[] = {1e4,
                               i == 18 ? 1e4 : -1e4,
                               i % 3 == 0 ? -kInf : 0,
                               -kInf,
                               i == 40 ? NAN : 0,
                               i == 40 ? NAN : (i == 1 ? 0 : -kInf),
                               i == 40 ? kInf : 0};
        values.push_back(static_cast<float>(rows[r]));
      }
    }
    const double possible = static_cast<double>(v - (v + 2) / 3), all = static_cast<double>(v);
    for (DType dtype : {f32, f64, bf16}) {
      INFO(name_of(dtype) << ", V = " << v);
      const Side s = on_cuda(dtype);
      const Tensor x = s.in(Tensor::from(values, {7, v}));
      const Tensor ids = s.in(Tensor::from(std::vector<int32_t>{3, 18, 40, 5, 6, 1, 2}, {7}));
      const Tensor p = s.out(x.shape()), log_p = s.out(x.shape()), dx = s.out(x.shape());
      const Tensor log_prob = s.per_row(7), entropy = s.per_row(7), stats = s.per_row_stats(7),
                   one = s.per_row(Tensor::ones({7}));
      s.k().softmax(p, x, false);
      s.k().softmax(log_p, x, true);
      s.k().token_log_prob(log_prob, entropy, stats, x, ids);
      s.k().token_log_prob_backward(dx, one, one, x, stats, entropy, ids, 0);
      const auto near = [&](double got, double want) {
        return std::abs(got - want) <= tolerance(dtype) * (1 + std::abs(want));
      };
      const auto ps = p.to_vector(), log_ps = log_p.to_vector(), dxs = dx.to_vector();
      for (int64_t i = 0; i < v; ++i) {
        const auto at = [&](const std::vector<double>& t, int64_t r) { return t[static_cast<size_t>(r * v + i)]; };
        const auto none = [&](int64_t r) {
          return std::isnan(at(ps, r)) && std::isnan(at(log_ps, r)) && std::isnan(at(dxs, r));
        };
        const bool good = near(at(ps, 0), 1 / all) && at(ps, 1) == (i == 18) &&
                          (i % 3 == 0 ? at(ps, 2) == 0 && at(log_ps, 2) == -kInf && at(dxs, 2) == 0
                                      : near(at(ps, 2), 1 / possible) && near(at(log_ps, 2), -std::log(possible))) &&
                          none(3) && none(4) && none(5) && none(6);
        if (!good) FAIL_CHECK("column " << i);
      }
      const auto lps = log_prob.to_vector(), hs = entropy.to_vector(), sums = stats.to_vector();
      const double row_tolerance = tolerance(dtype == bf16 ? f32 : dtype);
      CHECK(std::abs(lps[0] + std::log(all)) <= row_tolerance * 10);
      CHECK(lps[1] == 0);
      CHECK(hs[1] == 0);
      CHECK(std::abs(lps[2] + std::log(possible)) <= row_tolerance * 10);
      CHECK(std::abs(hs[2] - std::log(possible)) <= row_tolerance * 10);
      CHECK(sums[6] == -kInf);
      for (size_t r : {3u, 4u, 5u, 6u}) CHECK((std::isnan(lps[r]) && std::isnan(hs[r]) && std::isnan(sums[2 * r + 1])));
    }
  }
}

TEST_CASE("CUDA: an id out of range gives NaN in its row only", "[cuda]") {
  for (int64_t v : {9, 1030, 1032}) {
    const Side s = on_cuda(f32);
    const std::vector<int32_t> given{2, -1, static_cast<int32_t>(v), -100, 2147483647};
    const Tensor x = s.in(uniform({5, v}, 1)), ids = s.in(Tensor::from(given, {5})), one = s.per_row(Tensor::ones({5}));
    const Tensor loss = s.per_row(5), stats = s.per_row_stats(5), log_prob = s.per_row(5), entropy = s.per_row(5);
    const Tensor dloss = s.out(x.shape()), dlog_prob = s.out(x.shape());
    const Tensor weight = s.in(uniform({v}, 2, 0.5, 2));
    const CrossEntropyArgs args{.label_smoothing = 0.1, .weight = weight};
    s.k().cross_entropy(loss, stats, x, ids, args);
    s.k().cross_entropy_backward(dloss, one, x, stats, ids, args, 0);
    s.k().token_log_prob(log_prob, entropy, stats, x, ids);
    s.k().token_log_prob_backward(dlog_prob, one, {}, x, stats, entropy, ids, 0);
    const Tensor over = x.clone(), loss_too = s.per_row(5);
    s.k().cross_entropy_with_gradient(loss_too, over, one, ids, args);
    CHECK(same_bits(over, dloss));
    CHECK(same_bits(loss_too, loss));
    const auto losses = loss.to_vector(), lps = log_prob.to_vector();
    const auto d = dloss.to_vector(), dl = dlog_prob.to_vector();
    for (size_t r = 0; r < 5; ++r) {
      const bool token = given[r] == 2, target = token || given[r] == -100;
      CHECK(std::isnan(losses[r]) != target);
      CHECK(std::isnan(lps[r]) != token);
      for (size_t i = r * static_cast<size_t>(v); i < (r + 1) * static_cast<size_t>(v); ++i) {
        if (std::isnan(d[i]) == target) FAIL_CHECK("dloss " << i);
        if (std::isnan(dl[i]) == token) FAIL_CHECK("dlog_prob " << i);
      }
    }
    CHECK(losses[3] == 0);
  }
}

TEST_CASE("CUDA rescale_rows multiplies the rows whose factors differ", "[cuda]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t v : {1, 7, 64, 1000, 3001}) {
      for (int64_t spare : {0, 16, 5}) {
        const Side s = on_cuda(dtype, spare);
        const Tensor x = s.in(uniform({4, v}, 1)), old = x.to(f64).to(Device{});
        const auto factors = [&](const std::vector<float>& values) { return s.per_row(Tensor::from(values, {4})); };
        s.k().rescale_rows(x, factors({0.75, -3, 0, 8}), factors({0.75, 1.5, 7, 0.5}));
        const Tensor quotients = Tensor::from(std::vector<double>{1, -2, 0, 16}, {4, 1});  // exact products
        CHECK(x.to_vector() == mul(old, quotients).to_vector());
        // A quotient that is not exact: one rounding more than the product.
        const Tensor y = s.in(uniform({4, v}, 2)), want = affine(y.to(f64).to(Device{}), 1.0 / 3, 0);
        s.k().rescale_rows(y, s.per_row(Tensor::full({1}, 1)).view_expand({4}),
                           s.per_row(Tensor::full({1}, 3)).view_expand({4}));
        CHECK(relative_error(y, want) <= (dtype == bf16 ? 0x1p-8 : tolerance(dtype)));
      }
    }
  }
}

TEST_CASE("CUDA row kernels repeat their bits for any number of threads", "[cuda][slow]") {
  const Side s = on_cuda(bf16);
  const Tensor x = uniform({300, 70}, 1), ids = integers(300, 2, 70);
  const auto all = [&] {
    std::vector<Tensor> results = layer_norms(s, x, {.residual = true, .beta = 1});
    for (const auto& more :
         {softmaxes(s, x, 0), cross_entropies(s, x, ids, 0.1, true, 0), token_log_probs(s, x, ids, 0)}) {
      results.insert(results.end(), more.begin(), more.end());
    }
    return results;
  };
  const int before = num_threads();
  const std::vector<Tensor> once = all();
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    poison_free_memory(s.device);
    const std::vector<Tensor> again = all();
    for (size_t i = 0; i < once.size(); ++i) CHECK(same_bits(once[i], again[i]));
  }
  set_num_threads(before);
}

TEST_CASE("CUDA row kernels accept 0 rows", "[cuda]") {
  const Side s = on_cuda(f32);
  CHECK(softmaxes(s, Tensor::empty({0, 7}), 0)[0].numel() == 0);
  CHECK(cross_entropies(s, Tensor::empty({0, 7}), Tensor::empty({0}, i32), 0.1, true, 0)[0].numel() == 0);
  s.k().rescale_rows(s.out({0, 7}), s.per_row(0), s.per_row(0));
  // With no rows, the gradient of the weights is unchanged.
  const std::vector<Tensor> norms = layer_norms(s, Tensor::empty({0, 7}), {.beta = 1});
  CHECK(relative_error(norms[3], uniform({7}, 7)) == 0);
}
