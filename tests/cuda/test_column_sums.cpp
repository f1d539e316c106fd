// Sums over the rows of matrices, as for gradients of biases, and sums of squares: kernels that load 16 bytes at a
// time. Sums of small integers are exact, so they must be equal; other sums must have the same bits wherever the rows
// lie in memory.
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Integers in [-8, 8] as a matrix.
Tensor integers(int64_t rows, int64_t columns, uint64_t seed, DType dtype) {
  Generator g(seed);
  std::vector<double> v(static_cast<size_t>(rows * columns));
  for (double& x : v) x = static_cast<double>(g.integer(17)) - 8;
  return Tensor::from(v, {rows, columns}).to(dtype);
}

// x on the device, with `spare` more elements per row and `skip` elements before the first; NaN around it.
Tensor placed(const Tensor& x, int64_t skip, int64_t spare) {
  const int64_t rows = x.size(0), step = x.size(1) + spare;
  const Tensor all = Tensor::full({skip + rows * step}, NAN, x.dtype(), device());
  const Tensor view =
      all.view_slice(0, skip, skip + rows * step).view_reshape({rows, step}).view_slice(1, 0, x.size(1));
  view.copy_from(x.to(device()));
  return view;
}

Tensor sum_on(const Kernels& k, const Tensor& x, const Tensor& y, double divisor, double beta) {
  k.reduce(Reduce::sum, y, x, divisor, beta);
  return y;
}

struct Types {
  DType x, y;
};
constexpr Types kTypes[] = {{bf16, f32}, {bf16, bf16}, {f32, f32}, {f64, f64}};
// Beside these counts of columns the kernels change: 8 and 32 chunks of 16 bytes.
std::vector<int64_t> column_counts(DType dtype) {
  const int64_t chunk = 16 / static_cast<int64_t>(size_of(dtype));
  return {8 * chunk - 1, 8 * chunk, 8 * chunk + 1, 32 * chunk - 1, 32 * chunk, 33 * chunk + 1};
}

}  // namespace

TEST_CASE("CUDA sums over rows are exact for integers, for every number of rows and columns", "[cuda][reduce]") {
  for (const Types& types : kTypes) {
    for (int64_t columns : column_counts(types.x)) {
      for (int64_t rows : {1, 8, 9, 31, 33, 64, 129, 1030}) {
        const Tensor x = integers(rows, columns, 1, types.x), y = integers(1, columns, 2, types.y);
        for (double beta : {0.0, 1.0}) {
          INFO(name_of(types.x) << " to " << name_of(types.y) << ", " << rows << " x " << columns << ", beta " << beta);
          const Tensor want = sum_on(plain_kernels(), x.to(f64), y.to(f64).clone(), 2, beta);
          const Tensor got = sum_on(kernels(device()), x.to(device()), y.to(device()).clone(), 2, beta);
          CHECK(same_bits(got.to(Device{}), want.to(types.y)));
        }
      }
    }
  }
}

TEST_CASE("CUDA sums over rows have the same bits wherever the rows lie", "[cuda][reduce]") {
  for (const Types& types : kTypes) {
    for (int64_t columns : {33, 64, 264}) {
      for (int64_t rows : {20, 700}) {
        const Tensor x = random({rows, columns}, types.x, 3);
        const auto sum = [&](const Tensor& view) {
          return sum_on(kernels(device()), view, Tensor::full({1, columns}, NAN, types.y, device()), 1, 0);
        };
        const Tensor first = sum(x.to(device()));
        const double unit = types.y == bf16 ? 1e-2 : types.y == f32 ? 1e-5 : 1e-13;
        const Tensor want = sum_on(plain_kernels(), x.to(f64), Tensor::zeros({1, columns}, f64), 1, 0);
        CHECK(relative_error(first, want) <= unit);
        for (const auto& [skip, spare] : {std::pair<int64_t, int64_t>{0, 8}, {1, 0}, {8, 3}, {3, 5}, {0, 1}}) {
          INFO(name_of(types.x) << " to " << name_of(types.y) << ", " << rows << " x " << columns << " from " << skip
                                << ", " << spare << " between rows");
          CHECK(same_bits(sum(placed(x, skip, spare)), first));
        }
      }
    }
  }
}

TEST_CASE("CUDA sums over rows store results with any stride", "[cuda][reduce]") {
  const Tensor x = integers(300, 96, 4, bf16), all = Tensor::full({96, 3}, 7, f32, device());
  // As the gradient of a bias: sums of the rows of xᵀ, into one column.
  const Tensor y = all.view_slice(1, 1, 2);
  kernels(device()).reduce(Reduce::sum, y, x.to(device()).view_transpose(0, 1), 1, 0);
  const Tensor want = sum_on(plain_kernels(), x.to(f64), Tensor::zeros({1, 96}, f64), 1, 0).view_reshape({96, 1});
  CHECK(y.to_vector() == want.to_vector());
  for (int column : {0, 2}) CHECK(all_equal(all.view_slice(1, column, column + 1), 7));
}

TEST_CASE("CUDA sums over rows keep NaN and infinity in their columns", "[cuda][reduce]") {
  for (DType dtype : {bf16, f32, f64}) {
    const Tensor x = integers(200, 300, 5, dtype);
    x.view_slice(0, 150, 151).view_slice(1, 17, 18).fill(NAN);
    x.view_slice(0, 3, 4).view_slice(1, 299, 300).fill(-HUGE_VAL);
    const Tensor want = sum_on(plain_kernels(), x.to(f64), Tensor::zeros({1, 300}, f64), 1, 0);
    const Tensor got =
        sum_on(kernels(device()), x.to(device()), Tensor::zeros({1, 300}, sum_type(dtype), device()), 1, 0);
    const std::vector<double> a = got.to_vector(), b = want.to_vector();
    for (size_t i = 0; i < a.size(); ++i) {
      INFO("column " << i);
      CHECK((i == 17 ? std::isnan(a[i]) : a[i] == b[i]));
    }
  }
}

TEST_CASE("CUDA sums of squares have the same bits wherever the elements lie", "[cuda][reduce]") {
  for (DType dtype : {bf16, f32, f64}) {
    for (int64_t n : {1, 7, 8, 9, 4095, 4096, 4097, 20000, 60001}) {
      const Tensor x = random({n}, dtype, 6), y = Tensor::full({1}, NAN, f64, device()), again = y.clone();
      kernels(device()).sum_of_squares(y, x.to(device()));
      double want = 0;
      for (double v : x.to_vector()) want += v * v;
      INFO(name_of(dtype) << ", " << n << " elements");
      CHECK(std::abs(y.item() - want) <= 1e-13 * want);
      for (int64_t begin : {1, 3}) {
        const Tensor all = Tensor::full({n + 5}, NAN, dtype, device()), view = all.view_slice(0, begin, begin + n);
        view.copy_from(x.to(device()));
        kernels(device()).sum_of_squares(again, view);
        CHECK(same_bits(again, y));
      }
    }
  }
}
