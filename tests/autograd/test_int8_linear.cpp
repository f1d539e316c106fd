// 8-bit weights: their rounding, and products with them. The reference is f64 arithmetic on the bytes as the header
// describes them.
#include <cmath>
#include <limits>

#include "autograd/int8_linear.h"
#include "autograd/ops.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

namespace {

int byte_of(const Int8Weight& w, int64_t row, int64_t k) {
  const uint8_t byte = w.q.data<const uint8_t>()[(row / 16 * w.columns() + k) * 16 + row % 16];
  return byte < 128 ? byte : byte - 256;
}
double scale_of(const Int8Weight& w, int64_t row) { return w.scale.data<const float>()[row]; }

// |w - scale·q| <= scale/2, up to the rounding of w/scale, which is in f64.
void check_rounding(const Tensor& weight) {
  const Int8Weight w = quantize_int8(weight, "w");
  const std::vector<double> values = weight.to_vector();
  const int64_t k = weight.size(1);
  REQUIRE(w.rows() == weight.size(0));
  REQUIRE(w.columns() == k);
  for (int64_t row = 0; row < w.rows(); ++row) {
    double largest = 0;
    int most = 0;
    const double scale = scale_of(w, row);
    CHECK(std::isfinite(scale));
    for (int64_t i = 0; i < k; ++i) {
      const double value = values[static_cast<size_t>(row * k + i)];
      const int q = byte_of(w, row, i);
      INFO("row " << row << ", column " << i << ": " << value << " became " << q << " times " << scale);
      CHECK(std::abs(q) <= 127);
      CHECK(std::abs(value - scale * q) <= scale / 2 * (1 + 1e-12));
      largest = std::max(largest, std::abs(value)), most = std::max(most, std::abs(q));
    }
    CHECK((scale == 0) == (largest == 0));
    if (largest >= 127 * double{std::numeric_limits<float>::min()}) {
      CHECK(most == 127);
      CHECK(scale == Approx(largest / 127).epsilon(1e-7));
    }
  }
  const std::vector<double> back = dequantized(w).to_vector();
  for (int64_t i = 0; i < weight.numel(); ++i) {
    const float expected = static_cast<float>(scale_of(w, i / k)) * static_cast<float>(byte_of(w, i / k, i % k));
    CHECK(back[static_cast<size_t>(i)] == expected);
  }
}

// x wᵀ + bias in f64, and for each result a bound on the error of f32: K products and sums, one product with the scale.
struct Reference {
  std::vector<double> y, bound;
};
Reference reference(const Tensor& x, const Int8Weight& w, const Tensor& bias) {
  Reference r;
  const int64_t m = x.size(0), k = w.columns();
  const std::vector<double> xs = x.to_vector();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t row = 0; row < w.rows(); ++row) {
      double sum = 0, size = 0;
      for (int64_t j = 0; j < k; ++j) {
        const double term = xs[static_cast<size_t>(i * k + j)] * byte_of(w, row, j);
        sum += term, size += std::abs(term);
      }
      const double added = bias.defined() ? bias.to_vector()[static_cast<size_t>(row)] : 0;
      const double y = sum * scale_of(w, row) + added;
      r.y.push_back(y);
      double bound = size * scale_of(w, row) * static_cast<double>(k + 2) * 0x1p-24 + std::abs(y) * 0x1p-23;
      if (x.dtype() == bf16) bound += std::abs(y) * 0x1p-8;
      r.bound.push_back(bound + 1e-37);
    }
  }
  return r;
}

}  // namespace

TEST_CASE("int8 weights are within half a step") {
  for (const DType dtype : {f32, bf16}) {
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 7}, Shape{16, 33}, Shape{17, 3}, Shape{65, 768}}) {
      check_rounding(drawn(shape, dtype, 3));
    }
  }
  // Zeros, ±max, one value, denormal and huge values, and ties: 2.5, 3.5 and -2.5 steps of 1 go to 2, 4 and -2.
  const float tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();
  const std::vector<float> edges = {0,          0,           -0.0f,    0,          //
                                    1,          -1,          0.5f,     -0.5f,      //
                                    0,          3,           0,        0,          //
                                    tiny,       -tiny,       0,        tiny,       //
                                    178 * tiny, -100 * tiny, tiny,     63 * tiny,  //
                                    huge,       -huge,       huge / 2, 1,          //
                                    127,        2.5f,        3.5f,     -2.5f,      //
                                    1e-38f,     -3e-38f,     1e-42f,   -1e-39f};
  const Tensor weight = Tensor::from(edges, {8, 4});
  check_rounding(weight);
  const Int8Weight w = quantize_int8(weight, "w");
  CHECK(scale_of(w, 0) == 0);
  CHECK(byte_of(w, 1, 0) == 127);
  CHECK(byte_of(w, 1, 1) == -127);
  CHECK(byte_of(w, 6, 1) == 2);
  CHECK(byte_of(w, 6, 2) == 4);
  CHECK(byte_of(w, 6, 3) == -2);
  check_rounding(weight.view_transpose(0, 1));  // any strides
}

