// Bits that the CPU's kernels promise: of an element wherever it is, of a sum that is continued, of softmax along
// columns, of one position. tests/kernels/ compares the values of kernels with the plain backend.
#include <bit>
#include <cmath>

#include "tensor/base/parallel.h"
#include "tensor/cpu/softmax_row.h"
#include "tensor/kernels.h"
#include "tests/op_runs.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Kernels& k = cpu_kernels();

Tensor uniform(const Shape& shape, DType dtype, uint64_t seed, double low = -2, double high = 2) {
  Generator g(seed);
  return Tensor::uniform(shape, low, high, g, f32).to(dtype).clone();
}
Tensor nothing(const Shape& shape, DType dtype) { return Tensor::full(shape, kNan, dtype); }

// The same bits; NaN equals any NaN.
bool same(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double p, double q) {
    return std::isnan(q) ? std::isnan(p) : std::bit_cast<uint64_t>(p) == std::bit_cast<uint64_t>(q);
  });
}

}  // namespace

TEST_CASE("an element's bits don't depend on its position", "[kernels]") {
  const int64_t n = 70001;
  for (const DType dtype : {f32, f64}) {
    const Tensor x = uniform({n}, dtype, 3, 0.1, 4), whole = nothing({n}, dtype), one = nothing({1}, dtype);
    for (int op = 0; op <= static_cast<int>(Unary::pow_scalar); ++op) {
      INFO("function " << op);
      k.unary(static_cast<Unary>(op), whole, x, {0.5, 2});
      for (const int64_t i : {int64_t{0}, int64_t{15}, int64_t{16}, int64_t{30001}, n - 1}) {
        k.unary(static_cast<Unary>(op), one, x.view_slice(0, i, i + 1), {0.5, 2});
        CHECK(same_bits(one, whole.view_slice(0, i, i + 1)));
      }
    }
  }
}

TEST_CASE("sums have the same bits for any other rows, and continue over batches", "[kernels]") {
  for (const DType dtype : {f32, f64}) {
    const Tensor x = uniform({70, 9001}, dtype, 5), all = nothing({70, 1}, dtype), one = nothing({1, 1}, dtype);
    k.reduce(Reduce::sum, all, x, 1, 0);
    k.reduce(Reduce::sum, one, x.view_slice(0, 0, 1), 1, 0);
    CHECK(same_bits(one, all.view_slice(0, 0, 1)));
    const Tensor rows = uniform({50, 33}, dtype, 5), whole = nothing({1, 33}, dtype), parts = whole.clone();
    k.reduce(Reduce::sum, whole, rows, 1, 0);
    k.reduce(Reduce::sum, parts, rows.view_slice(0, 0, 21), 1, 0);
    k.reduce(Reduce::sum, parts, rows.view_slice(0, 21, 50), 1, 1);
    CHECK(same_bits(parts, whole));
  }
}

TEST_CASE("gradients of norm weights continue over batches", "[kernels]") {
  const int64_t rows = 90, n = 700;
  for (const DType dtype : {f32, f64}) {
    const Tensor x = uniform({rows, n}, dtype, 1), w = uniform({n}, dtype, 2), dy = uniform({rows, n}, dtype, 3);
    const Tensor y = nothing({rows, n}, dtype), mean = nothing({rows}, dtype), rstd = mean.clone();
    const Tensor whole = nothing({n}, dtype), parts = whole.clone();
    k.layer_norm(y, mean, rstd, {}, x, {}, w, {}, 1e-5);
    k.layer_norm_backward(nothing({rows, n}, dtype), whole, nothing({n}, dtype), dy, x, w, mean, rstd, 0, 0, 0);
    for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, 31}, {31, 32}, {32, rows}}) {
      const auto part = [&, a = from, b = to](const Tensor& t) { return t.view_slice(0, a, b); };
      k.layer_norm_backward({}, parts, {}, part(dy), part(x), w, part(mean), part(rstd), 0, from == 0 ? 0 : 1, 0);
    }
    CHECK(same_bits(parts, whole));
  }
}

TEST_CASE("rope of a position alone has the bits of the whole sequence", "[kernels]") {
  const int64_t steps = 40, d = 32;
  const Tensor x = uniform({1, 2, steps, d}, f32, 1), y = nothing(x.shape(), f32), one = nothing({1, 2, 1, d}, f32);
  k.rope(y, x, {}, 0);
  for (int32_t t = 0; t < steps; ++t) {
    const Tensor first = Tensor::from(std::vector<int32_t>{t}, {1});
    k.rope(one, x.view_slice(2, t, t + 1), {.positions = first}, 0);
    CHECK(same_bits(one, y.view_slice(2, t, t + 1)));
  }
}

