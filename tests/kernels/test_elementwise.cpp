// The functions of tensor/elementwise.def and their gradients: over their ranges, in every layout and for operands that
// begin anywhere. The plain backend compiles the same formulas; tests/autograd/test_op_values.cpp and the gradient
// check compare these with mathematics.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

struct UnaryCase {
  Unary op;
  double low, high;  // the range from which values are drawn
  double ulps;       // roundings in the value, in f32 and f64
  Scalars s = {};
};
constexpr UnaryCase kUnary[] = {
    {Unary::neg, -3, 3, 0},
    {Unary::abs, -3, 3, 0},
    {Unary::exp, -20, 20, 8},
    {Unary::expm1, -5, 5, 8},
    {Unary::log, 1e-3, 50, 8},
    {Unary::log1p, -0.9, 9, 8},
    {Unary::sqrt, 0.1, 50, 2},
    {Unary::rsqrt, 0.1, 50, 3},
    {Unary::reciprocal, 0.1, 50, 2},
    {Unary::sin, -7, 7, 3},
    {Unary::cos, -7, 7, 3},
    {Unary::tanh, -6, 6, 10},
    {Unary::sigmoid, -20, 20, 12},
    {Unary::softplus, -20, 20, 16},
    {Unary::relu, -3, 3, 0},
    {Unary::gelu_tanh, -4, 4, 40},
    {Unary::gelu_erf, -2, 4, 60},
    {Unary::silu, -20, 20, 16},
    {Unary::affine, -1, 1, 2, {0.75, -1.5}},
    {Unary::div_scalar, -3, 3, 2, {0.7, 0}},
    {Unary::clamp, -3, 3, 0, {-1, 0.5}},
    {Unary::pow_scalar, -3, 3, 2, {2, 0}},
    {Unary::pow_scalar, 0.2, 3, 3, {-1.5, 0}},
    {Unary::pow_scalar, -3, 3, 3, {3, 0}},
    {Unary::pow_scalar, -3, 3, 0, {0, 0}},
};
struct BinaryCase {
  Binary op;
  double low, high, ulps;
};
constexpr BinaryCase kBinary[] = {
    {Binary::add, -3, 3, 2},  {Binary::sub, -3, 3, 2},     {Binary::mul, -3, 3, 2},     {Binary::div, 0.5, 3, 2},
    {Binary::pow, 0.5, 3, 3}, {Binary::minimum, -3, 3, 0}, {Binary::maximum, -3, 3, 0}, {Binary::swiglu, -3, 3, 16},
};
const char* name_of(Unary op) {
  constexpr const char* names[] = {
#define UNARY(name, ...) #name,
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
  };
  return names[static_cast<int>(op)];
}
const char* name_of(Binary op) {
  constexpr const char* names[] = {
#define BINARY(name, ...) #name,
#include "tensor/elementwise.def"
  };
  return names[static_cast<int>(op)];
}

// The rows above, and a row for every function without one.
std::vector<UnaryCase> unary_cases() {
  std::vector<UnaryCase> all(std::begin(kUnary), std::end(kUnary));
#define UNARY(name, ...)                                                                              \
  if (std::none_of(all.begin(), all.end(), [](const UnaryCase& c) { return c.op == Unary::name; })) { \
    all.push_back({Unary::name, 0.5, 3, 60});                                                         \
  }
#include "tensor/elementwise.def"
  return all;
}

// The tensor that the derivative reads: the argument x, the result y or neither.
View kept(Unary op, const View& x, const View& y) {
  return keeps(op) == Keeps::input ? x : keeps(op) == Keeps::output ? y : View{};
}
// The bounds of derivatives. For bf16 they read a rounded result.
constexpr Bound kSlopes{{200 * kUnit64, 60 * kUnit32, 4 * kUnit16}, 0.5, kAny};
constexpr Bound kBinarySlopes{{200 * kUnit64, 20 * kUnit32, 2 * kUnit16}, 0.1, kAny};

}  // namespace

