// Views of shared memory: slices, transposes, reshapes, repetition.
#include <limits>

#include "autograd/ops.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;

namespace {

using Values = std::vector<double>;

Tensor count_up(const Shape& shape, DType dtype = f32) {
  return Tensor::arange(numel(shape), dtype).view_reshape(shape);
}

// The element of `t` at `index`, by index arithmetic alone.
double at(const Tensor& t, const std::vector<int64_t>& index) {
  int64_t offset = t.offset();
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[static_cast<int>(d)];
  return static_cast<const float*>(t.storage()->data)[offset];
}

}  // namespace

TEST_CASE("views share memory and never copy", "[tensor]") {
  const Tensor x = count_up({4, 6});
  const Tensor views[] = {
      x.view_reshape({2, 12}),  x.view_transpose(0, 1), x.view_permute({1, 0}),   x.view_slice(0, 1, 3),
      x.view_slice(1, 0, 6, 2), x.view_select(1, 3),    x.view_expand({5, 4, 6}), x.detach(),
      reshape(x, {24}),         transpose(x),           slice(x, 0, 1, 3),        select(x, 0, 1),
      expand(x, {5, 4, 6}),     unsqueeze(x, 0),        permute(x, {1, 0})};
  for (const Tensor& view : views) CHECK(view.storage() == x.storage());
  CHECK(x.view_transpose(0, 1).strides() == Strides{1, 6});
  CHECK(x.view_slice(1, 1, 6, 2).strides() == Strides{6, 2});
  CHECK(x.view_slice(1, 1, 6, 2).shape() == Shape{4, 3});
  CHECK(x.view_slice(1, 1, 6, 2).offset() == 1);
  CHECK(x.view_expand({5, 4, 6}).strides() == Strides{0, 6, 1});
  CHECK(x.view_select(0, 2).offset() == 12);
  x.view_transpose(0, 1).view_select(0, 5).fill(-1);  // column 5
  CHECK(x.to_vector()[5] == -1);
  CHECK(x.to_vector()[23] == -1);
  // This also holds for a leaf: a view of a parameter shares its memory.
  const Tensor leaf = count_up({2, 3}).set_requires_grad();
  CHECK(reshape(leaf, {6}).storage() == leaf.storage());
}

TEST_CASE("views follow index arithmetic", "[tensor]") {
  const Tensor x = count_up({3, 4, 5});
  const Tensor t = x.view_transpose(0, -1), p = x.view_permute({2, 0, 1}), s = x.view_slice(1, 1, 4, 2);
  const Tensor r = x.view_reshape({6, -1}), c = x.view_select(-2, -1), e = x.view_slice(0, 1, 2).view_expand({3, 4, 5});
  REQUIRE(t.shape() == Shape{5, 4, 3});
  REQUIRE(p.shape() == Shape{5, 3, 4});
  REQUIRE(s.shape() == Shape{3, 2, 5});
  REQUIRE(r.shape() == Shape{6, 10});
  REQUIRE(c.shape() == Shape{3, 5});
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      for (int64_t k = 0; k < 5; ++k) {
        const double value = static_cast<double>(20 * i + 5 * j + k);
        REQUIRE(at(x, {i, j, k}) == value);
        REQUIRE(at(t, {k, j, i}) == value);
        REQUIRE(at(p, {k, i, j}) == value);
        const int64_t flat = 20 * i + 5 * j + k;
        REQUIRE(at(r, {flat / 10, flat % 10}) == value);
        if (j % 2 == 1) REQUIRE(at(s, {i, j / 2, k}) == value);
        if (j == 3) REQUIRE(at(c, {i, k}) == value);
        REQUIRE(at(e, {i, j, k}) == static_cast<double>(20 + 5 * j + k));
      }
    }
  }
  CHECK(t.to_vector() == t.clone().to_vector());
  CHECK(t.clone().contiguous());
  CHECK(t.contiguous_copy().storage() != x.storage());
  CHECK(x.contiguous_copy().storage() == x.storage());
}

TEST_CASE("slices follow Python's rules", "[tensor]") {
  const Tensor x = Tensor::arange(7);
  CHECK(x.view_slice(0, -3, -1).to_vector() == Values{4, 5});
  CHECK(x.view_slice(0, -100, 2).to_vector() == Values{0, 1});
  CHECK(x.view_slice(0, 5, 100).to_vector() == Values{5, 6});
  CHECK(x.view_slice(0, 4, 2).numel() == 0);
  CHECK(x.view_slice(0, 1, 7, 3).to_vector() == Values{1, 4});
  CHECK(x.view_slice(0, 0, 7, 100).to_vector() == Values{0});
  CHECK(x.view_slice(0, 1, 7, 2).view_slice(0, 1, 3).to_vector() == Values{3, 5});
  CHECK(contains(error_of([&] { x.view_slice(0, 0, 7, 0); }), "step must be at least 1"));
  CHECK(contains(error_of([&] { x.view_slice(1, 0, 7); }), "dim 1 is out of range for 1 dimensions"));
}

