// Optimizers compared with their formulas; gradient clipping; learning rate schedules.
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/ops.h"
#include "nn/layers.h"
#include "nn/optim.h"
#include "nn/train/schedule.h"
#include "nn/train/sgd.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;

namespace {

struct Two : Module {  // parameters: a matrix, a vector, a matrix
  Tensor a, b, c;
  explicit Two(DType dtype = f64) {
    Generator g(1);
    a = Tensor::normal({3, 5}, 0, 1, g, dtype).set_requires_grad();
    b = Tensor::normal({7}, 0, 1, g, dtype).set_requires_grad();
    c = Tensor::normal({2, 2}, 0, 1, g, dtype).set_requires_grad();
  }
  void visit(Visitor& visitor) override {
    visitor("a", a);
    visitor("b", b);
    visitor("c", c);
  }
  // The gradient of sum(p³)/3 is p².
  Tensor loss() const { return (sum(pow(a, 3.0)) + sum(pow(b, 3.0)) + sum(pow(c, 3.0))) / 3; }
};

}  // namespace

TEST_CASE("slab: parameters move with their values and gradients arrive in one array", "[nn][optim]") {
  Two model;
  const auto a = model.a.to_vector(), b = model.b.to_vector();
  ParamSlab slab(model);
  REQUIRE(slab.segments().size() == 3);
  CHECK(model.a.to_vector() == a);
  CHECK(model.b.to_vector() == b);
  CHECK(model.a.storage() == slab.params().storage());
  CHECK(model.c.storage() == slab.params().storage());
  for (const auto& segment : slab.segments()) {
    CHECK(segment.begin * 8 % 512 == 0);
    CHECK(segment.decay == (segment.name != "b"));
  }
  backward(model.loss());
  CHECK(model.b.grad().storage() == slab.grads().storage());
  const auto grad = ParamSlab::view_of(slab.grads(), slab.segments()[1]).to_vector();
  for (size_t i = 0; i < b.size(); ++i) CHECK(grad[i] == Approx(b[i] * b[i]));

  backward(model.loss());  // a second backward without zero_grad doubles the gradient
  CHECK(model.b.grad().to_vector()[3] == Approx(2 * b[3] * b[3]));
  slab.zero_grad();
  CHECK_FALSE(has_grad(model.b));
  backward(sum(model.a));
  slab.fill_missing_grads();  // the loss does not use b and c
  CHECK(slab.grads().to_vector()[0] == 1);
  for (double g : ParamSlab::view_of(slab.grads(), slab.segments()[1]).to_vector()) CHECK(g == 0);
}

TEST_CASE("slab: parameters that cannot be in one slab are refused", "[nn][optim]") {
  struct Shared : Module {
    Tensor w = Tensor::ones({2}).set_requires_grad(), other = w;
    void visit(Visitor& v) override { v("w", w), v("again", other); }
  } shared;
  CHECK(error_of([&] { ParamSlab slab(shared); }).find("'again' was visited before") != std::string::npos);
  struct Mixed : Module {
    Tensor a = Tensor::ones({2}).set_requires_grad(), b = Tensor::ones({2}, f64).set_requires_grad();
    void visit(Visitor& v) override { v("a", a), v("b", b); }
  } mixed;
  CHECK(error_of([&] { ParamSlab slab(mixed); }).find("'b' is f64") != std::string::npos);
  mixed.b.set_requires_grad(false);  // frozen: it stays where it is
  ParamSlab slab(mixed);
  CHECK(slab.segments().size() == 1);
  CHECK(!mixed.b.requires_grad());
  mixed.a.set_requires_grad(false);
  CHECK(error_of([&] { ParamSlab none(mixed); }).find("no parameters that require a gradient") != std::string::npos);
}

TEST_CASE("optim: gradient norm and clipping", "[nn][optim]") {
  Two model;
  ParamSlab slab(model);
  backward(model.loss());
  double squares = 0;
  for (const auto& [name, p] : named_parameters(model)) {
    for (double x : p.to_vector()) squares += x * x * x * x;
  }
  CHECK(grad_norm(slab) == Approx(std::sqrt(squares)).epsilon(1e-14));
  CHECK(clip_scale(0.5, 1) == 1);
  CHECK(clip_scale(4, 1) == Approx(0.25).epsilon(1e-6));
  CHECK(clip_grad_norm(slab, 0.1) == Approx(std::sqrt(squares)).epsilon(1e-14));
  CHECK(grad_norm(slab) == Approx(0.1).epsilon(1e-5));
  CHECK(clip_grad_norm(slab, 1.0) == Approx(0.1).epsilon(1e-5));
  CHECK(grad_norm(slab) == Approx(0.1).epsilon(1e-5));

  model.b.grad().data<double>()[2] = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_of([&] { grad_norm(slab); }).find("gradient of 'b' is not finite") != std::string::npos);
}

