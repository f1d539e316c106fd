// Products of bf16 operands: accumulated in f32, rounded once.
#include <cmath>

#include "autograd/ops.h"
#include "tensor/base/parallel.h"
#include "tensor/cpu/gemm/gemm.h"
#include "tensor/tensor.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

namespace {

// [rows, columns]; transposed: stored column-major.
Tensor matrix(int64_t rows, int64_t columns, bool transposed, uint64_t seed) {
  return transposed ? drawn({columns, rows}, bf16, seed).view_transpose(0, 1) : drawn({rows, columns}, bf16, seed);
}

// Whether product() uses the algorithm over pairs, which matmul uses if the processor has the instruction for it, or
// plain matmul.
bool pairs = false;

Tensor product(const Tensor& a, const Tensor& b, DType dtype, const MatmulArgs& args = {}, const Tensor& c0 = {}) {
  const Tensor c = c0.defined() ? c0.to(dtype).clone() : Tensor::full({a.size(0), b.size(1)}, NAN, dtype);
  if (!pairs || a.dtype() != bf16) {
    cpu_kernels().matmul(c, a, b, args);
    return c;
  }
  const auto of = [](const Tensor& x) {
    return cpu::Matrix<BFloat16>{x.view().as<BFloat16>(), x.strides()[0], x.strides()[1]};
  };
  const auto run = [&]<class C>(std::type_identity<C>) {
    cpu::Product<BFloat16, C> g{a.size(0), b.size(1), a.size(1), of(a), of(b), c.view().as<C>(), c.size(1)};
    g.beta = args.beta;
    std::vector<float> wide;
    for (int64_t i = 0; args.bias && i < b.size(1); ++i) wide.push_back(float(args.bias.as<BFloat16>()[i]));
    if (args.bias) g.bias = wide.data();
    g.activation = args.activation;
    g.pre = args.pre_activation.as<C>(), g.ld_pre = c.size(1);
    cpu::multiply_pairs(g);
  };
  dtype == f32 ? run(std::type_identity<float>{}) : run(std::type_identity<BFloat16>{});
  return c;
}

struct Case {
  int64_t m, n, k;
};

void check_all(const Case& c) {
  for (int transpose = 0; transpose < 4; ++transpose) {
    INFO("m " << c.m << " n " << c.n << " k " << c.k << " transposed " << transpose);
    const Tensor a = matrix(c.m, c.k, transpose & 1, 1), b = matrix(c.k, c.n, transpose & 2, 2),
                 c0 = drawn({c.m, c.n}, bf16, 3);
    for (float beta : {0.0f, 1.0f}) {
      const Tensor wide = product(a, b, f32, {.beta = beta}, beta == 0 ? Tensor{} : c0);
      const Tensor exact = product(a.to(f64), b.to(f64), f64, {.beta = beta}, beta == 0 ? Tensor{} : c0);
      REQUIRE(relative_distance(wide, exact) <= 1e-6);
      REQUIRE(same_bits(product(a, b, bf16, {.beta = beta}, beta == 0 ? Tensor{} : c0), wide.to(bf16)));
    }
  }
}

}  // namespace

TEST_CASE("bf16 matmul: sums of f32, rounded once", "[gemm][bf16]") {
  pairs = GENERATE(false, true);
  for (int64_t m : {1, 2, 4, 5, 13, 37}) {
    for (int64_t n : {1, 16, 17, 33, 100}) {
      for (int64_t k : {1, 3, 16, 17, 65}) check_all({m, n, k});
    }
  }
}

TEST_CASE("bf16 matmul across blocks", "[gemm][bf16]") {
  pairs = GENERATE(false, true);
  check_all({131, 600, 801});
  check_all({3, 1500, 701});
  check_all({70, 70, 1201});
  check_all({40, 130, 4102});
}

