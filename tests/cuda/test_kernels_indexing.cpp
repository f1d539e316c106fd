// Rows read and summed by ids on a CUDA device: vectorized 16-byte accesses if the rows are aligned, otherwise one
// element at a time.
#include <cmath>

#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

// [rows, columns] of integers below 100. Each row is followed by `spare` elements in memory, and the first row starts
// after `skip` elements.
Tensor placed(int64_t rows, int64_t columns, DType dtype, int64_t spare, int64_t skip, uint64_t seed) {
  Generator g(seed);
  const Tensor block = Tensor::full({rows * (columns + spare) + skip}, 77, dtype, device());
  const Tensor x = block.view_slice(0, skip, rows * (columns + spare) + skip)
                       .view_reshape({rows, columns + spare})
                       .view_slice(1, 0, columns);
  std::vector<double> values(static_cast<size_t>(rows * columns));
  for (double& value : values) value = static_cast<double>(g.integer(100));
  x.copy_from(Tensor::from(values, {rows, columns}).to(dtype).to(device()));
  return x;
}

// The expected result of reading row id: NaN outside of the table, or 0 for integer dtypes.
std::vector<double> row_of(const Tensor& table, int64_t id) {
  const auto columns = static_cast<size_t>(table.size(1));
  if (id < 0 || id >= table.size(0)) return std::vector<double>(columns, is_floating(table.dtype()) ? NAN : 0);
  const std::vector<double> all = table.to_vector();
  const auto first = all.begin() + id * table.size(1);
  return {first, first + table.size(1)};
}
void check_rows(const Tensor& y, const Tensor& table, const std::vector<int32_t>& ids) {
  const std::vector<double> got = y.to_vector();
  for (size_t r = 0; r < ids.size(); ++r) {
    const std::vector<double> want = row_of(table, ids[r]);
    for (size_t c = 0; c < want.size(); ++c) {
      const double value = got[r * want.size() + c];
      if (value != want[c] && !(std::isnan(value) && std::isnan(want[c]))) FAIL_CHECK("row " << r << ", column " << c);
    }
  }
}

struct Place {
  int64_t columns, spare, skip;
};
// Rows aligned to 16 bytes in every dtype; an odd row length; an odd row stride; an odd start.
constexpr Place kPlaces[] = {{32, 0, 0}, {32, 16, 16}, {33, 0, 0}, {32, 1, 0}, {32, 0, 1}, {1, 0, 0}, {1040, 0, 0}};

}  // namespace

TEST_CASE("CUDA reads rows of any alignment and stride", "[cuda]") {
  const std::vector<int32_t> ids{3, 0, 8, -1, 3, 9, 2000000000};
  const auto n = static_cast<int64_t>(ids.size());
  const Tensor at = Tensor::from(ids, {n}).to(device());
  for (const DType dtype : {f32, f64, bf16, i32, u8}) {
    for (const auto& [columns, spare, skip] : kPlaces) {
      INFO(name_of(dtype) << ", " << columns << " + " << spare << " columns from " << skip << " on");
      const Tensor table = placed(9, columns, dtype, spare, skip, 1);
      for (const bool plain : {true, false}) {  // the result has no gaps, or the same layout as the table
        const Tensor y = placed(n, columns, dtype, plain ? 0 : spare, plain ? 0 : skip, 2), z = y.clone();
        kernels(device()).embedding(y, table, at);
        check_rows(y, table, ids);
        kernels(device()).gather(z, table, at.view_reshape({n, 1}).view_expand({n, columns}), 0);
        check_rows(z, table, ids);
      }
      // Gather along the middle of three dimensions.
      const Tensor y = Tensor::full({3, n, columns}, 5, dtype, device());
      const Tensor x = placed(27, columns, dtype, spare, skip, 3);
      const View& rows = x.view();
      const View cube{rows.data, dtype, {3, 9, columns}, {9 * rows.strides[0], rows.strides[0], 1}};
      kernels(device()).gather(y, cube, at.view_reshape({1, n, 1}).view_expand({3, n, columns}), 1);
      for (int64_t i = 0; i < 3; ++i) check_rows(y.view_select(0, i), x.view_slice(0, 9 * i, 9 * i + 9), ids);
    }
  }
}

TEST_CASE("CUDA adds rows at ids for any alignment and stride", "[cuda][slow]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const auto& [columns, spare, skip] : kPlaces) {
      INFO(name_of(dtype) << ", " << columns << " + " << spare << " columns from " << skip << " on");
      // Runs of equal ids within tiles of 32, across tile borders, and over whole tiles.
      std::vector<int32_t> ids;
      for (int i = 0; i < 150; ++i) ids.push_back(i < 100 ? 1 : i % 7);
      const Tensor at = Tensor::from(ids, {150}), dy = placed(150, columns, dtype, spare, skip, 4);
      for (const bool plain : {true, false}) {
        const Tensor dw = placed(7, columns, sum_type(dtype), plain ? 0 : spare, plain ? 0 : skip, 5);
        const Tensor want = wide(dw).clone();
        plain_kernels().embedding_backward(want, wide(dy), at, 1);
        kernels(device()).embedding_backward(dw, dy, at.to(device()), 1);
        CHECK(relative_error(dw, want) == 0);  // sums of integers are exact in every order
      }
    }
  }
}
