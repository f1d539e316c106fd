// The matrix product compared with exact integers and with long double; bitwise equality.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tensor/cpu/kernels_cpu.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

namespace {

template <class T>
View matrix(std::vector<T>& x, int64_t rows, int64_t columns) {
  return view(x, {rows, columns}, {columns, 1});
}

template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;

// The textbook algorithm, in double.
template <class T>
std::vector<double> naive(View a, View b, const std::vector<T>& c0, double beta) {
  const int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  std::vector<double> c(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = beta == 0 ? 0 : beta * c0[i * n + j];
      for (int64_t x = 0; x < k; ++x) {
        sum += double(a.as<T>()[i * a.strides[0] + x * a.strides[1]]) * b.as<T>()[x * b.strides[0] + j * b.strides[1]];
      }
      c[i * n + j] = sum;
    }
  }
  return c;
}

template <class T>
void check_shape(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, float beta) {
  INFO("m " << m << " n " << n << " k " << k << " transposed " << transpose_a << transpose_b << " beta " << beta);
  auto a = random_values<T>(m * k, 1), b = random_values<T>(k * n, 2), c = random_values<T>(m * n, 3);
  const View va = transpose_a ? view(a, {m, k}, {1, m}) : matrix(a, m, k);
  const View vb = transpose_b ? view(b, {k, n}, {1, k}) : matrix(b, k, n);
  const auto expected = naive<T>(va, vb, c, beta);
  if (beta == 0) c.assign(m * n, static_cast<T>(std::nan("")));  // c must be overwritten, not multiplied by beta
  MatmulArgs args;
  args.beta = beta;
  cpu::matmul(matrix(c, m, n), va, vb, args);
  REQUIRE(relative_error(c, expected) <= kTolerance<T>);
}

template <class T>
std::vector<T> product(View a, View b, std::vector<T> c, float beta = 0, View bias = {},
                       Activation activation = Activation::none) {
  MatmulArgs args;
  args.beta = beta;
  args.bias = bias;
  args.activation = activation;
  const int64_t m = a.shape[0], n = b.shape[1];
  c.resize(m * n);
  cpu::matmul(matrix(c, m, n), a, b, args);
  return c;
}

// Rows [from, from + rows) of a matrix.
View rows_of(View v, int64_t from, int64_t rows) {
  v.data = static_cast<char*>(v.data) + from * v.strides[0] * static_cast<int64_t>(size_of(v.dtype));
  v.shape[0] = rows;
  return v;
}
View columns_of(View v, int64_t from, int64_t columns) {
  v.data = static_cast<char*>(v.data) + from * v.strides[1] * static_cast<int64_t>(size_of(v.dtype));
  v.shape[1] = columns;
  return v;
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

template <class T>
void check_bits(int64_t m, int64_t n, int64_t k, bool transpose_b) {
  INFO("m " << m << " n " << n << " k " << k << " transposed " << transpose_b);
  auto a = random_values<T>(m * k, 4), b = random_values<T>(k * n, 5), bias = random_values<T>(n, 6);
  const View va = matrix(a, m, k), vb = transpose_b ? view(b, {k, n}, {1, k}) : matrix(b, k, n);
  const View vbias = view(bias, {n}, {1});
  const auto all = product<T>(va, vb, {}, 0, vbias, Activation::gelu_tanh);
  SECTION("any group of rows") {
    for (int64_t rows : {1, 2, 3, 4, 5, 13}) {
      for (int64_t from = 0; from + rows <= m; from += std::max<int64_t>(rows, m / 5)) {
        const auto part = product<T>(rows_of(va, from, rows), vb, {}, 0, vbias, Activation::gelu_tanh);
        const std::vector<T> same(all.begin() + from * n, all.begin() + (from + rows) * n);
        REQUIRE(same_bits(part, same));
      }
    }
  }
  SECTION("any group of columns") {
    for (int64_t columns : {1, 7, 33}) {
      if (columns > n) continue;
      const View some = view(bias, {columns}, {1}, n - columns);
      const auto part = product<T>(va, columns_of(vb, n - columns, columns), {}, 0, some, Activation::gelu_tanh);
      for (int64_t i = 0; i < m; ++i) {
        REQUIRE(std::memcmp(&part[i * columns], &all[i * n + n - columns], columns * sizeof(T)) == 0);
      }
    }
  }
  SECTION("any number of threads") {
    for (int threads : {1, 2, 3, 7}) {
      Threads guard(threads);
      REQUIRE(same_bits(product<T>(va, vb, {}, 0, vbias, Activation::gelu_tanh), all));
    }
  }
  SECTION("two halves of K with beta 1") {
    const auto plain = product<T>(va, vb, {});
    for (int64_t cut : {int64_t{1}, k / 3, k / 2, k - 1}) {
      auto c = product<T>(columns_of(va, 0, cut), rows_of(vb, 0, cut), {});
      c = product<T>(columns_of(va, cut, k - cut), rows_of(vb, cut, k - cut), c, 1);
      REQUIRE(same_bits(c, plain));
    }
  }
  SECTION("the chain itself") {
    const auto plain = product<T>(va, vb, {});
    for (int64_t i = 0; i < m; i += std::max<int64_t>(1, m / 7)) {
      for (int64_t j = 0; j < n; j += std::max<int64_t>(1, n / 11)) {
        T sum = 0;
        for (int64_t x = 0; x < k; ++x) {
          const T l = a[i * k + x], r = b[transpose_b ? j * k + x : x * n + j];
#if defined(__FMA__) || defined(__aarch64__)
          sum = std::fma(l, r, sum);
#else
          sum = l * r + sum;
#endif
        }
        REQUIRE(sum == plain[i * n + j]);
      }
    }
  }
}

}  // namespace

