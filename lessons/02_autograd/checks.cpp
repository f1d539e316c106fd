// The checks of lesson 2.
#include "lessons/02_autograd/checks.h"

#include <cmath>

#include "autograd/check/gradcheck.h"
#include "autograd/op_util.h"

namespace pg::lesson02 {
namespace {

using kit::Grader;
using kit::Value;

const std::string kKept = "something is kept between calls: this is made of the inputs of a later call";

// backward(y, dy) with words about what goes wrong. Returns whether the check goes on.
bool pass_back(Grader& g, const std::string& input, const Tensor& y, const Tensor& dy) {
  if (!y.requires_grad()) {
    return g.expect(false, input, "no tape", "a result on the tape",
                    "record() puts the result on the tape: return what it returns");
  }
  try {
    backward(y, dy);
  } catch (const Error& error) {
    return g.expect(false, input + ": backward", error.what(), "a gradient for each input",
                    "what g.pass(i, …) gives has the shape of input i");
  }
  return true;
}

void check_mul(Grader& g, const Impl& impl) {
  Generator random = kit::draws(21);
  const std::pair<Shape, DType> cases[] = {{{2, 3}, f64}, {{5}, f64}, {{3, 1, 4, 7}, f64}, {{}, f64},
                                           {{0, 3}, f64}, {{7}, f32}, {{4, 3}, f64},       {{3}, f64}};
  for (const auto& [shape, dtype] : cases) {
    Tensor a = random_leaf(shape, random, dtype), b = random_leaf(shape, random, dtype);
    if (shape == Shape{5}) a.data<double>()[2] = 0;
    if (shape.rank() == 4) a = kit::with_zero_row(a).set_requires_grad();
    if (shape == Shape{4, 3}) a = turned(random_leaf({3, 4}, random)).set_requires_grad();
    if (shape == Shape{3}) {
      a.fill(1e3);
      b.data<double>()[1] = INFINITY;
    }
    const Tensor z = impl.mul(a, b), dz = random_like(z, random);
    const std::string input = fmt::format("a {0}, b {0} in {1}", shape, dtype);
    if (!g.equal(input + ": the product itself", z.detach(), product(a, b), {.rtol = tolerance(a)})) return;
    if (impl.mul(a.detach(), b.detach()).requires_grad()) {
      g.expect(false, input + ", neither on the tape", "a result on the tape", "a result that is not",
               "record() decides what is on the tape: return its result");
      return;
    }
    if (!pass_back(g, input, z, dz)) return;
    auto known = kit::known_gradients(mul_mistakes(), dz, a, b).at;
    for (auto& of_input : known) of_input.push_back({kNoPass, zeros_like(a)});
    if (!g.equal(input + ", random dz: da", gradient_of(a), product(dz, b),
                 {.rtol = tolerance(a), .mistakes = known[0]}) ||
        !g.equal("the same: db", gradient_of(b), product(dz, a), {.rtol = tolerance(a), .mistakes = known[1]}))
      return;
    if (dtype == f64) continue;
    if (!pass_back(g, input, impl.mul(a, b), dz)) return;
    const Tensor first = product(dz, b), twice = first * 2.0;
    const std::string over = "a gradient was there already: the second must be added, not written over the first";
    if (!g.expect(kit::relative_error(gradient_of(a), twice) <= tolerance(a), input + ", again without zero_grad: da",
                  kit::to_text(gradient_of(a)), kit::to_text(twice),
                  kit::relative_error(gradient_of(a), first) <= tolerance(a) ? over : kKept))
      return;
  }

  const Tensor c = random_leaf({4}, random);
  Tensor z = impl.mul(c, c);
  const Tensor d = random_like(z, random);
  backward(z, d);
  const std::string twice =
      "c is used twice and two gradients arrive: the second must be added, not written over the first";
  const Value once = product(d, c * 2.0);
  if (!g.equal("c used twice, z = mul(c, c): dc", gradient_of(c), once, {.mistakes = {{twice, product(d, c)}}})) return;

  const Tensor constant = Tensor::normal({4}, 0, 1, random, f64);
  Value sum = once;
  for (const bool first : {false, true}) {  // the leaf accumulates; the constant needs no gradient
    const Value before = sum;
    backward(first ? impl.mul(constant, c) : impl.mul(c, constant), d);
    for (size_t i = 0; i < sum.v.size(); ++i) sum.v[i] += product(d, constant).to_vector()[i];
    if (!g.equal(fmt::format("mul({}) after it, without zero_grad: dc", first ? "constant, c" : "c, constant"),
                 gradient_of(c), sum, {.mistakes = {{kNoPass, before}}, .before = before}))
      return;
  }
  // Two products on the tape before the first backward; the gradient that arrives has the strides of a transpose.
  const Tensor p = random_leaf({2, 3}, random), q = random_leaf({2, 3}, random);
  const Tensor other = random_leaf({2, 3}, random);
  const Tensor early = pg::transpose(impl.mul(p, q)), late = impl.mul(other, other);
  const Tensor de = random_like(early, random);
  if (!pass_back(g, "two products recorded", early, de)) return;
  const Value kept = product(turned(de), other);
  g.equal("two products recorded, then backward through a transpose of the first: dp", gradient_of(p),
          product(turned(de), q), {.mistakes = {{kKept, kept}}});
  g.equal("the same: dq", gradient_of(q), product(turned(de), p), {.mistakes = {{kKept, kept}}});
  g.note("6 shapes, one factor used twice, one constant");
}

void check_tanh(Grader& g, const Impl& impl) {
  Generator random = kit::draws(22);
  const std::pair<Shape, DType> cases[] = {{{3, 4}, f64}, {{5, 1, 2, 3}, f64}, {{}, f64},
                                           {{0, 2}, f64}, {{7}, f32},          {{4, 3}, f64}};
  for (const auto& [shape, dtype] : cases) {
    Tensor x = random_leaf(shape, random, dtype);
    if (shape.rank() == 4) x = kit::with_zero_row(x).set_requires_grad();
    if (shape == Shape{4, 3}) x = turned(random_leaf({3, 4}, random)).set_requires_grad();
    const Tensor y = impl.tanh(x), later = impl.tanh(x * 2.0);
    const Tensor dy = random_like(y, random), t = y.detach();
    const std::string input = fmt::format("x {} in {}", shape, dtype);
    if (!g.equal(input + ": tanh itself", t, pg::tanh(x.detach()), {.rtol = tolerance(x)}) ||
        !pass_back(g, input, y, dy))
      return;
    std::vector<kit::Mistake> mistakes = kit::known_gradients(tanh_mistakes(), dy, x).at[0];
    mistakes.push_back({kKept, product(dy, 1.0 - product(later, later))});
    mistakes.push_back({kNoPass, zeros_like(x)});
    if (!g.equal(input + ", random dy: dx", gradient_of(x), product(dy, 1.0 - product(t, t)),
                 {.rtol = tolerance(x), .mistakes = mistakes}))
      return;
  }
  const Tensor far =
      Tensor::from<double>(std::vector<double>{-40, 0, 400, -INFINITY, INFINITY}, {5}).set_requires_grad();
  const Tensor flat = impl.tanh(far);
  if (!g.equal("x = {-40, 0, 400, -inf, inf}: tanh itself", flat.detach(), Value({5}, {-1, 0, 1, -1, 1}))) return;
  backward(flat, Tensor::ones({5}, f64));
  if (!g.equal("x = {-40, 0, 400, -inf, inf}, dy = 1: dx", gradient_of(far), Value({5}, {0, 1, 0, 0, 0}))) return;
  backward(impl.tanh(far), Tensor::ones({5}, f64));
  g.equal("the same again, without zero_grad: dx", gradient_of(far), Value({5}, {0, 2, 0, 0, 0}),
          {.before = Value({5}, {0, 1, 0, 0, 0})});
  g.note(fmt::format("{} shapes to {:.0e}, and the flat ends", std::size(cases), std::max(1e-16, g.worst_error())));
}

void check_matmul(Grader& g, const Impl& impl) {
  Generator random = kit::draws(23);
  struct Sizes {
    int64_t m, k, n;
    DType dtype = f64;
  };
  const Sizes cases[] = {{3, 3, 3}, {2, 3, 4}, {1, 5, 1}, {5, 1, 7}, {3, 0, 2}, {0, 3, 2}, {4, 3, 5, f32}, {5, 7, 9}};
  for (const auto& [m, k, n, dtype] : cases) {
    Tensor a = random_leaf({m, k}, random, dtype), b = random_leaf({k, n}, random, dtype);
    if (dtype == f32) a = kit::with_zero_row(a).set_requires_grad();
    if (n == 9) {  // views, large and infinite numbers
      a = turned(random_leaf({k, m}, random)).set_requires_grad();
      b = turned(random_leaf({n, k}, random)).set_requires_grad();
      a.view_select(0, 1).fill(1e3);
      b.view_select(0, 0).view_slice(0, 0, 1).fill(INFINITY);
    }
    const Tensor c = impl.matmul(a, b), dc = random_like(c, random);
    const std::string input = fmt::format("a [{}, {}], b [{}, {}], random dc [{}, {}] in {}", m, k, k, n, m, n, dtype);
    if (!g.equal(input + ": the product itself", c.detach(), matrix(a, b), {.rtol = tolerance(a)})) return;
    if (!pass_back(g, input, c, dc)) return;
    auto known = kit::known_gradients(matmul_mistakes(), dc, a, b).at;
    known[0].push_back({kNoPass, zeros_like(a)}), known[1].push_back({kNoPass, zeros_like(b)});
    const double rtol = tolerance(a);
    if (!g.equal(input + ": da", gradient_of(a), matrix(dc, turned(b)), {.rtol = rtol, .mistakes = known[0]}) ||
        !g.equal(input + ": db", gradient_of(b), matrix(turned(a), dc), {.rtol = rtol, .mistakes = known[1]}))
      return;
  }
  const Tensor a = random_leaf({2, 3}, random), b = random_leaf({3, 5}, random),
               dc = Tensor::normal({2, 5}, 0, 1, random, f64);
  backward(impl.matmul(a, b.detach()), dc);
  backward(impl.matmul(a.detach(), b), dc);
  const std::vector<kit::Mistake> no_da = {{kNoPass, zeros_like(a)}}, no_db = {{kNoPass, zeros_like(b)}};
  if (!g.equal("matmul(a, constant): da", gradient_of(a), matrix(dc, turned(b)), {.mistakes = no_da}) ||
      !g.equal("matmul(constant, b): db", gradient_of(b), matrix(turned(a), dc), {.mistakes = no_db}))
    return;
  const Tensor s = random_leaf({3, 3}, random), ds = Tensor::normal({3, 3}, 0, 1, random, f64);
  const Tensor other = random_leaf({3, 3}, random);
  const Tensor square = pg::transpose(impl.matmul(s, s)), later = impl.matmul(other, other);
  if (!pass_back(g, "s used twice, matmul(s, s)", square, ds)) return;
  const std::string twice =
      "s is used twice and two gradients arrive: the second must be added, not written over the first";
  const Tensor left = matrix(turned(ds), turned(s)), right = matrix(turned(s), turned(ds));
  g.equal("s used twice, matmul(s, s), gradient through a transpose: ds", gradient_of(s), left + right,
          {.mistakes = {{twice, left},
                        {twice, right},
                        {kKept, matrix(turned(ds), turned(other)) + right},
                        {kKept, matrix(turned(ds), turned(other)) + matrix(turned(other), turned(ds))}}});
  g.note(fmt::format("{} shapes, da and db; constants; a factor used twice", std::size(cases)));
}

}  // namespace

Tensor add(const Impl& impl, const Tensor& a, const Tensor& b) {
  Tensor z = pg::add(a.detach(), b.detach());
  return record(Op::add, z, {&a, &b}, [&impl, sa = a.shape(), sb = b.shape()](const Tensor& dz, Grads& g) {
    impl.pass_summed(g, 0, dz, sa);
    impl.pass_summed(g, 1, dz, sb);
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
       .run = check_matmul,
       .harmless = {{{"rank 0", "rank 1", "rank 4"}, "a and b are matrices"}}},
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
       .run = check_pass_summed,
       .harmless = {{{"count above 2^24", "count above 2^32"},
                     "the shape says which dims are summed, and d, which has all its elements, is in memory"}}},
      {.id = "02.5",
       .title = "gradcheck",
       .piece = kit::piece<&Impl::gradcheck>("gradcheck"),
       .section = "The proof that it is right",
       .why = "A checker that cannot fail is worth nothing. So yours must pass what is right and catch bugs: a plain "
              "one, one in a single element, one in the second input, one that is invisible when the outputs are "
              "simply summed, and a gradient that is nan.",
       .hints = {"How can you measure the slope of a function that you can only evaluate? And what would that say of a "
                 "softmax if you summed its outputs first?",
                 "n[i] = (L(x + h·e_i) - L(x - h·e_i)) / 2h with L = sum(r · f(x)), r random; a = gradients after "
                 "backward(f(x), r). Error: |a - n| / max(|a|, |n|, 1e-5), the largest over the inputs.",
                 "Clone the inputs as leaves, y = f(leaves), draw r, backward(y, r). Then, under NoGrad: for each "
                 "input, for each element: add h, evaluate L; subtract h, evaluate L; restore; the quotient is n[i]. "
                 "Sum squares of a - n, a and n; take roots; keep the worst ratio."},
       .solution = {"autograd/check/gradcheck.cpp", "class Check"},
       .run = check_gradcheck,
       .harmless = {{"only positive", "an error is a ratio of two norms"},
                    {"infinite", "there is no difference quotient at infinity"},
                    {"f32", "an error is compared to three digits: more depend on r and h"}}},
  };
}

Impl reference() {
  return {.mul = pg::mul,
          .tanh = pg::tanh,
          .matmul = pg::matmul,
          .pass_summed = detail::pass_summed,
          .gradcheck = [](const Function& f, const std::vector<Tensor>& inputs) {
            return pg::gradcheck(f, inputs, {.tolerance = INFINITY}).error;  // not only up to the first wrong input
          }};
}

}  // namespace pg::lesson02
