// The checks of lesson 2.
#include <cmath>

#include "autograd/gradcheck.h"
#include "autograd/op_util.h"
#include "lessons/02_autograd/lesson.h"

namespace pg::lesson02 {
namespace {

using kit::Grader;
using kit::Value;

Tensor random_leaf(const Shape& shape, Generator& random) {
  Tensor x = Tensor::normal(shape, 0, 1, random, f64);
  x.set_requires_grad();
  return x;
}
Tensor random_like(const Tensor& x, Generator& random) { return Tensor::normal(x.shape(), 0, 1, random, f64); }
// The gradient of a leaf, or zeros if it has none.
Value gradient_of(const Tensor& leaf) {
  const Tensor grad = leaf.grad();
  return grad.defined() ? Value(grad) : Value(zeros_like(leaf));
}
Tensor product(const Tensor& a, const Tensor& b) { return pg::mul(a.detach(), b.detach()); }
Tensor matrix(const Tensor& a, const Tensor& b) { return pg::matmul(a.detach(), b.detach()); }
Tensor turned(const Tensor& a) { return a.detach().view_transpose(0, 1); }

void check_mul(Grader& g, const Impl& impl) {
  Generator random(21);
  const Tensor a = random_leaf({2, 3}, random), b = random_leaf({2, 3}, random);
  Tensor z = impl.mul(a, b);
  const Tensor dz = random_like(z, random);
  g.equal("a [2, 3], b [2, 3]: the product itself", z.detach(), product(a, b));
  backward(z, dz);
  const std::string exchanged = "da and db are exchanged: what multiplies dz is the other factor";
  const std::string forgotten = "the incoming gradient dz is forgotten: multiply by it";
  g.equal("a [2, 3], b [2, 3], random dz: da", gradient_of(a), product(dz, b),
          {.mistakes = {{exchanged, product(dz, a)}, {forgotten, b.detach()}}});
  g.equal("the same: db", gradient_of(b), product(dz, a),
          {.mistakes = {{exchanged, product(dz, b)}, {forgotten, a.detach()}}});

  const Tensor c = random_leaf({4}, random);
  z = impl.mul(c, c);
  const Tensor d = random_like(z, random);
  backward(z, d);
  g.equal(
      "c used twice, z = mul(c, c): dc", gradient_of(c), product(d, c * 2.0),
      {.mistakes = {{"c is used twice and two gradients arrive: the second must be added, not written over the first",
                     product(d, c)}}});

  const Tensor constant = Tensor::ones({4}, f64);
  backward(impl.mul(c, constant), d);  // input 1 needs no gradient; the leaf accumulates
  g.equal("mul(c, constant) after it, without zero_grad: dc", gradient_of(c), pg::add(product(d, c * 2.0), d),
          {.before = Value(product(d, c * 2.0))});
  g.note("two inputs, one used twice, one constant");
}

void check_tanh(Grader& g, const Impl& impl) {
  Generator random(22);
  const Tensor x = random_leaf({3, 4}, random);
  Tensor y = impl.tanh(x);
  const Tensor dy = random_like(y, random), t = y.detach();
  backward(y, dy);
  const Tensor square = product(t, t);
  g.equal("x [3, 4], random dy: dx", gradient_of(x), product(dy, 1.0 - square),
          {.mistakes = {{"the incoming gradient dy is forgotten: multiply by it", 1.0 - square},
                        {"1 - x² in place of 1 - y²: the derivative is written in terms of the result",
                         product(dy, 1.0 - product(x, x))},
                        {"1 - y in place of 1 - y²: the square is missing", product(dy, 1.0 - t)},
                        {"this is the derivative of the sigmoid", product(dy, product(t, 1.0 - t))}}});
  const Tensor far = Tensor::from<double>(std::vector<double>{-40, 0, 40}, {3}).set_requires_grad();
  backward(impl.tanh(far), Tensor::ones({3}, f64));
  g.equal("x = {-40, 0, 40}, dy = 1: dx", gradient_of(far), Value({3}, {0, 1, 0}));
  g.note(fmt::format("12 random numbers to {:.0e}, and the flat ends", std::max(1e-16, g.worst_error())));
}

void check_matmul(Grader& g, const Impl& impl) {
  Generator random(23);
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{3, 3, 3}, {2, 3, 4}, {1, 5, 1}}) {
    const Tensor a = random_leaf({m, k}, random), b = random_leaf({k, n}, random);
    const Tensor c = impl.matmul(a, b), dc = random_like(c, random);
    const std::string input = fmt::format("a [{}, {}], b [{}, {}], random dc [{}, {}]", m, k, k, n, m, n);
    backward(c, dc);
    kit::Compare da, db;
    if (m == k && k == n) {  // in a wrong order the shapes only fit for squares
      da.mistakes = {{"b is not transposed: compare da [M, K] with dc [M, N] and b [K, N]", matrix(dc, b)},
                     {"the factors are in the wrong order: dc stands first", matrix(turned(b), dc)},
                     {"da and db are exchanged", matrix(turned(a), dc)}};
      db.mistakes = {{"a is not transposed: compare db [K, N] with a [M, K] and dc [M, N]", matrix(a, dc)},
                     {"the factors are in the wrong order: dc stands last", matrix(dc, turned(a))},
                     {"da and db are exchanged", matrix(dc, turned(b))}};
    }
    g.equal(input + ": da", gradient_of(a), matrix(dc, turned(b)), da);
    g.equal(input + ": db", gradient_of(b), matrix(turned(a), dc), db);
  }
  g.note("3 shapes, da and db");
}

