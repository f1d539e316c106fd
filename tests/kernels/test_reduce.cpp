// Reductions: over every set of dimensions, over long rows and columns, for rows that begin anywhere.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr DType kFloats[] = {f32, f64, bf16};

// `shape` with size 1 at the dimensions in `mask`.
Shape reduced(const Shape& shape, unsigned mask) {
  Shape out;
  for (int d = 0; d < shape.rank(); ++d) out.push_back(mask >> d & 1 ? 1 : shape[d]);
  return out;
}
// The smallest Σ |x|/divisor of any result: what the errors of a sum are proportional to.
double least_size(const Tensor& x, const Shape& to, double divisor) {
  const Tensor sizes = Tensor::zeros(to, f64);
  plain_kernels().reduce(Reduce::sum, sizes, abs(x.to(f64)), divisor, 0);
  const std::vector<double> v = sizes.to_vector();
  return v.empty() ? 0 : *std::min_element(v.begin(), v.end());
}
// Multiples of 1/16 in [-2, 2]: sums of thousands of them are exact.
Tensor sixteenths(const Shape& shape, uint64_t seed) { return integers(shape, seed, 65).to(f64) / 16.0 - 2.0; }

}  // namespace

TEST_CASE("sum and max over every set of dimensions in every layout", "[kernels][reduce]") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{37}, Shape{5, 67}, Shape{1, 40}, Shape{3, 17, 35},
                             Shape{2, 3, 1, 50}, Shape{0, 5}, Shape{5, 0}, Shape{300, 3}, Shape{4, 5000}}) {
    for (unsigned mask = 0; mask < 1u << shape.rank(); ++mask) {
      const Shape to = reduced(shape, mask);
      const Tensor x = uniform(shape, 3, -1, 2);
      INFO(fmt::format("{} to {}", shape, to));
      for (const DType dtype : kFloats) {
        for (const Layout& layout : kEveryLayout) {
          Bound bound = roundings(40, 0.1 + least_size(x, to, 4));  // up to 300 additions in sequence
          const DType sum = sum_type(dtype);
          check(dtype, layout, bound, [&](const Side& s) {
            const Tensor from = s.in(x, layout);
            Results results;
            for (const double beta : {0.0, 1.0, 0.5}) {
              for (const double divisor : {1.0, 4.0, 3.0}) {
                results.push_back(s.result(to, beta, sum, layout.spare ? kStepped : kContiguous));
                s.k().reduce(Reduce::sum, results.back(), from, divisor, beta);
              }
            }
            return results;
          });
          check(dtype, layout, kExact, [&](const Side& s) {
            const Tensor y = s.out(to, dtype, kContiguous);
            s.k().reduce(Reduce::max, y, s.in(x, layout), 1, 0);
            return Results{y};
          });
        }
      }
    }
  }
}

TEST_CASE("reductions that CUDA splits over many blocks", "[kernels][reduce]") {
  const auto both = [](DType dtype, const Bound& bound, const Shape& shape, unsigned mask, bool turned = false) {
    INFO(fmt::format("{}, mask {}", shape, mask));
    const Tensor x = random(shape, f64, 1);
    const auto from = [&](const Side& s) { return turned ? s.in(x).view_transpose(0, 2) : s.in(x); };
    const auto run = [&](const Side& s, Reduce op) {
      const Tensor in = from(s), y = s.out(reduced(in.shape(), mask), sum_type(dtype), kContiguous);
      s.k().reduce(op, y, in, 3, 0);
      const Tensor again = s.out(y.shape(), sum_type(dtype), kContiguous);
      s.k().reduce(op, again, in, 3, 0);
      CHECK(same_bits(again, y));
      return Results{y};
    };
    check(dtype, kContiguous, bound, [&](const Side& s) { return run(s, Reduce::sum); });
    check(dtype, kContiguous, kExact, [&](const Side& s) { return run(s, Reduce::max); });
  };
  both(f32, {kAny, 0, {0, 1e-4, 0}}, {1, 1500000}, 2);  // positive and negative terms cancel
  for (const DType dtype : kFloats) {
    both(dtype, kSums, {6000, 40}, 1);  // long columns
    both(dtype, kSums, {3, 80000}, 2);  // long rows
    both(dtype, kSums, {40, 3, 2000}, 5);
    both(dtype, kSums, {30000, 8}, 2);  // one thread per row
    both(dtype, kSums, {6, 40, 1000}, 1, true);
  }
}

