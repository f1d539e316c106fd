// Elementwise kernels compared with libm in long double; derivatives compared with differences of these functions.
#include <functional>
#include <numbers>

#include "tests/tensor/kernel_buffers.h"

using namespace pg;
using namespace pg::testing;

namespace {

using Real = long double;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const Kernels& k = cpu_kernels();

struct UnaryCase {
  Unary op;
  const char* name;
  std::function<Real(Real)> f;
  double low, high;  // the range from which values are drawn
  double ulps;       // error bound of the value, in f32 and f64
  Scalars s = {};
};

const std::vector<UnaryCase>& unary_cases() {
  static const std::vector<UnaryCase> cases = {
      {Unary::neg, "neg", [](Real x) { return -x; }, -3, 3, 0},
      {Unary::abs, "abs", [](Real x) { return std::abs(x); }, -3, 3, 0},
      {Unary::exp, "exp", [](Real x) { return std::exp(x); }, -20, 20, 8},
      {Unary::expm1, "expm1", [](Real x) { return std::expm1(x); }, -5, 5, 8},
      {Unary::log, "log", [](Real x) { return std::log(x); }, 1e-3, 50, 8},
      {Unary::log1p, "log1p", [](Real x) { return std::log1p(x); }, -0.9, 9, 8},
      {Unary::sqrt, "sqrt", [](Real x) { return std::sqrt(x); }, 0.1, 50, 2},
      {Unary::rsqrt, "rsqrt", [](Real x) { return 1 / std::sqrt(x); }, 0.1, 50, 3},
      {Unary::reciprocal, "reciprocal", [](Real x) { return 1 / x; }, 0.1, 50, 2},
      {Unary::sin, "sin", [](Real x) { return std::sin(x); }, -7, 7, 3},
      {Unary::cos, "cos", [](Real x) { return std::cos(x); }, -7, 7, 3},
      {Unary::tanh, "tanh", [](Real x) { return std::tanh(x); }, -6, 6, 10},
      {Unary::sigmoid, "sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }, -20, 20, 12},
      {Unary::softplus, "softplus", [](Real x) { return std::log1p(std::exp(x)); }, -20, 20, 16},
      {Unary::relu, "relu", [](Real x) { return x > 0 ? x : 0; }, -3, 3, 0},
      {Unary::gelu_tanh, "gelu_tanh",
       [](Real x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi_v<Real>) * (x + 0.044715L * x * x * x)));
       },
       -4, 4, 40},
      {Unary::gelu_erf, "gelu_erf", [](Real x) { return x / 2 * (1 + std::erf(x / std::sqrt(Real(2)))); }, -2, 4, 60},
      {Unary::silu, "silu", [](Real x) { return x / (1 + std::exp(-x)); }, -20, 20, 16},
      {Unary::affine, "affine", [](Real x) { return Real(0.75) * x + Real(-1.5); }, -1, 1, 2, {0.75, -1.5}},
      {Unary::clamp, "clamp", [](Real x) { return std::min(std::max(x, Real(-1)), Real(0.5)); }, -3, 3, 0, {-1, 0.5}},
      {Unary::pow_scalar, "pow 2", [](Real x) { return x * x; }, -3, 3, 2, {2, 0}},
      {Unary::pow_scalar, "pow -1.5", [](Real x) { return std::pow(x, Real(-1.5)); }, 0.2, 3, 3, {-1.5, 0}},
      {Unary::pow_scalar, "pow 3", [](Real x) { return x * x * x; }, -3, 3, 3, {3, 0}},
      {Unary::pow_scalar, "pow 0", [](Real) { return Real(1); }, -3, 3, 0, {0, 0}},
  };
  return cases;
}

