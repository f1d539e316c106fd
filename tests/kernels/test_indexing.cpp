// Reading and adding at indices. Sums of small integers are exact in every order.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr DType kFloats[] = {f32, f64, bf16};

// [rows, columns] of integers below 100.
Tensor numbers(const Shape& shape, uint64_t seed) { return integers(shape, seed, 100).to(f64); }
// Memory for a sum: NaN if beta is 0.
Tensor sums(const Side& s, const Shape& shape, uint64_t seed, double beta, const Layout& layout) {
  const DType t = sum_type(s.dtype);
  return beta == 0 ? s.out(shape, t, layout) : s.in(numbers(shape, seed), t, layout);
}

struct Place {
  int64_t columns;
  Layout layout;
};
// Rows aligned to 16 bytes in every dtype; an odd row length; an odd row stride; an odd start.
constexpr Place kPlaces[] = {
    {32, {}}, {32, {.begin = 16, .spare = 16}}, {33, {}}, {32, {.spare = 1}}, {32, {.begin = 1}}, {1, {}}, {1040, {}}};

}  // namespace

TEST_CASE("gather reads and scatter_add adds at indices along any dimension", "[kernels]") {
  const Shape table{4, 9, 21};
  for (const int dim : {0, 1, 2}) {
    for (const int64_t count : {0, 1, 13}) {
      Shape shape = table;
      shape[dim] = count;
      for (const Layout& layout : kEveryLayout) {
        INFO("dim " << dim << ", " << count);
        const Tensor ids = integers(shape, 5, table[dim]);
        check(f32, layout, kExact, [&](const Side& s) {
          const Tensor index = s.in(ids, layout);
          Results results;
          for (const DType dtype : {f32, f64, bf16, i32, u8}) {
            results.push_back(s.out(shape, dtype, kPadded));
            s.k().gather(results.back(), s.in(numbers(table, 1), dtype, layout), index, dim);
          }
          return results;
        });
        for (const DType dtype : kFloats) {
          check(dtype, layout, kExact, [&](const Side& s) {
            const Tensor y = sums(s, table, 3, 1, layout);
            s.k().scatter_add(y, s.in(ids, layout), s.in(numbers(shape, 2), dtype, kContiguous), dim);
            return Results{y};
          });
        }
      }
    }
  }
}

TEST_CASE("gather and scatter_add by rows, with a repeated index, and by elements", "[kernels]") {
  for (const DType dtype : kFloats) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{9, 40}, {500, 12}}) {
      check(dtype, kContiguous, kExact, [&, r = rows, c = columns](const Side& s) {
        Results results;
        const Tensor ids = s.in(integers({r, 1}, 2, 6)).view_expand({r, c}), each = s.in(integers({r, c}, 17, 6));
        const Tensor table = s.in(numbers({6, c}, 1)), x = s.in(numbers({r, c}, 4));
        for (const Tensor& index : {ids, each}) {
          results.push_back(s.out({r, c}));
          s.k().gather(results.back(), table, index, 0);
          results.push_back(sums(s, {6, c}, 18, 1, kContiguous));
          s.k().scatter_add(results.back(), index, x, 0);
        }
        return results;
      });
    }
  }
}

TEST_CASE("rows of any alignment and stride are read at ids", "[kernels]") {
  const std::vector<int32_t> given{3, 0, 8, 1, 3, 7, 2};
  const auto n = static_cast<int64_t>(given.size());
  for (const DType dtype : {f32, f64, bf16, i32, u8}) {
    for (const auto& [columns, layout] : kPlaces) {
      INFO(name_of(dtype) << ", " << columns << " columns");
      check(f32, layout, kExact, [&, c = columns, place = layout](const Side& s) {
        const Tensor ids = s.in(Tensor::from(given, {n})), table = s.in(numbers({9, c}, 1), dtype, place);
        Results results;
        for (const Layout& to : {kContiguous, place}) {  // the result has no gaps, or the same layout as the table
          const Tensor y = s.out({n, c}, dtype, to), z = s.out({n, c}, dtype, to);
          s.k().embedding(y, table, ids);
          s.k().gather(z, table, ids.view_reshape({n, 1}).view_expand({n, c}), 0);
          results.insert(results.end(), {y, z});
        }
        // Gather along the middle of three dimensions.
        const Tensor y = s.out({3, n, c}, dtype, kContiguous), rows = s.in(numbers({27, c}, 3), dtype, place);
        const Tensor cube = Tensor::view_of(rows.storage(), rows.offset(), {3, 9, c},
                                            {9 * rows.strides()[0], rows.strides()[0], 1}, rows.dtype());
        s.k().gather(y, cube, ids.view_reshape({1, n, 1}).view_expand({3, n, c}), 1);
        results.push_back(y);
        return results;
      });
    }
  }
}

TEST_CASE("rows of any alignment and stride are added at ids", "[kernels][slow]") {
  // Runs of equal ids within tiles of 32, across tile borders, and over whole tiles.
  std::vector<int32_t> given;
  for (int i = 0; i < 150; ++i) given.push_back(i < 100 ? 1 : i % 7);
  for (const DType dtype : kFloats) {
    for (const auto& [columns, layout] : kPlaces) {
      INFO(columns << " columns");
      check(dtype, layout, kExact, [&, c = columns, place = layout](const Side& s) {
        const Tensor ids = s.in(Tensor::from(given, {150})), dy = s.in(numbers({150, c}, 4));
        Results results;
        for (const Layout& to : {kContiguous, place}) {
          results.push_back(sums(s, {7, c}, 5, 1, to));
          s.k().embedding_backward(results.back(), dy, ids, 1);
        }
        return results;
      });
    }
  }
}

TEST_CASE("embedding and its gradient with ids of every frequency", "[kernels][slow]") {
  struct Case {
    int64_t rows, vocabulary, width, different;
  };
  // A single id; a few ids; many ids; a vocabulary that needs three radix digits; more columns than a block; no rows;
  // the last row is never used.
  for (const Case& c : {Case{1000, 5, 3, 1},
                        {1000, 11, 70, 4},
                        {3000, 3000, 5, 2900},
                        {700, 70000, 2, 70000},
                        {100, 9, 300, 9},
                        {32, 9, 4, 1},
                        {33, 9, 4, 2},
                        {0, 9, 4, 9},
                        {500, 11, 70, 10}}) {
    const Tensor ids = integers({c.rows}, 10, c.different);
    for (const DType dtype : kFloats) {
      INFO(c.rows << " ids of " << c.vocabulary << ", width " << c.width);
      check(dtype, kContiguous, kExact, [&](const Side& s) {
        const Tensor at = s.in(ids), y = s.out({c.rows, c.width}, dtype, kPadded);
        s.k().embedding(y, s.in(uniform({c.vocabulary, c.width}, 1)), at);
        Results results{y};
        for (const double beta : {0.0, 1.0, 0.5}) {
          results.push_back(sums(s, {c.vocabulary, c.width}, 12, beta, kContiguous));
          s.k().embedding_backward(results.back(), s.in(numbers({c.rows, c.width}, 11)), at, beta);
        }
        return results;
      });
    }
  }
}