void check_pass_summed(Grader& g, const Impl& impl) {
  Generator random(24);
  const std::pair<Shape, Shape> cases[] = {{{4}, {3, 4}},    {{3, 1}, {3, 4}}, {{}, {2, 3}}, {{2, 1, 3}, {4, 2, 5, 3}},
                                           {{3, 4}, {3, 4}}, {{1}, {1}}};
  for (const auto& [shape, result] : cases) {
    const Tensor b = random_leaf(shape, random), x = Tensor::zeros(result, f64);
    const Tensor z = add(impl, x, b), dz = random_like(z, random);
    const std::string input = fmt::format("b {} stretched to {}: db", shape, result);
    try {
      backward(z, dz);
    } catch (const Error& error) {
      const bool unsummed = std::string(error.what()).find(fmt::format("has shape {}", result)) != std::string::npos;
      g.expect(false, input, error.what(), fmt::format("a gradient of shape {}", shape),
               unsummed ? "the sum over the broadcast axis is missing: one number fed many, so many gradients come back"
                        : "");
      return;
    }
    Tensor want = dz.detach();
    while (want.rank() > shape.rank()) want = pg::sum(want, {0});
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] == 1) want = pg::sum(want, {d}, true);
    }
    const double repeats = static_cast<double>(numel(result)) / static_cast<double>(numel(shape));
    kit::Compare how;
    if (repeats > 1)
      how.mistakes = {{"this is the mean over the stretched dimensions; add up instead", want / repeats}};
    g.equal(input, gradient_of(b), want, how);
  }
  // An input that needs no gradient must be left unchanged.
  const Tensor b = random_leaf({2}, random);
  backward(add(impl, b, Tensor::ones({3, 2}, f64)), Tensor::ones({3, 2}, f64));
  g.equal("b + constant, b [2] stretched to [3, 2], dz = 1: db", gradient_of(b), Value({2}, {3, 3}));
  g.note("6 ways to stretch, one constant");
}

void check_gradcheck(Grader& g, const Impl& impl) {
  Generator random(25);
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
      "tanh whose backward lacks the square", [](auto in) { return tanh_without_square(in[0]); }, {x}, false,
      "a wrong backward passes: are the two gradients compared at all?");
  judge(
      "exp(3x)", [](auto in) { return pg::exp(in[0] * 3.0); }, {x}, true,
      "a right backward is called wrong: take central differences, (f(x+h) - f(x-h)) / 2h, with h near 1e-5");
  judge(
      "matmul, right", [](auto in) { return pg::matmul(in[0], in[1]); }, {square, other}, true,
      "a right backward is called wrong: restore each element before you go on to the next");
  judge(
      "matmul whose second gradient is wrong", [](auto in) { return matmul_untransposed(in[0], in[1]); },
      {square, other}, false, "a wrong gradient of the second input passes: check every input");
  judge(
      "softmax whose gradient is doubled", [](auto in) { return softmax_doubled(in[0]); }, {x}, false,
      "a doubled gradient passes: the outputs of a softmax sum to 1, so the plain sum of the outputs has gradient 0. "
      "Take random weights r");
  judge(
      "softmax, right", [](auto in) { return pg::softmax(in[0]); }, {x}, true, "a right backward is called wrong");
  g.equal("the inputs after all that", square, Value(square.shape(), before));
  g.note("3 right ops pass, 3 planted bugs are found");
}

}  // namespace

Tensor add(const Impl& impl, const Tensor& a, const Tensor& b) {
  Tensor z = pg::add(a.detach(), b.detach());
  return record(Op::add, z, {&a, &b}, [&impl, sa = a.shape(), sb = b.shape()](const Tensor& dz, Grads& g) {
    impl.pass_summed(g, 0, dz, sa);
    impl.pass_summed(g, 1, dz, sb);
  });
}

