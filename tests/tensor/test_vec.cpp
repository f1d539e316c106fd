// Vectorized arithmetic and functions compared with libm.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/cpu/simd/vec_pow.h"
#include "tests/catch.h"

using namespace pg;
using simd::Vec;

namespace {

// Distance of `got` from the exact value, in units in the last place of T at the exact value.
template <class T>
double ulps(T got, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e30;
  int exponent;
  std::frexp(rounded, &exponent);
  const int digits = std::numeric_limits<T>::digits;
  const int lowest = std::numeric_limits<T>::min_exponent - digits;
  const long double unit = std::ldexp(1.0L, std::max(rounded == 0 ? lowest : exponent - digits, lowest));
  return static_cast<double>(std::abs(got - exact) / unit);
}

// Worst error of `f` compared with `exact`, over values spread over [low, high] and over log-spaced magnitudes.
template <class T, class F, class G>
double worst_ulps(F f, G exact, double low, double high) {
  std::vector<T> xs;
  Generator g(1);
  for (int i = 0; i < testing::rounds(200000); ++i) xs.push_back(static_cast<T>(low + (high - low) * g.uniform()));
  for (int i = 0; i < testing::rounds(100000); ++i) {
    const double magnitude = std::exp2(-30 + 40 * g.uniform());
    for (const double x : {magnitude, -magnitude}) {
      if (x >= low && x <= high) xs.push_back(static_cast<T>(x));
    }
  }
  while (xs.size() % Vec<T>::size) xs.push_back(xs[0]);
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < xs.size(); i += Vec<T>::size) {
    const Vec<T> y = f(simd::load(&xs[i]));
    for (int lane = 0; lane < Vec<T>::size; ++lane) {
      const double error = ulps(y[lane], exact(static_cast<long double>(xs[i + lane])));
      if (error > worst) worst = error, at = xs[i + lane];
    }
  }
  INFO("worst at " << at);
  CHECK(worst > 0);  // 0 would mean that a function was compared with itself
  return worst;
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T, class F>
T at(F f, double x) {
  return f(Vec<T>(static_cast<T>(x)))[Vec<T>::size - 1];
}
template <class T>
bool same(T a, double b) {
  return std::isnan(b) ? std::isnan(a) : a == static_cast<T>(b) && std::signbit(a) == std::signbit(b);
}

template <class T>
void check_accuracy(double bound) {
  const bool single = sizeof(T) == 4;
  const auto exp = [](Vec<T> x) { return simd::exp(x); };
  const auto exp_flushed = [](Vec<T> x) { return simd::exp_flushed(x); };
  const auto expm1 = [](Vec<T> x) { return simd::expm1(x); };
  const auto log = [](Vec<T> x) { return simd::log(x); };
  const auto log1p = [](Vec<T> x) { return simd::log1p(x); };
  const auto tanh = [](Vec<T> x) { return simd::tanh(x); };
  const auto sigmoid = [](Vec<T> x) { return simd::sigmoid(x); };
  const auto softplus = [](Vec<T> x) { return simd::softplus(x); };
  const auto erf = [](Vec<T> x) { return simd::erf(x); };
  const auto gelu = [](Vec<T> x) { return simd::gelu_tanh(x); };
  CHECK(worst_ulps<T>(
            exp, [](long double x) { return std::exp(x); }, -110, 89) <= bound);
  CHECK(worst_ulps<T>(
            exp, [](long double x) { return std::exp(x); }, -1, 1) <= bound);
  CHECK(worst_ulps<T>(
            exp, [](long double x) { return std::exp(x); }, single ? -110 : -750, single ? 95 : 720) <= bound);
  CHECK(worst_ulps<T>(
            exp_flushed, [](long double x) { return std::exp(x); }, single ? -87.3 : -708.3, single ? 88 : 709) <=
        bound);
  CHECK(worst_ulps<T>(
            expm1, [](long double x) { return std::expm1(x); }, -40, 80) <= bound);
  CHECK(worst_ulps<T>(
            expm1, [](long double x) { return std::expm1(x); }, -1, 1) <= bound);
  CHECK(worst_ulps<T>(
            log, [](long double x) { return std::log(x); }, 0, 1000) <= bound);
  CHECK(worst_ulps<T>(
            log, [](long double x) { return std::log(x); }, 0.5, 1.5) <= bound);
  CHECK(worst_ulps<T>(
            log1p, [](long double x) { return std::log1p(x); }, -1, 1000) <= bound);
  CHECK(worst_ulps<T>(
            log1p, [](long double x) { return std::log1p(x); }, -0.5, 0.5) <= bound);
  CHECK(worst_ulps<T>(
            tanh, [](long double x) { return std::tanh(x); }, -25, 25) <= bound);
  CHECK(worst_ulps<T>(
            tanh, [](long double x) { return std::tanh(x); }, -1, 1) <= bound);
  CHECK(worst_ulps<T>(
            sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, -100, 100) <= bound);
  const auto exact_softplus = [](long double x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); };
  CHECK(worst_ulps<T>(softplus, exact_softplus, single ? -110 : -750, 110) <= bound);
  CHECK(worst_ulps<T>(softplus, exact_softplus, -3, 3) <= bound);
  CHECK(worst_ulps<T>(
            erf, [](long double x) { return std::erf(x); }, -6, 6) <= bound);
  // Left of -1, gelu is nearly x·e^2u with 2u down to -17. The rounding errors in 2u (up to 2 units) count |2u| times.
  const auto exact_gelu = [](long double x) {
    return x / (1 + std::exp(-2 * std::sqrt(2 / 3.14159265358979323846264338327950288L) * (x + 0.044715L * x * x * x)));
  };
  CHECK(worst_ulps<T>(gelu, exact_gelu, -1, 8) <= 2 * bound);
  CHECK(worst_ulps<T>(gelu, exact_gelu, -5, -1) <= 2 * bound + 2 * 17);
}

