// Copies between all types and layouts, fill and accumulate.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {
constexpr DType kTypes[] = {f32, f64, bf16, i32, u8};
}

TEST_CASE("copies between all types and layouts, from and to any address", "[kernels]") {
  constexpr std::pair<Layout, Layout> layouts[] = {
      {{}, {}}, {{.begin = 3}, {.begin = 3}}, {{.begin = 1}, {.begin = 2}}};
  for (const DType to : kTypes) {
    for (const DType from : kTypes) {
      INFO(name_of(from) << " to " << name_of(to));
      check(f32, kContiguous, kExact, [&](const Side& s) {
        Results results;
        const auto add = [&](const Tensor& x, const Layout& a, const Layout& b) {
          results.push_back(s.out(x.shape(), to, b));
          s.k().copy(results.back(), s.in(x, from, a));
        };
        for (const Shape& shape : {Shape{}, Shape{1, 1}, Shape{0, 4}, Shape{37}, Shape{34, 65}, Shape{3, 33, 70}}) {
          for (const Layout& a : kEveryLayout) {
            for (const Layout& b : kEveryLayout) add(integers(shape, 1, 120), a, b);  // exact in every type
          }
        }
        for (const int64_t n : {1, 16, 35, 1000}) {
          const Tensor x = integers({n}, 1, 33).to(f64) / 2.0 - (is_floating(from) ? 8.0 : 0.0);
          for (const auto& [a, b] : layouts) add(x, a, b);
        }
        return results;
      });
    }
  }
}

TEST_CASE("copy of permuted, repeated and single elements", "[kernels]") {
  check(f32, kContiguous, kExact, [](const Side& s) {
    const Tensor x = s.in(uniform({5, 1, 40}, 1)), y = s.out({40, 7, 5}), one = s.in(Tensor::full({1, 1}, 2.5));
    const Tensor many = s.out({60, 60}, f32, kTransposed);
    s.k().copy(y, x.view_expand({5, 7, 40}).view_transpose(0, 2));
    s.k().copy(many, one.view_expand({60, 60}));
    return Results{y, many};
  });
}

TEST_CASE("conversions round, truncate and clamp", "[kernels]") {
  struct Conversion {
    double value;
    DType from, to;
    double want;
  };
  for (const Device on : {device(), kPlain}) {
    for (const Conversion& c : {Conversion{2.75, f32, i32, 2},
                                {-2.75, f64, i32, -2},
                                {1e12, f32, i32, 2147483647},
                                {-kInf, f32, i32, -2147483648.0},
                                {kNan, f64, i32, 0},
                                {300, f32, u8, 255},
                                {-1, i32, u8, 0},
                                {256, i32, u8, 255},
                                {1.00390625, f32, bf16, 1},  // half way between 1 and 1.0078125: rounds to even
                                {1.01171875, f32, bf16, 1.015625},
                                {kNan, f32, bf16, kNan},
                                {kInf, f64, bf16, kInf},
                                {0.1, f64, f32, static_cast<double>(0.1f)}}) {
      INFO(to_string(on) << ", " << c.value << " from " << name_of(c.from) << " to " << name_of(c.to));
      const Tensor y = Tensor::zeros({1}, c.to, on);
      kernels(on).copy(y, Tensor::full({1}, c.value, f64).to(c.from).to(on));
      CHECK((std::isnan(c.want) ? std::isnan(y.item()) : y.item() == c.want));
    }
  }
}

TEST_CASE("fill and accumulate", "[kernels]") {
  const Shape shape{7, 50};
  for (const Layout& layout : kEveryLayout) {
    check(f32, layout, kExact, [&](const Side& s) {
      Results results;
      for (const DType dtype : kTypes) {
        results.push_back(s.out(shape, dtype, layout));
        s.k().fill(results.back(), 3);
      }
      for (const DType dtype : {f32, f64, bf16}) {
        for (const double beta : {0.0, 1.0, 0.5}) {
          const auto values = [&](const Shape& size, uint64_t seed) { return integers(size, seed, 100); };
          const Tensor y = beta == 0 ? s.out(shape, dtype, layout) : s.in(values(shape, 3), dtype, layout);
          s.k().accumulate(y, s.in(values(shape, 1), dtype, kContiguous), beta);
          results.push_back(y.clone());
          s.k().accumulate(y, s.in(values({1, 50}, 2), dtype, kContiguous).view_expand(shape), 1);
          if (dtype != bf16) results.push_back(y);  // the sum of three is rounded twice
        }
      }
      return results;
    });
  }
}
