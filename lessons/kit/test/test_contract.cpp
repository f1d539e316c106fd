// Tests of what every check compares: dtype, tape, inputs; of saboteurs; and of poisoned memory.
#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "tensor/storage.h"
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

namespace {

// Whether impl.twice does what right() does, for tensors of every kind that a saboteur looks for.
bool is_right(const Impl& impl) {
  const auto one = [](const Shape& shape, double value, DType dtype = f64) {
    return Tensor::full(shape, value, dtype).set_requires_grad();
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Tensor> inputs = {one({3}, 0.1),
                                      one({2}, 0.3),
                                      one({}, 0.1),
                                      one({0}, 0.1),
                                      one({1}, 0.1),
                                      one({2, 3}, 0.1),
                                      one({3, 2}, 101),
                                      one({2, 2}, infinity),
                                      one({2, 2}, 1, f32),
                                      one({3, 3}, 0),
                                      one({3, 3}, -0.1),
                                      one({2, 2, 2, 2}, 1),
                                      one({2, 4, 2}, 1).view_transpose(0, 1)};
  for (const Tensor& x : inputs) {
    const std::vector<double> before = x.to_vector();
    const Tensor y = impl.twice(x), want = right(x);
    if (y.shape() != want.shape() || y.dtype() != want.dtype() || y.requires_grad() != want.requires_grad() ||
        y.to_vector() != want.to_vector() || x.to_vector() != before)
      return false;
    if (!x.contiguous()) continue;  // a view is no leaf
    backward(sum(y));
    if (x.grad().to_vector() != std::vector<double>(before.size(), 2)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every saboteur of a piece is wrong somewhere", "[kit]") {
  const auto piece = kit::piece<&Impl::twice>("twice");
  CHECK(piece.saboteurs.size() == 21);
  CHECK(is_right({right}));
  for (const auto& saboteur : piece.saboteurs) {
    INFO(saboteur.name);
    Impl impl{};
    saboteur.apply(impl, {right});
    CHECK(!is_right(impl));
  }
}

TEST_CASE("saboteurs make results of every type wrong", "[kit]") {
  const auto wrong = [](auto x) {
    make_wrong(x);
    return x;
  };
  CHECK(wrong(2.0) != 2.0);
  CHECK(wrong(-1.0) != -1.0);
  CHECK(wrong(1e300) != 1e300);
  CHECK(wrong(std::numeric_limits<double>::infinity()) == 0);
  CHECK(wrong(true) == false);
  CHECK(wrong(int64_t{-1}) != -1);
  CHECK(wrong(Shape{2, 3}) == Shape{2, 4});
  CHECK(wrong(Shape{}) == Shape{1});
  CHECK(wrong(std::string("ab")) == "b");
  CHECK(wrong(std::string_view()) == "?");
  CHECK(wrong(std::vector<int32_t>{1, 0}) == std::vector<int32_t>{3, 1});
  CHECK(wrong(std::vector<int32_t>{}).size() == 1);
  CHECK(wrong(std::vector<std::string_view>{"a"}) == std::vector<std::string_view>{""});
  CHECK(!wrong(std::optional<int>(0)));
  CHECK(wrong(std::optional<int>()) == 0);
  CHECK(wrong(std::pair<int, bool>(0, false)) == std::pair<int, bool>(1, true));
}

TEST_CASE("predicates of saboteurs hold for the arguments that they name", "[kit]") {
  const auto seen = [](const auto& x) {
    Arguments all;
    collect(all, x);
    return all;
  };
  CHECK(has_coprime_sizes(seen(Shape{2, 1, 3})));
  CHECK(!has_coprime_sizes(seen(Shape{2, 3, 4})));
  CHECK(!has_coprime_sizes(seen(Shape{1, 3})));
  CHECK(has_size_1(seen(std::vector<int32_t>{7})));
  CHECK(has_no_elements(seen(std::string_view())));
  CHECK(is_large(seen(std::vector<Tensor>{Tensor::full({1}, -101, f32)})));
  CHECK(!is_large(seen(std::vector<double>{100, std::numeric_limits<double>::infinity()})));
  CHECK(is_infinite(seen(std::vector<double>{-std::numeric_limits<double>::infinity()})));
  CHECK(is_extreme(seen(std::vector<double>{-51})));
  CHECK(has_zero_row(seen(Tensor::from<double>(std::vector<double>{1, 2, 0, 0}, {2, 2}))));
  CHECK(!has_zero_row(seen(Tensor::from<double>(std::vector<double>{1, 0, 0, 2}, {2, 2}))));
  // Where there is a mask, its rows count.
  CHECK(!has_zero_row(seen(std::vector<Tensor>{Tensor::zeros({2, 2}), Tensor::ones({2, 2}, u8)})));
  CHECK(has_zero_row(seen(std::vector<Tensor>{Tensor::ones({2, 2}), Tensor::zeros({2, 2}, u8)})));
  CHECK(has_white_space(seen(std::vector<std::string>{"a", "b\n"})));
  CHECK(!has_white_space(seen(std::string_view("a b"))));
  CHECK(is_strided(seen(Tensor::ones({2, 3}).view_transpose(0, 1))));
}

TEST_CASE("saboteurs count the numbers of lists and of structs in them", "[kit]") {
  struct Counted {
    int64_t count;
    bool right;
  };
  const auto most = [](const auto& x) {
    Arguments all;
    collect_counts(all, x);
    return all;
  };
  CHECK(has_count_over_24_bits(most(std::vector<Counted>{{1, true}, {16'777'217, false}})));
  CHECK(!has_count_over_24_bits(most(std::vector<int64_t>{16'777'216})));
  CHECK(has_count_over_32_bits(most(Shape{3, 4'294'967'297})));
  CHECK(!has_count_over_32_bits(most(int64_t{4'294'967'296})));
  CHECK(!shows_counts<Counted>());  // the numbers of options
}

TEST_CASE("saboteurs of outputs keep what was larger, or lose the sign", "[kit]") {
  const auto values = [](double old, const auto& f) {
    const Tensor x = Tensor::full({1}, old, f64);
    const std::vector<char> before = bytes_of(x.view());
    x.fill(-3);
    f(x.view(), before);
    return x.to_vector()[0];
  };
  CHECK(values(-2, keep_larger) == -2);
  CHECK(values(-4, keep_larger) == -3);
  CHECK(values(NAN, keep_larger) == -3);
  CHECK(values(0, [](const View& x, const std::vector<char>&) { lose_signs(x); }) == 3);
}

TEST_CASE("views after the first one are inputs", "[kit]") {
  struct Copies {
    void (*copy)(View, View);
  };
  const auto copy = [](View to, View from) { *to.as<float>() = *from.as<float>(); };
  const auto spoils = [](View to, View from) { *to.as<float>() = (*from.as<float>())++; };
  const Tensor a = Tensor::full({1}, 1, f32), b = Tensor::full({1}, 2, f32);
  for (const bool wrong : {false, true}) {
    begin_contract();
    Copies impl{copy};
    kit::piece<&Copies::copy>("copy").take(impl, {wrong ? +spoils : +copy}, {copy});
    impl.copy(a.view(), b.view());
    CHECK(contract_breach().has_value() == wrong);
  }
}

TEST_CASE("poisoned memory is not a number", "[kit]") {
  poison_new_memory(true);
  const Tensor x = Tensor::empty({5}, f64), zeros = Tensor::zeros({5}, f64);
  poison_new_memory(false);
  for (const double v : x.to_vector()) CHECK(std::isnan(v));
  CHECK(zeros.to_vector() == std::vector<double>(5, 0));
}
