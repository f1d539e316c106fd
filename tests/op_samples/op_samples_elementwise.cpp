// Samples of elementwise operations.
#include <cmath>

#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

struct UnaryCase {
  Op op;
  std::string label;
  Inputs (*inputs)(std::vector<Shape>);
  Tensor (*call)(const Tensor&);
  Tensor (*composed)(const Tensor&);
};

Inputs any(std::vector<Shape> shapes) { return normal(std::move(shapes)); }
Inputs positive(std::vector<Shape> shapes) { return uniform(std::move(shapes), 0.3, 3); }
Inputs above_minus_half(std::vector<Shape> shapes) { return uniform(std::move(shapes), -0.5, 2); }
Inputs not_zero(std::vector<Shape> shapes) { return away(std::move(shapes), {0}); }
Inputs off_clamp(std::vector<Shape> shapes) { return away(std::move(shapes), {-0.7, 0.8}); }
// Multiples of 1/256 in [-1, 1]: they and gradcheck's perturbed values are exact in f32.
Inputs exact_in_f32(std::vector<Shape> shapes) {
  return [shapes = std::move(shapes)](Generator& g, DType dtype) {
    std::vector<Tensor> result;
    for (const Shape& shape : shapes) {
      std::vector<double> values(static_cast<size_t>(numel(shape)));
      for (double& value : values) value = static_cast<double>(g.integer(513) - 256) / 256;
      result.push_back(Tensor::from(values, shape).to(dtype));
    }
    return result;
  };
}

Tensor constant_like(const Tensor& x, double value) { return Tensor::scalar(value, x.dtype(), x.device()); }

const std::vector<UnaryCase>& unary_cases() {
  using T = const Tensor&;
  static const std::vector<UnaryCase> cases = {
      {Op::neg, "", any, [](T x) { return neg(x); }, [](T x) { return constant_like(x, 0) - x; }},
      {Op::abs, "", not_zero, [](T x) { return abs(x); }, [](T x) { return maximum(x, neg(x)); }},
      {Op::exp, "", any, [](T x) { return exp(x); }, [](T x) { return expm1(x) + 1; }},
      {Op::expm1, "", any, [](T x) { return expm1(x); }, [](T x) { return exp(x) - 1; }},
      {Op::log, "", positive, [](T x) { return log(x); }, [](T x) { return log1p(x - 1); }},
      {Op::log1p, "", above_minus_half, [](T x) { return log1p(x); }, [](T x) { return log(1 + x); }},
      {Op::sqrt, "", positive, [](T x) { return sqrt(x); }, [](T x) { return pow(x, 0.5); }},
      {Op::rsqrt, "", positive, [](T x) { return rsqrt(x); }, [](T x) { return 1 / sqrt(x); }},
      {Op::reciprocal, "", not_zero, [](T x) { return reciprocal(x); }, [](T x) { return constant_like(x, 1) / x; }},
      {Op::sin, "", any, [](T x) { return sin(x); }, [](T x) { return 2 * sin(x * 0.5) * cos(x * 0.5); }},
      {Op::cos, "", any, [](T x) { return cos(x); }, [](T x) { return 1 - 2 * (sin(x * 0.5) * sin(x * 0.5)); }},
      {Op::tanh, "", any, [](T x) { return tanh(x); }, [](T x) { return 2 * sigmoid(2 * x) - 1; }},
      {Op::sigmoid, "", any, [](T x) { return sigmoid(x); }, [](T x) { return 1 / (1 + exp(neg(x))); }},
      {Op::softplus, "", any, [](T x) { return softplus(x); }, [](T x) { return log(1 + exp(x)); }},
      {Op::relu, "", not_zero, [](T x) { return relu(x); }, [](T x) { return maximum(x, constant_like(x, 0)); }},
      {Op::gelu, "tanh", any, [](T x) { return gelu(x, Gelu::tanh); }, [](T x) { return composed::gelu(x); }},
      {Op::gelu, "erf", any, [](T x) { return gelu(x, Gelu::erf); }, nullptr},
      {Op::silu, "", any, [](T x) { return silu(x); }, [](T x) { return composed::silu(x); }},
      {Op::affine, "", any, [](T x) { return affine(x, -1.5, 0.25); },
       [](T x) { return x * constant_like(x, -1.5) + constant_like(x, 0.25); }},
      {Op::clamp, "both", off_clamp, [](T x) { return clamp(x, -0.7, 0.8); },
       [](T x) { return minimum(maximum(x, constant_like(x, -0.7)), constant_like(x, 0.8)); }},
      {Op::clamp, "below", off_clamp, [](T x) { return clamp(x, -0.7, HUGE_VAL); },
       [](T x) { return maximum(x, constant_like(x, -0.7)); }},
      {Op::pow_scalar, "2.5", positive, [](T x) { return pow(x, 2.5); }, [](T x) { return exp(2.5 * log(x)); }},
      {Op::pow_scalar, "0.5", positive, [](T x) { return pow(x, 0.5); }, [](T x) { return sqrt(x); }},
      {Op::pow_scalar, "2 of either sign", any, [](T x) { return pow(x, 2); }, [](T x) { return x * x; }},
      {Op::pow_scalar, "3 of either sign", any, [](T x) { return pow(x, 3); }, [](T x) { return x * x * x; }},
      {Op::pow_scalar, "-2 of either sign", not_zero, [](T x) { return pow(x, -2); }, [](T x) { return 1 / (x * x); }},
      {Op::pow_scalar, "1", any, [](T x) { return pow(x, 1); }, [](T x) { return x * 1; }},
      {Op::pow_scalar, "0", any, [](T x) { return pow(x, 0); }, [](T x) { return x * 0 + 1; }},
      {Op::cast, "there and back", exact_in_f32,
       [](T x) { return cast(cast(x, x.dtype() == f64 ? f32 : f64), x.dtype()); }, [](T x) { return x * 1; }},
  };
  return cases;
}

