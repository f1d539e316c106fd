// Matrix products: borders of tiles, strides, batches, epilogues.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr DType kFloats[] = {f32, f64, bf16};
constexpr Layout kStrided{.begin = 1, .spare = 3, .step = 2, .transposed = true};

// A product c [M, N] = a [M, K] · b [K, N], with what the kernel computes
// beside it.
struct Product {
  int64_t m, n, k;
  DType result;  // of c and of the pre-activation
  Layout a = {}, b = {}, c = {};
  float beta = 0;
  std::optional<DType> bias = {};
  Layout bias_layout = {};
  Activation activation = Activation::none;
  std::optional<Layout> pre = {};
  std::optional<DType> sums = {};
  Layout sums_layout = {};
  float sums_beta = 0;
};
void check_product(DType dtype, const Product& p) {
  INFO(p.m << " x " << p.n << " x " << p.k << " into " << name_of(p.result) << ", beta " << p.beta
           << (p.a.transposed ? ", a transposed" : "") << (p.b.transposed ? ", b transposed" : "")
           << (p.bias ? ", bias" : "") << (p.pre ? ", pre-activation" : "") << (p.sums ? ", sums" : ""));
  check(dtype, kContiguous, {kAny}, [&](const Side& s) {
    const auto in = [&](const Shape& shape, uint64_t seed, DType t, const Layout& how) {
      return s.in(random(shape, f64, seed), t, how);
    };
    const auto to = [&](const Shape& shape, float beta, uint64_t seed, DType t, const Layout& how) {
      return beta == 0 ? s.out(shape, t, how) : in(shape, seed, t, how);
    };
    const Shape shape{p.m, p.n};
    const Tensor a = in({p.m, p.k}, 1, dtype, p.a), b = in({p.k, p.n}, 2, dtype, p.b);
    const Tensor bias = p.bias ? in({p.n}, 4, *p.bias, p.bias_layout) : Tensor{};
    Results results{to(shape, p.beta, 3, p.result, p.c)};
    MatmulArgs args{.beta = p.beta, .bias = bias, .activation = p.activation, .row_sums_beta = p.sums_beta};
    if (p.pre) {  // an input of the derivative
      const float kept = p.activation == Activation::gelu_tanh ? 0 : 1;
      args.pre_activation = results.emplace_back(to(shape, kept, 5, p.result, *p.pre));
    }
    if (p.sums) args.row_sums = results.emplace_back(to({p.m}, p.sums_beta, 6, *p.sums, p.sums_layout));
    s.k().matmul(results[0], a, b, args);
    return results;
  });
}
// Calls f(dtype, result) for the dtypes of products and of their results.
template <class F>
void for_types(F f) {
  for (const DType dtype : kFloats) {
    f(dtype, dtype);
    if (dtype == bf16) f(bf16, f32);
  }
}

}  // namespace

TEST_CASE("products at the borders of tiles and with all transposes", "[kernels][matmul]") {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 65, 17},  {15, 16, 17}, {16, 15, 64},  {17, 1, 129},
                              {63, 64, 15}, {64, 63, 16}, {65, 64, 1},  {64, 129, 63}, {129, 65, 65}};
  for (const auto& [m, n, k] : sizes) {
    for (const Layout& a : {kContiguous, kTransposed}) {
      for (const Layout& b : {kContiguous, kTransposed}) {
        const DType dtype = m > 64 ? f32 : a.transposed ? bf16 : b.transposed ? f64 : f32;
        check_product(dtype, {m, n, k, dtype, a, b});
      }
    }
  }
}

TEST_CASE("products of any strides", "[kernels][matmul]") {
  for (const DType dtype : kFloats) {
    check_product(dtype, {40, 66, 19, dtype, kStrided, kStrided, {.begin = 5, .spare = 300, .step = 2}});
    check_product(dtype, {40, 66, 19, dtype, {}, {}, kTransposed});
  }
}

TEST_CASE("products of batches", "[kernels][matmul]") {
  check(f32, kContiguous, {kAny}, [](const Side& s) {
    Results results;
    const Shape shape{2, 3, 5, 7};
    const Tensor a = s.in(random({2, 3, 5, 20}, f64, 1)), b = s.in(random({2, 3, 20, 7}, f64, 2));
    const Tensor one = b.view_select(0, 0).view_select(0, 0), each = one.view_expand({2, 3, 20, 7});
    const auto add = [&](const Tensor& c, const Tensor& x, const Tensor& y) {
      results.push_back(c);
      s.k().matmul(c, x, y, {});
    };
    add(s.out(shape), a, b);
    add(s.out(shape), a.view_select(0, 1).view_expand({2, 3, 5, 20}), b);
    add(s.out(shape), a, b.view_slice(1, 2, 3).view_expand({2, 3, 20, 7}));
    add(s.out(shape), a, each);  // the batch dims of a fold into rows
    add(s.out({5, 2, 3, 7}).view_permute({1, 2, 0, 3}), a,
        each);  // here they cannot
    add(s.out({3, 2, 7, 5}).view_permute({1, 0, 3, 2}), a, b);
    for (const Activation activation : {Activation::gelu_tanh, Activation::gelu_tanh_backward}) {
      for (const int64_t rows : {70, 17}) {
        const Tensor x = s.in(random({3, rows, 20}, f64, 3)), c = s.out({3, rows, 7});
        const Tensor pre = s.in(random({rows, 3, 7}, f64, 7)).view_transpose(0, 1);
        s.k().matmul(c, x, one.view_expand({3, 20, 7}), {.activation = activation, .pre_activation = pre});
        results.insert(results.end(), {c, pre});
      }
    }
    return results;
  });
}