TEST_CASE("unary kernels in every layout", "[kernels][elementwise]") {
  for (const UnaryCase& c : unary_cases()) {
    INFO(name_of(c.op) << " " << c.s.a);
    for (const DType dtype : {f32, f64, bf16}) {
      for (const Layout& layout : kEveryLayout) {
        check(dtype, layout, roundings(c.ulps, 0.05), [&](const Side& s) {
          Results results;
          for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{5, 67}, Shape{0, 3}, Shape{2, 3, 301}}) {
            const Tensor x = s.in(uniform(shape, 7, c.low, c.high), layout);
            results.push_back(s.out(shape, dtype, layout.step == 2 ? kTransposed : layout));
            s.k().unary(c.op, results.back(), x, c.s);
          }
          return results;
        });
        check(dtype, layout, kSlopes, [&](const Side& s) {
          const Shape shape{5, 67};
          const Tensor x = s.in(uniform(shape, 11, c.low, c.high), layout), dy = s.in(uniform(shape, 12), layout);
          const Tensor y = s.out(shape, dtype, kContiguous);
          s.k().unary(c.op, y, x, c.s);
          Results results;
          for (const double beta : {0.0, 1.0, -0.5}) {
            results.push_back(s.result(shape, beta, dtype, layout));
            s.k().unary_backward(c.op, results.back(), dy, kept(c.op, x, y), c.s, beta);
          }
          return results;
        });
      }
    }
  }
}

TEST_CASE("binary kernels in every layout and broadcast", "[kernels][elementwise]") {
  for (const BinaryCase& c : kBinary) {
    INFO(name_of(c.op));
    const auto values = [&](const Shape& shape, uint64_t seed) { return uniform(shape, seed, c.low, c.high); };
    for (const DType dtype : {f32, f64, bf16}) {
      for (const Layout& layout : kEveryLayout) {
        check(dtype, layout, roundings(c.ulps, 0), [&](const Side& s) {
          Results results;
          const auto add = [&](const Tensor& x, const Tensor& y, const Layout& how) {
            results.push_back(s.out(x.shape(), dtype, how));
            s.k().binary(c.op, results.back(), x, y);
          };
          for (const Layout& other : kEveryLayout) {
            for (const Shape& shape : {Shape{1}, Shape{33}, Shape{7, 35}, Shape{2, 3, 290}}) {
              add(s.in(values(shape, 1), layout), s.in(values(shape, 2), other), layout);
            }
          }
          const Shape shape{9, 300};
          const Tensor x = s.in(values(shape, 1)), row = s.in(values({1, 300}, 2), kContiguous).view_expand(shape);
          const Tensor column = s.in(values({9, 1}, 3), kContiguous).view_expand(shape);
          add(x, row, kContiguous);
          add(column, x, layout);
          add(x, s.in(values({1, 1}, 4), kContiguous).view_expand(shape), layout);
          add(row, column, kTransposed);
          return results;
        });
      }
      check(dtype, kContiguous, kBinarySlopes, [&](const Side& s) {
        const Shape shape{3, 43};
        const Tensor x = s.in(values(shape, 1), kStepped), y = s.in(values(shape, 2)), dz = s.in(uniform(shape, 3));
        Results results;
        for (const int side : {0, 1}) {
          for (const double beta : {0.0, 1.0}) {
            results.push_back(s.result(shape, beta, dtype, kPadded));
            s.k().binary_backward(c.op, side, results.back(), dz, x, y, beta);
          }
        }
        return results;
      });
    }
  }
}

TEST_CASE("a derivative needs only the view it reads", "[kernels][elementwise]") {
  check(f32, kContiguous, kExact, [](const Side& s) {
    const Tensor dy = s.in(uniform({9}, 2)), a = s.out({9}), b = s.out({9});
    s.k().unary_backward(Unary::neg, a, dy, View{}, {}, 0);
    s.k().binary_backward(Binary::add, 0, b, dy, View{}, View{}, 0);
    return Results{a, b};
  });
}