TEST_CASE("sums of repeated elements, and sums that add to their result", "[kernels][reduce]") {
  for (const DType dtype : kFloats) {
    check(dtype, kContiguous, kExact, [&](const Side& s) {
      const DType sum = sum_type(dtype);
      const Tensor wide = s.in(sixteenths({6, 1}, 1)).view_expand({6, 50}), rows = s.out({6, 1}, sum, kContiguous);
      const Tensor columns = s.out({1, 50}, sum, kContiguous), all = s.out({1, 1}, sum, kContiguous);
      s.k().reduce(Reduce::sum, rows, wide, 1, 0);
      s.k().reduce(Reduce::sum, columns, wide, 1, 0);
      s.k().reduce(Reduce::sum, all, columns, 1, 0);
      const Tensor split = s.in(integers({1, 33}, 3, 10), sum, kContiguous);
      s.k().reduce(Reduce::sum, split, s.in(integers({5000, 33}, 2, 10).to(dtype)), 2, 3);
      return Results{rows, columns, all, split};
    });
  }
}

TEST_CASE("max is NaN wherever the NaN is, and -inf over no terms", "[kernels][reduce]") {
  for (const DType dtype : kFloats) {
    for (int64_t at = 0; at < 70; ++at) {
      check(dtype, kContiguous, kExact, [&](const Side& s) {
        const Tensor x = uniform({70, 1}, 1);
        x.view_slice(0, at, at + 1).fill(kNan);
        const Tensor in = s.in(x), y = s.out({1, 1}), each = s.out({1, 70}), row = in.view_transpose(0, 1);
        s.k().reduce(Reduce::max, y, in, 1, 0);
        s.k().reduce(Reduce::max, each, row.view_expand({3, 70}), 1, 0);
        return Results{y, each};
      });
    }
    for (const int64_t columns : {5, 100, 70000}) {
      const Tensor x = Tensor::full({4, columns}, -kInf);
      x.view_slice(0, 1, 2).fill(2);
      x.view_slice(0, 1, 2).view_slice(1, columns - 2, columns - 1).fill(kNan);
      x.view_slice(0, 2, 3).view_slice(1, 0, 1).fill(kInf);
      x.view_slice(0, 3, 4).view_slice(1, columns - 1, columns).fill(-7);
      check(dtype, kContiguous, kExact, [&](const Side& s) {
        const Tensor in = s.in(x), y = s.out({4, 1}), z = s.out({1, 4});
        s.k().reduce(Reduce::max, y, in, 1, 0);
        s.k().reduce(Reduce::max, z, in.view_transpose(0, 1).contiguous_copy(), 1, 0);
        return Results{y, z};
      });
    }
    const Results r = check(dtype, kContiguous, kExact, [&](const Side& s) {
      const Tensor none = s.in(Tensor::empty({3, 0})), y = s.out({3, 1}), z = s.out({3, 1});
      s.k().reduce(Reduce::max, y, none, 1, 0);
      s.k().reduce(Reduce::sum, z, none, 1, 0);
      return Results{y, z};
    });
    CHECK((all_equal(r[0], -kInf) && all_equal(r[1], 0)));
  }
}