TEST_CASE("products add to beta times the result, and to nothing without terms", "[kernels][matmul]") {
  for_types([](DType dtype, DType result) {
    for (const float beta : {0.0f, 1.0f, -0.5f}) {
      for (const std::optional<DType> bias : {std::optional<DType>{}, {dtype}}) {
        check_product(dtype, {33, 65, 40, result, {}, {}, {}, beta, bias});
        check_product(dtype, {5, 9, 0, result, {}, {}, {}, beta, bias});
        check_product(dtype, {0, 9, 4, result, {}, {}, {}, beta, bias});
      }
    }
  });
}

TEST_CASE("products with bias and GELU store the pre-activation", "[kernels][matmul]") {
  for_types([](DType dtype, DType result) {
    Product p{65, 72, 24, result, {}, kTransposed};
    p.activation = Activation::gelu_tanh;
    check_product(dtype, p);
    for (const DType bias : {dtype, sum_type(dtype)}) {
      if (bias != dtype && device() == Device{}) continue;  // only CUDA also takes an f32 bias beside bf16
      p.bias = bias;
      for (const Layout& layout : {kStepped, kContiguous}) {
        p.bias_layout = layout;
        for (const std::optional<Layout>& pre : {std::optional<Layout>{}, {kContiguous}, {kStrided}}) {
          p.pre = pre;
          check_product(dtype, p);
        }
      }
    }
  });
}

TEST_CASE("products times the derivative of GELU", "[kernels][matmul]") {
  for_types([](DType dtype, DType result) {
    // With 72 columns cuBLASLt accepts the stride of the GELU input, with 65
    // columns it does not.
    for (const int64_t n : {72, 65}) {
      for (const Layout& b : {kContiguous, kTransposed}) {
        for (const Layout& pre : {kContiguous, kStrided}) {
          Product p{65, n, 24, result, {}, b};
          p.activation = Activation::gelu_tanh_backward;
          p.pre = pre;
          check_product(dtype, p);
          p.bias = dtype;
          check_product(dtype, p);
        }
      }
    }
  });
}

TEST_CASE("products also compute the row sums of their left operand", "[kernels][matmul]") {
  for_types([](DType dtype, DType result) {
    for (const Layout& a : {kTransposed, kContiguous}) {
      for (const DType sums : {result, sum_type(dtype)}) {
        Product p{72, 40, 130, result, a};
        p.sums = sums;
        // Contiguous, at every second element, and at an address that is only a
        // multiple of 4 bytes.
        for (const Layout& layout : {kContiguous, kStepped, Layout{.begin = 1}}) {
          for (const Layout& c : {kContiguous, kTransposed}) {
            p.sums_layout = layout, p.c = c;
            check_product(dtype, p);
          }
        }
        p.c = p.sums_layout = {};
        for (const auto& [beta, sums_beta] : {std::pair(0.0f, 1.0f), {1.0f, 1.0f}, {1.0f, 0.0f}}) {
          p.beta = beta, p.sums_beta = sums_beta;
          check_product(dtype, p);
        }
      }
    }
  });
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{0, 7}, {3, 0}}) {  // an empty dimension still has row sums
    Product p{5, n, k, f32};
    p.sums = f32;
    check_product(f32, p);
  }
}

TEST_CASE("products of large sizes that are no multiples of 8", "[kernels][matmul]") {
  // Rows as linear() has them: at multiples of 16 bytes.
  const auto rows = [](int64_t columns, bool transposed) {
    return Layout{.spare = (8 - columns % 8) % 8, .transposed = transposed};
  };
  const int64_t sizes[][3] = {{16, 1027, 24}, {1027, 16, 24}, {16, 24, 1027}, {1025, 1031, 16}, {9, 1032, 1025}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool t : {false, true}) {
      for (const float beta : {0.0f, -0.5f}) {
        Product p{m, n, k, t ? f32 : bf16, rows(t ? m : k, t), rows(t ? k : n, t), rows(n, false), beta};
        check_product(bf16, p);
        p.bias = bf16;
        check_product(bf16, p);
      }
    }
  }
}