Tensor tanh_without_square(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y](const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, pg::mul(dy, 1.0 - y));
  });
}
Tensor matmul_untransposed(const Tensor& a, const Tensor& b) {
  Tensor c = pg::matmul(a.detach(), b.detach());
  return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
    if (g.wants(0)) g.pass(0, pg::matmul(dc, pg::transpose(b)));
    if (g.wants(1)) g.pass(1, pg::matmul(a, dc));
  });
}
Tensor softmax_doubled(const Tensor& x) {
  Tensor y = pg::softmax(x.detach());
  return record(Op::softmax, y, {&x}, [y](const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, pg::mul(y, dy - pg::sum(pg::mul(dy, y), {-1}, true)) * 2.0);
  });
}

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "02.1",
       .title = "backward of a product",
       .piece = kit::piece<&Impl::mul>("mul"),
       .section = "The chain rule, one op at a time",
       .why = "The smallest backward with two inputs. It shows the three things every backward must do: multiply by "
              "the gradient that comes in, give each input its own, and add where an input was used twice.",
       .hints = {"If a grows by a little e, by how much does a·b grow? And the loss, which grows by dz per unit of z?",
                 "da = dz · b and db = dz · a, element by element, all of one shape.",
                 "For each input that g.wants: multiply dz by the other factor (pg::mul) and g.pass it."},
       .solution = {"tensor/elementwise.def", "BINARY(mul,"},
       .run = check_mul},
      {.id = "02.2",
       .title = "backward of tanh",
       .piece = kit::piece<&Impl::tanh>("tanh"),
       .section = "The chain rule, one op at a time",
       .why = "Derivatives are often cheapest in terms of the result: tanh' = 1 - y². Then x need not be kept, which "
              "halves what the tape remembers.",
       .hints = {"tanh is steepest at 0, where it is 0, and flat where it is near 1 or -1. Which simple function of y "
                 "does that?",
                 "dx = dy · (1 - y · y), element by element.",
                 "Square y with pg::mul, subtract it from 1.0, multiply by dy, g.pass it to input 0."},
       .solution = {"tensor/elementwise.def", "UNARY(tanh,"},
       .run = check_tanh},
      {.id = "02.3",
       .title = "backward of a matmul",
       .piece = kit::piece<&Impl::matmul>("matmul"),
       .section = "Matrices: let the shapes think",
       .why = "Two thirds of all the work of training are these two products. With square matrices wrong ones pass "
              "unnoticed, so the check starts there and names the mistake.",
       .hints = {"da must be [M, K], and only dc [M, N] and b [K, N] are at hand. Which product of the two fits?",
                 "da [M, K] = dc [M, N] · bᵀ [N, K];  db [K, N] = aᵀ [K, M] · dc [M, N].",
                 "pg::matmul of dc and pg::transpose(b) goes to input 0; of pg::transpose(a) and dc to input 1."},
       .solution = {"autograd/matmul.cpp", "Tensor matmul_rows("},
       .run = check_matmul},
      {.id = "02.4",
       .title = "backward of broadcasting",
       .piece = kit::piece<&Impl::pass_summed>("pass_summed"),
       .section = "What was stretched is summed",
       .why = "Every bias has this backward. Forgetting the sum gives a wrong shape at best; taking the mean gives a "
              "learning rate that depends on the batch, and nobody notices.",
       .hints = {"One bias feeds 32 rows. If it grows by e, how many of the results grow?",
                 "db = sum of d over the dims where b's size is 1 and d's is not, and over the leading dims that b "
                 "lacks; then b's shape.",
                 "Align the shapes at the right. Collect each dim of d that lies left of b's shape or where the sizes "
                 "differ. None: pass d. Else pg::sum over them, pg::reshape to `shape`, g.pass."},
       .solution = {"autograd/op_util.cpp", "void pass_summed("},
       .run = check_pass_summed},
      {.id = "02.5",
       .title = "gradcheck",
       .piece = kit::piece<&Impl::gradcheck>("gradcheck"),
       .section = "The proof that it is right",
       .why = "A checker that cannot fail is worth nothing. So yours must pass what is right and catch three bugs: a "
              "plain one, one in the second input, and one that is invisible when the outputs are simply summed.",
       .hints = {"How can you measure the slope of a function that you can only evaluate? And what would that say of a "
                 "softmax if you summed its outputs first?",
                 "n[i] = (L(x + h·e_i) - L(x - h·e_i)) / 2h with L = sum(r · f(x)), r random; a = gradients after "
                 "backward(f(x), r). Error: |a - n| / max(|a|, |n|, 1e-5), the largest over the inputs.",
                 "Clone the inputs as leaves, y = f(leaves), draw r, backward(y, r). Then, under NoGrad: for each "
                 "input, for each element: add h, evaluate L; subtract h, evaluate L; restore; the quotient is n[i]. "
                 "Sum squares of a - n, a and n; take roots; keep the worst ratio."},
       .solution = {"autograd/gradcheck.cpp", "class Check"},
       .run = check_gradcheck,
       .harmless = {{"f32", "an error is compared with bounds, not digit by digit"}}},
  };
}

Impl reference() {
  return {
      .mul = pg::mul,
      .tanh = pg::tanh,
      .matmul = pg::matmul,
      .pass_summed = detail::pass_summed,
      .gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) { return pg::gradcheck(f, inputs).error; }};
}

Impl learner() { return {mul, tanh, matmul, pass_summed, gradcheck}; }

}  // namespace pg::lesson02