TEST_CASE("int8_linear is the product of the rounded weights") {
  const NoGrad no_grad;
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t k : {1, 2, 7, 33, 129, 768, 2051}) {
      for (const int64_t n : {1, 5, 16, 17, 65, 200}) {
        Tensor weight = drawn({n, k}, dtype, 1);
        if (n > 4) weight.view_slice(0, 3, 4).fill(0);
        const Int8Weight w = quantize_int8(weight, "w");
        const Tensor bias = drawn({n}, dtype, 2);
        const Tensor all = drawn({40, k}, dtype, 4);
        const Reference expected = reference(all, w, bias);
        std::vector<double> alone;  // of the first row
        for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 25, 40}) {
          INFO(name_of(dtype) << ", " << m << " x " << k << " x " << n);
          const std::vector<double> y = int8_linear(all.view_slice(0, 0, m), w, bias).to_vector();
          size_t wrong = 0;
          for (size_t i = 0; i < y.size(); ++i) wrong += !(std::abs(y[i] - expected.y[i]) <= expected.bound[i]);
          CHECK(wrong == 0);
          const std::vector<double> first(y.begin(), y.begin() + n);
          if (alone.empty()) alone = first;
          CHECK(first == alone);  // whatever the other rows
        }
      }
    }
  }
}

TEST_CASE("int8_linear takes any shape and stride and needs no bias") {
  const NoGrad no_grad;
  for (const DType dtype : {f32, bf16}) {
    const Int8Weight w = quantize_int8(drawn({19, 24}, dtype, 1), "w");
    const Tensor wide = drawn({2, 3, 48}, dtype, 2), x = wide.view_slice(-1, 11, 35);  // odd offsets
    const Tensor y = int8_linear(x, w);
    CHECK(y.shape() == Shape{2, 3, 19});
    CHECK(y.dtype() == dtype);
    const Tensor rows = x.contiguous_copy().view_reshape({6, 24});
    CHECK(y.to_vector() == int8_linear(rows, w).to_vector());
    CHECK(y.to_vector() ==
          int8_linear(rows.view_transpose(0, 1).contiguous_copy().view_transpose(0, 1), w).to_vector());
    CHECK(y.to_vector() == int8_linear(x, w, Tensor::zeros({19}, dtype)).to_vector());
    CHECK(int8_linear(Tensor::zeros({24}, dtype), w).shape() == Shape{19});
    CHECK(int8_linear(Tensor::zeros({0, 24}, dtype), w).shape() == Shape{0, 19});
  }
}

TEST_CASE("int8_linear has the same bits with every number of threads") {
  const NoGrad no_grad;
  for (const DType dtype : {f32, bf16}) {
    const Int8Weight w = quantize_int8(drawn({1100, 515}, dtype, 1), "w");
    const Tensor bias = drawn({1100}, dtype, 3);
    for (const int64_t m : {1, 4, 9, 33}) {
      const Tensor x = drawn({m, 515}, dtype, 2);
      const Threads alone(1);
      const auto one = int8_linear(x, w, bias).to_vector();
      for (const int threads : {2, 3, 7}) {
        INFO(name_of(dtype) << ", " << m << " rows, " << threads << " threads");
        const Threads guard(threads);
        CHECK(int8_linear(x, w, bias).to_vector() == one);
        CHECK(quantize_int8(drawn({1100, 515}, dtype, 1), "w").q.to_vector() == w.q.to_vector());
      }
    }
  }
}

TEST_CASE("int8_linear passes on what is not finite") {
  const NoGrad no_grad;
  const Int8Weight w = quantize_int8(Tensor::from(std::vector<float>{1, 2, 0, 0}, {2, 2}), "w");
  for (const int64_t m : {1, 14}) {
    const Tensor x = Tensor::ones({m, 2});
    x.view_slice(1, 1, 2).fill(INFINITY);
    const auto y = int8_linear(x, w).to_vector();
    CHECK(y[0] == INFINITY);
    CHECK(std::isnan(y[1]));  // 0·inf, as with weights of f32
    x.fill(NAN);
    CHECK(std::isnan(int8_linear(x, w).to_vector()[0]));
  }
}

TEST_CASE("int8 weights refuse what has no 8-bit form and what has no gradient") {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const Tensor weight = drawn({40, 9}, f32, 1);
    weight.data<float>()[33 * 9 + 4] = bad;
    const std::string error = error_of([&] { quantize_int8(weight, "h.0.mlp.c_fc.weight"); });
    CHECK(contains(error, "'h.0.mlp.c_fc.weight' has a non-finite value"));
    CHECK(contains(error, "in row 33, column 4"));
  }
  CHECK(contains(error_of([] { quantize_int8(Tensor::ones({2, 2}, f64), "w"); }), "of f32 or bf16, 'w' is f64 [2, 2]"));
  CHECK(contains(error_of([] { quantize_int8(Tensor::ones({4}), "w"); }), "a weight [N, K]"));
  CHECK(contains(error_of([] { quantize_int8(Tensor::ones({4, 0}), "w"); }), "a weight [N, K]"));
  const Int8Weight w = quantize_int8(drawn({3, 4}, f32, 1), "w");
  const auto refusal = [&](const Tensor& x, const Tensor& bias = {}) {
    return error_of([&] { int8_linear(x, w, bias); });
  };
  CHECK(contains(refusal(Tensor::ones({2, 5})), "expected x [..., 4], got [2, 5]"));
  CHECK(contains(refusal(Tensor::ones({2, 4}, f64)), "expected x of f32 or bf16, got f64"));
  CHECK(contains(refusal(Tensor::ones({2, 4}), Tensor::ones({4})), "bias must be [3], got [4]"));
  CHECK(contains(refusal(Tensor::ones({2, 4}), Tensor::ones({3}, bf16)), "dtypes differ"));
  CHECK(contains(refusal(Tensor::ones({2, 4}).set_requires_grad()), "no gradient"));
  CHECK(contains(refusal(Tensor::ones({2, 4}), Tensor::ones({3}).set_requires_grad()), "no gradient"));
  const NoGrad no_grad;
  CHECK(refusal(Tensor::ones({2, 4}).set_requires_grad()).empty());
}
