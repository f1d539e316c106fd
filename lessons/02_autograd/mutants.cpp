// Wrong answers to lesson 2. The checks must call each WRONG and say why; everything else must
// stay ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/02_autograd/answers.h"
#include "lessons/02_autograd/wrong.h"

namespace pg::lesson02 {
namespace {

// ---- right but unusual answers: the checks must accept them

// Without g.wants: g.pass does nothing for an input that needs no gradient.
Tensor right_mul(const Tensor& a, const Tensor& b) {
  return record(Op::mul, pg::mul(a.detach(), b.detach()), {&a, &b},
                [a = a.detach(), b = b.detach()](const Tensor& dz, Grads& g) {
                  g.pass(1, pg::mul(a, dz));
                  g.pass(0, pg::mul(b, dz));
                });
}

Tensor right_tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y](const Tensor& dy, Grads& g) {
    g.pass(0, pg::mul(pg::mul(dy, 1.0 - y), 1.0 + y));  // (1 - y)(1 + y)
  });
}

// Both gradients as transposes of a product.
Tensor right_matmul(const Tensor& a, const Tensor& b) {
  return record(Op::matmul, pg::matmul(a.detach(), b.detach()), {&a, &b},
                [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
                  const Tensor turned = pg::transpose(dc);
                  g.pass(0, pg::transpose(pg::matmul(b, turned)));
                  g.pass(1, pg::transpose(pg::matmul(turned, a)));
                });
}

// Dim by dim; sums over a dim of size 1 change nothing.
void right_sum(Grads& g, int i, const Tensor& d, const Shape& shape) {
  Tensor sum = d;
  while (sum.rank() > shape.rank()) sum = pg::sum(sum, {0});
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1) sum = pg::sum(sum, {dim}, true);
  }
  g.pass(i, sum);
}