TEST_CASE("matmul equals the textbook product for every kind of shape", "[gemm]") {
  for (int64_t m : {1, 2, 4, 5, 12, 13, 37}) {
    for (int64_t n : {1, 15, 16, 17, 31, 33, 65, 100}) {
      for (int64_t k : {1, 3, 16, 17, 64, 100}) {
        for (int transpose = 0; transpose < 4; ++transpose) {
          check_shape<float>(m, n, k, transpose & 1, transpose & 2, 0);
          check_shape<double>(m, n, k, transpose & 1, transpose & 2, 1);
        }
      }
    }
  }
}

TEST_CASE("matmul equals the textbook product across blocks", "[gemm]") {
  for (int transpose = 0; transpose < 4; ++transpose) {
    check_shape<float>(131, 600, 801, transpose & 1, transpose & 2, 0);
    check_shape<float>(60, 70, 1200, transpose & 1, transpose & 2, -0.5f);
    check_shape<double>(70, 300, 410, transpose & 1, transpose & 2, 1);
    check_shape<float>(3, 1500, 700, transpose & 1, transpose & 2, 1);
    check_shape<float>(251, 769, 378, transpose & 1, transpose & 2, 1);
    check_shape<float>(300, 202, 800, transpose & 1, transpose & 2, 1);  // ranges of rows, if L2 is large
    check_shape<double>(290, 270, 410, transpose & 1, transpose & 2, 0);
  }
  check_shape<float>(520, 515, 790, true, false, 1);  // three blocks of columns by two of K
  check_shape<float>(3500, 40, 50, false, false, 0);
  check_shape<double>(1, 3000, 400, false, true, 2);
}