struct BinaryCase {
  Binary op;
  const char* name;
  std::function<Real(Real, Real)> f;
  double low, high, ulps;
};
const std::vector<BinaryCase>& binary_cases() {
  static const std::vector<BinaryCase> cases = {
      {Binary::add, "add", [](Real x, Real y) { return x + y; }, -3, 3, 2},
      {Binary::sub, "sub", [](Real x, Real y) { return x - y; }, -3, 3, 2},
      {Binary::mul, "mul", [](Real x, Real y) { return x * y; }, -3, 3, 2},
      {Binary::div, "div", [](Real x, Real y) { return x / y; }, 0.5, 3, 2},
      {Binary::pow, "pow", [](Real x, Real y) { return std::pow(x, y); }, 0.5, 3, 3},
      {Binary::minimum, "minimum", [](Real x, Real y) { return std::min(x, y); }, -3, 3, 0},
      {Binary::maximum, "maximum", [](Real x, Real y) { return std::max(x, y); }, -3, 3, 0},
      {Binary::swiglu, "swiglu", [](Real x, Real y) { return x / (1 + std::exp(-x)) * y; }, -3, 3, 16},
  };
  return cases;
}

// Fourth-order central difference; the error is about 1e-13 with long double.
Real derivative(const std::function<Real(Real)>& f, Real x) {
  const Real h = 1e-4L;
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}
// Kinks of the functions above, where differences are not valid.
bool near_kink(Unary op, double x) {
  if (op == Unary::clamp) return std::abs(x + 1) < 1e-3 || std::abs(x - 0.5) < 1e-3;
  return (op == Unary::abs || op == Unary::relu) && std::abs(x) < 1e-3;
}

// The tensor that the derivative reads: the argument x, the result y or neither.
View kept(Unary op, const View& x, const View& y) {
  return keeps(op) == Keeps::input ? x : keeps(op) == Keeps::output ? y : View{};
}

double unary_value(Unary op, double x, DType type, Scalars s = {}) {
  Buffer in({1}, type), out({1}, type);
  in.set(0, x);
  k.unary(op, out.poison(), in, s);
  return out.get(0);
}
double unary_grad(Unary op, double x, DType type, Scalars s = {}, double dy = 1) {
  Buffer in({1}, type), out({1}, type), grad({1}, type), result({1}, type);
  in.set(0, x);
  grad.set(0, dy);
  k.unary(op, out, in, s);
  k.unary_backward(op, result.poison(), grad, kept(op, in, out), s, 0);
  return result.get(0);
}

}  // namespace

