// Softmax, cross-entropy, norms and rope compared with formulas in long double; gradients compared with finite
// differences of these.
#include <functional>

#include "tests/tensor/kernel_buffers.h"

using namespace pg;
using namespace pg::testing;

namespace {

using Real = long double;
using Row = std::vector<Real>;
const Kernels& k = cpu_kernels();
constexpr double kInf = std::numeric_limits<double>::infinity();

Row row_of(const Buffer& x, int64_t r) {
  Row row;
  const int64_t n = x.view().shape.back();
  for (int64_t i = 0; i < n; ++i) row.push_back(x.get(r * n + i));
  return row;
}
Row log_probs(const Row& x) {
  const Real top = *std::max_element(x.begin(), x.end());
  Real sum = 0;
  for (Real v : x) sum += std::exp(v - top);
  Row y;
  for (Real v : x) y.push_back(v - top - std::log(sum));
  return y;
}
// The gradient of f at x: fourth-order central differences.
Row gradient(const std::function<Real(const Row&)>& f, Row x) {
  const Real h = 1e-4L;
  Row g;
  for (Real& v : x) {
    const Real at = v;
    const auto value = [&](Real shift) {
      v = at + shift;
      return f(x);
    };
    g.push_back((8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h));
    v = at;
  }
  return g;
}
void check_row(const Buffer& got, int64_t r, const Row& want, double tolerance) {
  const int64_t n = got.view().shape.back();
  for (int64_t i = 0; i < n; ++i) {
    const double w = static_cast<double>(want[static_cast<size_t>(i)]);
    const bool near = std::abs(got.get(r * n + i) - w) <= tolerance * (1 + std::abs(w));
    if (!near) CHECK(got.get(r * n + i) == w);
  }
}
double tolerance(DType type) { return type == f64 ? 2e-12 : 2e-6; }
// Fills y with poison if beta is 0, otherwise with random values. Returns a function: the values of row r that are
// kept, times beta.
std::function<Row(int64_t)> prepare(Buffer& y, double beta) {
  if (beta == 0) {
    y.poison();
  } else {
    y.random(99);
  }
  const int64_t n = y.view().shape.back();
  return [held = y.values(), n, beta](int64_t r) {
    Row row(static_cast<size_t>(n), 0);
    if (beta != 0) {
      for (int64_t i = 0; i < n; ++i) row[static_cast<size_t>(i)] = beta * held[static_cast<size_t>(r * n + i)];
    }
    return row;
  };
}
Row plus(Row a, const Row& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

constexpr int64_t kSizes[] = {1, 3, 16, 17, 65, 200};

}  // namespace

TEST_CASE("softmax and log-softmax", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (int64_t n : kSizes) {
      for (bool log : {false, true}) {
        Buffer x({4, n}, type, Layout::padded), y({4, n}, type);
        x.random(1, -8, 8);
        k.softmax(y.poison(), x, log);
        CHECK(y.guards_intact());
        for (int64_t r = 0; r < 4; ++r) {
          Row want = log_probs(row_of(x, r));
          if (!log) {
            for (Real& v : want) v = std::exp(v);
          }
          check_row(y, r, want, tolerance(type));
        }
        for (double beta : {0.0, 1.0}) {
          Buffer dy({4, n}, type), dx({4, n}, type, Layout::padded);
          dy.random(2);
          const auto kept = prepare(dx, beta);
          k.softmax_backward(dx, dy, y, log, beta);
          for (int64_t r = 0; r < 4; ++r) {
            const Row g = row_of(dy, r);
            const auto loss = [&](const Row& v) {
              const Row lp = log_probs(v);
              Real sum = 0;
              for (size_t i = 0; i < g.size(); ++i) sum += g[i] * (log ? lp[i] : std::exp(lp[i]));
              return sum;
            };
            // In f32 the sum of n gradients is rounded before it is multiplied.
            check_row(dx, r, plus(kept(r), gradient(loss, row_of(x, r))), tolerance(type) * (type == f32 ? 4 : 10));
          }
          CHECK(dx.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("softmax with infinite and huge logits", "[kernels]") {
  for (DType type : {f32, f64}) {
    Buffer x({3, 20}, type), p({3, 20}, type), lp({3, 20}, type);
    x.assign_all(-kInf);
    for (int64_t i = 0; i < 20; ++i) x.set(20 + i, i % 3 == 0 ? -kInf : 0);  // 13 finite values
    for (int64_t i = 0; i < 20; ++i) x.set(40 + i, i == 18 ? 1e30 : 0);
    k.softmax(p, x, false);
    k.softmax(lp, x, true);
    for (int64_t i = 0; i < 20; ++i) {
      CHECK(std::isnan(p.get(i)));
      CHECK(std::isnan(lp.get(i)));
      CHECK_CLOSE(p.get(20 + i), i % 3 == 0 ? 0 : 1.0 / 13, type, 4, 0);
      CHECK_CLOSE(lp.get(20 + i), i % 3 == 0 ? -kInf : -std::log(13.0), type, 4, 0);
      CHECK(p.get(40 + i) == (i == 18 ? 1 : 0));
    }
  }
}

TEST_CASE("cross-entropy with smoothing and weights and ignored rows", "[kernels]") {
  const int64_t rows = 5;
  for (DType type : {f32, f64}) {
    for (int64_t n : kSizes) {
      for (double smoothing : {0.0, 0.1}) {
        for (bool weighted : {false, true}) {
          Buffer x({rows, n}, type, Layout::padded), targets({rows}, i32), weight({n}, type);
          x.random(1, -5, 5), targets.integers(2, n), weight.random(3, 0.5, 2);
          targets.set(3, -100);
          CrossEntropyArgs args;
          args.label_smoothing = smoothing;
          if (weighted) args.weight = weight;
          const auto loss_of = [&](const Row& v, int64_t r) {
            const auto t = static_cast<size_t>(targets.get(r));
            const auto w = [&](size_t i) { return weighted ? Real(weight.get(static_cast<int64_t>(i))) : Real(1); };
            const Row lp = log_probs(v);
            Real sum = -(1 - Real(smoothing)) * w(t) * lp[t];
            for (size_t i = 0; i < v.size(); ++i) sum -= Real(smoothing) / static_cast<Real>(v.size()) * w(i) * lp[i];
            return sum;
          };
          Buffer loss({rows}, type), stats({rows, 2}, type), dloss({rows}, type);
          k.cross_entropy(loss.poison(), stats.poison(), x, targets, args);
          CHECK(loss.get(3) == 0);
          CHECK(stats.get(6) == 0);
          CHECK(stats.get(7) == 0);
          for (int64_t r = 0; r < rows; ++r) {
            if (r == 3) continue;
            const double want = static_cast<double>(loss_of(row_of(x, r), r));
            CHECK(std::abs(loss.get(r) - want) <= tolerance(type) * (1 + want));
            const double total = x.get(r * n) - static_cast<double>(log_probs(row_of(x, r))[0]);
            CHECK_CLOSE(stats.get(2 * r) + std::log(stats.get(2 * r + 1)), total, type, 4, 1);
          }
          dloss.random(4);
          for (double beta : {0.0, 1.0}) {
            Buffer dx({rows, n}, type, Layout::padded);
            const auto kept = prepare(dx, beta);
            k.cross_entropy_backward(dx, dloss, x, stats, targets, args, beta);
            for (int64_t r = 0; r < rows; ++r) {
              Row want = kept(r);
              if (r != 3) {
                const Row g = gradient([&](const Row& v) { return loss_of(v, r) * Real(dloss.get(r)); }, row_of(x, r));
                want = plus(want, g);
              }
              check_row(dx, r, want, tolerance(type));
            }
            CHECK(dx.guards_intact());
          }
          // Stored over the logits, with one gradient shared by all rows.
          Buffer apart({rows, n}, type, Layout::padded), one({1}, type);
          one.set(0, 0.25);
          Buffer fused({rows, n}, type, Layout::padded), fused_loss({rows}, type);
          fused.assign(x.values());
          k.cross_entropy_backward(apart, expand(one, 0, rows), x, stats, targets, args, 0);
          k.cross_entropy_backward(x, expand(one, 0, rows), x, stats, targets, args, 0);
          CHECK(x.bytes() == apart.bytes());
          k.cross_entropy_with_gradient(fused_loss.poison(), fused, expand(one, 0, rows), targets, args);
          CHECK(fused.bytes() == apart.bytes());
          CHECK(fused_loss.bytes() == loss.bytes());
        }
      }
    }
  }
}

TEST_CASE("cross-entropy with its gradient has the bits of two kernels for bf16 and impossible tokens", "[kernels]") {
  const int64_t rows = 7, n = 1037;
  for (DType type : {f32, f64, bf16}) {
    for (double smoothing : {0.0, 0.1}) {
      Buffer x({rows, n}, type), targets({rows}, i32), dloss({rows}, sum_type(type));
      x.random(1, -30, 30), targets.integers(2, n), dloss.random(3);
      targets.set(1, -100);
      for (int64_t i = 0; i < n; ++i) {
        if (i % 3 != 0) x.set(2 * n + i, -kInf);
        x.set(3 * n + i, -kInf);
      }
      x.set(4 * n + 70, std::numeric_limits<double>::quiet_NaN());
      x.set(5 * n + 70, kInf);
      CrossEntropyArgs args;
      args.label_smoothing = smoothing;
      Buffer loss({rows}, sum_type(type)), stats({rows, 2}, sum_type(type)), dx({rows, n}, type);
      k.cross_entropy(loss, stats, x, targets, args);
      k.cross_entropy_backward(dx, dloss, x, stats, targets, args, 0);
      Buffer fused_loss({rows}, sum_type(type));
      k.cross_entropy_with_gradient(fused_loss, x, dloss, targets, args);
      CHECK(x.bytes() == dx.bytes());
      CHECK(fused_loss.bytes() == loss.bytes());
      for (int64_t i = 0; i < n; ++i) CHECK(x.get(n + i) == 0);
    }
  }
}

TEST_CASE("rescale_rows multiplies the rows whose factors differ", "[kernels]") {
  for (DType type : {f32, f64, bf16}) {
    for (int64_t n : {1, 5, 64, 1000}) {
      Buffer x({4, n}, type, Layout::padded), now({4}, sum_type(type)), before({4}, sum_type(type));
      x.random(1);
      x.set(0, std::numeric_limits<double>::quiet_NaN());
      now.assign({0.75, -3, 0, 8}), before.assign({0.75, 1.5, 7, 0.5});
      const std::vector<double> old = x.values();
      k.rescale_rows(x, now, before);
      CHECK(std::isnan(x.get(0)));
      for (int64_t i = 1; i < 4 * n; ++i) {
        const double factors[] = {1, -2, 0, 16};  // exact products
        CHECK(x.get(i) == factors[i / n] * old[static_cast<size_t>(i)]);
      }
      CHECK(x.guards_intact());
    }
  }
}

TEST_CASE("token log-probability with entropy", "[kernels]") {
  const int64_t rows = 4;
  for (DType type : {f32, f64}) {
    for (int64_t n : kSizes) {
      Buffer x({rows, n}, type, Layout::padded), ids({rows}, i32);
      x.random(1, -5, 5), ids.integers(2, n);
      Buffer lp({rows}, type), entropy({rows}, type), stats({rows, 2}, type);
      k.token_log_prob(lp.poison(), entropy.poison(), stats.poison(), x, ids);
      const auto entropy_of = [](const Row& v) {
        Real h = 0;
        for (Real l : log_probs(v)) h -= std::exp(l) * l;
        return h;
      };
      for (int64_t r = 0; r < rows; ++r) {
        const Row want = log_probs(row_of(x, r));
        CHECK_CLOSE(lp.get(r), static_cast<double>(want[static_cast<size_t>(ids.get(r))]), type, 8, 1);
        CHECK_CLOSE(entropy.get(r), static_cast<double>(entropy_of(row_of(x, r))), type, 8, 1);
      }
      Buffer dlp({rows}, type), dh({rows}, type);
      dlp.random(5), dh.random(6);
      for (unsigned which : {1u, 2u, 3u}) {
        for (double beta : {0.0, 1.0}) {
          Buffer dx({rows, n}, type, Layout::padded);
          const auto kept = prepare(dx, beta);
          k.token_log_prob_backward(dx, which & 1 ? dlp.view() : View{}, which & 2 ? dh.view() : View{}, x, stats,
                                    entropy, ids, beta);
          for (int64_t r = 0; r < rows; ++r) {
            const auto loss = [&](const Row& v) {
              Real sum = 0;
              if (which & 1) sum += dlp.get(r) * log_probs(v)[static_cast<size_t>(ids.get(r))];
              if (which & 2) sum += dh.get(r) * entropy_of(v);
              return sum;
            };
            check_row(dx, r, plus(kept(r), gradient(loss, row_of(x, r))), tolerance(type) * 2);
          }
          CHECK(dx.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("log-probabilities of all kernels agree to the bit", "[kernels]") {
  for (DType type : {f32, f64}) {
    const int64_t rows = 6, n = 10007;
    Buffer x({rows, n}, type), ids({rows}, i32), y({rows, n}, type);
    x.random(1, -20, 20), ids.integers(2, n);
    Buffer loss({rows}, type), stats_a({rows, 2}, type), lp({rows}, type), h({rows}, type), stats_b({rows, 2}, type);
    k.softmax(y, x, true);
    k.cross_entropy(loss, stats_a, x, ids, {});
    k.token_log_prob(lp, h, stats_b, x, ids);
    CHECK(stats_a.bytes() == stats_b.bytes());
    for (int64_t r = 0; r < rows; ++r) {
      CHECK(lp.get(r) == y.get(r * n + static_cast<int64_t>(ids.get(r))));
      CHECK(lp.get(r) == -loss.get(r));
      // Computes a single row.
      View row = x;
      row.shape[0] = 1;
      row.data = x.view().as<char>() + r * n * static_cast<int64_t>(size_of(type));
      View id = ids;
      id.shape[0] = 1;
      id.data = ids.view().as<int32_t>() + r;
      Buffer lp1({1}, type), h1({1}, type), stats1({1, 2}, type);
      k.token_log_prob(lp1, h1, stats1, row, id);
      CHECK(lp1.get(0) == lp.get(r));
      CHECK(h1.get(0) == h.get(r));
      for (int64_t i : {0, 1}) CHECK(stats1.get(i) == stats_a.get(2 * r + i));
    }
    check_threads([&] {
      Buffer dx({rows, n}, type);
      k.token_log_prob_backward(dx, lp, h, x, stats_a, h, ids, 0);
      return dx.bytes();
    });
  }
}

TEST_CASE("impossible tokens have probability 0 and no gradient", "[kernels]") {
  for (DType type : {f32, f64}) {
    Buffer x({1, 40}, type), ids({1}, i32), lp({1}, type), h({1}, type), stats({1, 2}, type), dx({1, 40}, type);
    for (int64_t i = 0; i < 40; ++i) x.set(i, i < 8 ? 1 : -kInf);
    ids.set(0, 3);
    k.token_log_prob(lp, h, stats, x, ids);
    CHECK_CLOSE(lp.get(0), -std::log(8.0), type, 4, 0);
    CHECK_CLOSE(h.get(0), std::log(8.0), type, 4, 0);
    Buffer one({1}, type);
    one.set(0, 1);
    k.token_log_prob_backward(dx.poison(), one, one, x, stats, h, ids, 0);
    for (int64_t i = 8; i < 40; ++i) CHECK(dx.get(i) == 0);
    CHECK(std::abs(dx.get(3) - 7.0 / 8) < 1e-6);
    Buffer loss({1}, type);
    k.cross_entropy(loss, stats, x, ids, {});
    CHECK_CLOSE(loss.get(0), std::log(8.0), type, 4, 0);
    k.cross_entropy_backward(dx.poison(), one, x, stats, ids, {}, 0);
    for (int64_t i = 8; i < 40; ++i) CHECK(dx.get(i) == 0);
    CHECK(std::abs(dx.get(3) + 7.0 / 8) < 1e-6);
  }
}
