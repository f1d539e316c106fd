// The check of gradcheck: functions whose error is known.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/02_autograd/wrong.h"

namespace pg::lesson02 {
namespace {

using kit::Grader;

const std::string kSlope =
    "a right backward is called wrong: take central differences, (f(x+h) - f(x-h)) / 2h, with h near 1e-5 and one r "
    "for all";

// x, with a backward that multiplies each element of the gradient by a factor of its own.
Tensor with_factors(const Tensor& x, const std::vector<double>& factors) {
  return record(Op::cast, x.detach(), {&x}, [factors, shape = x.shape()](const Tensor& dy, Grads& g) {
    g.pass(0, pg::mul(dy, Tensor::from(factors, shape)));
  });
}

// f(x) = offset + scale · Σ weights·x over all inputs: one output, so a random r changes no error. The tape's gradient
// of element i is factors[i] times the right one; no factors: f does not use this input.
struct Planted {
  std::vector<std::vector<double>> factors;  // per input
  double scale = 1, offset = 0;

  static double weight(size_t i) { return 1 + 0.5 * std::sin(static_cast<double>(3 * i + 1)); }
  std::vector<double> slopes(size_t input) const {
    std::vector<double> n(factors[input].size());
    for (size_t i = 0; i < n.size(); ++i) n[i] = scale * weight(i);
    return n;
  }
  Function function() const {
    return [*this](std::span<const Tensor> x) {
      Tensor y = Tensor::scalar(offset, f64);
      for (size_t i = 0; i < factors.size(); ++i) {
        if (factors[i].empty()) continue;
        const Tensor w = Tensor::from(slopes(i), x[i].shape());
        y = y + pg::sum(pg::mul(with_factors(x[i], factors[i]), w));
      }
      return y;
    };
  }
};

// The largest error of the inputs.
double right_error(const Planted& f) {
  const auto norm = [](const std::vector<double>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  double worst = 0;
  for (size_t k = 0; k < f.factors.size(); ++k) {
    const std::vector<double> n = f.slopes(k);
    std::vector<double> a = n, difference = n;
    for (size_t i = 0; i < n.size(); ++i) {
      a[i] *= f.factors[k][i];
      difference[i] -= a[i];
    }
    worst = std::max(worst, norm(difference) / std::max({norm(a), norm(n), 1e-5}));
  }
  return worst;
}

// Compares the error with that of the exercise, to three digits: the slope is measured.
bool judge_error(Grader& g, const Impl& impl, const std::string& what, const Planted& f,
                 const std::vector<Tensor>& inputs) {
  const double want = right_error(f);
  double got = 0;
  try {
    got = impl.gradcheck(f.function(), inputs);
  } catch (const Error& error) {
    return g.expect(false, what, fmt::format("an error: {}", error.what()), fmt::format("{:.4g}", want),
                    "x.grad() of an input that f does not use is undefined: its gradient is 0");
  }
  if (want == 0) {
    return g.expect(got <= 1e-6, what, fmt::format("{:.2e}", got), "an error of at most 1e-6: this backward is right",
                    std::isnan(got) ? "0 / 0: two zero gradients agree. Divide by max(|a|, |n|, 1e-5)" : kSlope);
  }
  const bool right = std::abs(got - want) <= 1e-3 * want;
  std::string diagnosis =
      "the error of an input is |a - n| / max(|a|, |n|, 1e-5), and |·| is the root of a sum of squares: is yours "
      "divided, and are the roots taken?";
  if (got <= 1e-6) {
    diagnosis = "a wrong gradient passes: compare every element of every input, and keep the largest error";
  } else if (!right) {
    for (const auto& row : gradcheck_mistakes()) {
      const double value = row.wrong(f.function(), inputs);
      if (!(std::abs(got - value) <= 1e-4 * value)) continue;
      diagnosis = row.says;
      break;
    }
  }
  return g.expect(right, what, fmt::format("an error of {:.4g}", got), fmt::format("{:.4g}", want), diagnosis);
}

std::vector<double> factors(size_t n, size_t at, double factor) {
  std::vector<double> f(n, 1);
  f[at] = factor;
  return f;
}

}  // namespace

void check_gradcheck(Grader& g, const Impl& impl) {
  Generator random = kit::draws(25);
  const auto normal = [&](const Shape& shape) { return Tensor::normal(shape, 0, 1, random, f64); };
  const Tensor x = normal({2, 3}), square = normal({3, 3}), other = normal({3, 3});
  const std::vector<double> before = square.to_vector();
  const auto judge = [&](const std::string& what, const Function& f, const std::vector<Tensor>& inputs, bool right,
                         const std::string& diagnosis) {
    if (g.failed()) return;
    const double error = impl.gradcheck(f, inputs);
    g.expect(right ? error <= 1e-6 : error >= 1e-2, what, fmt::format("{:.2e}", error),
             right ? "an error of at most 1e-6: this backward is right" : "an error of at least 0.01: it is wrong",
             diagnosis);
  };
  judge(
      "tanh whose backward lacks the square", [](auto in) { return wrong_tanh<"no_square">(in[0]); }, {x}, false,
      "a wrong backward passes: are the two gradients compared at all?");
  judge(
      "exp(3x)", [](auto in) { return pg::exp(in[0] * 3.0); }, {x}, true, kSlope);
  judge(
      "exp(3x) at 0", [](auto in) { return pg::exp(in[0] * 3.0); }, {Tensor::zeros({2, 3}, f64)}, true, kSlope);
  judge(
      "matmul, right", [](auto in) { return pg::matmul(in[0], in[1]); }, {square, other}, true,
      "a right backward is called wrong: restore each element before you go on to the next");
  judge(
      "matmul whose second gradient is wrong", [](auto in) { return wrong_matmul<"a_plain">(in[0], in[1]); },
      {square, other}, false, "a wrong gradient of the second input passes: check every input");
  judge(
      "softmax whose gradient is doubled", [](auto in) { return softmax_doubled(in[0]); }, {x}, false,
      "a doubled gradient passes: the outputs of a softmax sum to 1, so the plain sum of the outputs has gradient 0. "
      "Take random weights r");
  judge(
      "softmax, right", [](auto in) { return pg::softmax(in[0]); }, {x}, true, "a right backward is called wrong");
  if (!g.expect(square.to_vector() == before, "the inputs after all that", "other numbers", "the same numbers",
                "an input was overwritten: work on a clone"))
    return;
  judge(
      "exp(3x) of x [2, 1, 3, 1]", [](auto in) { return pg::exp(in[0] * 3.0); }, {normal({2, 1, 3, 1})}, true, kSlope);
  judge(
      "exp of a transposed view and of a single number", [](auto in) { return pg::exp(in[0]) * in[1]; },
      {normal({5, 2}).view_transpose(0, 1), normal({})}, true,
      "a right backward is called wrong: x.clone() is contiguous, x itself may be a view");
  if (g.failed()) return;

  const Tensor ten = normal({10}), three = normal({3, 1}), many = normal({7, 9}), none = Tensor::zeros({0}, f64);
  const std::vector<double> right3(3, 1), right10(10, 1);
  const double inf = INFINITY;
  struct Row {
    const char* what;
    Planted f;
    std::vector<Tensor> inputs;
  };
  const Row rows[] = {
      {"element 7 of ten has a gradient 1.3 times too large", {{factors(10, 7, 1.3)}}, {ten}},
      {"element 7 of ten has no gradient at all", {{factors(10, 7, 0)}}, {ten}},
      {"all ten are halved", {{std::vector<double>(10, 0.5)}}, {ten}},
      {"all ten are doubled, f times 1,000", {{std::vector<double>(10, 2)}, 1e3}, {ten}},
      {"all ten are doubled, f times 0.1", {{std::vector<double>(10, 2)}, 0.1}, {ten}},
      {"element 61 of 63 has the wrong sign", {{factors(63, 61, -1)}}, {many}},
      {"the second of three inputs is wrong in one element", {{right10, factors(3, 1, 3), right10}}, {ten, three, ten}},
      {"two of three inputs are wrong, the first more so",
       {{factors(10, 0, 5), factors(3, 2, 1.5), right10}},
       {ten, three, ten}},
      {"two of three inputs are wrong, the last more so",
       {{factors(3, 2, 1.5), right10, factors(10, 0, 5)}},
       {three, ten, ten}},
      {"right, f times 1,000", {{right10, right3}, 1e3}, {ten, three}},
      {"right, f times 0.001", {{right10, right3}, 1e-3}, {ten, three}},
      {"right, 1,000 added to f", {{right10}, 1, 1e3}, {ten}},
      {"right, inputs of about 1,000", {{right10}}, {ten * 1e3}},
      {"right, f does not use its second input", {{right10, {}, right3}}, {ten, ten, three}},
      {"right, every gradient is 0", {{right10, right3}, 0}, {ten, three}},
      {"right, an input without elements", {{right10, {}}}, {ten, none}},
  };
  for (const Row& row : rows) {
    if (!judge_error(g, impl, row.what, row.f, row.inputs)) return;
  }
  for (const double bad : {double(NAN), inf}) {
    for (const size_t at : {size_t{0}, size_t{9}}) {
      const Planted f{{factors(10, at, bad), right3}};
      const double error = impl.gradcheck(f.function(), {ten, three});
      if (!g.expect(!(error <= 1e-2), fmt::format("element {} of ten has the gradient {}", at, bad),
                    fmt::format("{:.2e}", error), "infinity, or nan",
                    "a gradient that is nan passes: std::max(worst, nan) is worst, so ask std::isnan first"))
        return;
    }
  }
  g.note(fmt::format("{} functions with known errors, 4 gradients that are no numbers", 7 + std::size(rows)));
}

Tensor softmax_doubled(const Tensor& x) {
  Tensor y = pg::softmax(x.detach());
  return record(Op::softmax, y, {&x}, [y](const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, pg::mul(y, dy - pg::sum(pg::mul(dy, y), {-1}, true)) * 2.0);
  });
}

}  // namespace pg::lesson02
