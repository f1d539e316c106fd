// Tests of what every check compares: dtype, tape, inputs; of saboteurs; and of poisoned memory.
#include <cmath>

#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "tensor/poison.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;

namespace {

struct Impl {
  Tensor (*twice)(const Tensor&);
};
Tensor right(const Tensor& x) { return x * 2.0; }

std::string breach_of(Tensor (*learner)(const Tensor&)) {
  begin_contract();
  Impl impl{right};
  kit::piece<&Impl::twice>("twice").take(impl, {learner}, {right});
  impl.twice(Tensor::ones({3}, f64).set_requires_grad());
  return contract_breach().value_or(Breach{}).diagnosis;
}

}  // namespace

TEST_CASE("a piece is held to dtype tape and inputs whatever its check compares", "[kit]") {
  CHECK(breach_of(right).empty());
  CHECK(testing::contains(breach_of([](const Tensor& x) { return cast(x * 2.0, f32); }), "dtype"));
  CHECK(testing::contains(breach_of([](const Tensor& x) { return x.detach() * 2.0; }), "no gradient"));
  const std::string overwritten = breach_of([](const Tensor& x) {
    const Tensor y = x * 2.0;
    x.detach().fill(0);
    return y;
  });
  CHECK(testing::contains(overwritten, "overwritten"));
}

TEST_CASE("every saboteur of a piece changes what it says", "[kit]") {
  const auto piece = kit::piece<&Impl::twice>("twice");
  CHECK(piece.saboteurs.size() == 6);
  for (const auto& saboteur : piece.saboteurs) {
    INFO(saboteur.name);
    Impl impl{};
    saboteur.apply(impl, {right});
    const Tensor x = Tensor::full({3}, 0.1, f64).set_requires_grad(), other = Tensor::full({2}, 0.3, f64);
    const Tensor y = impl.twice(x), z = impl.twice(other);
    const bool same = y.dtype() == f64 && y.requires_grad() && y.to_vector() == std::vector<double>(3, 0.2) &&
                      z.numel() == 2 && x.to_vector() == std::vector<double>(3, 0.1);
    CHECK(!same);
  }
}

TEST_CASE("poisoned memory is not a number", "[kit]") {
  poison_new_memory(true);
  const Tensor x = Tensor::empty({5}, f64), zeros = Tensor::zeros({5}, f64);
  poison_new_memory(false);
  for (const double v : x.to_vector()) CHECK(std::isnan(v));
  CHECK(zeros.to_vector() == std::vector<double>(5, 0));
}