template <class T>
void check_trigonometry(double bound) {
  const auto sin = [](Vec<T> x) { return simd::sin(x); };
  const auto cos = [](Vec<T> x) { return simd::cos(x); };
  // 2e6 is beyond the range that is reduced here. Multiples of π/2 leave the smallest remainders.
  for (const double far : {1.0, 100.0, 2e6}) {
    CHECK(worst_ulps<T>(
              sin, [](long double x) { return std::sin(x); }, -far, far) <= bound);
    CHECK(worst_ulps<T>(
              cos, [](long double x) { return std::cos(x); }, -far, far) <= bound);
  }
  for (int n = -100000; n < 100000; n += 37) {
    const T x = static_cast<T>(n * 1.57079632679489661923L);
    CHECK(ulps(at<T>(sin, x), std::sin(static_cast<long double>(x))) <= bound);
    CHECK(ulps(at<T>(cos, x), std::cos(static_cast<long double>(x))) <= bound);
  }
  // A lane that is computed by libm does not change its neighbours' bits.
  std::vector<T> x(Vec<T>::size, T(0.7));
  x[0] = T(3e6);
  CHECK(same(simd::sin(simd::load(x.data()))[Vec<T>::size - 1], at<T>(sin, 0.7)));
  CHECK(same(at<T>(sin, -0.0), -0.0));
  CHECK(same(at<T>(cos, -0.0), 1));
  for (const double bad : {inf, -inf, nan}) {
    CHECK(same(at<T>(sin, bad), nan));
    CHECK(same(at<T>(cos, bad), nan));
  }
}

template <class T>
void check_power(double bound) {
  for (const double exponent : {-7.25, -0.5, 1 / 3.0, 3.0}) {
    const T y = static_cast<T>(exponent);
    const auto pow = [y](Vec<T> x) { return simd::pow(x, Vec<T>(y)); };
    INFO("exponent " << y);
    CHECK(worst_ulps<T>(
              pow, [y](long double x) { return std::pow(x, static_cast<long double>(y)); }, 0, 3000) <= bound);
  }
  std::vector<T> values;
  for (const double x : {0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 0x1p23 - 1, 0x1p23 + 1, 0x1p24, 0x1p30, 3e38, 1e-45, inf, nan}) {
    values.push_back(static_cast<T>(x));
    values.push_back(static_cast<T>(-x));
  }
  for (const T side : {T(0), T(2)}) values.push_back(std::nextafter(T(-1), side));
  for (const T x : values) {
    for (const T y : values) {
      INFO(x << " to the power " << y);
      const T got = simd::pow(Vec<T>(x), Vec<T>(y))[0], expected = std::pow(x, y);
      CHECK(ulps(got, expected) <= 1);
      CHECK((std::isnan(got) || std::signbit(got) == std::signbit(expected)));
    }
  }
}