TEST_CASE("long f32 sums stay accurate", "[kernels][reduce]") {
  const int64_t n = 3000001, rows = 200000;
  const double each = static_cast<double>(0.1f);  // sequential additions would lose the third digit
  const Tensor y = Tensor::full({1}, kNan, f32, device()), column = Tensor::full({1, 5}, kNan, f32, device());
  kernels(device()).reduce(Reduce::sum, y, Tensor::full({n}, 0.1, f32, device()), 1, 0);
  // In a block of the CPU, a lane rounds 16 times and the reduction across lanes 6 times. The rest is in double.
  CHECK(std::abs(y.item() - n * each) <= (device() == Device{} ? 22 : 88) * kUnit32 * n * each);
  kernels(device()).reduce(Reduce::sum, column, Tensor::full({rows, 5}, 0.1, f32, device()), 1, 0);
  CHECK(std::abs(column.to_vector()[2] / (rows * each) - 1) < 1e-4);
}

TEST_CASE("cumulative sums run both ways along any dimension", "[kernels][reduce]") {
  for (const Shape& shape : {Shape{1}, Shape{40}, Shape{7, 90}, Shape{3, 5, 70}, Shape{4, 0, 3}, Shape{50000},
                             Shape{3, 700}, Shape{700, 3}, Shape{2, 300, 5}, Shape{5000, 40}, Shape{2, 3}}) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      INFO(fmt::format("{} along {}", shape, dim));
      for (const DType dtype : kFloats) {
        for (const Layout& layout : kEveryLayout) {
          if (numel(shape) > 10000 && (dtype != f32 || &layout != kEveryLayout)) continue;
          check(dtype, layout, kExact, [&](const Side& s) {
            const Tensor x = s.in(sixteenths(shape, 1), layout);
            Results results;
            for (const bool reverse : {false, true}) {
              for (const double beta : {0.0, 1.0}) {
                const DType t = sum_type(dtype);
                results.push_back(beta == 0 ? s.out(shape, t, kPadded) : s.in(sixteenths(shape, 2), t, kPadded));
                s.k().cumsum(results.back(), x, dim, reverse, beta);
              }
            }
            return results;
          });
        }
      }
    }
  }
}

TEST_CASE("argmax returns the first of equal maxima, and a NaN before any number", "[kernels][reduce]") {
  for (const DType dtype : kFloats) {
    for (const int64_t columns : {1, 5, 64, 333, 3001}) {
      const Tensor x = integers({40, columns}, 1, 6).to(f32);
      if (columns > 4) x.view_slice(0, 7, 8).view_slice(1, 3, 5).fill(kNan);
      x.view_slice(0, 8, 9).fill(-kInf);
      const Results r = check(dtype, kPadded, kExact, [&](const Side& s) {
        const Tensor index = s.out({40}, i32, kContiguous);
        s.k().argmax(index, s.in(x));
        return Results{index};
      });
      CHECK(r[0].to_vector()[8] == 0);
      if (columns > 4) CHECK(r[0].to_vector()[7] == 3);
    }
  }
}

TEST_CASE("sums of squares are in double and the same wherever the elements lie", "[kernels][reduce]") {
  constexpr Bound kSquares{kAny, 0, {1e-13, 0, 0}};
  for (const DType dtype : kFloats) {
    for (const int64_t n : {0, 1, 7, 8, 9, 15, 255, 4095, 4096, 4097, 20000, 40000, 60001, 100003, 1200000}) {
      INFO(n << " elements");
      const auto squares = [&](const Side& s, const Tensor& x) {
        Results results;
        for (const int64_t begin : {0, 1, 3}) {
          results.push_back(s.out({1}, f64, kContiguous));
          s.k().sum_of_squares(results.back(), s.in(x, {.begin = begin}));
          CHECK(same_bits(results.back(), results.front()));
        }
        return results;
      };
      check(dtype, kContiguous, kExact, [&](const Side& s) { return squares(s, sixteenths({n}, 5)); });
      if (n > 200000) continue;  // where the plain backend's own sum has an error of that size
      check(dtype, kContiguous, kSquares, [&](const Side& s) { return squares(s, random({n}, f64, 5)); });
    }
  }
  const Tensor y = Tensor::full({1}, kNan, f64, device());
  kernels(device()).sum_of_squares(y, Tensor::full({3}, 1e25, f32, device()));  // the squares overflow f32
  CHECK(std::abs(y.item() / 3e50 - 1) < 1e-6);
}

