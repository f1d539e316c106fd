#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/parallel.h"
#include "tensor/random.h"
#include "tests/catch.h"

using namespace pg;

namespace {

struct Threads {
  explicit Threads(int n) : before(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};

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

// From zero state and with corrected means, the first step moves each parameter by lr towards -sign(g).
TEST_CASE("the first step of adamw has length lr", "[adamw]") {
  std::vector<double> p{1, 2, 3}, g{-5, 1e-3, 700}, m(3), v(3);
  AdamWArgs args = arguments(1);
  args.weight_decay = 0;
  cpu::adamw(view(p), view(g), view(m), view(v), args);
  CHECK(p[0] == Approx(1 + 1e-2));
  CHECK(p[1] == Approx(2 - 1e-2).epsilon(1e-6));  // eps / 5e-4 less
  CHECK(p[2] == Approx(3 - 1e-2));
}