template <class T>
void check_borders() {
  const auto e = [](Vec<T> x) { return simd::exp(x); };
  CHECK(same(at<T>(e, -inf), 0));
  CHECK(same(at<T>(e, inf), inf));
  CHECK(same(at<T>(e, nan), nan));
  CHECK(same(at<T>(e, 0), 1));
  CHECK(same(at<T>(e, -0.0), 1));
  CHECK(same(at<T>(e, 1e4), inf));
  CHECK(same(at<T>(e, -1e4), 0));
  const auto flushed = [](Vec<T> x) { return simd::exp_flushed(x); };
  CHECK(same(at<T>(flushed, 0), 1));
  CHECK(same(at<T>(flushed, -0.0), 1));
  for (const double below : {-inf, -1e30, -1e4, std::log(double{std::numeric_limits<T>::min()}) - 0.01}) {
    CHECK(same(at<T>(flushed, below), 0));
  }
  // Any NaN, including one whose bits would become a finite number when the scaling is added to them as an integer.
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (const Bits bits : {~Bits(0), ~Bits(0) >> 1}) CHECK(std::isnan(flushed(Vec<T>(std::bit_cast<T>(bits)))[0]));
  const auto em = [](Vec<T> x) { return simd::expm1(x); };
  CHECK(same(at<T>(em, -inf), -1));
  CHECK(same(at<T>(em, inf), inf));
  CHECK(same(at<T>(em, nan), nan));
  CHECK(same(at<T>(em, -0.0), -0.0));
  CHECK(same(at<T>(em, 1e4), inf));
  CHECK(same(at<T>(em, -1e4), -1));
  const auto l = [](Vec<T> x) { return simd::log(x); };
  CHECK(same(at<T>(l, 0), -inf));
  CHECK(same(at<T>(l, -0.0), -inf));
  CHECK(same(at<T>(l, -1), nan));
  CHECK(same(at<T>(l, -inf), nan));
  CHECK(same(at<T>(l, inf), inf));
  CHECK(same(at<T>(l, nan), nan));
  CHECK(same(at<T>(l, 1), 0));
  for (const T tiny : {std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min() / 3}) {
    CHECK(ulps(at<T>(l, tiny), std::log(static_cast<long double>(tiny))) <= 2);
  }
  CHECK(ulps(at<T>(l, std::numeric_limits<T>::max()), std::log((long double)std::numeric_limits<T>::max())) <= 2);
  const auto lp = [](Vec<T> x) { return simd::log1p(x); };
  // Just above -1, where 1 + x is exact; the largest; denormal arguments.
  for (const T x : {std::nextafter(T(-1), T(0)), std::numeric_limits<T>::max()}) {
    CHECK(ulps(at<T>(lp, x), std::log1p(static_cast<long double>(x))) <= 2);
  }
  const T tiny = -std::numeric_limits<T>::min() / 3;
  CHECK(same(at<T>(lp, tiny), tiny));
  CHECK(same(at<T>(lp, -1), -inf));
  for (const double below : {-2.0, -inf}) CHECK(same(at<T>(lp, below), nan));
  CHECK(same(at<T>(lp, inf), inf));
  CHECK(same(at<T>(lp, nan), nan));
  CHECK(same(at<T>(lp, -0.0), -0.0));
  const auto t = [](Vec<T> x) { return simd::tanh(x); };
  const auto er = [](Vec<T> x) { return simd::erf(x); };
  for (const double big : {1e4, inf}) {
    CHECK(same(at<T>(t, big), 1));
    CHECK(same(at<T>(t, -big), -1));
    CHECK(same(at<T>(er, big), 1));
    CHECK(same(at<T>(er, -big), -1));
  }
  CHECK(same(at<T>(t, nan), nan));
  CHECK(same(at<T>(er, nan), nan));
  CHECK(same(at<T>(t, -0.0), -0.0));
  const auto s = [](Vec<T> x) { return simd::sigmoid(x); };
  CHECK(same(at<T>(s, -inf), 0));
  CHECK(same(at<T>(s, inf), 1));
  CHECK(same(at<T>(s, -1e4), 0));
  CHECK(same(at<T>(s, 1e4), 1));
  CHECK(same(at<T>(s, 0), 0.5));
  CHECK(same(at<T>(s, nan), nan));
  const auto sp = [](Vec<T> x) { return simd::softplus(x); };
  for (const double low : {-inf, -1e4}) CHECK(same(at<T>(sp, low), 0));
  for (const double high : {inf, 1e4, nan}) CHECK(same(at<T>(sp, high), high));
  CHECK(ulps(at<T>(sp, -0.0), std::log(2.0L)) <= 1);
  const auto g = [](Vec<T> x) { return simd::gelu_tanh(x); };
  CHECK(same(at<T>(g, 1e4), 1e4));
  CHECK(same(at<T>(g, -1e4), -0.0));
  CHECK(same(at<T>(g, 0), 0));
  CHECK(same(at<T>(g, nan), nan));
}

