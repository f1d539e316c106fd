// add_norm_linear: on the CPU the bits of the separate operations; errors.
#include "autograd/ops.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;

namespace {

struct Given {
  Tensor x, residual, norm_weight, norm_bias, weight, bias;
};
Given given(const Shape& shape, int64_t n, DType dtype) {
  Generator g(5);
  const int64_t k = shape.back();
  const auto random = [&](const Shape& s) { return Tensor::normal(s, 0, 1, g).to(dtype); };
  return {random(shape), random(shape), random({k}), random({k}), random({n, k}), random({n})};
}

}  // namespace

TEST_CASE("add_norm_linear has the bits of its parts") {
  const NoGrad no_grad;
  for (const DType dtype : {f32, f64, bf16}) {
    for (const Shape& shape : {Shape{1, 48}, Shape{3, 7}, Shape{2, 5, 16}, Shape{0, 8}, Shape{9}}) {
      const Given t = given(shape, 11, dtype);
      for (const bool rms : {false, true}) {
        for (const bool with_residual : {false, true}) {
          for (const bool gelu : {false, true}) {
            INFO(fmt::format("{} {} rms {} residual {} gelu {}", name_of(dtype), shape, rms, with_residual, gelu));
            const RowNorm norm{rms, t.norm_weight, rms ? Tensor{} : t.norm_bias, 1e-5};
            const auto [sum, y] =
                add_norm_linear(t.x, with_residual ? t.residual : Tensor{}, norm, t.weight, t.bias, gelu);
            const Tensor expected_sum = with_residual ? t.x + t.residual : t.x;
            const Tensor normed = rms ? rms_norm(expected_sum, t.norm_weight, 1e-5)
                                      : layer_norm(expected_sum, t.norm_weight, t.norm_bias, 1e-5);
            const Tensor expected = gelu ? linear_gelu(normed, t.weight, t.bias) : linear(normed, t.weight, t.bias);
            CHECK(sum.shape() == shape);
            CHECK(sum.to_vector() == expected_sum.to_vector());
            CHECK(y.shape() == expected.shape());
            CHECK(y.to_vector() == expected.to_vector());
          }
        }
      }
    }
  }
}

TEST_CASE("add_norm_linear names what does not fit") {
  Given t = given({2, 6}, 4, f32);
  const RowNorm norm{.weight = t.norm_weight, .bias = t.norm_bias};
  const auto error = [](const Given& g, const RowNorm& n) {
    return error_of([&] { add_norm_linear(g.x, g.residual, n, g.weight, g.bias); });
  };
  CHECK(error(t, norm) == "");
  CHECK(error(t, {.rms = true, .weight = t.norm_weight, .bias = t.norm_bias}).find("has no bias") != std::string::npos);
  CHECK(error(t, {.weight = Tensor::ones({5})}).find("the norm's weight must be [6]") != std::string::npos);
  Given other = t;
  other.weight = Tensor::ones({4, 5});
  CHECK(error(other, norm).find("expected x [..., K] and weight [N, K]") != std::string::npos);
  other = t;
  other.bias = Tensor::ones({3});
  CHECK(error(other, norm).find("bias must be [4]") != std::string::npos);
  other = t;
  other.residual = Tensor::ones({6});
  CHECK(error(other, norm).find("residual") != std::string::npos);
  t.weight.set_requires_grad();
  CHECK(error(t, norm).find("has no gradient") != std::string::npos);
  const NoGrad no_grad;
  CHECK(error(t, norm) == "");
}