struct BinaryCase {
  Op op;
  Inputs (*inputs)(std::vector<Shape>);
  Tensor (*call)(const Tensor&, const Tensor&);
  Tensor (*composed)(const Tensor&, const Tensor&);
};

const std::vector<BinaryCase>& binary_cases() {
  using T = const Tensor&;
  static const std::vector<BinaryCase> cases = {
      {Op::add, any, [](T a, T b) { return add(a, b); }, [](T a, T b) { return a - neg(b); }},
      {Op::sub, any, [](T a, T b) { return sub(a, b); }, [](T a, T b) { return a + neg(b); }},
      {Op::mul, not_zero, [](T a, T b) { return mul(a, b); }, [](T a, T b) { return a / reciprocal(b); }},
      {Op::div, not_zero, [](T a, T b) { return div(a, b); }, [](T a, T b) { return a * reciprocal(b); }},
      {Op::pow, positive, [](T a, T b) { return pow(a, b); }, [](T a, T b) { return exp(b * log(a)); }},
      {Op::minimum, distinct, [](T a, T b) { return minimum(a, b); },
       [](T a, T b) { return 0.5 * (a + b - abs(a - b)); }},
      {Op::maximum, distinct, [](T a, T b) { return maximum(a, b); },
       [](T a, T b) { return 0.5 * (a + b + abs(a - b)); }},
      {Op::swiglu, any, [](T a, T b) { return swiglu(a, b); }, [](T a, T b) { return a * sigmoid(a) * b; }},
  };
  return cases;
}

void unary(std::vector<OpSample>& out) {
  for (const UnaryCase& c : unary_cases()) {
    const std::string prefix = c.label.empty() ? "" : c.label + " ";
    const TensorFunction call = fn([f = c.call](In x) { return f(x[0]); });
    const TensorFunction twin = c.composed ? fn([f = c.composed](In x) { return f(x[0]); }) : TensorFunction{};
    out.push_back({c.op, prefix + "[4, 7]", c.inputs({{4, 7}}), call, twin});
    out.push_back({c.op, prefix + "one element", c.inputs({{1}}), call, twin});
    out.push_back({c.op, prefix + "rank 0", c.inputs({Shape{}}), call, twin});
    out.push_back({c.op, prefix + "empty", c.inputs({{0, 3}}), call, twin});
    out.push_back({c.op, prefix + "large", c.inputs({{301, 701}}), call, twin, {}, true});
    // The input is used twice, so the second gradient contribution is added to the first.
    out.push_back({c.op, prefix + "used twice", c.inputs({{3, 5}}),
                   fn([f = c.call](In x) { return f(x[0]) * f(x[0]) + x[0]; }),
                   fn([f = c.call](In x) { return pow(f(x[0]), 2) + x[0]; })});
  }
}