template <class T>
void check_memory() {
  constexpr int size = Vec<T>::size;
  std::vector<T> x(3 * size), guard(3 * size, T(-7));
  for (int i = 0; i < 3 * size; ++i) x[i] = T(0.37) * T(i + 1);
  for (int n = 0; n <= size; ++n) {
    for (int offset : {0, 1, 3}) {
      const Vec<T> part = simd::load(&x[offset], n);
      for (int lane = 0; lane < size; ++lane) REQUIRE(part[lane] == (lane < n ? x[offset + lane] : T(0)));
      std::vector<T> y = guard;
      store(&y[offset], simd::exp(part), n);
      for (int i = 0; i < 3 * size; ++i) {
        const bool written = i >= offset && i < offset + n;
        REQUIRE(y[i] == (written ? simd::exp(Vec<T>(x[i]))[0] : T(-7)));  // same bits as in a full vector
      }
    }
  }
  T sum = 0;
  for (int i = 0; i < size; ++i) sum += T(i);
  Vec<T> lanes;
  std::vector<T> counting(size);
  for (int i = 0; i < size; ++i) counting[i] = T(i);
  lanes = simd::load(counting.data());
  CHECK(simd::horizontal_sum(lanes) == sum);
  CHECK(simd::horizontal_max(lanes) == T(size - 1));
  CHECK(simd::horizontal_max(-lanes) == T(0));
  CHECK(simd::any(lanes == T(size - 1)));
  CHECK(!simd::any(lanes > T(size - 1)));
}

}  // namespace

TEST_CASE("vector functions stay within their bounds of the exact values", "[vec]") {
  check_accuracy<float>(2.5);
  check_accuracy<double>(3.0);
}

TEST_CASE("sine and cosine stay within their bounds of the exact values", "[vec]") {
  check_trigonometry<float>(0.85);
  check_trigonometry<double>(3.0);
}

TEST_CASE("powers stay within their bounds and follow IEEE for every special case", "[vec]") {
  check_power<float>(simd::kHasFma ? 0.76 : 0.51);
  check_power<double>(1.0);
}

TEST_CASE("powers stay within their bounds from denormal results to overflow", "[vec]") {
  constexpr int size = Vec<float>::size;
  Generator g(7);
  double normal = 0, denormal = 0;
  for (int i = 0; i < testing::rounds(400000); i += size) {
    float x[size], y[size];
    for (int lane = 0; lane < size; ++lane) {
      const double near = std::exp2(-20 * g.uniform());  // bases near 1 have the largest exponents
      const double log_x = i % 3 == 0 ? near * (2 * g.uniform() - 1) : -149 + 276 * g.uniform();
      const double log_z = -150 + 278 * g.uniform();
      x[lane] = static_cast<float>(std::exp2(log_x));
      if (x[lane] == 1) x[lane] = 2;
      y[lane] = static_cast<float>(log_z / std::log2(static_cast<double>(x[lane])));
    }
    const Vec<float> z = simd::pow(simd::load(x), simd::load(y));
    for (int lane = 0; lane < size; ++lane) {
      const long double exact = std::pow(static_cast<long double>(x[lane]), static_cast<long double>(y[lane]));
      double& worst = exact < 2 * std::numeric_limits<float>::min() ? denormal : normal;  // or next to them
      worst = std::max(worst, ulps(z[lane], exact));
    }
  }
  CHECK(normal > 0);
  CHECK(normal <= (simd::kHasFma ? 0.76 : 0.51));
  CHECK(denormal > 0);
  CHECK(denormal <= (simd::kHasFma ? 0.82 : 0.51));
}