TEST_CASE("unary kernels give libm's values in every layout", "[kernels]") {
  for (const UnaryCase& c : unary_cases()) {
    INFO(c.name);
    for (DType type : {f32, f64}) {
      for (Layout layout : kLayouts) {
        for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{5, 67}, Shape{0, 3}, Shape{2, 3, 301}}) {
          Buffer x(shape, type, layout), y(shape, type, layout == Layout::sliced ? Layout::transposed : layout);
          x.random(7, c.low, c.high);
          k.unary(c.op, y.poison(), x, c.s);
          for (int64_t i = 0; i < x.numel(); ++i) {
            CHECK_CLOSE(y.get(i), static_cast<double>(c.f(x.get(i))), type, c.ulps, 0.05);
          }
          CHECK(y.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("unary derivatives are those of the functions", "[kernels]") {
  for (const UnaryCase& c : unary_cases()) {
    INFO(c.name);
    for (DType type : {f32, f64}) {
      for (Layout layout : kLayouts) {
        for (double beta : {0.0, 1.0, -0.5}) {
          const Shape shape{5, 67};
          Buffer x(shape, type, layout), y(shape, type), dy(shape, type, layout), dx(shape, type, layout);
          x.random(11, c.low, c.high);
          dy.random(12);
          k.unary(c.op, y, x, c.s);
          if (beta == 0) {
            dx.poison();
          } else {
            dx.random(13);
          }
          const auto held = dx.values();
          k.unary_backward(c.op, dx, dy, kept(c.op, x, y), c.s, beta);
          for (int64_t i = 0; i < x.numel(); ++i) {
            if (near_kink(c.op, x.get(i))) continue;
            const double slope = static_cast<double>(derivative(c.f, x.get(i)));
            const double kept = beta == 0 ? 0 : beta * held[static_cast<size_t>(i)];
            const double want = kept + dy.get(i) * slope;
            // The f64 error is limited by the difference formula, the f32 error by rounding.
            const double scale = std::abs(kept) + std::abs(dy.get(i) * slope) + 0.5;
            CHECK(std::abs(dx.get(i) - want) <= (type == f64 ? 3e-12 : 60 * 0x1p-24) * scale);
          }
          CHECK(dx.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("a derivative needs only the view it reads", "[kernels]") {
  Buffer dy({9}, f32), a({9}, f32);
  dy.random(2);
  k.unary_backward(Unary::neg, a, dy, View{}, {}, 0);
  for (int64_t i = 0; i < 9; ++i) CHECK(a.get(i) == -dy.get(i));
  k.binary_backward(Binary::add, 0, a, dy, View{}, View{}, 0);
  for (int64_t i = 0; i < 9; ++i) CHECK(a.get(i) == dy.get(i));
}

TEST_CASE("extremes stay finite or follow PyTorch", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (double big : {1e4, 1e20}) {
      CHECK(unary_value(Unary::sigmoid, big, type) == 1);
      CHECK(unary_value(Unary::sigmoid, -big, type) == 0);
      CHECK(unary_value(Unary::tanh, -big, type) == -1);
      CHECK_CLOSE(unary_value(Unary::softplus, big, type), big, type, 2, 0);
      CHECK(unary_value(Unary::softplus, -big, type) == 0);
      for (Unary op : {Unary::gelu_tanh, Unary::gelu_erf, Unary::silu}) {
        CHECK_CLOSE(unary_value(op, big, type), big, type, 2, 0);
        CHECK(unary_value(op, -big, type) == 0);
        CHECK(unary_grad(op, big, type) == 1);
        CHECK(unary_grad(op, -big, type) == 0);
      }
      CHECK(unary_grad(Unary::softplus, big, type) == 1);
      CHECK(unary_grad(Unary::softplus, -big, type) == 0);
      CHECK(unary_grad(Unary::tanh, big, type) == 0);
      CHECK(unary_grad(Unary::sigmoid, -big, type) == 0);
    }
    for (Unary op : {Unary::gelu_tanh, Unary::gelu_erf, Unary::silu, Unary::softplus}) {
      CHECK(unary_grad(op, kInf, type) == 1);
      CHECK(unary_grad(op, -kInf, type) == 0);
    }
    CHECK(unary_value(Unary::exp, -kInf, type) == 0);
    CHECK(unary_value(Unary::exp, kInf, type) == kInf);
    CHECK(unary_value(Unary::log, 0, type) == -kInf);
    CHECK(std::isnan(unary_value(Unary::log, -1, type)));
    CHECK(unary_value(Unary::log1p, -1, type) == -kInf);
    CHECK_CLOSE(unary_value(Unary::expm1, 1e-12, type), std::expm1(1e-12), type, 4, 0);
    CHECK_CLOSE(unary_value(Unary::log1p, 1e-12, type), std::log1p(1e-12), type, 4, 0);
    CHECK(unary_value(Unary::rsqrt, 0, type) == kInf);
    CHECK(unary_value(Unary::reciprocal, 0, type) == kInf);

    CHECK(unary_grad(Unary::abs, 0, type) == 0);
    CHECK(unary_grad(Unary::relu, 0, type) == 0);
    CHECK(unary_grad(Unary::relu, -1, type, {}, kInf) == 0);
    CHECK(unary_grad(Unary::sqrt, 0, type) == kInf);
    CHECK(unary_grad(Unary::clamp, -1, type, {-1, 0.5}) == 0);
    CHECK(unary_grad(Unary::clamp, 0.25, type, {-1, 0.5}) == 1);
    CHECK(unary_grad(Unary::clamp, 0.5, type, {-1, 0.5}) == 0);
    CHECK(unary_grad(Unary::clamp, 0.75, type, {-1, 0.5}) == 0);
    CHECK(unary_grad(Unary::pow_scalar, 0, type, {2, 0}) == 0);
    CHECK(unary_grad(Unary::pow_scalar, 0, type, {0, 0}) == 0);
    CHECK(unary_grad(Unary::pow_scalar, 0, type, {1, 0}) == 1);
    for (const UnaryCase& c : unary_cases()) {
      INFO(c.name);
      if (c.op != Unary::pow_scalar || c.s.a != 0) CHECK(std::isnan(unary_value(c.op, kNaN, type, c.s)));
    }
  }
}

TEST_CASE("binary kernels in every layout and broadcast", "[kernels]") {
  for (const BinaryCase& c : binary_cases()) {
    INFO(c.name);
    for (DType type : {f32, f64}) {
      const auto verify = [&](const View& x, const View& y, const Buffer& bx, const Buffer& by,
                              const std::function<int64_t(int64_t)>& ix, const std::function<int64_t(int64_t)>& iy,
                              Layout out) {
        Buffer z(x.shape, type, out);
        k.binary(c.op, z.poison(), x, y);
        for (int64_t i = 0; i < z.numel(); ++i) {
          const double want = static_cast<double>(c.f(bx.get(ix(i)), by.get(iy(i))));
          CHECK_CLOSE(z.get(i), want, type, c.ulps, 0);
        }
        CHECK(z.guards_intact());
      };
      const auto same = [](int64_t i) { return i; };
      for (Layout lx : kLayouts) {
        for (Layout ly : kLayouts) {
          for (const Shape& shape : {Shape{1}, Shape{33}, Shape{7, 35}, Shape{2, 3, 290}}) {
            Buffer x(shape, type, lx), y(shape, type, ly);
            x.random(1, c.low, c.high), y.random(2, c.low, c.high);
            verify(x, y, x, y, same, same, lx);
          }
        }
        const int64_t rows = 9, columns = 300;
        Buffer x({rows, columns}, type, lx), row({1, columns}, type), column({rows, 1}, type), scalar({1, 1}, type);
        x.random(1, c.low, c.high), row.random(2, c.low, c.high);
        column.random(3, c.low, c.high), scalar.random(4, c.low, c.high);
        verify(
            x, expand(row, 0, rows), x, row, same, [=](int64_t i) { return i % columns; }, Layout::contiguous);
        verify(
            expand(column, 1, columns), x, column, x, [=](int64_t i) { return i / columns; }, same, lx);
        verify(
            x, expand(expand(scalar, 0, rows), 1, columns), x, scalar, same, [](int64_t) { return 0; }, lx);
        verify(
            expand(row, 0, rows), expand(column, 1, columns), row, column, [=](int64_t i) { return i % columns; },
            [=](int64_t i) { return i / columns; }, Layout::transposed);
      }
    }
  }
}

TEST_CASE("binary derivatives are those of the functions", "[kernels]") {
  for (const BinaryCase& c : binary_cases()) {
    INFO(c.name);
    for (DType type : {f32, f64}) {
      for (int side : {0, 1}) {
        for (double beta : {0.0, 1.0}) {
          const Shape shape{3, 43};
          Buffer x(shape, type, Layout::sliced), y(shape, type), dz(shape, type), d(shape, type, Layout::padded);
          x.random(1, c.low, c.high), y.random(2, c.low, c.high), dz.random(3);
          if (beta == 0) {
            d.poison();
          } else {
            d.random(5);
          }
          const auto held = d.values();
          k.binary_backward(c.op, side, d, dz, x, y, beta);
          for (int64_t i = 0; i < d.numel(); ++i) {
            const Real a = x.get(i), b = y.get(i);
            if (std::abs(a - b) < 1e-3) continue;
            const double slope = static_cast<double>(side == 0 ? derivative([&](Real t) { return c.f(t, b); }, a)
                                                               : derivative([&](Real t) { return c.f(a, t); }, b));
            const double kept = beta == 0 ? 0 : held[static_cast<size_t>(i)];
            const double scale = std::abs(kept) + std::abs(dz.get(i) * slope) + 0.1;
            CHECK(std::abs(d.get(i) - kept - dz.get(i) * slope) <= (type == f64 ? 3e-12 : 20 * 0x1p-24) * scale);
          }
          CHECK(d.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("ties, NaN and zero bases", "[kernels]") {
  const auto value = [](Binary op, double x, double y) {
    Buffer a({1}, f32), b({1}, f32), z({1}, f32);
    a.set(0, x), b.set(0, y);
    k.binary(op, z, a, b);
    return z.get(0);
  };
  const auto grad = [](Binary op, int side, double x, double y) {
    Buffer a({1}, f32), b({1}, f32), dz({1}, f32), d({1}, f32);
    a.set(0, x), b.set(0, y), dz.set(0, 1);
    k.binary_backward(op, side, d.poison(), dz, a, b, 0);
    return d.get(0);
  };
  for (Binary op : {Binary::minimum, Binary::maximum}) {
    CHECK(grad(op, 0, 2, 2) == 0.5);
    CHECK(grad(op, 1, 2, 2) == 0.5);
    CHECK(std::isnan(value(op, kNaN, 1)));
    CHECK(std::isnan(value(op, 1, kNaN)));
  }
  CHECK(value(Binary::pow, 0, 0) == 1);
  CHECK(value(Binary::pow, -2, 3) == -8);
  CHECK(std::isnan(value(Binary::pow, -2, 0.5)));
  CHECK(grad(Binary::pow, 0, 0, 0) == 0);
  CHECK(grad(Binary::pow, 0, -3, 2) == -6);
  CHECK(grad(Binary::pow, 1, 0, 2) == 0);
  CHECK(grad(Binary::pow, 1, 0, 0) == 0);
  CHECK(grad(Binary::pow, 1, 0, -1) == -kInf);
}

TEST_CASE("comparisons write 0 and 1", "[kernels]") {
  for (DType type : {f32, f64, i32, u8}) {
    for (Layout layout : kLayouts) {
      Buffer x({4, 70}, type, layout), y({4, 70}, type), z({4, 70}, u8, layout);
      x.integers(1, 3), y.integers(2, 3);
      if (is_floating(type)) x.set(5, kNaN);
      const auto verify = [&](Comparison op, auto f) {
        k.compare(op, z, x, y);
        for (int64_t i = 0; i < z.numel(); ++i) CHECK(z.get(i) == (f(x.get(i), y.get(i)) ? 1 : 0));
        CHECK(z.guards_intact());
      };
      verify(Comparison::eq, std::equal_to<double>());
      verify(Comparison::ne, std::not_equal_to<double>());
      verify(Comparison::lt, std::less<double>());
      verify(Comparison::le, std::less_equal<double>());
      verify(Comparison::gt, std::greater<double>());
      verify(Comparison::ge, std::greater_equal<double>());
    }
  }
}

TEST_CASE("where picks by condition for all types", "[kernels]") {
  for (DType type : {f32, f64, bf16, i32, u8}) {
    for (Layout layout : kLayouts) {
      Buffer c({6, 37}, u8, layout), x({6, 37}, type, layout), y({1, 37}, type), z({6, 37}, type, layout);
      c.integers(1, 2), x.integers(2, 100), y.integers(3, 100);
      k.where(z, c, x, expand(y, 0, 6));
      for (int64_t i = 0; i < z.numel(); ++i) CHECK(z.get(i) == (c.get(i) != 0 ? x.get(i) : y.get(i % 37)));
      CHECK(z.guards_intact());
    }
  }
}

TEST_CASE("an element's bits don't depend on its position or the threads", "[kernels]") {
  const int64_t n = 70001;
  for (DType type : {f32, f64}) {
    for (const UnaryCase& c : unary_cases()) {
      INFO(c.name);
      Buffer x({n}, type);
      x.random(3, c.low, c.high);
      Buffer whole({n}, type);
      k.unary(c.op, whole, x, c.s);
      check_threads([&] {
        Buffer y({n}, type);
        k.unary(c.op, y, x, c.s);
        return y.bytes();
      });
      for (int64_t i : {int64_t{0}, int64_t{15}, int64_t{16}, int64_t{30001}, n - 1}) {
        CHECK(unary_value(c.op, x.get(i), type, c.s) == whole.get(i));
      }
    }
  }
}