// Pairs of bf16 are read in place only if a row holds whole, aligned pairs. Sums of small integers are exact.
TEST_CASE("bf16 matmul of operands at odd places equals exact sums", "[gemm][bf16]") {
  Generator g(6);
  const auto part = [&](int64_t rows, int64_t columns, int64_t offset, int64_t padding) {
    const Shape shape = {rows, columns + offset + padding};
    const Tensor all = Tensor::zeros(shape, bf16);
    for (BFloat16& x : all.data<BFloat16>()) x = BFloat16(static_cast<float>(g.integer(9)) - 4);
    return all.view_slice(1, offset, offset + columns);
  };
  for (const int64_t m : {5, 61}) {
    for (const int64_t k : {1, 63, 64, 1541}) {
      for (const int64_t offset : {0, 1}) {
        for (const int64_t padding : {0, 1, 2}) {
          const Tensor a = part(m, k, offset, padding), w = part(33, k, offset, padding);
          const Tensor c = matmul(a, w.view_transpose(0, 1));
          const Tensor want = matmul(a.to(f64), w.view_transpose(0, 1).to(f64)).to(bf16);
          INFO(m << " " << k << " " << offset << " " << padding);
          REQUIRE(c.to_vector() == want.to_vector());
        }
      }
    }
  }
}

TEST_CASE("bf16 matmul: an element has the same bits in every product that contains it", "[gemm][bf16]") {
  pairs = GENERATE(false, true);
  for (const Case& c :
       {Case{67, 150, 901}, Case{29, 600, 64}, Case{300, 70, 902}, Case{150, 800, 640}, Case{300, 270, 1601}}) {
    for (bool transposed : {false, true}) {
      const Tensor a = matrix(c.m, c.k, false, 4), b = matrix(c.k, c.n, transposed, 5), bias = drawn({c.n}, bf16, 6);
      const MatmulArgs args{.bias = bias, .activation = Activation::gelu_tanh};
      const Threads alone(1);
      const Tensor all = product(a, b, bf16, args);
      for (int threads : {2, 3, 7}) {
        set_num_threads(threads);
        REQUIRE(same_bits(product(a, b, bf16, args), all));
      }
      for (int64_t rows : {1, 2, 3, 4, 5, 13}) {
        for (int64_t from = 0; from + rows <= c.m; from += 7) {
          REQUIRE(same_bits(product(a.view_slice(0, from, from + rows), b, bf16, args),
                            all.view_slice(0, from, from + rows)));
        }
      }
    }
  }
}

TEST_CASE("bf16 matmul adds the bias before it rounds and stores the pre-activation", "[gemm][bf16]") {
  pairs = GENERATE(false, true);
  for (int64_t m : {2, 9}) {
    const Tensor a = drawn({m, 500}, bf16, 7), b = matrix(500, 40, true, 8), bias = drawn({40}, bf16, 9);
    const Tensor sums = product(a, b, f32);
    const Tensor pre = Tensor::empty({m, 40}, bf16);
    const Tensor y = product(a, b, bf16, {.bias = bias, .activation = Activation::gelu_tanh, .pre_activation = pre});
    const auto s = sums.to_vector(), shift = bias.to_vector(), kept = pre.to_vector(), result = y.to_vector();
    for (int64_t i = 0; i < m * 40; ++i) {
      const float x = static_cast<float>(s[i]) + static_cast<float>(shift[i % 40]);
      REQUIRE(kept[i] == static_cast<float>(BFloat16(x)));
      const double gelu = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
      REQUIRE(std::abs(result[i] - gelu) <= std::abs(gelu) / 256 + 1e-6);
    }
  }
}

TEST_CASE("bf16 matmul times the derivative of gelu is rounded once", "[gemm][bf16]") {
  pairs = GENERATE(false, true);
  for (int64_t m : {2, 9, 40}) {
    for (bool transposed : {false, true}) {
      const Tensor a = drawn({m, 500}, bf16, 7), b = matrix(500, 40, transposed, 8), pre = drawn({m, 40}, bf16, 9);
      const Tensor sums = product(a, b, f32);
      const Tensor y = product(a, b, bf16, {.activation = Activation::gelu_tanh_backward, .pre_activation = pre});
      const Tensor wide = pre.to(f32), exact = Tensor::empty({m, 40}, f32);
      cpu_kernels().unary_backward(Unary::gelu_tanh, exact, sums, wide, {}, 0);
      REQUIRE(same_bits(y, exact.to(bf16)));
    }
  }
}