void binary(std::vector<OpSample>& out) {
  const std::vector<std::pair<std::string, std::vector<Shape>>> shapes = {
      {"same shape", {{4, 7}, {4, 7}}},
      {"row broadcast", {{4, 7}, {7}}},
      {"left broadcast", {{7}, {4, 7}}},
      {"column broadcast", {{4, 7}, {4, 1}}},
      {"both broadcast", {{4, 1, 3}, {5, 1}}},
      {"scalar right", {{3, 4}, Shape{}}},
      {"scalar left", {Shape{}, {3, 4}}},
      {"one element", {{1}, {1}}},
      {"empty", {{0, 3}, {3}}},
      {"empty left", {{3, 1}, {3, 0}}},
      {"six dims", {{2, 1, 2, 1, 2, 1}, {1, 3, 1, 2, 1, 2}}}};
  for (const BinaryCase& c : binary_cases()) {
    const TensorFunction call = fn([f = c.call](In x) { return f(x[0], x[1]); });
    const TensorFunction twin = fn([f = c.composed](In x) { return f(x[0], x[1]); });
    for (const auto& [label, shape] : shapes) out.push_back({c.op, label, c.inputs(shape), call, twin});
    out.push_back({c.op, "large", c.inputs({{301, 701}, {301, 701}}), call, twin, {}, true});
    out.push_back({c.op, "large row broadcast", c.inputs({{301, 701}, {701}}), call, twin, {}, true});
    out.push_back({c.op, "large column broadcast", c.inputs({{301, 1}, {301, 701}}), call, twin, {}, true});
    // At ties minimum and maximum give each operand half of the gradient, so op(x, x) has the derivative of x. x / x
    // would be a constant, whose gradient in f32 is nothing but rounding error, so div uses x / (x·x).
    out.push_back({c.op, "x on both sides", c.inputs({{3, 4}}),
                   fn([f = c.call, op = c.op](In x) { return f(x[0], op == Op::div ? x[0] * x[0] : x[0]); })});
    out.back().tolerance_bf16 = 2e-2;
    out.push_back({c.op, "x with its transpose", c.inputs({{4, 4}}),
                   fn([f = c.call](In x) { return f(x[0], transpose(x[0])); }),
                   fn([f = c.call](In x) { return f(x[0], contiguous(transpose(x[0]))); })});
  }
  out.push_back(
      {Op::mul, "x·x", normal({{4, 7}}), fn([](In x) { return x[0] * x[0]; }), fn([](In x) { return pow(x[0], 2); })});
  out.push_back({Op::div, "by a number", normal({{4, 7}}), fn([](In x) { return x[0] / 49.0; }),
                 fn([](In x) { return x[0] / constant_like(x[0], 49); })});
  out.push_back(
      {Op::add, "x + x", normal({{4, 7}}), fn([](In x) { return x[0] + x[0]; }), fn([](In x) { return 2 * x[0]; })});
}

void where_samples(std::vector<OpSample>& out) {
  const Tensor condition = bytes({1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0}, {3, 4});
  const TensorFunction call = fn([](In x) { return where(x[2], x[0], x[1]); });
  const TensorFunction twin = fn([](In x) {
    const Tensor c = x[2].to(x[0].dtype());
    return c * x[0] + (1 - c) * x[1];
  });
  out.push_back({Op::where, "same shape", with_constants(normal({{3, 4}, {3, 4}}), {condition}), call, twin});
  out.push_back({Op::where, "all broadcast", with_constants(normal({{2, 1, 1}, {4}}), {condition}), call, twin});
  out.push_back({Op::where, "broadcast condition", with_constants(normal({{3, 2}, {3, 2}}), {bytes({1, 0, 1}, {3, 1})}),
                 call, twin});
  out.push_back({Op::where, "scalar", with_constants(normal({{3, 4}, Shape{}}), {condition}), call, twin});
  out.push_back({Op::where, "same tensor on both sides", with_constants(normal({{3, 4}}), {condition}),
                 fn([](In x) { return where(x[1], x[0], x[0]); }),
                 fn([](In x) { return x[0] + 0 * x[1].to(x[0].dtype()); })});
  out.push_back({Op::where, "empty", with_constants(normal({{0, 4}, {4}}), {bytes({}, {0, 4})}), call, twin});
  const Tensor many = random_ids(301 * 701, 2, 3).to(u8).view_reshape({301, 701});
  out.push_back({Op::where, "large", with_constants(normal({{301, 701}, {701}}), {many}), call, twin, {}, true});
}

}  // namespace

void elementwise(std::vector<OpSample>& out) {
  binary(out);
  unary(out);
  where_samples(out);
}

}  // namespace pg::samples