namespace {

struct Types {
  DType x, y;
};
constexpr Types kTypes[] = {{bf16, f32}, {bf16, bf16}, {f32, f32}, {f64, f64}};
// Integers in [-8, 8].
Tensor centred(const Shape& shape, uint64_t seed) { return integers(shape, seed, 17).to(f64) - 8.0; }

}  // namespace

TEST_CASE("sums over rows are exact for integers and every number of rows and columns", "[kernels][reduce]") {
  for (const Types& types : kTypes) {
    // Beside these counts of columns CUDA's kernels change: 8 and 32 chunks of 16 bytes.
    const int64_t chunk = 16 / static_cast<int64_t>(size_of(types.x));
    for (const int64_t columns :
         {8 * chunk - 1, 8 * chunk, 8 * chunk + 1, 32 * chunk - 1, 32 * chunk, 33 * chunk + 1}) {
      for (const int64_t rows : {1, 8, 9, 31, 33, 64, 129, 1030}) {
        INFO(rows << " x " << columns << " to " << name_of(types.y));
        check(types.x, kContiguous, kExact, [&](const Side& s) {
          const Tensor x = s.in(centred({rows, columns}, 1));
          Results results;
          for (const double beta : {0.0, 1.0}) {
            results.push_back(s.in(centred({1, columns}, 2), types.y, kContiguous));
            s.k().reduce(Reduce::sum, results.back(), x, 2, beta);
          }
          return results;
        });
      }
    }
  }
}

TEST_CASE("sums over rows have the same bits wherever the rows lie", "[kernels][reduce]") {
  for (const Types& types : kTypes) {
    for (const int64_t columns : {33, 64, 264}) {
      for (const int64_t rows : {20, 700}) {
        INFO(rows << " x " << columns << " to " << name_of(types.y));
        check(types.x, kContiguous, {kAny, 0, {1e-13, 1e-5, 1e-2}}, [&](const Side& s) {
          Results results;
          for (const Layout& place : {Layout{},
                                      {.spare = 8},
                                      {.begin = 1},
                                      {.begin = 8, .spare = 3},
                                      {.begin = 3, .spare = 5},
                                      {.spare = 1}}) {
            results.push_back(s.out({1, columns}, types.y, kContiguous));
            s.k().reduce(Reduce::sum, results.back(), s.in(random({rows, columns}, f64, 3), place), 1, 0);
            CHECK(same_bits(results.back(), results.front()));
          }
          return results;
        });
      }
    }
  }
}

TEST_CASE("sums over rows of any stride keep NaN and infinity in their columns", "[kernels][reduce]") {
  for (const DType dtype : kFloats) {
    check(dtype, kContiguous, kExact, [&](const Side& s) {
      const Tensor x = centred({200, 300}, 5), sums = s.out({1, 300}, sum_type(dtype), kContiguous);
      x.view_slice(0, 150, 151).view_slice(1, 17, 18).fill(kNan);
      x.view_slice(0, 3, 4).view_slice(1, 299, 300).fill(-kInf);
      s.k().reduce(Reduce::sum, sums, s.in(x), 1, 0);
      // As the gradient of a bias: sums of the rows of xᵀ, into one column of three.
      const Tensor all = s.in(Tensor::full({96, 3}, 7), sum_type(dtype), kContiguous);
      s.k().reduce(Reduce::sum, all.view_slice(1, 1, 2), s.in(centred({300, 96}, 4)).view_transpose(0, 1), 1, 0);
      return Results{sums, all};
    });
  }
}