TEST_CASE("softmax of columns has the bits of softmax of rows and of any number of threads", "[kernels]") {
  const DType dtype = GENERATE(f32, f64, bf16);
  const bool log = GENERATE(false, true);
  for (const int64_t v : {1, 3, 15, 16, 17, 33, 63, 64, 65, 200, 1024, 1100}) {
    for (const int64_t b : {1, 16, 37, 300}) {
      if (v * b > 40000) continue;
      INFO("[2, " << v << ", " << b << "]");
      const Shape shape{2, v, b};
      // [A, V, B] as the kernels take it, [A, B, V] with contiguous B, and as rows.
      const auto by_columns = [](const Tensor& t) { return t.view_transpose(1, 2); };
      const auto in_rows = [&](const Tensor& t) { return by_columns(t).clone().view_reshape({2 * b, v}); };
      const Tensor x = uniform(shape, dtype, 1, -8, 8), y = nothing(shape, dtype);
      x.view_reshape({-1}).view_slice(0, 0, 1).fill(-kInf);
      if (b > 2) x.view_reshape({-1}).view_slice(0, 1, 2).fill(kNan);
      const Tensor rows = in_rows(x), y_rows = nothing(rows.shape(), dtype);
      k.softmax(y_rows, rows, log);
      for (const int threads : {3, 1, num_threads()}) {
        const Threads guard(threads);
        k.softmax(by_columns(y), by_columns(x), log);
        CHECK(same(in_rows(y), y_rows));
      }
      for (const double beta : {0.0, 1.0, 0.5}) {
        const Tensor dy = uniform(shape, dtype, 2), dx = uniform(shape, dtype, 3), dx_rows = in_rows(dx);
        k.softmax_backward(by_columns(dx), by_columns(dy), by_columns(y), log, beta);
        k.softmax_backward(dx_rows, in_rows(dy), y_rows, log, beta);
        CHECK(same(in_rows(dx), dx_rows));
      }
    }
  }
}

TEST_CASE("the logarithm of a sum is exact enough for single precision and the same in a vector", "[kernels]") {
  using simd::Vec;
  Generator g(5);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::exp2((i % 2 ? 0.01 : 20) * g.uniform());
    const double got = cpu::log_for_single(x), want = std::log(x);
    REQUIRE(std::abs(got - want) <= std::abs(want) * 0x1p-30);
    REQUIRE(cpu::log_for_single(Vec<double>(x))[0] == got);
  }
  CHECK(cpu::log_for_single(1.0) == 0);
  CHECK(cpu::log_for_single(kInf) == kInf);
  CHECK(std::isnan(cpu::log_for_single(kNan)));
  CHECK(std::isnan(cpu::log_for_single(Vec<double>(kNan))[0]));
}

namespace {

// The sum of x in the order that tensor/cpu/row_ops.h states, element by element: in blocks of 64 vectors of 64 bytes,
// running vectors, `chains` of them (4 or 2), for whole groups of as many vectors, the first for whole vectors behind
// them, the second for what is left; these added pairwise, then lane i to lane i + half; blocks in double.
template <class T>
double sum_in_order(const std::vector<T>& x, size_t chains) {
  constexpr size_t kWide = 64 / sizeof(T), kBlock = 64 * kWide;
  double total = 0;
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, x.size() - begin), groups = n / (chains * kWide) * chains * kWide,
                 whole = n / kWide * kWide;
    std::vector<T> lanes(4 * kWide, T(0));
    for (size_t k = 0; k < n; ++k) {
      const size_t vector = k < groups ? k / kWide % chains : k < whole ? 0 : 1;
      lanes[vector * kWide + k % kWide] += x[begin + k];
    }
    for (size_t l = 0; l < kWide; ++l) {
      lanes[l] = (lanes[l] + lanes[kWide + l]) + (lanes[2 * kWide + l] + lanes[3 * kWide + l]);
    }
    for (size_t half = kWide / 2; half > 0; half /= 2) {
      for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    total += static_cast<double>(lanes[0]);
  }
  return total;
}

template <class T>
void check_sums() {
  Generator generator(3);
  for (const int64_t n : {0,  1,   3,   7,   8,   9,    15,   16,   17,   31,   33,   63,    64,
                          65, 100, 255, 256, 257, 1000, 1023, 1024, 1025, 1041, 5000, 16384, 16399}) {
    const Tensor x = Tensor::normal({n}, 0, 1, generator, sizeof(T) == 4 ? f32 : f64);
    const auto values = std::as_const(x).data<const T>();
    CAPTURE(n);
    const std::vector<T> copy(values.begin(), values.end());
    CHECK(cpu::sum_row(values.data(), n) == sum_in_order(copy, 4));
    const auto twice = cpu::sum_vectors<T, 2, 2>(n, [&](int64_t i, int64_t m) {
      const auto v = cpu::load_lanes(values.data() + i, m);
      return std::array{v, -v};
    });
    CHECK(twice[0] == sum_in_order(copy, 2));
    CHECK(twice[1] == -twice[0]);
    const T largest = n == 0 ? -std::numeric_limits<T>::infinity() : *std::max_element(values.begin(), values.end());
    CHECK(cpu::max_row(values.data(), n) == largest);
  }
}

}  // namespace

TEST_CASE("a sum has the order of vectors of 64 bytes at any width of a register", "[kernels]") {
  check_sums<float>();
  check_sums<double>();
}
