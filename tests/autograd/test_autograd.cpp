// The tape: which operations are recorded, in which order backward runs them, where gradients go, and what is freed.
#include <cmath>

#include "autograd/op_util.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::leaf;
using pg::testing::same_bits;

namespace {

Tensor random_leaf(const Shape& shape, uint64_t seed, DType dtype = f64) {
  Generator g(seed);
  Tensor x = Tensor::normal(shape, 0, 1, g, dtype);
  return x.set_requires_grad();
}
using Values = std::vector<double>;

// The identity, which counts how often its backward runs.
Tensor counted(const Tensor& x, int* runs) {
  return record(Op::add, x.clone(), {&x}, [runs](const Tensor& dy, Grads& g) {
    ++*runs;
    g.pass(0, dy);
  });
}

}  // namespace

TEST_CASE("a diamond sums the gradients of both branches", "[autograd]") {
  const Tensor x = leaf({2, -3});
  const Tensor y = x * x;              // dy/dx = 2x
  const Tensor loss = sum(y * x + y);  // x³ + x²
  backward(loss);
  CHECK(x.grad().to_vector() == Values{3 * 4 + 4, 3 * 9 - 6});
}

TEST_CASE("every node's backward runs once, after those of all its users", "[autograd]") {
  int runs = 0;
  const Tensor x = leaf({1, 2});
  const Tensor shared = counted(x, &runs);
  Tensor loss = sum(shared);
  for (int i = 0; i < 50; ++i) loss = loss + sum(shared * shared);
  backward(loss);
  CHECK(runs == 1);
  CHECK(x.grad().to_vector() == Values{1 + 50 * 2, 1 + 50 * 4});
}

TEST_CASE("a gradient passed to two inputs is not changed through one of them", "[autograd]") {
  const Tensor a = leaf({1, 2}), b = leaf({3, 5});
  const Tensor u = a * 1, v = b * 1;
  const Tensor s = u + v;      // add passes the same gradient tensor to both inputs
  const Tensor t = s + u * v;  // u and v both receive further contributions
  backward(sum(t * t + u));    // t = a + b + ab
  const double t0 = 1 + 3 + 3, t1 = 2 + 5 + 10;
  CHECK(a.grad().to_vector() == Values{2 * t0 * (1 + 3) + 1, 2 * t1 * (1 + 5) + 1});
  CHECK(b.grad().to_vector() == Values{2 * t0 * (1 + 1), 2 * t1 * (1 + 2)});
}

TEST_CASE("an op with two outputs, only one of which is used", "[autograd]") {
  bool first_defined = true, second_defined = true;
  const Tensor x = leaf({1, 2});
  auto make = [&] {
    return record2(Op::add, x.clone(), x.clone(), {&x}, [&](const Tensor& dy, Grads& g) {
      first_defined = dy.defined();
      second_defined = g.output(1).defined();
      if (dy.defined()) g.pass(0, dy);
      if (g.output(1).defined()) g.pass(0, g.output(1));
    });
  };
  backward(sum(make().first));
  CHECK(first_defined);
  CHECK(!second_defined);
  backward(sum(make().second) * 10);
  CHECK(!first_defined);
  CHECK(second_defined);
  const auto both = make();
  backward(sum(both.first * both.second));
  CHECK(x.grad().to_vector() == Values{1 + 10 + 2, 1 + 10 + 4});
}

TEST_CASE("branches that the loss does not use are not run backward", "[autograd]") {
  int used = 0, unused = 0;
  const Tensor x = leaf({1});
  const Tensor a = counted(x, &used), b = counted(x, &unused);
  const Tensor dead = b * 3;
  backward(a * 2);
  CHECK(used == 1);
  CHECK(unused == 0);
  CHECK(x.grad().item() == 2);
  // The unused branch was not freed, so backward can still run on it.
  backward(dead);
  CHECK(unused == 1);
  CHECK(x.grad().item() == 5);
}

TEST_CASE("inputs without a gradient are not recorded", "[autograd]") {
  const Tensor a = leaf({1, 2}), constant = Tensor::from(Values{3, 4}, {2});
  bool wanted = true;
  const Tensor y = record(Op::mul, a.clone(), {&a, &constant}, [&](const Tensor& dy, Grads& g) {
    wanted = g.wants(1) || bool(g[1]);
    g.pass(0, dy);
    g.pass(1, dy);
  });
  backward(sum(y));
  CHECK(!wanted);
  CHECK(!constant.grad().defined());
  CHECK(!(constant * constant).requires_grad());
}

TEST_CASE("NoGrad and EnableGrad nest", "[autograd]") {
  const Tensor x = leaf({1, 2});
  CHECK(grad_enabled());
  {
    NoGrad off;
    CHECK(!grad_enabled());
    CHECK(!(x * x).requires_grad());
    {
      EnableGrad on;
      CHECK((x * x).requires_grad());
      NoGrad off_again;
      CHECK(!(x * x).requires_grad());
    }
    CHECK(!grad_enabled());
  }
  CHECK((x * x).requires_grad());
  try {
    NoGrad off;
    fail("thrown inside NoGrad");
  } catch (const Error&) {
  }
  CHECK(grad_enabled());
}