TEST_CASE("reshape copies only where the strides require it", "[tensor]") {
  const Tensor x = count_up({4, 6});
  const Tensor t = x.view_transpose(0, 1);
  CHECK(!t.can_view_reshape({24}));
  CHECK(t.can_view_reshape({2, 3, 4}));  // splitting a dim is always possible
  CHECK(t.can_view_reshape({6, 1, 4, 1}));
  CHECK(t.view_reshape({2, 3, 4}).to_vector() == t.to_vector());
  CHECK(reshape(t, {24}).to_vector() == t.to_vector());
  CHECK(reshape(t, {24}).storage() != x.storage());
  const Tensor rows = x.view_slice(0, 0, 4, 2);  // [2, 6], row stride 12
  CHECK(!rows.can_view_reshape({12}));
  CHECK(rows.can_view_reshape({2, 2, 3}));
  CHECK(rows.view_reshape({2, 2, 3}).to_vector() == rows.to_vector());
  const Tensor block = x.view_slice(0, 1, 3);  // whole rows are contiguous
  CHECK(block.can_view_reshape({12}));
  CHECK(block.view_reshape({3, 4}).to_vector() == block.to_vector());
  const Tensor expanded = x.view_slice(0, 0, 1).view_expand({3, 6});
  CHECK(!expanded.can_view_reshape({18}));
  CHECK(expanded.can_view_reshape({3, 2, 3}));
  CHECK(expanded.can_view_reshape({3, 1, 6}));
  CHECK(expanded.view_reshape({3, 2, 3}).to_vector() == expanded.to_vector());
  CHECK(Tensor::empty({0, 3}).view_reshape({5, 0}).shape() == Shape{5, 0});
  CHECK(Tensor::scalar(2).view_reshape({1, 1}).item() == 2);
  CHECK(contains(error_of([&] { t.view_reshape({24}); }), "use contiguous() first"));
  CHECK(contains(error_of([&] { x.view_reshape({5, 5}); }), "24 elements"));
  CHECK(contains(error_of([&] { x.view_reshape({-1, -1}); }), "more than one -1"));
  CHECK(contains(error_of([&] { Tensor::empty({0, 3}).view_reshape({0, -1}); }), "does not fit"));
}

TEST_CASE("expand repeats only sizes of 1", "[tensor]") {
  const Tensor row = count_up({1, 3});
  CHECK(row.view_expand({2, -1}).to_vector() == Values{0, 1, 2, 0, 1, 2});
  CHECK(row.view_expand({0, 3}).numel() == 0);
  CHECK(contains(error_of([&] { row.view_expand({2, 4}); }), "3 vs 4"));
  CHECK(contains(error_of([&] { row.view_expand({3}); }), "fewer dimensions"));
  CHECK(contains(error_of([&] { row.view_expand({-1, 1, 3}); }), "-1 for a new dimension"));
}

TEST_CASE("an empty slice of a transposed matrix can be copied", "[tensor]") {
  for (DType dtype : {f32, f64, bf16, i32}) {
    const Tensor x = Tensor::ones({8, 8}, dtype).view_transpose(0, 1);
    const Tensor none = x.view_slice(0, 0, 0), block = Tensor::ones({3, 5, 4}, dtype).view_permute({2, 0, 1});
    CHECK(none.clone().shape() == Shape{0, 8});
    CHECK(none.to(dtype == f64 ? f32 : f64).numel() == 0);
    CHECK(none.to_vector().empty());
    CHECK(x.view_slice(1, 8, 8).clone().shape() == Shape{8, 0});
    for (int d : {0, 1, 2}) CHECK(block.view_slice(d, 1, 1).clone().numel() == 0);
    x.view_slice(0, 0, 0).copy_from(Tensor::zeros({0, 8}, dtype));
    CHECK(x.clone().to_vector() == std::vector<double>(64, 1.0));
    const Tensor padded = Tensor::ones({0, 3, 16}, dtype).view_slice(2, 0, 12);  // rows with gaps between them
    CHECK(padded.contiguous());
    CHECK(padded.view_reshape({0, 12}).shape() == Shape{0, 12});
  }
}

TEST_CASE("a step far beyond the size takes the first element", "[tensor]") {
  const Tensor x = count_up({3, 4});
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (int64_t step : {int64_t{4}, int64_t{5}, most - 1, most}) {
    CHECK(x.view_slice(1, 1, 4, step).to_vector() == Values{1, 5, 9});
    CHECK(x.view_slice(0, 2, most, step).to_vector() == Values{8, 9, 10, 11});
    CHECK(x.view_slice(1, 4, 4, step).shape() == Shape{3, 0});
  }
}

TEST_CASE("a copy of a transposed view has its elements, in whole blocks of registers or not", "[tensor]") {
  for (const DType dtype : {f32, f64, bf16, i32, u8}) {
    for (const Shape& shape : {Shape{16, 16}, Shape{32, 64}, Shape{96, 40}, Shape{33, 70}, Shape{64, 65}, Shape{1, 7},
                               Shape{3, 48, 32}, Shape{2, 31, 16}}) {
      INFO(fmt::format("{} {}", name_of(dtype), shape));
      const int64_t rows = shape[shape.rank() - 2], columns = shape.back(), n = numel(shape);
      Values values(static_cast<size_t>(n)), expected;
      for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<double>(i * 37 % 251);
      for (int64_t plane = 0; plane < n; plane += rows * columns) {
        for (int64_t j = 0; j < columns; ++j) {
          for (int64_t i = 0; i < rows; ++i) expected.push_back(values[static_cast<size_t>(plane + i * columns + j)]);
        }
      }
      const Tensor transposed = Tensor::from(values, shape).to(dtype).view_transpose(-2, -1);
      CHECK(transposed.clone().to_vector() == expected);
      CHECK(transposed.to(f64).to_vector() == expected);
    }
  }
}