// The values and slopes of PyTorch, for the plain backend too.
TEST_CASE("elementwise extremes stay finite or follow PyTorch", "[kernels][elementwise]") {
  struct Special {
    Unary op;
    double x, value, slope;
    Scalars s = {};
    double dy = 1;
  };
  constexpr double kNone = -77;  // is not tested
  std::vector<Special> all = {
      {Unary::exp, -kInf, 0, kNone},
      {Unary::exp, kInf, kInf, kNone},
      {Unary::log, 0, -kInf, kNone},
      {Unary::log, -1, kNan, kNone},
      {Unary::log1p, -1, -kInf, kNone},
      {Unary::rsqrt, 0, kInf, kNone},
      {Unary::reciprocal, 0, kInf, kNone},
      {Unary::abs, 0, 0, 0},
      {Unary::relu, 0, 0, 0},
      {Unary::relu, -1, 0, 0, {}, kInf},
      {Unary::sqrt, 0, 0, kInf},
      {Unary::clamp, -1, -1, 0, {-1, 0.5}},
      {Unary::clamp, 0.25, 0.25, 1, {-1, 0.5}},
      {Unary::clamp, 0.5, 0.5, 0, {-1, 0.5}},
      {Unary::clamp, 0.75, 0.5, 0, {-1, 0.5}},
      {Unary::pow_scalar, 0, 0, 0, {2, 0}},
      {Unary::pow_scalar, 0, 1, 0, {0, 0}},
      {Unary::pow_scalar, 0, 0, 1, {1, 0}},
  };
  for (const double big : {1e4, 1e20}) {
    all.push_back({Unary::sigmoid, big, 1, kNone});
    all.push_back({Unary::sigmoid, -big, 0, 0});
    all.push_back({Unary::tanh, -big, -1, kNone});
    all.push_back({Unary::tanh, big, 1, 0});
    for (const Unary op : {Unary::softplus, Unary::gelu_tanh, Unary::gelu_erf, Unary::silu}) {
      all.push_back({op, big, big, 1});
      all.push_back({op, -big, 0, 0});
      all.push_back({op, kInf, kNone, 1});
      all.push_back({op, -kInf, kNone, 0});
    }
  }
  for (const UnaryCase& c : kUnary) {
    if (c.op != Unary::pow_scalar || c.s.a != 0) all.push_back({c.op, kNan, kNan, kNone, c.s});
  }
  for (const Device on : {device(), kPlain}) {
    for (const DType dtype : {f32, f64}) {
      const Side s(on, dtype, kContiguous);
      for (const Special& c : all) {
        INFO(to_string(on) << ", " << name_of(c.op) << " of " << c.x << ", " << name_of(dtype));
        const Tensor x = s.in(Tensor::full({1}, c.x, f64)), y = s.out({1}), dx = s.out({1});
        s.k().unary(c.op, y, x, c.s);
        s.k().unary_backward(c.op, dx, s.in(Tensor::full({1}, c.dy, f64)), kept(c.op, x, y), c.s, 0);
        const auto expect = [&](double got, double want) {
          if (want == kNone) return;
          const double unit = dtype == f64 && on != kPlain ? kUnit64 : kUnit32;
          CHECK(
              (std::isnan(want) ? std::isnan(got) : got == want || std::abs(got - want) <= 2 * unit * std::abs(want)));
        };
        expect(y.item(), c.value);
        expect(dx.item(), c.slope);
      }
    }
  }
  for (const DType dtype : {f32, f64}) {
    check(dtype, kContiguous, {{4 * kUnit64, 4 * kUnit32, 0}, 0, kAny}, [](const Side& s) {
      const Tensor x = s.in(Tensor::full({1}, 1e-12)), y = s.out({1}), z = s.out({1});
      s.k().unary(Unary::expm1, y, x, {});
      s.k().unary(Unary::log1p, z, x, {});
      return Results{y, z};
    });
  }
}