TEST_CASE("detach cuts the tape and shares memory", "[autograd]") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * x, cut = y.detach();
  CHECK(!cut.requires_grad());
  CHECK(cut.storage() == y.storage());
  backward(sum(cut * x));  // cut is a constant for backward
  CHECK(x.grad().to_vector() == Values{1, 4});
}

TEST_CASE("gradients of leaves add up until zero_grad", "[autograd]") {
  const Tensor x = leaf({1, 2});
  CHECK(!x.grad().defined());
  CHECK(!has_grad(x));
  backward(sum(x * x));
  backward(sum(x * 10));
  CHECK(x.grad().to_vector() == Values{12, 14});
  x.zero_grad();
  CHECK(!x.grad().defined());
  CHECK(!has_grad(x));
  backward(sum(x * 3));
  CHECK(x.grad().to_vector() == Values{3, 3});
  // A leaf can be its own loss.
  const Tensor s = leaf({5});
  backward(s);
  backward(s);
  CHECK(s.grad().item() == 2);
}

TEST_CASE("gradients are written directly into a slab and overwrite its old content", "[autograd]") {
  const Tensor slab = Tensor::full({6}, NAN, f64);
  const Tensor a = leaf({1, 2}), b = leaf({3, 4}), unused = leaf({5, 6});
  set_grad_buffer(a, slab.view_slice(0, 0, 2));
  set_grad_buffer(b, slab.view_slice(0, 2, 4));
  set_grad_buffer(unused, slab.view_slice(0, 4, 6));
  // One op writes into the gradient slot, one hands over a tensor, one writes only a part of its input's gradient.
  backward(sum(a * b) + sum(b) + sum(slice(a, 0, 0, 1)));
  CHECK(slab.view_slice(0, 0, 4).to_vector() == Values{4, 4, 2, 3});
  CHECK(!has_grad(unused));
  CHECK(a.grad().storage() == slab.storage());
  backward(sum(a));
  CHECK(slab.view_slice(0, 0, 2).to_vector() == Values{5, 5});
  a.zero_grad();
  slab.fill(NAN);
  backward(sum(a * a));
  CHECK(slab.view_slice(0, 0, 2).to_vector() == Values{2, 4});

  CHECK(contains(error_of([&] { set_grad_buffer(a, Tensor::zeros({3}, f64)); }), "[2]"));
  CHECK(contains(error_of([&] { set_grad_buffer(a, Tensor::zeros({2}, f32)); }), "f64"));
  CHECK(contains(error_of([&] { set_grad_buffer(a * a, Tensor::zeros({2}, f64)); }), "leaf"));
}

TEST_CASE("backward runs once per graph", "[autograd]") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * x, loss = sum(y);
  backward(loss);
  for (const Tensor& again : {loss, sum(y * 2)}) {  // the same loss; another loss over a freed part
    const std::string message = error_of([&] { backward(again); });
    INFO(message);
    CHECK(contains(message, "freed by an earlier backward"));
    CHECK(contains(message, "run the forward pass again"));
  }
}

TEST_CASE("a gradient of another floating dtype is converted, the first and every later one", "[autograd]") {
  // y = x, whose backward passes ones of the dtype `given`.
  const auto passing = [](const Tensor& x, DType given) {
    return record(Op::add, x.clone(), {&x}, [given](const Tensor& dy, Grads& g) {
      g.pass(0, Tensor::ones(dy.shape(), given));
      g.pass(0, Tensor::full(dy.shape(), 0.5, given));
    });
  };
  for (const DType own : {f32, f64, bf16}) {
    for (const DType given : {f32, f64, bf16}) {
      CAPTURE(own, given);
      const Tensor x = random_leaf({3, 2}, 1, f32).detach().to(own).set_requires_grad();
      for (int uses = 1; uses <= 2; ++uses) backward(passing(x, given), Tensor::ones(x.shape(), own));
      CHECK(x.grad().to_vector() == Values(6, 3));  // two backward passes of 1 + 0.5
      const Tensor z = random_leaf({3, 2}, 2, f32).detach().to(own).set_requires_grad();
      const Tensor inner = z * 2.0;  // a gradient between two nodes
      backward(passing(inner, given), Tensor::ones(z.shape(), own));
      CHECK(z.grad().to_vector() == Values(6, 3));
    }
  }
  const Tensor x = leaf({1, 2});
  CHECK(contains(error_of([&] { backward(passing(x, i32), Tensor::ones({2}, f64)); }), "the gradient is i32"));
  const Tensor y = record(Op::add, x.clone(), {&x}, [](const Tensor&, Grads& g) { g.pass(0, Tensor()); });
  CHECK(contains(error_of([&] { backward(y, Tensor::ones({2}, f64)); }), "the gradient is undefined"));
}

