// Softmax of the columns of matrices: the bits of softmax of rows with the same numbers.
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/cpu/softmax_row.h"
#include "tests/tensor/kernel_buffers.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Kernels& k = cpu_kernels();
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// [A, V, B] as the kernels take it: [A, B, V] with contiguous B.
View by_columns(const View& v) {
  View t = v;
  std::swap(t.shape[1], t.shape[2]);
  std::swap(t.strides[1], t.strides[2]);
  return t;
}
// Element (a, v, b) of [A, V, B] in a buffer of [A·B, V].
int64_t in_rows(int64_t i, int64_t v, int64_t b) { return (i / (v * b) * b + i % b) * v + i / b % v; }

void copy_to_rows(Buffer& rows, const Buffer& x, int64_t v, int64_t b) {
  for (int64_t i = 0; i < x.numel(); ++i) rows.set(in_rows(i, v, b), x.get(i));
}
void check_same_bits(const Buffer& got, const Buffer& rows, int64_t v, int64_t b) {
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double x = got.get(i), want = rows.get(in_rows(i, v, b));
    const bool same = std::isnan(want) ? std::isnan(x) : std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(want);
    if (!same) {
      INFO("element " << i);
      REQUIRE(x == want);
    }
  }
}

}  // namespace

TEST_CASE("softmax of columns has the bits of softmax of rows", "[kernels]") {
  const DType type = GENERATE(f32, f64, bf16);
  const bool log = GENERATE(false, true);
  for (const int64_t v : {1, 3, 15, 16, 17, 33, 63, 64, 65, 200, 1024, 1100}) {
    for (const int64_t b : {1, 16, 37, 300}) {
      if (v * b > 40000) continue;
      INFO("[2, " << v << ", " << b << "]");
      const Shape shape{2, v, b}, rows{2 * b, v};
      Buffer x(shape, type), y(shape, type), x_rows(rows, type), y_rows(rows, type);
      x.random(1, -8, 8);
      x.set(0, -kInf);
      if (b > 2) x.set(1, kNan);
      copy_to_rows(x_rows, x, v, b);
      k.softmax(by_columns(y.poison()), by_columns(x), log);
      k.softmax(y_rows, x_rows, log);
      CHECK(y.guards_intact());
      check_same_bits(y, y_rows, v, b);
      for (const double beta : {0.0, 1.0, 0.5}) {
        Buffer dy(shape, type), dx(shape, type), dy_rows(rows, type), dx_rows(rows, type);
        dy.random(2);
        dx.random(3);
        copy_to_rows(dy_rows, dy, v, b);
        copy_to_rows(dx_rows, dx, v, b);
        k.softmax_backward(by_columns(dx), by_columns(dy), by_columns(y), log, beta);
        k.softmax_backward(dx_rows, dy_rows, y_rows, log, beta);
        CHECK(dx.guards_intact());
        check_same_bits(dx, dx_rows, v, b);
      }
    }
  }
}

TEST_CASE("softmax of columns has the same bits for any number of threads", "[kernels]") {
  const int threads = num_threads();
  const Shape shape{3, 70, 600};
  Buffer x(shape, f32), one(shape, f32), many(shape, f32);
  x.random(4, -8, 8);
  set_num_threads(1);
  k.softmax(by_columns(one), by_columns(x), true);
  set_num_threads(3);
  k.softmax(by_columns(many), by_columns(x), true);
  set_num_threads(threads);
  CHECK(one.bytes() == many.bytes());
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