TEST_CASE("matmul with a size of 0", "[gemm]") {
  std::vector<float> none, c{1, 2, 3, 4, 5, 6}, bias{10, 20, 30};
  MatmulArgs args;
  args.bias = view(bias, {3}, {1});
  cpu::matmul(matrix(none, 0, 3), matrix(none, 0, 5), matrix(c, 0, 3), args);
  args.beta = 2;
  cpu::matmul(matrix(c, 2, 3), matrix(none, 2, 0), matrix(none, 0, 3), args);
  CHECK(c == std::vector<float>{12, 24, 36, 18, 30, 42});
  args.beta = 0;
  cpu::matmul(matrix(c, 2, 3), matrix(none, 2, 0), matrix(none, 0, 3), args);
  CHECK(c == std::vector<float>{10, 20, 30, 10, 20, 30});
  std::vector<float> wide(5 * 100, 1);
  cpu::matmul(matrix(wide, 5, 100), matrix(none, 5, 0), matrix(none, 0, 100), MatmulArgs{});
  CHECK(wide == std::vector<float>(500, 0));
  cpu::matmul(view(none, {0, 2, 3}, {6, 3, 1}), view(none, {0, 2, 4}, {8, 4, 1}), view(none, {0, 4, 3}, {12, 3, 1}),
              MatmulArgs{});
}

TEMPLATE_TEST_CASE("a matmul element has the same bits in every product that contains it", "[gemm]", float, double) {
  check_bits<TestType>(50, 70, 60, false);
  check_bits<TestType>(50, 70, 61, true);
  check_bits<TestType>(200, 800, 384, true);
  check_bits<TestType>(29, 129, 900, false);
  check_bits<TestType>(29, 129, 900, true);
  check_bits<TestType>(200, 333, 500, true);
  check_bits<TestType>(300, 250, 450, false);
  check_bits<TestType>(300, 250, 450, true);
}

