// The AdamW kernel compared with its formula.
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/base/parallel.h"
#include "tensor/base/random.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tests/adamw_runs.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::Threads;

namespace {

template <class T>
View view(std::vector<T>& x) {
  View v;
  v.data = x.data();
  v.dtype = dtype_of<T>();
  v.shape = {static_cast<int64_t>(x.size())};
  v.strides = {1};
  return v;
}

AdamWArgs arguments(int step) {
  return {.lr = 1e-2,
          .beta1 = 0.9,
          .beta2 = 0.95,
          .eps = 1e-8,
          .weight_decay = 0.1,
          .bias_correction1 = 1 - std::pow(0.9, step),
          .bias_correction2 = 1 - std::pow(0.95, step),
          .grad_scale = 0.5};
}

template <class T>
struct State {
  std::vector<T> p, m, v;
  explicit State(int64_t n) : p(n), m(n), v(n) {
    Generator g(1);
    for (T& x : p) x = static_cast<T>(g.normal());
  }
  void step(int i) {
    std::vector<T> g(p.size());
    Generator random(100 + i);
    for (T& x : g) x = static_cast<T>(random.normal());
    cpu::adamw(view(p), view(g), view(m), view(v), arguments(i));
  }
};

template <class T>
void check_formula(double tolerance) {
  for (int64_t n : {0, 1, 5, 16, 33, 1000}) {
    State<T> state(n);
    std::vector<double> p(state.p.begin(), state.p.end()), m(n), v(n);
    for (int i = 1; i <= 10; ++i) {
      state.step(i);
      const AdamWArgs a = arguments(i);
      Generator random(100 + i);
      for (int64_t x = 0; x < n; ++x) {
        const double g = static_cast<T>(random.normal()) * a.grad_scale;
        m[x] = a.beta1 * m[x] + (1 - a.beta1) * g;
        v[x] = a.beta2 * v[x] + (1 - a.beta2) * g * g;
        const double m_hat = m[x] / a.bias_correction1, v_hat = v[x] / a.bias_correction2;
        p[x] -= a.lr * (m_hat / (std::sqrt(v_hat) + a.eps) + a.weight_decay * p[x]);
      }
      for (int64_t x = 0; x < n; ++x) {
        REQUIRE(std::abs(state.p[x] - p[x]) <= tolerance * (std::abs(p[x]) + 1));
        REQUIRE(std::abs(state.m[x] - m[x]) <= tolerance * (std::abs(m[x]) + 1));
        REQUIRE(std::abs(state.v[x] - v[x]) <= tolerance * (std::abs(v[x]) + 1));
      }
    }
  }
}

}  // namespace

TEST_CASE("adamw equals its formula over ten steps", "[adamw]") {
  check_formula<float>(1e-6);
  check_formula<double>(1e-14);
}

TEST_CASE("adamw has the same bits for any number of threads", "[adamw]") {
  const int64_t n = 100003;
  Threads guard(1);
  State<float> one(n);
  for (int i = 1; i <= 3; ++i) one.step(i);
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    State<float> more(n);
    for (int i = 1; i <= 3; ++i) more.step(i);
    REQUIRE(std::memcmp(one.p.data(), more.p.data(), n * sizeof(float)) == 0);
    REQUIRE(std::memcmp(one.m.data(), more.m.data(), n * sizeof(float)) == 0);
    REQUIRE(std::memcmp(one.v.data(), more.v.data(), n * sizeof(float)) == 0);
  }
}

TEST_CASE("adamw with flags has the bits of a call per run of equal decay", "[adamw]") {
  for (const int threads : {1, 2}) {
    Threads guard(threads);
    pg::testing::check_adamw_runs(Device{}, f32);
    pg::testing::check_adamw_runs(Device{}, f64);
  }
}

// With zero state and bias-corrected moments, the first step moves each parameter by lr in the direction -sign(g).
TEST_CASE("the first step of adamw has length lr", "[adamw]") {
  std::vector<double> p{1, 2, 3}, g{-5, 1e-3, 700}, m(3), v(3);
  AdamWArgs args = arguments(1);
  args.weight_decay = 0;
  cpu::adamw(view(p), view(g), view(m), view(v), args);
  CHECK(p[0] == Approx(1 + 1e-2));
  CHECK(p[1] == Approx(2 - 1e-2).epsilon(1e-6));  // eps / 5e-4 less than lr
  CHECK(p[2] == Approx(3 - 1e-2));
}

// Stochastic rounding: each bf16 is one of the two neighbours of its f32 value, and the nearer one is more likely. The
// mean over many steps is the f32 value.
TEST_CASE("stochastic rounding preserves the expectation", "[adamw][bf16]") {
  const int64_t n = 1003;
  std::vector<float> p(n), g(n), m(n), v(n);
  Generator random(7);
  for (float& x : p) x = static_cast<float>(random.normal());
  const std::vector<float> before = p;
  std::vector<BFloat16> rounded(n), same(n);
  std::vector<double> now = {0, 1, 1, 0};  // a learning rate of 0
  std::vector<double> sums(n);
  AdamWArgs args = arguments(1);
  args.now = view(now);
  args.rounded = view(rounded);
  args.stochastic_rounding = true;
  args.seed = 5;
  const int steps = 4000;
  for (int t = 1; t <= steps; ++t) {
    now[3] = t;
    cpu::adamw(view(p), view(g), view(m), view(v), args);
    for (int64_t i = 0; i < n; ++i) {
      const float y = static_cast<float>(rounded[i]), gap = std::abs(p[i]) * 0x1p-7f;
      REQUIRE(std::abs(y - p[i]) <= gap);
      sums[i] += y;
    }
  }
  REQUIRE(p == before);
  double z2 = 0;  // mean square error of the means in units of their standard deviation: 1 on average
  for (int64_t i = 0; i < n; ++i) {
    const double low = static_cast<float>(BFloat16(p[i])), x = p[i];
    const auto spacing = [](double value) { return std::ldexp(1.0, std::ilogb(value) - 7); };
    const double down = std::floor(x / spacing(x)) * spacing(x), share = (x - down) / spacing(x);
    const double deviation = spacing(x) * std::sqrt(share * (1 - share) / steps);
    if (deviation == 0) {
      REQUIRE(sums[i] / steps == low);
    } else {
      z2 += std::pow((sums[i] / steps - x) / deviation, 2) / static_cast<double>(n);
    }
  }
  CHECK(std::abs(z2 - 1) < 6 * std::sqrt(2.0 / static_cast<double>(n)));

  args.rounded = view(same);
  cpu::adamw(view(p), view(g), view(m), view(v), args);
  CHECK(std::memcmp(same.data(), rounded.data(), n * sizeof(BFloat16)) == 0);  // the step number sets the draws
  args.seed = 6;
  cpu::adamw(view(p), view(g), view(m), view(v), args);
  CHECK(std::memcmp(same.data(), rounded.data(), n * sizeof(BFloat16)) != 0);
}
