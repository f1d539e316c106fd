// Values at edge cases that gradcheck cannot test: NaN, infinities, huge arguments, ties, masks.
#include <cmath>
#include <functional>

#include "autograd/ops.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::kInf;
using pg::testing::kNan;
using pg::testing::leaf;
using pg::testing::vector_of;

namespace {

using Values = std::vector<double>;

bool all_finite(const Tensor& x) {
  for (double value : x.to_vector()) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

struct Function {
  const char* name;
  Tensor (*call)(const Tensor&);
  double (*value)(double);  // in double precision, stable for any argument
  double (*derivative)(double);
};

double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double gelu_inner(double x) { return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }  // gelu = x·σ(inner)
double gelu_tanh_slope(double x) {
  const double s = logistic(gelu_inner(x));
  return s + x * s * (1 - s) * 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}
double gelu_erf_slope(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
}

const std::vector<Function>& functions() {
  using T = const Tensor&;
  using D = double;
  static const std::vector<Function> all = {
      {"neg", [](T x) { return neg(x); }, [](D x) { return -x; }, [](D) { return -1.0; }},
      {"abs", [](T x) { return abs(x); }, [](D x) { return std::abs(x); }, [](D x) { return x > 0 ? 1.0 : -1.0; }},
      {"exp", [](T x) { return exp(x); }, [](D x) { return std::exp(x); }, [](D x) { return std::exp(x); }},
      {"expm1", [](T x) { return expm1(x); }, [](D x) { return std::expm1(x); }, [](D x) { return std::exp(x); }},
      {"log", [](T x) { return log(x); }, [](D x) { return std::log(x); }, [](D x) { return 1 / x; }},
      {"log1p", [](T x) { return log1p(x); }, [](D x) { return std::log1p(x); }, [](D x) { return 1 / (1 + x); }},
      {"sqrt", [](T x) { return sqrt(x); }, [](D x) { return std::sqrt(x); }, [](D x) { return 0.5 / std::sqrt(x); }},
      {"rsqrt", [](T x) { return rsqrt(x); }, [](D x) { return 1 / std::sqrt(x); },
       [](D x) { return -0.5 / (x * std::sqrt(x)); }},
      {"reciprocal", [](T x) { return reciprocal(x); }, [](D x) { return 1 / x; }, [](D x) { return -1 / (x * x); }},
      {"sin", [](T x) { return sin(x); }, [](D x) { return std::sin(x); }, [](D x) { return std::cos(x); }},
      {"cos", [](T x) { return cos(x); }, [](D x) { return std::cos(x); }, [](D x) { return -std::sin(x); }},
      {"tanh", [](T x) { return tanh(x); }, [](D x) { return std::tanh(x); },
       [](D x) { return 4 * logistic(2 * x) * logistic(-2 * x); }},
      {"sigmoid", [](T x) { return sigmoid(x); }, logistic, [](D x) { return logistic(x) * logistic(-x); }},
      {"softplus", [](T x) { return softplus(x); },
       [](D x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, logistic},
      {"relu", [](T x) { return relu(x); }, [](D x) { return x > 0 ? x : 0 * std::copysign(1.0, x) + 0.0; },
       [](D x) { return x > 0 ? 1.0 : 0.0; }},
      {"gelu tanh", [](T x) { return gelu(x); }, [](D x) { return x * logistic(gelu_inner(x)); }, gelu_tanh_slope},
      {"gelu erf", [](T x) { return gelu(x, Gelu::erf); }, [](D x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
       gelu_erf_slope},
      {"silu", [](T x) { return silu(x); }, [](D x) { return x * logistic(x); },
       [](D x) { return logistic(x) * (1 + x * logistic(-x)); }},
      {"affine", [](T x) { return affine(x, 2, 1); }, [](D x) { return 2 * x + 1; }, [](D) { return 2.0; }},
      {"clamp", [](T x) { return clamp(x, -50, 60); }, [](D x) { return std::min(std::max(x, -50.0), 60.0); },
       [](D x) { return x >= -50 && x <= 60 ? 1.0 : 0.0; }},
      {"pow 3", [](T x) { return pow(x, 3); }, [](D x) { return x * x * x; }, [](D x) { return 3 * x * x; }},
      {"pow 0.5", [](T x) { return pow(x, 0.5); }, [](D x) { return std::pow(x, 0.5); },
       [](D x) { return 0.5 * std::pow(x, -0.5); }},
  };
  return all;
}

}  // namespace

TEST_CASE("elementwise values and slopes over the whole range", "[ops][values]") {
  Values xs;
  for (double magnitude : {1e-6, 1e-3, 0.1, 0.49, 1.0, 1.7, 3.0, 5.5, 9.0, 20.0, 43.0, 80.0, 95.0, 300.0, 1e4}) {
    xs.push_back(magnitude);
    xs.push_back(-magnitude);
  }
  for (const Function& f : functions()) {
    for (DType dtype : {f32, f64}) {
      const Tensor x = leaf(xs, dtype), y = f.call(x);
      backward(y, Tensor::ones(y.shape(), dtype));
      const Values in = x.to_vector(), out = y.to_vector(), slope = x.grad().to_vector();
      for (size_t i = 0; i < in.size(); ++i) {
        INFO(f.name << "(" << in[i] << ") in " << name_of(dtype));
        for (const auto& [got, exact] : {std::pair{out[i], f.value(in[i])}, std::pair{slope[i], f.derivative(in[i])}}) {
          const double wanted = dtype == f32 ? static_cast<double>(static_cast<float>(exact)) : exact;
          if (std::isnan(wanted)) {
            CHECK(std::isnan(got));
          } else if (std::isinf(wanted)) {
            CHECK(got == wanted);
          } else {
            // The tolerance is relative, with a floor: for a slope of the form 1 - y² of the rounded result y, it is
            // about two units in the last place of 1.
            const double tolerance = dtype == f32 ? 2e-6 : 1e-14;
            CHECK(std::abs(got - wanted) <= tolerance * std::max(std::abs(wanted), 0.1));
          }
        }
      }
    }
  }
}

TEST_CASE("NaN and infinity pass through elementwise operations", "[ops][values]") {
  for (const Function& f : functions()) {
    for (DType dtype : {f32, f64}) {
      INFO(f.name << " in " << name_of(dtype));
      // Enough elements for the vectorized code and its tail.
      Values xs(37, 1.0);
      xs[3] = xs[36] = kNan;
      const Values out = f.call(vector_of(xs, dtype)).to_vector();
      for (size_t i = 0; i < xs.size(); ++i) CHECK(std::isnan(out[i]) == std::isnan(xs[i]));
      const Tensor x = leaf(Values(37, 1.0), dtype);
      backward(f.call(x), vector_of(xs, dtype));  // the incoming gradient holds a NaN
      const Values slope = x.grad().to_vector();
      for (size_t i = 0; i < xs.size(); ++i) CHECK(std::isnan(slope[i]) == std::isnan(xs[i]));
    }
  }
  CHECK(exp(vector_of({kInf, -kInf})).to_vector() == Values{kInf, 0});
  CHECK(tanh(vector_of({kInf, -kInf})).to_vector() == Values{1, -1});
  CHECK(sigmoid(vector_of({kInf, -kInf})).to_vector() == Values{1, 0});
  CHECK(softplus(vector_of({kInf, -kInf})).to_vector() == Values{kInf, 0});
  CHECK(relu(vector_of({kInf, -kInf})).to_vector() == Values{kInf, 0});
  CHECK(log(vector_of({kInf, 0})).to_vector() == Values{kInf, -kInf});
  CHECK(log1p(vector_of({-1})).item() == -kInf);
  CHECK(sqrt(vector_of({kInf})).item() == kInf);
  CHECK(rsqrt(vector_of({kInf, 0})).to_vector() == Values{0, kInf});
  CHECK(clamp(vector_of({kInf, -kInf}), -1, 2).to_vector() == Values{2, -1});
  CHECK(std::isnan(log(vector_of({-1})).item()));
  CHECK(std::isnan(sqrt(vector_of({-1})).item()));
  CHECK(std::isnan(sin(vector_of({kInf})).item()));
  CHECK(gelu(vector_of({kInf})).item() == kInf);
  CHECK(silu(vector_of({kInf})).item() == kInf);
}

TEST_CASE("binary operations follow IEEE arithmetic", "[ops][values]") {
  for (DType dtype : {f32, f64}) {
    const Tensor a = vector_of({1, kNan, 2}, dtype), b = vector_of({kNan, 1, 3}, dtype);
    for (auto f : {add, sub, mul, div, minimum, maximum}) {
      for (const Values& v : {f(a, b).to_vector(), f(b, a).to_vector()}) {
        CHECK(std::isnan(v[0]));
        CHECK(std::isnan(v[1]));
        CHECK(std::isfinite(v[2]));
      }
    }
    CHECK(div(vector_of({1, -1}, dtype), vector_of({0, 0}, dtype)).to_vector() == Values{kInf, -kInf});
    CHECK(std::isnan(div(vector_of({0}, dtype), vector_of({0}, dtype)).item()));
    CHECK(std::isnan(sub(vector_of({kInf}, dtype), vector_of({kInf}, dtype)).item()));
    CHECK(pow(vector_of({0, 0, 4, -2}, dtype), vector_of({0, -1, 0.5, 3}, dtype)).to_vector() ==
          Values{1, kInf, 2, -8});
    CHECK(std::isnan(pow(vector_of({-8}, dtype), vector_of({1.0 / 3}, dtype)).item()));
    CHECK(minimum(vector_of({-kInf, 1}, dtype), vector_of({0, kInf}, dtype)).to_vector() == Values{-kInf, 1});
  }
}

TEST_CASE("comparisons give 0 and 1", "[ops][values]") {
  // Five values: with four, g++ 12 for AVX-512 makes {1, 1, 1, 1} of the constant {1, 1, 0, 0}.
  const Tensor a = vector_of({1, 2, 3, kNan, 0}), b = vector_of({2, 2, 2, 2, 2});
  CHECK(eq(a, b).to_vector() == Values{0, 1, 0, 0, 0});
  CHECK(ne(a, b).to_vector() == Values{1, 0, 1, 1, 1});
  CHECK(lt(a, b).to_vector() == Values{1, 0, 0, 0, 1});
  CHECK(le(a, b).to_vector() == Values{1, 1, 0, 0, 1});
  CHECK(gt(a, b).to_vector() == Values{0, 0, 1, 0, 0});
  CHECK(ge(a, b).to_vector() == Values{0, 1, 1, 0, 0});
  CHECK(eq(a, b).dtype() == u8);
  CHECK(!eq(leaf({1}), vector_of({1})).requires_grad());
  const Tensor ids = Tensor::arange(3, i32);
  CHECK(eq(ids, Tensor::scalar(1, i32)).to_vector() == Values{0, 1, 0});
  CHECK(lt(ids.view_reshape({3, 1}), ids).to_vector() == Values{0, 1, 1, 0, 0, 1, 0, 0, 0});
}

TEST_CASE("gradients at ties and borders", "[ops][values]") {
  const Tensor a = leaf({1, 2, 3}), b = leaf({1, 3, 2});
  backward(sum(maximum(a, b)));
  CHECK(a.grad().to_vector() == Values{0.5, 0, 1});
  CHECK(b.grad().to_vector() == Values{0.5, 1, 0});
  const Tensor top = leaf({3, 1, 3, 3});
  backward(amax(top) * 6);
  CHECK(top.grad().to_vector() == Values{2, 0, 2, 2});
  const Tensor c = leaf({-1, -2, 0, 2, 3});
  backward(sum(clamp(c, -1, 2)));
  CHECK(c.grad().to_vector() == Values{0, 0, 1, 0, 0});  // no gradient at the bounds themselves, as in PyTorch 2.15
  CHECK(amax(vector_of({-kInf, -kInf})).item() == -kInf);
  CHECK(std::isnan(amax(vector_of({1, kNan, 2})).item()));
}

TEST_CASE("where: the operand that is not selected gets gradient 0 and spreads no NaN", "[ops][values]") {
  const Tensor condition = Tensor::from(std::vector<uint8_t>{1, 0}, {2});
  const Tensor a = leaf({1, kNan}), b = leaf({kInf, 2});
  const Tensor y = where(condition, a, b);
  CHECK(y.to_vector() == Values{1, 2});
  backward(sum(y * 3));
  CHECK(a.grad().to_vector() == Values{3, 0});
  CHECK(b.grad().to_vector() == Values{0, 3});
}

TEST_CASE("the dims of a reduction are a number, a list, a vector or all", "[ops][values]") {
  const Tensor x = reshape(vector_of({1, 5, 2, 7, 3, 4}), {2, 3});
  for (const Tensor& y : {amax(x, -1, true), amax(x, {-1}, true), amax(x, std::vector<int>{1}, true)}) {
    CHECK(y.shape() == Shape{2, 1});
    CHECK(y.to_vector() == Values{5, 7});
  }
  for (const Tensor& y : {sum(x, {}, true), sum(x, {0, 1}, true), sum(x, std::vector<int>{}, true)}) {
    CHECK(y.shape() == Shape{1, 1});
    CHECK(y.item() == 22);
  }
  CHECK(mean(x, 0).to_vector() == Values{4, 4, 3});
  CHECK(var(x, 0, 0).to_vector() == Values{9, 1, 1});
  STATIC_REQUIRE(!std::is_convertible_v<bool, ReduceDims>);  // sum(x, true) would reduce dim 1
}

TEST_CASE("argmax returns the first of equal maxima", "[ops][values]") {
  const Tensor x = Tensor::from(Values{1, 3, 3, 5, 0, 5}, {2, 3});
  CHECK(argmax(x).to_vector() == Values{1, 0});
  CHECK(argmax(x, 0).to_vector() == Values{1, 0, 1});
  CHECK(argmax(x, 1, true).shape() == Shape{2, 1});
  CHECK(argmax(x).dtype() == i32);
  CHECK(argmax(vector_of({-kInf, -kInf})).item() == 0);
  // One element that is seen 2^31 times: the index of the last one is too large for an i32.
  const Tensor many = vector_of({1}).view_expand({int64_t{1} << 31});
  CHECK(testing::error_of([&] { argmax(many); }).find("at most 2^31 - 1 elements") != std::string::npos);
}

TEST_CASE("one_hot, cumsum and scatter_add by hand", "[ops][values]") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{2, 0}, {2});
  CHECK(one_hot(ids, 3).to_vector() == Values{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(ids, 3).dtype() == f32);
  CHECK(cumsum(vector_of({1, 2, 3}), 0).to_vector() == Values{1, 3, 6});
  const Tensor hits = Tensor::from(std::vector<int32_t>{1, 1, 0}, {3});
  CHECK(scatter_add(vector_of({10, 20}), 0, hits, vector_of({1, 2, 3})).to_vector() == Values{13, 23});
}

TEST_CASE("softmax and the losses based on it handle extreme scores", "[ops][values]") {
  for (DType dtype : {f32, f64}) {
    const Tensor x = Tensor::from(Values{1e4, -1e4, 0, 0, -kInf, 0}, {2, 3}).to(dtype).set_requires_grad();
    const Values p = softmax(x).to_vector();
    CHECK(p == Values{1, 0, 0, 0.5, 0, 0.5});
    const Values log_p = log_softmax(x).to_vector();
    CHECK(log_p[0] == 0);
    CHECK(log_p[1] == -2e4);
    CHECK(log_p[4] == -kInf);
    CHECK(log_p[3] == Approx(-std::log(2)));
    CHECK(logsumexp(x, {1}).to_vector()[0] == 1e4);
    backward(sum(softmax(x) * vector_of({1, 2, 3}, dtype)) + sum(logsumexp(x, {-1})));
    CHECK(all_finite(x.grad()));

    const Tensor ids = Tensor::from(std::vector<int32_t>{1, 2}, {2});
    const Tensor y = x.detach().set_requires_grad();
    const Tensor loss = cross_entropy(y, ids, {Reduction::none});
    CHECK(loss.to_vector()[0] == 2e4);
    CHECK(loss.to_vector()[1] == Approx(std::log(2)));
    const auto [log_prob, entropy] = token_log_prob(y, ids);
    CHECK(log_prob.to_vector()[0] == -2e4);
    CHECK(entropy.to_vector()[0] == 0);
    CHECK(entropy.to_vector()[1] == Approx(std::log(2)));  // 0·log 0 counts as 0
    backward(sum(loss) + sum(log_prob) + sum(entropy));
    CHECK(all_finite(y.grad()));
  }
  CHECK(logsumexp(vector_of({-kInf, -kInf})).item() == -kInf);
  CHECK(logsumexp(vector_of({kInf, 1})).item() == kInf);
}

TEST_CASE("clamp passes the gradient at an infinity that no bound cuts off", "[ops][values]") {
  const auto slopes = [](double low, double high, DType dtype) {
    const Tensor x = leaf({-kInf, -1, 0, 1, kInf}, dtype);
    backward(sum(clamp(x, low, high)));
    return x.grad().to_vector();
  };
  for (DType dtype : {f32, f64, bf16}) {
    CHECK(slopes(-kInf, 0.5, dtype) == Values{1, 1, 1, 0, 0});
    CHECK(slopes(-0.5, kInf, dtype) == Values{0, 0, 1, 1, 1});
    CHECK(slopes(-kInf, kInf, dtype) == Values{1, 1, 1, 1, 1});
    CHECK(slopes(-1, 1, dtype) == Values{0, 0, 1, 0, 0});
  }
}

TEST_CASE("a tensor without dimensions accepts the dims 0 and -1", "[ops][values]") {
  const Tensor id = Tensor::from(std::vector<int32_t>{0}, Shape{}), ids = id.view_reshape({1});
  const Tensor three = Tensor::from(std::vector<int32_t>{0, 0, 0}, {3});
  using Call = std::function<Tensor(const Tensor&)>;
  for (int dim : {0, -1}) {
    const std::vector<std::tuple<const char*, Call, double, double>> calls = {
        // of 2.5: value and slope
        {"sum", [=](const Tensor& x) { return sum(x, {dim}); }, 2.5, 1},
        {"sum, kept", [=](const Tensor& x) { return sum(x, {dim}, true); }, 2.5, 1},
        {"mean", [=](const Tensor& x) { return mean(x, {dim}); }, 2.5, 1},
        {"amax", [=](const Tensor& x) { return amax(x, {dim}); }, 2.5, 1},
        {"var", [=](const Tensor& x) { return var(x, {dim}, 0); }, 0, 0},
        {"logsumexp", [=](const Tensor& x) { return logsumexp(x, {dim}); }, 2.5, 1},
        {"cumsum", [=](const Tensor& x) { return cumsum(x, dim); }, 2.5, 1},
        {"softmax", [=](const Tensor& x) { return softmax(x, dim); }, 1, 0},
        {"log_softmax", [=](const Tensor& x) { return log_softmax(x, dim); }, 0, 0},
        {"gather", [=](const Tensor& x) { return gather(x, dim, id); }, 2.5, 1},
        {"gather three times", [=](const Tensor& x) { return mean(gather(x, dim, three)); }, 2.5, 1},
        {"index_select", [=](const Tensor& x) { return index_select(x, dim, ids); }, 2.5, 1},
        {"scatter_add", [=](const Tensor& x) { return scatter_add(x, dim, id, x); }, 5, 2}};
    for (const auto& [name, call, value, slope] : calls) {
      INFO(name << ", dim " << dim);
      const Tensor x = Tensor::scalar(2.5, f64).set_requires_grad();
      const Tensor y = call(x);
      CHECK(y.rank() == 0);
      CHECK(y.item() == Approx(value));
      backward(y);
      CHECK(x.grad().rank() == 0);
      CHECK(x.grad().item() == Approx(slope));
    }
    CHECK(argmax(Tensor::scalar(2.5), dim).item() == 0);
    CHECK(argmax(Tensor::scalar(2.5), dim, true).rank() == 0);
    CHECK(gather(Tensor::scalar(2.5), dim, three).shape() == Shape{3});
    CHECK(gather(vector_of({1, 2.5}), dim, id).rank() == 0);
  }
}

TEST_CASE("rows without columns and sums of nothing have PyTorch's values", "[ops][values]") {
  const Tensor none = Tensor::zeros({3, 0}, f64);
  CHECK(logsumexp(none, {1}).to_vector() == Values{-kInf, -kInf, -kInf});
  CHECK(logsumexp(Tensor::zeros({0})).item() == -kInf);
  CHECK(sum(none, {1}).to_vector() == Values{0, 0, 0});
  CHECK(std::isnan(mean(none).item()));
  CHECK(logsumexp(none, {0}).shape() == Shape{0});
  for (const Shape& shape : {Shape{3, 0}, Shape{0, 0}, Shape{0}, Shape{2, 3, 0}}) {
    const Tensor x = Tensor::zeros(shape).set_requires_grad(), w = Tensor::ones({0}).set_requires_grad();
    CHECK(layer_norm(x).shape() == shape);
    CHECK(rms_norm(x).shape() == shape);
    CHECK(add_layer_norm(x, x, w, w).second.shape() == shape);
    CHECK(softmax(x).shape() == shape);
    backward(sum(layer_norm(x, w, w)) + sum(rms_norm(x, w)) + sum(add_rms_norm(x, x, w).second));
    CHECK(x.grad().shape() == shape);
    CHECK(w.grad().shape() == Shape{0});
  }
  const Tensor ignored = Tensor::full({3}, -100, i32);
  CHECK(cross_entropy(none, ignored, {Reduction::sum}).item() == 0);
  CHECK(std::isnan(cross_entropy(none, ignored).item()));
}

TEST_CASE("normalising a constant row gives the bias", "[ops][values]") {
  for (DType dtype : {f32, f64}) {
    const Tensor x = Tensor::full({2, 5}, 7, dtype).set_requires_grad();
    const Tensor w = vector_of({1, 2, 3, 4, 5}, dtype), b = vector_of({5, 4, 3, 2, 1}, dtype);
    const Tensor y = layer_norm(x, w, b);
    CHECK(y.view_select(0, 1).to_vector() == Values{5, 4, 3, 2, 1});
    backward(sum(y * w));
    CHECK(all_finite(x.grad()));
    CHECK(all_finite(rms_norm(Tensor::zeros({2, 5}, dtype))));
  }
}

TEST_CASE("dropout keeps 1 - p of the elements and scales them", "[ops][values]") {
  Generator g(3), same(3);
  const int64_t n = 100000;
  const Tensor ones = Tensor::ones({n});
  const Tensor y = dropout(ones, 0.25, true, g);
  int64_t kept = 0;
  for (double value : y.to_vector()) {
    if (value == 0) continue;
    REQUIRE(value == Approx(1 / 0.75));
    ++kept;
  }
  CHECK(std::abs(double(kept) / n - 0.75) < 5 * std::sqrt(0.25 * 0.75 / n));
  CHECK(dropout(ones, 0.25, true, same).to_vector() == y.to_vector());
  CHECK(dropout(ones, 0.25, true, same).to_vector() != y.to_vector());
  CHECK(dropout(ones, 1, true, g).to_vector() == Values(static_cast<size_t>(n), 0.0));
  const uint64_t before = g.offset();
  CHECK(dropout(ones, 0.25, false, g).to_vector() == ones.to_vector());
  CHECK(g.offset() == before);  // evaluation draws no random numbers
}

TEST_CASE("attention over one key gives its value", "[ops][values]") {
  Generator g(5);
  for (DType dtype : {f32, f64}) {
    Tensor q = Tensor::normal({2, 2, 1, 4}, 0, 1, g, dtype).set_requires_grad();
    Tensor k = Tensor::normal({2, 2, 1, 4}, 0, 1, g, dtype).set_requires_grad();
    Tensor v = Tensor::normal({2, 2, 1, 4}, 0, 1, g, dtype).set_requires_grad();
    const Tensor dy = Tensor::normal({2, 2, 1, 4}, 0, 1, g, dtype), y = attention(q, k, v);
    CHECK(y.to_vector() == v.to_vector());
    backward(y, dy);
    CHECK(v.grad().to_vector() == dy.to_vector());
    // The attention weight is 1 for any score, so the score's gradient is nothing but rounding error.
    CHECK(amax(abs(q.grad())).item() <= (dtype == f32 ? 2e-6 : 2e-15));
    CHECK(amax(abs(k.grad())).item() <= (dtype == f32 ? 2e-6 : 2e-15));
  }
}

TEST_CASE("attention ignores what a mask hides", "[ops][values]") {
  Generator g(4);
  for (DType dtype : {f32, f64}) {
    const Tensor q = Tensor::normal({1, 2, 3, 4}, 0, 1, g, dtype), k = Tensor::normal({1, 2, 8, 4}, 0, 1, g, dtype);
    const Tensor v = Tensor::normal({1, 2, 8, 4}, 0, 1, g, dtype);
    AttentionOptions used;
    used.kv_len = Tensor::from(std::vector<int32_t>{5}, {1});
    const Tensor expected = attention(q, k.view_slice(2, 0, 5), v.view_slice(2, 0, 5));
    k.view_slice(2, 5, 8).fill(kNan);  // unused slots of the cache, not written yet
    v.view_slice(2, 5, 8).fill(kNan);
    CHECK(attention(q, k, v, used).to_vector() == expected.to_vector());
    AttentionOptions nothing;
    nothing.causal = false;
    nothing.key_mask = Tensor::zeros({1, 5}, u8);
    const Tensor hidden = attention(q, k.view_slice(2, 0, 5), v.view_slice(2, 0, 5), nothing);
    CHECK(hidden.to_vector() == Values(24, 0.0));
    // Scores of about 1e8: one key gets all the weight, and nothing overflows.
    const Tensor huge = attention((q * 1e4).detach(), (k.view_slice(2, 0, 5) * 1e4).detach(), v.view_slice(2, 0, 5));
    CHECK(all_finite(huge));
  }
}