TEST_CASE("matmul over batches repeats operands of stride 0", "[gemm]") {
  const int64_t m = 9, n = 21, k = 14;
  auto a = random_values<float>(2 * 3 * m * k, 1), b = random_values<float>(2 * 3 * k * n, 2);
  for (int kind = 0; kind < 4; ++kind) {
    INFO("kind " << kind);
    const Strides sa = kind == 1 ? Strides{0, m * k, k, 1} : Strides{3 * m * k, m * k, k, 1};
    const Strides sb = kind == 2   ? Strides{0, 0, n, 1}  // folds the batch into rows
                       : kind == 3 ? Strides{k * n, 0, 1, k}
                                   : Strides{3 * k * n, k * n, n, 1};
    std::vector<float> c(2 * 3 * m * n);
    cpu::matmul(view(c, {2, 3, m, n}, {3 * m * n, m * n, n, 1}), view(a, {2, 3, m, k}, sa), view(b, {2, 3, k, n}, sb),
                MatmulArgs{});
    for (int64_t x = 0; x < 2; ++x) {
      for (int64_t y = 0; y < 3; ++y) {
        const auto one = product<float>(view(a, {m, k}, {sa[2], sa[3]}, x * sa[0] + y * sa[1]),
                                        view(b, {k, n}, {sb[2], sb[3]}, x * sb[0] + y * sb[1]), {});
        REQUIRE(std::memcmp(one.data(), &c[(x * 3 + y) * m * n], one.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("matmul reads and writes views of any strides", "[gemm]") {
  const int64_t m = 11, n = 35, k = 20;
  auto big_a = random_values<double>(4 * m * k, 1), big_b = random_values<double>(6 * k * n, 2);
  std::vector<double> a(m * k), b(k * n);
  const View va = view(big_a, {m, k}, {2, 2 * m + 1}), vb = view(big_b, {k, n}, {3 * n, 3});
  for (int64_t i = 0; i < m * k; ++i) a[i] = big_a[i / k * 2 + i % k * (2 * m + 1)];
  for (int64_t i = 0; i < k * n; ++i) b[i] = big_b[i / n * 3 * n + i % n * 3];
  std::vector<double> bias = random_values<double>(2 * n, 3), plain_bias(n);
  for (int64_t j = 0; j < n; ++j) plain_bias[j] = bias[2 * j];
  const auto c0 = random_values<double>(m * n, 4);

  auto big_c = random_values<double>(2 * m * n, 5);
  const auto untouched = big_c;
  for (int64_t i = 0; i < m * n; ++i) big_c[i / n + i % n * 2 * m] = c0[i];
  MatmulArgs args;
  args.beta = 1;
  args.bias = view(bias, {n}, {2});
  cpu::matmul(view(big_c, {m, n}, {1, 2 * m}), va, vb, args);
  const auto expected = product<double>(matrix(a, m, k), matrix(b, k, n), c0, 1, view(plain_bias, {n}, {1}));
  for (int64_t i = 0; i < m * n; ++i) REQUIRE(big_c[i / n + i % n * 2 * m] == expected[i]);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = m; i < 2 * m; ++i) REQUIRE(big_c[j * 2 * m + i] == untouched[j * 2 * m + i]);
  }
}

TEST_CASE("matmul with bias and gelu stores the pre-activation", "[gemm]") {
  for (int64_t m : {1, 3, 40}) {
    for (int64_t n : {33, 40, 65}) {
      const int64_t k = 500;
      auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2), bias = random_values<float>(n, 3);
      for (float& x : a) x /= 10;
      std::vector<double> before = naive<float>(matrix(a, m, k), matrix(b, k, n), {}, 0), after;
      for (int64_t i = 0; i < m * n; ++i) before[i] += bias[i % n];
      for (double x : before) after.push_back(gelu(x));
      std::vector<float> c(m * n), pre(m * (n + 2), -7);
      MatmulArgs args;
      args.bias = view(bias, {n}, {1});
      args.activation = Activation::gelu_tanh;
      args.pre_activation = view(pre, {m, n}, {n + 2, 1});
      cpu::matmul(matrix(c, m, n), matrix(a, m, k), matrix(b, k, n), args);
      REQUIRE(relative_error(c, after) <= 1e-6);
      std::vector<float> kept;
      for (int64_t i = 0; i < m * n; ++i) kept.push_back(pre[i / n * (n + 2) + i % n]);
      REQUIRE(relative_error(kept, before) <= 1e-6);
      for (int64_t i = 0; i < m; ++i) REQUIRE((pre[i * (n + 2) + n] == -7 && pre[i * (n + 2) + n + 1] == -7));

      // The same product with b stored column-major must give the same bits.
      std::vector<float> turned_b(k * n), other(m * n), other_pre(m * (n + 2), -7);
      for (int64_t i = 0; i < k * n; ++i) turned_b[i % n * k + i / n] = b[i];
      args.pre_activation = view(other_pre, {m, n}, {n + 2, 1});
      cpu::matmul(matrix(other, m, n), matrix(a, m, k), view(turned_b, {k, n}, {1, k}), args);
      REQUIRE(same_bits(other, c));
      REQUIRE(same_bits(other_pre, pre));

      // The same product with a column-major result.
      std::vector<float> transposed(m * n), transposed_pre(m * n);
      args.pre_activation = view(transposed_pre, {m, n}, {1, m});
      cpu::matmul(view(transposed, {m, n}, {1, m}), matrix(a, m, k), matrix(b, k, n), args);
      for (int64_t i = 0; i < m * n; ++i) REQUIRE(transposed[i / n + i % n * m] == c[i]);
      for (int64_t i = 0; i < m * n; ++i) REQUIRE(transposed_pre[i / n + i % n * m] == kept[i]);
    }
  }
}

TEST_CASE("matmul times the derivative of gelu", "[gemm]") {
  for (int64_t m : {1, 3, 40, 130}) {
    for (int64_t n : {33, 40, 65}) {
      const int64_t k = 500, ld = n + 2;  // row stride of the GELU input
      auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2),
           pre = random_values<float>(m * ld, 3);
      for (float& x : pre) x *= 3;
      const auto before = pre;
      std::vector<double> expected = naive<float>(matrix(a, m, k), matrix(b, k, n), {}, 0);
      for (int64_t i = 0; i < m * n; ++i) {
        const double x = pre[i / n * ld + i % n], t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
        expected[i] *= (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
      }
      std::vector<float> c(m * n);
      MatmulArgs args;
      args.activation = Activation::gelu_tanh_backward;
      args.pre_activation = view(pre, {m, n}, {ld, 1});
      cpu::matmul(matrix(c, m, n), matrix(a, m, k), matrix(b, k, n), args);
      REQUIRE(relative_error(c, expected) <= 1e-6);

      // The bits must be those of the two separate steps.
      auto steps = product<float>(matrix(a, m, k), matrix(b, k, n), {});
      const View dy = matrix(steps, m, n);
      cpu::unary_backward(Unary::gelu_tanh, dy, dy, args.pre_activation, {}, 0);
      REQUIRE(same_bits(steps, c));

      // The same product with b stored column-major must give the same bits.
      std::vector<float> turned_b(k * n), other(m * n);
      for (int64_t i = 0; i < k * n; ++i) turned_b[i % n * k + i / n] = b[i];
      cpu::matmul(matrix(other, m, n), matrix(a, m, k), view(turned_b, {k, n}, {1, k}), args);
      REQUIRE(same_bits(other, c));

      // The same product with a column-major result.
      std::vector<float> transposed(m * n), transposed_pre(m * n);
      for (int64_t i = 0; i < m * n; ++i) transposed_pre[i / n + i % n * m] = pre[i / n * ld + i % n];
      const auto transposed_before = transposed_pre;
      args.pre_activation = view(transposed_pre, {m, n}, {1, m});
      cpu::matmul(view(transposed, {m, n}, {1, m}), matrix(a, m, k), matrix(b, k, n), args);
      for (int64_t i = 0; i < m * n; ++i) REQUIRE(transposed[i / n + i % n * m] == c[i]);
      REQUIRE(same_bits(pre, before));
      REQUIRE(same_bits(transposed_pre, transposed_before));
    }
  }
}

TEST_CASE("matmul also computes the row sums of its left operand", "[gemm]") {
  const int64_t m = 37, n = 20, k = 130;
  auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2);
  for (const View& va : {matrix(a, m, k), view(a, {m, k}, {1, m})}) {
    const auto c = product<float>(va, matrix(b, k, n), {});
    std::vector<double> expected;
    for (int64_t i = 0; i < m; ++i) {
      expected.push_back(0);
      for (int64_t x = 0; x < k; ++x) expected.back() += a[i * va.strides[0] + x * va.strides[1]];
    }
    std::vector<float> other(m * n), sums(2 * m, NAN), none;
    MatmulArgs args;
    args.row_sums = view(sums, {m}, {2});
    cpu::matmul(matrix(other, m, n), va, matrix(b, k, n), args);
    REQUIRE(same_bits(other, c));
    const auto every_second = [&] {
      std::vector<float> x;
      for (int64_t i = 0; i < m; ++i) x.push_back(sums[2 * i]);
      return x;
    };
    REQUIRE(relative_error(every_second(), expected) <= 1e-6);
    for (int64_t i = 0; i < m; ++i) REQUIRE(std::isnan(sums[2 * i + 1]));
    args.row_sums_beta = -0.5;
    for (double& x : expected) x *= 0.5;
    cpu::matmul(matrix(none, m, 0), va, matrix(none, k, 0), args);  // c has no columns, but the sums are still computed
    REQUIRE(relative_error(every_second(), expected) <= 1e-6);
  }
}

TEST_CASE("matmul propagates NaN and infinity", "[gemm]") {
  const int64_t m = 14, n = 40, k = 30;
  auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2);
  a[3 * k + 5] = std::nanf("");
  a[7 * k + 1] = INFINITY;
  const auto c = product<float>(matrix(a, m, k), matrix(b, k, n), {});
  for (int64_t i = 0; i < m * n; ++i) {
    if (i / n == 3) REQUIRE(std::isnan(c[i]));
    if (i / n == 7) REQUIRE(std::isinf(c[i]));
    if (i / n != 3 && i / n != 7) REQUIRE(std::isfinite(c[i]));
  }
}

TEST_CASE("matmul refuses types without arithmetic", "[gemm]") {
  std::vector<int32_t> x(4);
  CHECK_THROWS_AS(cpu::matmul(matrix(x, 2, 2), matrix(x, 2, 2), matrix(x, 2, 2), MatmulArgs{}), Error);
}