TEST_CASE("binary ties, NaN and zero bases follow PyTorch", "[kernels][elementwise]") {
  struct Special {
    Binary op;
    double x, y, value, slope_x, slope_y;
  };
  constexpr double kNone = -77;  // is not tested
  constexpr Special all[] = {
      {Binary::minimum, 2, 2, 2, 0.5, 0.5},
      {Binary::maximum, 2, 2, 2, 0.5, 0.5},
      {Binary::minimum, kNan, 1, kNan, kNone, kNone},
      {Binary::minimum, 1, kNan, kNan, kNone, kNone},
      {Binary::maximum, kNan, 1, kNan, kNone, kNone},
      {Binary::maximum, 1, kNan, kNan, kNone, kNone},
      {Binary::pow, 0, 0, 1, 0, 0},
      {Binary::pow, -2, 3, -8, kNone, kNone},
      {Binary::pow, -2, 0.5, kNan, kNone, kNone},
      {Binary::pow, -3, 2, 9, -6, kNone},
      {Binary::pow, 0, 2, 0, kNone, 0},
      {Binary::pow, 0, -1, kInf, kNone, -kInf},
  };
  for (const Device on : {device(), kPlain}) {
    const Side s(on, f32, kContiguous);
    for (const Special& c : all) {
      INFO(to_string(on) << ", " << name_of(c.op) << " of " << c.x << " and " << c.y);
      const Tensor x = s.in(Tensor::full({1}, c.x)), y = s.in(Tensor::full({1}, c.y)), dz = s.in(Tensor::ones({1}));
      const Tensor z = s.out({1}), dx = s.out({1}), dy = s.out({1});
      s.k().binary(c.op, z, x, y);
      s.k().binary_backward(c.op, 0, dx, dz, x, y, 0);
      s.k().binary_backward(c.op, 1, dy, dz, x, y, 0);
      for (const auto& [got, want] :
           {std::pair(z.item(), c.value), std::pair(dx.item(), c.slope_x), std::pair(dy.item(), c.slope_y)}) {
        if (want != kNone) CHECK((std::isnan(want) ? std::isnan(got) : got == want));
      }
    }
  }
}

TEST_CASE("comparisons write 0 and 1", "[kernels][elementwise]") {
  for (const DType dtype : {f32, f64, bf16, i32, u8}) {
    for (const Layout& layout : kEveryLayout) {
      check(f32, layout, kExact, [&](const Side& s) {
        const Shape shape{4, 70};
        const Tensor values = integers(shape, 1, 3).to(dtype);
        if (is_floating(dtype)) values.view_slice(1, 5, 6).fill(kNan);
        const Tensor x = s.in(values, dtype, layout), y = s.in(integers(shape, 2, 3), dtype, kContiguous);
        Results results;
        for (const Comparison op :
             {Comparison::eq, Comparison::ne, Comparison::lt, Comparison::le, Comparison::gt, Comparison::ge}) {
          results.push_back(s.out(shape, u8, layout));
          s.k().compare(op, results.back(), x, y);
        }
        return results;
      });
    }
  }
}

TEST_CASE("where picks by condition for all types", "[kernels][elementwise]") {
  for (const DType dtype : {f32, f64, bf16, i32, u8}) {
    for (const Layout& layout : kEveryLayout) {
      check(f32, layout, kExact, [&](const Side& s) {
        const Shape shape{6, 37};
        const Tensor c = s.in(integers(shape, 1, 2), u8, layout), x = s.in(integers(shape, 2, 100), dtype, layout);
        const Tensor y = s.in(integers({1, 37}, 3, 100), dtype, kContiguous), z = s.out(shape, dtype, layout);
        s.k().where(z, c, x, y.view_expand(shape));
        return Results{z};
      });
    }
  }
}