TEST_CASE("backward's errors", "[autograd]") {
  const Tensor x = leaf({1, 2});
  CHECK(contains(error_of([&] { backward(x * x); }), "expected a scalar loss, got shape [2]"));
  CHECK(contains(error_of([&] { backward(sum(x.detach())); }), "set_requires_grad()"));
  CHECK(contains(error_of([&] { backward(x * x, Tensor::ones({3}, f64)); }), "expected [2]"));
  CHECK(contains(error_of([&] { backward(x * x, Tensor::ones({2}, f32)); }), "f32"));
  CHECK(contains(error_of([&] { (x * x).set_requires_grad(); }), "result of mul, not a leaf"));
  CHECK(contains(error_of([&] { Tensor::zeros({2}, i32).set_requires_grad(); }), "i32"));
  // A failed backward leaves the graph usable.
  const Tensor y = x * x;
  CHECK(!error_of([&] { backward(y, Tensor::ones({3}, f64)); }).empty());
  backward(y, Tensor::from(Values{1, 10}, {2}));
  CHECK(x.grad().to_vector() == Values{2, 40});
}

TEST_CASE("activations are freed as backward uses them", "[autograd]") {
  const int64_t n = 1 << 20;  // 8 MiB each
  const Tensor x = random_leaf({n}, 1);
  const size_t start = memory_stats().in_use;
  Tensor y = x;
  for (int i = 0; i < 8; ++i) y = sin(y);
  const Tensor loss = sum(y);
  y = {};
  const size_t held = memory_stats().in_use - start;
  CHECK(held >= 7 * n * 8);  // sin keeps its inputs; the first input is x itself
  reset_peak_memory();
  backward(loss);
  // At most two gradients exist at a time while activations are freed: the peak stays well below activations + all
  // gradients.
  CHECK(memory_stats().peak - start <= held + 3 * n * 8);
  CHECK(memory_stats().in_use - start <= n * 8 + 4096);  // only x's gradient is left, although `loss` still exists
}

TEST_CASE("a graph of a million operations runs and drops without recursion", "[autograd]") {
  const int n = 1000000;
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < n; ++i) y = y + x;
  CHECK(y.item() == n + 1);
  backward(y);
  CHECK(x.grad().item() == n + 1);
  y = {};
  x.zero_grad();

  Tensor dropped = x;  // backward never runs on it
  for (int i = 0; i < n; ++i) dropped = dropped + x;
  dropped = {};
  CHECK(x.storage()->ref_count == 1);  // nothing else holds a reference to x any more
}

TEST_CASE("checkpoint gives the gradients of the plain call", "[autograd][checkpoint]") {
  const Tensor w = random_leaf({6, 6}, 2), x = random_leaf({5, 6}, 3);
  const auto stream = std::make_shared<Generator>();
  int calls = 0;
  auto block = [&](const Tensor& h) {
    ++calls;
    return dropout(gelu(linear(h, w)), 0.4, true, *stream) + h;
  };
  auto run = [&](bool recompute) {
    w.zero_grad();
    x.zero_grad();
    *stream = Generator(7);
    Tensor h = x * 1;
    for (int i = 0; i < 3; ++i) h = recompute ? checkpoint(block, h, stream) : block(h);
    const double next_draw = stream->uniform();
    backward(sum(h * h));
    return std::vector<Tensor>{h.detach(), x.grad().clone(), w.grad().clone(), Tensor::scalar(next_draw, f64),
                               Tensor::scalar(stream->uniform(), f64)};
  };
  const auto plain = run(false);
  CHECK(calls == 3);
  const auto again = run(true);
  CHECK(calls == 9);  // 3 more in forward, and 3 more in backward
  // Compares the values, the gradient of x, the gradient of the captured leaf, and the random number stream afterwards.
  CHECK(same_bits(plain[0], again[0]));
  CHECK(same_bits(plain[1], again[1]));
  CHECK(same_bits(plain[3], again[3]));
  CHECK(same_bits(plain[4], again[4]));
  for (int64_t i = 0; i < 36; ++i) CHECK(plain[2].to_vector()[i] == Approx(again[2].to_vector()[i]).epsilon(1e-14));
}

TEST_CASE("checkpoint stores only its input", "[autograd][checkpoint]") {
  const int64_t n = 1 << 20;
  const Tensor x = random_leaf({n}, 4);
  auto deep = [](const Tensor& h) { return sin(sin(sin(sin(sin(sin(h)))))); };
  const size_t start = memory_stats().in_use;
  Tensor y = checkpoint(deep, x);
  CHECK(memory_stats().in_use - start <= n * 8 + 4096);  // only y is stored
  const Tensor loss = sum(y);
  y = {};
  backward(loss);
  const Tensor expected = [&] {
    Tensor z = x.detach().set_requires_grad();
    backward(sum(deep(z)));
    return z.grad();
  }();
  CHECK(same_bits(x.grad(), expected));
}

TEST_CASE("checkpoint of an input without a gradient computes the gradients of the leaves inside",
          "[autograd][checkpoint]") {
  const Tensor w = leaf({2, 3}), x = Tensor::from(Values{5, 7}, {2});
  backward(sum(checkpoint([w](const Tensor& h) { return h * w; }, x)));
  CHECK(w.grad().to_vector() == Values{5, 7});
  NoGrad off;
  CHECK(!checkpoint([w](const Tensor& h) { return h * w; }, x).requires_grad());
}
