#pragma once
// Wrong answers to lesson 2: those of mistakes.cpp, and those of mutants.cpp for which kit/diagnose.h, kit/contract.h
// or code of a check finds the words.
#include <cmath>

#include "lessons/02_autograd/checks.h"

namespace pg::lesson02 {
using kit::Name;

// Gives two inputs their gradients.
template <Name mistake>
void pass_both(Grads& g, const Tensor& da, const Tensor& db) {
  if (mistake == "overwrites") {  // without looking at beta, which says whether a gradient is there already
    if (auto into = g[0]) into.into->copy_from(da);
    if (auto into = g[1]) into.into->copy_from(db);
  } else if (mistake == "wrong_wants") {
    if (g.wants(1)) g.pass(0, da);
    if (g.wants(0)) g.pass(1, db);
  } else if (mistake == "else_if") {
    g.wants(0) ? g.pass(0, da) : g.pass(1, db);
  } else {
    if (g.wants(0) && mistake != "nothing_for_a") g.pass(0, da);
    if (g.wants(1)) g.pass(1, db);
  }
}

template <Name mistake>
Tensor wrong_mul(const Tensor& a0, const Tensor& b0) {
  static Tensor latest_a, latest_b;
  const bool same = a0.storage() == b0.storage();
  Tensor a = a0.detach(), b = b0.detach(), z = pg::mul(a, b);
  latest_a = a, latest_b = b;
  if (mistake == "off_the_tape") return z;
  const Tensor taped = record(Op::mul, z, {&a0, &b0}, [a, b, z, same](const Tensor& dz, Grads& g) {
    const Tensor p = mistake == "keeps_latest" ? latest_a : a, q = mistake == "keeps_latest" ? latest_b : b;
    Tensor da = pg::mul(dz, q), db = pg::mul(dz, p);
    if (mistake == "exchanged") std::swap(da, db);
    if (mistake == "minus") da = pg::neg(da);
    if (mistake == "no_dz") da = q, db = p;
    if (mistake == "quotient") da = pg::div(pg::mul(dz, z), p), db = pg::div(pg::mul(dz, z), q);
    if (mistake == "sum") da = pg::add(dz, q), db = pg::add(dz, p);
    if (mistake == "result") da = db = pg::mul(dz, z);
    if (mistake == "absolute") da = pg::abs(da);
    if (mistake == "in_f64") da = da.to(f64), db = db.to(f64);  // right: g.pass() converts
    if (mistake == "square_once" && same) db = pg::zeros_like(db);
    pass_both<mistake>(g, da, db);
  });
  if (mistake == "always_taped" && !taped.requires_grad()) return z.set_requires_grad();
  return taped;
}

template <Name mistake>
Tensor wrong_tanh(const Tensor& x) {
  static Tensor latest;
  Tensor y = pg::tanh(x.detach());
  latest = y;
  return record(Op::tanh, y, {&x}, [y, x = x.detach()](const Tensor& dy, Grads& g) {
    const Tensor square = pg::mul(y, y), again = pg::tanh(y);
    Tensor slope = 1.0 - square;
    if (mistake == "no_square") slope = 1.0 - y;
    if (mistake == "of_x") slope = 1.0 - pg::mul(x, x);
    if (mistake == "sigmoid") slope = pg::mul(y, 1.0 - y);
    if (mistake == "plus") slope = 1.0 + square;
    if (mistake == "tanh_again") slope = 1.0 - pg::mul(again, again);
    if (mistake == "no_one") slope = square;
    if (mistake == "square_of_difference") slope = pg::mul(1.0 - y, 1.0 - y);
    if (mistake == "twice_y") slope = 1.0 - 2.0 * y;
    if (mistake == "root") slope = pg::sqrt(slope);
    if (mistake == "quotient") slope = pg::div(pg::sub(x, pg::mul(pg::mul(y, y), x)), x);
    if (mistake == "keeps_latest") slope = 1.0 - pg::mul(latest, latest);
    Tensor dx = pg::mul(dy, slope);
    if (mistake == "no_dy") dx = slope;
    if (mistake == "precedence") dx = dy - square;
    if (mistake == "overwrites") {
      if (auto into = g[0]) into.into->copy_from(dx);
    } else if (mistake != "never") {
      g.pass(0, dx);
    }
  });
}

template <Name mistake>
Tensor wrong_matmul(const Tensor& a0, const Tensor& b0) {
  static Tensor latest;
  Tensor a = a0.detach(), b = b0.detach(), c = pg::matmul(a, b);
  latest = b;
  return record(Op::matmul, c, {&a0, &b0}, [a, b](const Tensor& dc, Grads& g) {
    const Tensor right = mistake == "keeps_latest" ? latest : b;
    Tensor da = pg::matmul(dc, pg::transpose(right)), db = pg::matmul(pg::transpose(a), dc);
    if (mistake == "b_plain") da = pg::matmul(dc, b);
    if (mistake == "a_plain") db = pg::matmul(a, dc);
    if (mistake == "dc_last") db = pg::matmul(dc, pg::transpose(a));
    if (mistake == "exchanged") std::swap(da, db);
    if (mistake == "no_dc") da = pg::transpose(b), db = pg::transpose(a);
    if (mistake == "dc_first") da = pg::matmul(pg::transpose(b), dc);
    if (mistake == "dc_turned") da = pg::matmul(pg::transpose(dc), b);
    if (mistake == "dc_turned_for_a") db = pg::matmul(a, pg::transpose(dc));
    if (mistake == "elements") da = pg::mul(dc, pg::transpose(b));
    if (mistake == "reshaped") da = pg::matmul(dc, pg::reshape(b, {b.size(1), b.size(0)}));
    if (mistake == "by_inner_size") da = da / static_cast<double>(std::max<int64_t>(1, a.size(1)));
    pass_both<mistake>(g, da, db);
  });
}

template <Name mistake>
void wrong_sum(Grads& g, int i, const Tensor& d, const Shape& shape) {
  if (mistake == "never" || !g.wants(i)) return;
  if (mistake == "missing" || (mistake == "by_numel" && d.numel() == numel(shape))) return g.pass(i, d);
  const int extra = d.rank() - shape.rank();
  std::vector<int> stretched;
  for (int dim = 0; dim < d.rank(); ++dim) {
    const int own = mistake == "left" ? dim : dim - extra;
    bool here = own < 0 || own >= shape.rank() || shape[own] != d.size(dim);
    if (mistake == "leading_only") here = dim < extra;
    if (mistake == "ones_only") here = dim >= extra && shape[dim - extra] == 1;
    if (here) stretched.push_back(dim);
  }
  if (mistake == "everything")
    return g.pass(i, pg::reshape(pg::sum(d, stretched), stretched.empty() ? Shape{} : shape));
  if (stretched.empty()) return g.pass(i, d);
  if (mistake == "first_dim" && stretched.size() > 1)
    return g.pass(i, pg::sum(d, {stretched[0]}, shape.rank() == d.rank()));
  Tensor sum = mistake == "mean" ? pg::mean(d, stretched) : pg::sum(d, stretched);
  if (mistake == "largest" && d.numel() > 0) sum = pg::amax(d, stretched);
  if (mistake == "first_copy") {
    sum = d;
    for (auto dim = stretched.rbegin(); dim != stretched.rend(); ++dim) {
      if (sum.size(*dim) > 0) sum = sum.view_select(*dim, 0);
    }
  }
  const bool keep = mistake == "not_reshaped" || mistake == "leading_only";
  g.pass(i, keep ? sum : pg::reshape(sum, shape));
}

template <Name mistake>
double wrong_gradcheck(const Function& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) {
    x.push_back(mistake == "changes_inputs" ? input.detach() : input.clone());
    x.back().set_requires_grad();
  }
  const Tensor y = f(x);
  Generator random(6);  // its first r is no small number, for which the floor of 1e-5 would decide
  Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
  if (mistake == "ones") r = Tensor::ones(y.shape(), f64);
  if (mistake == "positive_r") r = Tensor::full(y.shape(), 3.7, f64);
  backward(y, r);
  NoGrad guard;
  const double h = mistake == "large_step" ? 0.1 : mistake == "tiny_step" ? 1e-9 : 1e-5;
  double worst = mistake == "smallest" ? 1e9 : 0, total = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const Tensor& input = x[k];
    if (mistake == "first_input" && k > 0) break;
    const bool unused = mistake != "needs_gradient" && !input.grad().defined();
    const std::vector<double> analytic = unused ? std::vector<double>(input.numel()) : input.grad().to_vector();
    std::vector<double> a, n, d;
    for (int64_t i = 0; i < input.numel(); ++i) {
      if ((mistake == "first_element" && i > 0) || (mistake == "first_16" && i >= 16)) break;
      if (mistake == "skips_zeros" && analytic[i] == 0) continue;
      double& element = input.data<double>()[i];
      const double before = element;
      const auto loss = [&] {
        if (mistake == "new_r") r = Tensor::normal(y.shape(), 0, 1, random, f64);
        return pg::sum(pg::mul(f(x), r)).item();
      };
      element = before + h;
      const double above = loss();
      element = before - h;
      const double below = mistake == "forward" ? (element = before, loss()) : loss();
      if (mistake != "not_restored") element = mistake == "changes_inputs" ? before + 1e-9 : before;
      double numeric = (above - below) / (mistake == "forward" || mistake == "half_slope" ? h : 2 * h);
      if (mistake == "never_compares") numeric = analytic[i];
      a.push_back(analytic[i]), n.push_back(numeric), d.push_back(analytic[i] - numeric);
    }
    const auto norm = [](const std::vector<double>& v) {
      double sum = 0;
      for (double e : v) {
        if (mistake == "largest_element") sum = std::max(sum, std::abs(e));
        if (mistake == "sums") sum += std::abs(e);
        if (mistake != "largest_element" && mistake != "sums") sum += e * e;
      }
      return mistake == "largest_element" || mistake == "sums" || mistake == "squares" ? sum : std::sqrt(sum);
    };
    double by = std::max({norm(a), norm(n), mistake == "no_floor" ? 0.0 : 1e-5});
    if (mistake == "by_a") by = std::max(norm(a), 1e-5);
    if (mistake == "by_n") by = std::max(norm(n), 1e-5);
    if (mistake == "by_both") by = std::max(norm(a) + norm(n), 1e-5);
    double error = norm(d) / (mistake == "absolute" ? 1 : by);
    if (mistake == "element") {
      error = 0;
      for (size_t i = 0; i < d.size(); ++i)
        error = std::max(error, std::abs(d[i]) / std::max({std::abs(a[i]), std::abs(n[i]), 1e-5}));
    }
    if (mistake != "ignores_nan" && std::isnan(error) && mistake != "no_floor") error = INFINITY;
    total += error;
    worst = mistake == "smallest" ? std::min(worst, error) : mistake == "last_input" ? error : std::max(worst, error);
    if (mistake == "no_floor" && std::isnan(error)) worst = error;
  }
  if (mistake == "mean") return total / static_cast<double>(x.size());
  return mistake == "adds_inputs" ? total : worst;
}

}  // namespace pg::lesson02