TEST_CASE("powers that are floats are exact, whatever is in the other lanes", "[vec]") {
  for (int base = -12; base <= 12; ++base) {
    double exact = 1;
    for (int n = 0; std::abs(exact) <= 0x1p24; ++n, exact *= base) {
      if (n > 30) break;
      INFO(base << " to the power " << n);
      CHECK(same(simd::pow(Vec<float>(static_cast<float>(base)), Vec<float>(static_cast<float>(n)))[0], exact));
    }
  }
  for (int n = 1; n <= 4096; ++n) {
    const float root = static_cast<float>(n);
    REQUIRE(simd::pow(Vec<float>(root * root), Vec<float>(0.5F))[0] == root);
    REQUIRE(simd::pow(Vec<float>(root), Vec<float>(2.0F))[0] == root * root);
  }
  // 0 and the like take a longer way, together with their neighbours.
  constexpr int size = Vec<float>::size;
  Generator g(8);
  for (int i = 0; i < 10000; ++i) {
    float x[size], y[size];
    for (int lane = 0; lane < size; ++lane) {
      x[lane] = static_cast<float>(std::exp2(-60 + 120 * g.uniform()));
      y[lane] = static_cast<float>(-2 + 4 * g.uniform());
    }
    const Vec<float> z = simd::pow(simd::load(x), simd::load(y));
    x[i % size] = i % 2 ? 0.0F : -1.5F;
    const Vec<float> beside = simd::pow(simd::load(x), simd::load(y));
    for (int lane = 0; lane < size; ++lane) {
      if (lane != i % size) REQUIRE(z[lane] == beside[lane]);
    }
  }
}

TEST_CASE("vector functions at infinities and NaN and zero", "[vec]") {
  check_borders<float>();
  check_borders<double>();
}

TEST_CASE("partial loads and stores access their elements only", "[vec]") {
  check_memory<float>();
  check_memory<double>();
}

TEST_CASE("vector fma rounds like the scalar one", "[vec]") {
  Generator g(3);
  for (int i = 0; i < 1000; ++i) {
    const float a = static_cast<float>(g.normal()), b = static_cast<float>(g.normal()), c = -a * b;
    REQUIRE(fma(Vec<float>(a), b, c)[0] == simd::fma(a, b, c));
    const double x = g.normal(), y = g.normal(), z = -x * y;
    REQUIRE(fma(Vec<double>(x), y, z)[0] == simd::fma(x, y, z));
    if (simd::kHasFma) REQUIRE(simd::fma(x, y, z) == std::fma(x, y, z));
  }
}

TEST_CASE("select and comparisons and min and max act per lane", "[vec]") {
  const Vec<float> x = -2.0f, y = 3.0f, n = std::numeric_limits<float>::quiet_NaN();
  CHECK(select(x < y, 1.0f, 2.0f)[0] == 1);
  CHECK(select(x > y, 1.0f, 2.0f)[0] == 2);
  CHECK(select((x < y) & (x == y), 1.0f, 2.0f)[0] == 2);
  CHECK(select((x < y) | (x == y), 1.0f, 2.0f)[0] == 1);
  CHECK(select(~(x < y), 1.0f, 2.0f)[0] == 2);
  CHECK(select(n == n, 1.0f, 2.0f)[0] == 2);
  CHECK(min(x, y)[0] == -2);
  CHECK(max(x, y)[0] == 3);
  CHECK(abs(x)[0] == 2);
  CHECK(copysign(y, x)[0] == -3);
  CHECK(std::isnan(max(y, n)[0]));
  CHECK(max(n, y)[0] == 3);
  CHECK(simd::sqrt(Vec<double>(2.0))[0] == std::sqrt(2.0));
  CHECK(narrow(Vec<double>(1.5), Vec<double>(1e300))[0] == 1.5f);
  CHECK(narrow(Vec<double>(1.5), Vec<double>(1e300))[Vec<float>::size - 1] == static_cast<float>(inf));
  CHECK(simd::widen<true>(narrow(Vec<double>(1.5), Vec<double>(2.5)))[0] == 2.5);
}