TEST_CASE("optim: a step clipped by the norm in device memory equals the host's", "[nn][optim]") {
  for (const double max_norm : {0.0, 0.1, 1e6}) {
    Two models[2];
    for (Two& model : models) {
      ParamSlab slab(model);
      AdamW optimizer(slab, {.weight_decay = 0.1});
      for (int step = 0; step < 3; ++step) {
        slab.zero_grad();
        backward(model.loss());
        if (&model == models) {
          optimizer.step(0.05, max_norm > 0 ? clip_scale(grad_norm(slab), max_norm) : 1);
        } else {
          optimizer.begin_step(0.05);
          optimizer.update_by_norm(squared_grad_norm(slab), max_norm);
          optimizer.end_step();
        }
      }
      CHECK(optimizer.steps() == 3);
    }
    CHECK(models[0].a.to_vector() == models[1].a.to_vector());
    CHECK(models[0].b.to_vector() == models[1].b.to_vector());
  }
}

TEST_CASE("optim: gradients that are not finite change nothing", "[nn][optim]") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Two model;
    ParamSlab slab(model);
    AdamW optimizer(slab);
    backward(model.loss());
    model.c.grad().data<double>()[1] = bad;
    const auto a = model.a.to_vector(), c = model.c.to_vector();
    optimizer.begin_step(0.1);
    const Tensor squared = squared_grad_norm(slab);
    optimizer.update_by_norm(squared, 1);
    CHECK(model.a.to_vector() == a);
    CHECK(model.c.to_vector() == c);
    CHECK(error_of([&] { norm_of(slab, squared); }).find("gradient of 'c' is not finite") != std::string::npos);
  }
}

TEST_CASE("optim: SGD with momentum and decay follows its formula", "[nn][optim]") {
  for (const bool nesterov : {false, true}) {
    Two model;
    ParamSlab slab(model);
    Sgd optimizer(slab, {.momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.1});
    double p = model.b.to_vector()[4], buffer = 0;
    for (int step = 0; step < 5; ++step) {
      slab.zero_grad();
      backward(model.loss());
      optimizer.step(0.05, 0.5);
      const double g = 0.5 * p * p + 0.1 * p;
      buffer = step == 0 ? g : 0.9 * buffer + g;
      p -= 0.05 * (nesterov ? g + 0.9 * buffer : buffer);
    }
    CHECK(model.b.to_vector()[4] == Approx(p).epsilon(1e-13));
    CHECK(optimizer.steps() == 5);
    CHECK(optimizer.state().size() == 3);
  }
  Two model;
  ParamSlab slab(model);
  Sgd plain(slab);
  const double before = model.a.to_vector()[0];
  backward(model.loss());
  plain.step(0.1);
  CHECK(model.a.to_vector()[0] == Approx(before - 0.1 * before * before).epsilon(1e-14));
  CHECK(plain.state().empty());
}

TEST_CASE("optim: AdamW follows the paper and decays matrices only", "[nn][optim]") {
  Two model;
  ParamSlab slab(model);
  AdamW optimizer(slab, {.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.2});
  struct Expected {
    double p, m = 0, v = 0;
  };
  Expected matrix{model.c.to_vector()[3]}, vector{model.b.to_vector()[6]};
  for (int t = 1; t <= 6; ++t) {
    slab.zero_grad();
    backward(model.loss());
    optimizer.step(0.01, 0.7);
    const auto update = [t](Expected& e, double decay) {
      const double g = 0.7 * e.p * e.p;
      e.m = 0.8 * e.m + 0.2 * g;
      e.v = 0.95 * e.v + 0.05 * g * g;
      const double m_hat = e.m / (1 - std::pow(0.8, t)), v_hat = e.v / (1 - std::pow(0.95, t));
      e.p -= 0.01 * (m_hat / (std::sqrt(v_hat) + 1e-6) + decay * e.p);
    };
    update(matrix, 0.2);
    update(vector, 0);
  }
  CHECK(model.c.to_vector()[3] == Approx(matrix.p).epsilon(1e-12));
  CHECK(model.b.to_vector()[6] == Approx(vector.p).epsilon(1e-12));
  const auto params = slab.params().to_vector();
  for (size_t i = static_cast<size_t>(slab.segments()[0].end); i < static_cast<size_t>(slab.segments()[1].begin); ++i) {
    CHECK(params[i] == 0);  // the gap between segments stays zero
  }
}

