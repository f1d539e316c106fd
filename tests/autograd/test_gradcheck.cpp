// gradcheck must reject backward functions with planted bugs and report the reason.
#include <cmath>

#include "autograd/check/composed.h"
#include "autograd/check/gradcheck.h"
#include "autograd/op_util.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::random;
using In = std::span<const Tensor>;

namespace {

// y = x², recorded with the given backward function, which computes dx from (dy, x).
Tensor square(const Tensor& x, Tensor (*derivative)(const Tensor&, const Tensor&)) {
  Tensor y;
  {
    NoGrad guard;
    y = x * x;
  }
  return record(Op::mul, y, {&x},
                [x = x.detach(), derivative](const Tensor& dy, Grads& g) { g.pass(0, derivative(dy, x)); });
}

GradcheckResult check_square(Tensor (*derivative)(const Tensor&, const Tensor&), const Shape& shape = {3, 4}) {
  GradcheckOptions options;
  options.op = "square";
  options.label = "planted";
  return gradcheck([=](In x) { return square(x[0], derivative); }, {random(shape, 3)}, options);
}

bool says(const GradcheckResult& r, const std::string& words) { return r.message.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("gradcheck accepts a correct backward", "[gradcheck]") {
  const GradcheckResult r = check_square([](const Tensor& dy, const Tensor& x) { return 2 * x * dy; });
  INFO(r.message);
  CHECK(r.ok);
  CHECK(r.error < 1e-10);
  CHECK(r.message.empty());
  CHECK(r.op == "square");
}

TEST_CASE("gradcheck names planted bugs", "[gradcheck]") {
  SECTION("a factor") {
    const GradcheckResult r = check_square([](const Tensor& dy, const Tensor& x) { return 4 * x * dy; });
    INFO(r.message);
    CHECK(!r.ok);
    CHECK(says(r, "square (planted)"));
    CHECK(says(r, "input 0 [3, 4]"));
    CHECK(says(r, "yours is 2 x expected"));
    CHECK(r.argument == 0);
    CHECK(r.index.rank() == 2);
    CHECK(r.ratio == Approx(2));
    CHECK(r.analytic == Approx(2 * r.numeric));
    CHECK(r.error == Approx(0.5));
  }
  SECTION("the sign") {
    const GradcheckResult r = check_square([](const Tensor& dy, const Tensor& x) { return -2 * x * dy; });
    CHECK(!r.ok);
    CHECK(says(r, "yours is -1 x expected: the sign is wrong"));
  }
  SECTION("a missing factor from the chain rule") {
    const GradcheckResult r = check_square([](const Tensor&, const Tensor& x) { return 2 * x; });
    CHECK(!r.ok);
    CHECK(says(r, "no single factor explains them"));
  }
  SECTION("one wrong element") {
    const GradcheckResult r = check_square([](const Tensor& dy, const Tensor& x) {
      Tensor d = (2 * x * dy).detach();
      d.data<double>()[5] += 1;
      return d;
    });
    CHECK(!r.ok);
    CHECK(says(r, "index [1, 1]"));
    CHECK(says(r, "1 of 12 elements are wrong"));
    CHECK(r.index == Shape{1, 1});
  }
  SECTION("nothing written") {
    const GradcheckResult r = gradcheck(
        [](In x) { return record(Op::mul, x[0].clone(), {&x[0]}, [](const Tensor&, Grads&) {}); }, {random({3}, 3)});
    CHECK(!r.ok);
    CHECK(says(r, "yours is 0 everywhere"));
  }
  SECTION("NaN") {
    const GradcheckResult r = check_square([](const Tensor& dy, const Tensor& x) {
      Tensor d = (2 * x * dy).detach();
      d.data<double>()[5] = NAN;
      return d;
    });
    CHECK(!r.ok);
    CHECK(says(r, "NaN or infinity"));
    CHECK(r.index == Shape{1, 1});
  }
  SECTION("a factor, seen by random directions") {
    const GradcheckResult r = check_square([](const Tensor& dy, const Tensor& x) { return 6 * x * dy; }, {70, 80});
    CHECK(!r.ok);
    CHECK(says(r, "yours is 3 x expected"));
    CHECK(says(r, "random direction"));
    CHECK(check_square([](const Tensor& dy, const Tensor& x) { return 2 * x * dy; }, {70, 80}).ok);
  }
  SECTION("only the second input is wrong") {
    const GradcheckResult r = gradcheck(
        [](In x) {
          NoGrad guard;
          const Tensor y = x[0] * x[1];
          EnableGrad record_it;
          return record(Op::mul, y, {&x[0], &x[1]}, [a = x[0].detach(), b = x[1].detach()](const Tensor& dy, Grads& g) {
            g.pass(0, dy * b);
            g.pass(1, dy * b);
          });
        },
        {random({4}, 1), random({4}, 2)});
    CHECK(!r.ok);
    CHECK(r.argument == 1);
    CHECK(says(r, "input 1 [4]"));
  }
}

// Softmax backward without the term -y·Σ dy·y. The sum of the outputs is constant, so a cotangent of ones would only
// see zeros.
TEST_CASE("gradcheck sees a missing term in softmax", "[gradcheck]") {
  auto wrong_softmax = [](In x) {
    NoGrad guard;
    const Tensor y = composed::softmax(x[0]);
    EnableGrad record_it;
    return record(Op::softmax, y, {&x[0]}, [y](const Tensor& dy, Grads& g) { g.pass(0, dy * y); });
  };
  CHECK(!gradcheck(wrong_softmax, {random({3, 5}, 3)}).ok);
  auto doubled = [](In x) {
    NoGrad guard;
    const Tensor y = composed::softmax(x[0]);
    EnableGrad record_it;
    return record(Op::softmax, y, {&x[0]},
                  [y](const Tensor& dy, Grads& g) { g.pass(0, 2 * (y * (dy - sum(dy * y, {-1}, true)))); });
  };
  const GradcheckResult r = gradcheck(doubled, {random({3, 5}, 3)});
  CHECK(!r.ok);
  CHECK(says(r, "yours is 2 x expected"));
}

TEST_CASE("gradcheck sees a kernel that overwrites where it must add", "[gradcheck]") {
  const GradcheckResult r = gradcheck(
      [](In x) {
        Tensor y = x[0].clone();
        return record(Op::mul, y, {&x[0]}, [](const Tensor& dy, Grads& g) {
          if (auto dx = g[0]) dx.into->copy_from(dy);  // ignores beta
        });
      },
      {random({3}, 3)});
  CHECK(!r.ok);
  CHECK(says(r, "not twice the first"));
  CHECK(says(r, "beta"));
}

TEST_CASE("gradcheck sees results that change from run to run", "[gradcheck]") {
  int calls = 0;
  const GradcheckResult r = gradcheck([&](In x) { return x[0] + 1e-13 * ++calls; }, {random({3}, 3)});
  CHECK(!r.ok);
}

TEST_CASE("gradcheck does not perturb inputs marked as constant", "[gradcheck]") {
  auto f = [](In x) { return x[0] * x[1].detach(); };
  CHECK(!gradcheck(f, {random({3}, 3), random({3}, 4)}).ok);
  GradcheckOptions options;
  options.constant = {1};
  CHECK(gradcheck(f, {random({3}, 3), random({3}, 4)}, options).ok);
  // An input that f does not use has gradient 0.
  CHECK(gradcheck([](In x) { return x[0] * 2; }, {random({3}, 3), random({3}, 4)}).ok);
}

TEST_CASE("gradcheck leaves inputs alone", "[gradcheck]") {
  const Tensor x = random({6, 5}, 3);
  const std::vector<double> values = x.to_vector();
  const GradcheckResult r = gradcheck([](In in) { return in[0] * in[0]; }, {x});
  INFO(r.message);
  CHECK(r.ok);
  CHECK(x.to_vector() == values);
  CHECK(!x.requires_grad());
}

TEST_CASE("gradcheck refuses what it cannot check", "[gradcheck]") {
  auto message = [](const std::vector<Tensor>& inputs) -> std::string {
    try {
      gradcheck([](In x) { return x[0] * 2; }, inputs);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const std::string expanded = message({random({1, 4}, 3).view_expand({3, 4})});
  CHECK(expanded.find("share memory") != std::string::npos);
  CHECK(expanded.find("contiguous()") != std::string::npos);
  CHECK(message({random({4}, 3).to(f32)}).find("to(f64)") != std::string::npos);
  CHECK(message({Tensor::zeros({3}, i32)}).find("nothing to check") != std::string::npos);
  // Non-contiguous strides alone are not an overlap.
  CHECK(message({random({3, 4}, 3).view_transpose(0, 1)}).empty());
  CHECK(message({random({9, 4}, 3).view_slice(0, 1, 8, 3)}).empty());
}