// Fourth-order differences, weights r from 1 to 2, and nan for a gradient that is nan.
double right_gradcheck(const Function& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
  const Tensor y = f(x);
  Generator random(99);
  const Tensor r = Tensor::uniform(y.shape(), 1, 2, random, f64);
  backward(y, r);
  NoGrad guard;
  double worst = 0;
  for (const Tensor& input : x) {
    const Tensor a = input.grad().defined() ? input.grad() : zeros_like(input);
    std::vector<double> slopes;
    for (double& element : input.data<double>()) {
      const double before = element, h = 1e-3;
      const auto at = [&](double step) {
        element = before + step;
        const double value = pg::sum(pg::mul(f(x), r)).item();
        element = before;
        return value;
      };
      slopes.push_back((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
    }
    const Tensor n = Tensor::from(slopes, input.shape());
    const auto norm = [](const Tensor& v) { return std::sqrt(pg::sum(pg::mul(v, v)).item()); };
    const double error = norm(pg::sub(a, n)) / std::max({norm(a), norm(n), 1e-5});
    if (!(error <= worst)) worst = error;  // nan is no number to compare with
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

}  // namespace

const kit::Mutants<Impl> of_gradcheck(
    &Impl::gradcheck, gradcheck_mistakes(),
    {{"gradcheck_first_input", "02.5", "check every input", wrong_gradcheck<"first_input">},
     {"gradcheck_large_step", "02.5", "take central differences", wrong_gradcheck<"large_step">},
     {"gradcheck_never_compares", "02.5", "are the two gradients compared", wrong_gradcheck<"never_compares">},
     {"gradcheck_not_restored", "02.5", "restore each element", wrong_gradcheck<"not_restored">},
     {"gradcheck_ones", "02.5", "sum of the outputs has gradient 0", wrong_gradcheck<"ones">},
     {"gradcheck_equal_weights", "02.5", "sum of the outputs has gradient 0", wrong_gradcheck<"positive_r">},
     {"gradcheck_last_input", "02.5", "keep the largest", wrong_gradcheck<"last_input">},
     {"gradcheck_smallest", "02.5", "check every input", wrong_gradcheck<"smallest">},
     {"gradcheck_absolute", "02.5", "is yours divided", wrong_gradcheck<"absolute">},
     {"gradcheck_no_floor", "02.5", "two zero gradients agree", wrong_gradcheck<"no_floor">},
     {"gradcheck_nan", "02.5", "ask std::isnan first", wrong_gradcheck<"ignores_nan">},
     {"gradcheck_forward", "02.5", "take central differences", wrong_gradcheck<"forward">},
     {"gradcheck_half_slope", "02.5", "take central differences", wrong_gradcheck<"half_slope">},
     {"gradcheck_first_element", "02.5", "compare every element", wrong_gradcheck<"first_element">},
     {"gradcheck_first_16", "02.5", "compare every element", wrong_gradcheck<"first_16">},
     {"gradcheck_skips_zeros", "02.5", "compare every element", wrong_gradcheck<"skips_zeros">},
     {"gradcheck_new_r", "02.5", "take central differences", wrong_gradcheck<"new_r">},
     {"gradcheck_changes_inputs", "02.5", "work on a clone", wrong_gradcheck<"changes_inputs">},
     {"gradcheck_unused_input", "02.5", "an input that f does not use is undefined", wrong_gradcheck<"needs_gradient">},
     {"gradcheck_tiny_step", "02.5", "h near 1e-5", wrong_gradcheck<"tiny_step">},
     {"right_gradcheck", "02.5", "ok", right_gradcheck}});
const kit::Mutants<Impl> of_matmul(
    &Impl::matmul, matmul_mistakes(),
    {{"matmul_else_if", "02.3", "an input that needs a gradient gets none", wrong_matmul<"else_if">},
     {"matmul_wrong_wants", "02.3", "an input that needs a gradient gets none", wrong_matmul<"wrong_wants">},
     {"matmul_reshaped", "02.3", "b is not transposed", wrong_matmul<"reshaped">},
     {"matmul_overwrites", "02.3", "the second must be added", wrong_matmul<"overwrites">},
     {"matmul_by_inner_size", "02.3", "divide by", wrong_matmul<"by_inner_size">},
     {"matmul_keeps_latest", "02.3", "a later call", wrong_matmul<"keeps_latest">},
     {"right_matmul", "02.3", "ok", right_matmul}});
const kit::Mutants<Impl> of_mul(
    &Impl::mul, mul_mistakes(),
    {{"mul_minus", "02.1", "the sign is flipped", wrong_mul<"minus">},
     {"mul_nothing", "02.1", "an input that needs a gradient gets none", wrong_mul<"nothing_for_a">},
     {"mul_else_if", "02.1", "an input that needs a gradient gets none", wrong_mul<"else_if">},
     {"mul_overwrites", "02.1", "the second must be added", wrong_mul<"overwrites">},
     {"mul_wrong_wants", "02.1", "an input that needs a gradient gets none", wrong_mul<"wrong_wants">},
     {"mul_keeps_latest", "02.1", "a later call", wrong_mul<"keeps_latest">},
     {"mul_off_the_tape", "02.1", "record()", wrong_mul<"off_the_tape">},
     {"mul_always_taped", "02.1", "record() decides", wrong_mul<"always_taped">},
     {"mul_square_once", "02.1", "the second must be added", wrong_mul<"square_once">},
     {"mul_absolute", "02.1", "the sign is lost", wrong_mul<"absolute">},
     {"mul_in_f64", "02.1", "ok", wrong_mul<"in_f64">},
     {"right_mul", "02.1", "ok", right_mul}});
const kit::Mutants<Impl> of_pass_summed(
    &Impl::pass_summed, sum_mistakes(),
    {{"sum_leading_only", "02.4", "the sum over the broadcast axis is missing", wrong_sum<"leading_only">},
     {"sum_missing", "02.4", "the sum over the broadcast axis is missing", wrong_sum<"missing">},
     {"sum_everything", "02.4", "sums everything", wrong_sum<"everything">},
     {"sum_first_dim", "02.4", "a stretched dim is left", wrong_sum<"first_dim">},
     {"sum_not_reshaped", "02.4", "own shape", wrong_sum<"not_reshaped">},
     {"sum_by_numel", "02.4", "own shape", wrong_sum<"by_numel">},
     {"sum_never", "02.4", "an input that needs a gradient gets none", wrong_sum<"never">},
     {"sum_ones_only", "02.4", "the sum over the broadcast axis is missing", wrong_sum<"ones_only">},
     {"right_sum", "02.4", "ok", right_sum}});
const kit::Mutants<Impl> of_tanh(&Impl::tanh, tanh_mistakes(),
                                 {{"tanh_quotient", "02.2", "inf or nan", wrong_tanh<"quotient">},
                                  {"tanh_never", "02.2", "an input that needs a gradient gets none",
                                   wrong_tanh<"never">},
                                  {"tanh_overwrites", "02.2", "overwritten: add", wrong_tanh<"overwrites">},
                                  {"tanh_keeps_latest", "02.2", "a later call", wrong_tanh<"keeps_latest">},
                                  {"right_tanh", "02.2", "ok", right_tanh}});

}  // namespace pg::lesson02