TEST_CASE("optim: a restored AdamW continues bit for bit", "[nn][optim]") {
  Two first;
  ParamSlab slab(first);
  AdamW optimizer(slab);
  const auto advance = [](Two& model, ParamSlab& slab, AdamW& optimizer) {
    slab.zero_grad();
    backward(model.loss());
    optimizer.step(0.02);
  };
  for (int i = 0; i < 3; ++i) advance(first, slab, optimizer);

  Two second;
  ParamSlab slab2(second);
  AdamW optimizer2(slab2);
  load_state_dict(second, state_dict(first));
  optimizer2.load_state(optimizer.state(), optimizer.steps());
  for (int i = 0; i < 3; ++i) {
    advance(first, slab, optimizer);
    advance(second, slab2, optimizer2);
  }
  CHECK(slab.params().to_vector() == slab2.params().to_vector());

  NamedTensors state = optimizer.state();
  state.pop_back();
  CHECK(error_of([&] { optimizer2.load_state(state, 1); }).find("'v.c' is missing") != std::string::npos);
  state.emplace_back("v.c", Tensor::zeros({2, 3}, f64));
  CHECK(error_of([&] { optimizer2.load_state(state, 1); }).find("'v.c' is f64 [2, 3]") != std::string::npos);
}

TEST_CASE("optim: updates too small for bf16 add up in the masters", "[nn][optim][bf16]") {
  struct One : Module {
    Tensor weight = Tensor::ones({4, 64}, bf16).set_requires_grad();
    void visit(Visitor& visitor) override { visitor("weight", weight); }
  } model;
  ParamSlab slab(model);
  Sgd sgd(slab);
  CHECK(slab.grads().dtype() == f32);
  for (int i = 0; i < 1000; ++i) {
    slab.zero_grad();
    backward(sum(cast(model.weight, f32)));
    sgd.step(0x1p-13);  // below 1, neighbouring bf16 values are 2^-8 apart: each single step would be rounded away
  }
  for (double x : slab.params().to_vector()) CHECK(x == 1 - 1000 * 0x1p-13);
  for (double x : model.weight.to_vector()) CHECK(x == static_cast<float>(BFloat16(1 - 1000 * 0x1p-13f)));
  // After weights are loaded, a step starts from them, not from the f32 master copies of the old weights.
  load_state_dict(model, {{"weight", Tensor::full({4, 64}, 3, f32)}});
  slab.zero_grad();
  backward(sum(cast(model.weight, f32)));
  sgd.step(0.5);
  for (double x : model.weight.to_vector()) CHECK(x == 2.5);
}

TEST_CASE("optim: a parameter without gradient counts as gradient zero", "[nn][optim]") {
  Two model;
  ParamSlab slab(model);
  AdamW optimizer(slab, {.weight_decay = 0});
  backward(model.loss());
  optimizer.step(0.1);
  const auto before = model.a.to_vector(), untouched = model.b.to_vector();
  slab.zero_grad();
  backward(sum(model.a));
  optimizer.step(0.1);
  CHECK(model.a.to_vector() != before);
  CHECK(model.b.to_vector() != untouched);  // momentum still moves b, although it has no gradient
}

TEST_CASE("schedule: warm-up, then cosine or linear decay, then the floor", "[nn][optim]") {
  Schedule s{.kind = Schedule::Kind::cosine, .lr = 1e-3, .min_lr = 1e-4, .warmup_steps = 100, .decay_steps = 2000};
  CHECK(s.at(0) == Approx(1e-3 / 101));
  CHECK(s.at(99) == Approx(1e-3 * 100 / 101));
  CHECK(s.at(100) == Approx(1e-3));
  CHECK(s.at(1050) == Approx(5.5e-4));  // half way: the mean of both
  CHECK(s.at(100 + 1900 / 4) == Approx(1e-4 + 9e-4 * (0.5 + std::sqrt(2.0) / 4)));
  CHECK(s.at(2000) == Approx(1e-4));
  CHECK(s.at(5000) == Approx(1e-4));
  s.kind = Schedule::Kind::linear;
  CHECK(s.at(1050) == Approx(5.5e-4));
  CHECK(s.at(100 + 1900 / 4) == Approx(1e-3 - 9e-4 / 4));
  s.kind = Schedule::Kind::constant;
  CHECK(s.at(50) == Approx(1e-3 * 51 / 101));
  CHECK(s.at(5000) == 1e-3);
}

TEST_CASE("an optimizer's step between forward and backward is an error", "[writes]") {
  Linear layer(2, 2);
  ParamSlab slab(layer);
  AdamW adamw(slab, {});
  const Tensor x = Tensor::from(std::vector<float>{1, 2}, {1, 2}).set_requires_grad();
  backward(sum(layer(x)));
  const Tensor stale = sum(layer(x));
  adamw.step(1e-3);
  CHECK(contains(error_of([&] { backward(stale); }), "backward of linear"));
}
