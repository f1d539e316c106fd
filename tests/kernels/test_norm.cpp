// Norms and rotary positions: rows of every length and at any address, many rows, rows far from zero.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr DType kFloats[] = {f32, f64, bf16};
constexpr double kEps = 1e-5;

struct NormOptions {
  bool rms = false, residual = false, weight = true, bias = true;
  double beta = 0;
};
// x + residual as the devices store it: what a norm with a residual normalises.
Tensor stored_sum(const Side& s, const Tensor& x, const Tensor& residual) {
  return s.in(x.to(Device{}).to(f64) + residual.to(Device{}).to(f64));
}
// The results of a norm and of its backward kernel.
Results norms(const Side& s, const Tensor& rows, const NormOptions& o) {
  const Shape shape = rows.shape(), columns{rows.size(1)}, each{rows.size(0)};
  Tensor x = s.in(rows), residual = o.residual ? s.in(uniform(shape, 2)) : Tensor{};
  const Tensor w = o.weight ? s.in(uniform(columns, 3)) : Tensor{};
  const Tensor b = o.bias && !o.rms ? s.in(uniform(columns, 4)) : Tensor{};
  const Tensor y = s.out(shape), mean = s.per_row(each), rstd = s.per_row(each);
  Tensor sum = o.residual ? s.out(shape) : Tensor{};
  if (o.residual && s.plain()) x = sum = stored_sum(s, x, residual), residual = {};
  if (o.rms) {
    s.k().rms_norm(y, rstd, residual.defined() ? sum : Tensor{}, x, residual, w, kEps);
  } else {
    s.k().layer_norm(y, mean, rstd, residual.defined() ? sum : Tensor{}, x, residual, w, b, kEps);
  }
  Results results{y, rstd};
  const Tensor from = o.residual ? sum : x, dy = s.in(uniform(shape, 5)), dx = s.result(shape, o.beta);
  const auto column_gradient = [&](bool wanted) {
    if (wanted) results.push_back(s.per_row(o.beta == 0 ? Tensor::full(columns, kNan) : uniform(columns, 7)));
    return wanted ? results.back() : Tensor{};
  };
  const Tensor dw = column_gradient(o.weight), db = column_gradient(b.defined());
  if (o.rms) {
    s.k().rms_norm_backward(dx, dw, dy, from, w, rstd, o.beta, o.beta);
  } else {
    s.k().layer_norm_backward(dx, dw, db, dy, from, w, mean, rstd, o.beta, o.beta, o.beta);
  }
  results.push_back(dx);
  if (o.residual) results.push_back(sum);
  return results;
}
void check_norm(DType dtype, const Layout& layout, const Tensor& x, const NormOptions& o, const Bound& bound = kNorms) {
  INFO(fmt::format("{}{}{}{}{}, beta {}", x.shape(), o.rms ? ", rms" : "", o.residual ? ", residual" : "",
                   o.weight ? ", weight" : "", o.bias ? ", bias" : "", o.beta));
  check(dtype, layout, bound, [&](const Side& s) { return norms(s, x, o); });
}

}  // namespace

TEST_CASE("norms with every option", "[kernels][norm]") {
  for (const DType dtype : kFloats) {
    for (const int64_t c : {1, 5, 16, 40}) {
      const Tensor x = c == 1 ? uniform({9, c}, 1, 1e-3, 2e-3) : uniform({9, c}, 1);
      for (unsigned options = 0; options < 16; ++options) {
        const bool rms = options & 8, residual = options & 1;
        if (rms && (options & 4)) continue;       // RMS norm has no bias
        if (c == 1 && rms && residual) continue;  // a gradient that is rounding error
        for (const double beta : {0.0, 1.0}) {
          check_norm(dtype, kPadded, x, {rms, residual, bool(options & 2), bool(options & 4), beta});
        }
      }
    }
  }
}

TEST_CASE("norms of every width and at any address", "[kernels][norm][slow]") {
  for (const DType dtype : kFloats) {
    for (const int64_t c : {1, 5, 8, 32, 257, 768, 1024, 1031, 5000}) {
      // With a single column, RMS norm has a gradient only because of eps.
      const Tensor x = c == 1 ? uniform({3, c}, 1, 1e-3, 2e-3) : uniform({3, c}, 1);
      for (const Layout& layout : kRows) {
        for (const NormOptions& o : {NormOptions{},
                                     {.residual = true, .beta = 0.5},
                                     {.weight = false, .bias = false, .beta = 0.5},
                                     {.rms = true, .beta = 0.5},
                                     {.rms = true, .residual = c > 1},
                                     {.rms = true, .weight = false}}) {
          check_norm(dtype, layout, x, o);
        }
      }
    }
  }
}

TEST_CASE("gradients of norm weights over many rows", "[kernels][norm][slow]") {
  for (const DType dtype : kFloats) {
    for (const int64_t rows : {0, 63, 64, 65, 3000, 8200}) {
      const int64_t c = rows > 3000 ? 5 : rows == 3000 ? 37 : 300;
      const Tensor x = uniform({rows, c}, 1);
      const Bound bound = rows < 1000 ? kNorms : Bound{kAny};  // the CPU adds the rows one after another
      check_norm(dtype, kContiguous, x, {.beta = rows == 64 || rows == 0 ? 1.0 : 0}, bound);
      check_norm(dtype, kContiguous, x, {.rms = true, .beta = 1}, bound);
    }
  }
}

TEST_CASE("norm gradients of rows too long for the registers of a CUDA block", "[kernels][norm]") {
  for (const DType dtype : kFloats) {
    for (const int64_t c : {6145, 8193, 16390}) check_norm(dtype, kOdd, uniform({2, c}, 1), {.beta = 0.5});
  }
}

TEST_CASE("norms of rows far from zero keep their precision", "[kernels][norm]") {
  const Tensor x = uniform({2, 1000}, 1, 1000, 1001);
  check_norm(f64, kContiguous, x, {});
  // f32 has 24 bits of precision, of which the mean takes 10.
  const double allowed = kUnit32 * 1000 / std::sqrt(1.0 / 12);
  check(f32, kContiguous, {kAny, 0, {0, allowed, 0}}, [&](const Side& s) { return Results{norms(s, x, {})[0]}; });
  std::vector<double> steps(768);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = 10000 + static_cast<double>(i % 2);
  check(f32, kContiguous, {{0, 1e-4, 0}, 0, kAny}, [&](const Side& s) {
    const Tensor y = s.out({1, 768}), mean = s.per_row(Shape{1}), rstd = s.per_row(Shape{1});
    s.k().layer_norm(y, mean, rstd, {}, s.in(Tensor::from(steps, {1, 768})), {}, {}, {}, kEps);
    CHECK(mean.item() == 10000.5);
    return Results{y};
  });
}

TEST_CASE("each gradient of a norm has the same bits if computed alone", "[kernels][norm]") {
  for (const DType dtype : {f32, f64}) {
    for (const int64_t c : {5, 16, 40, 1500, 8200}) {
      const Side s(device(), dtype, kContiguous);
      const Shape shape{70, c}, columns{c};
      const Tensor x = s.in(uniform(shape, 1)), dy = s.in(uniform(shape, 2)), w = s.in(uniform(columns, 3));
      const Tensor mean = s.per_row(uniform({70}, 4)), rstd = s.per_row(uniform({70}, 5, 1, 2));
      for (const double beta : {0.0, 1.0}) {
        const auto gradients = [&](bool to_x, bool to_w, bool to_b) {
          const Results r{s.result(shape, beta), s.result(columns, beta), s.result(columns, beta)};
          s.k().layer_norm_backward(to_x ? r[0] : Tensor{}, to_w ? r[1] : Tensor{}, to_b ? r[2] : Tensor{}, dy, x, w,
                                    mean, rstd, beta, beta, beta);
          return r;
        };
        const Results all = gradients(true, true, true);
        CHECK(same_bits(gradients(true, false, false)[0], all[0]));
        CHECK(same_bits(gradients(false, true, false)[1], all[1]));
        CHECK(same_bits(gradients(false, false, true)[2], all[2]));
      }
    }
  }
}

TEST_CASE("a norm of a sum has the bits of the sum and its norm", "[kernels][norm]") {
  const NoGrad no_grad;
  for (const DType dtype : kFloats) {
    for (const int64_t c : {7, 64, 1500}) {  // 1500: on CUDA a block per row
      const auto in = [&](const Shape& shape, uint64_t seed) { return random(shape, dtype, seed).to(device()); };
      const Tensor x = in({3, c}, 1), residual = in({3, c}, 2), w = in({c}, 3), b = in({c}, 4);
      const auto [sum, y] = add_layer_norm(x, residual, w, b);
      CHECK(same_bits(sum, x + residual));
      CHECK(same_bits(y, layer_norm(x + residual, w, b)));
      const auto [rms_sum, rms_y] = add_rms_norm(x, residual, w);
      CHECK(same_bits(rms_sum, sum));
      CHECK(same_bits(rms_y, rms_norm(sum, w)));
    }
  }
}

TEST_CASE("rope rotates pairs by their position, and back", "[kernels]") {
  constexpr Bound kRope{{2.6e-13, 2.6e-7, kUnit16}, 1, kAny, false, 2},
      kBack{{8 * kUnit64, 8 * kUnit32, 4 * kUnit16}, 2, kAny};
  for (const DType dtype : kFloats) {
    for (const Shape& shape :
         {Shape{2, 3, 5, 2}, Shape{2, 3, 5, 10}, Shape{2, 3, 5, 64}, Shape{3, 2, 17, 12}, Shape{2, 0, 3, 4}}) {
      for (const bool positions : {false, true}) {
        INFO(fmt::format("{}, positions {}", shape, positions));
        const Tensor x = uniform(shape, 1), first = integers({shape[0]}, 2, 1000);
        const auto rotate = [&](const Side& s, const Tensor& y, const Tensor& from, bool inverse, double beta) {
          RopeArgs args{.inverse = inverse};
          args.rope.base = shape[3] == 12 ? 10000 : 500;
          const Tensor at = s.in(first);
          if (positions) args.positions = at;
          s.k().rope(y, from, args, beta);
          return y;
        };
        for (const bool inverse : {false, true}) {
          for (const double beta : {0.0, 1.0}) {
            check(dtype, kContiguous, kRope, [&](const Side& s) {
              const Tensor y = s.result(shape, beta, dtype, kContiguous);
              return Results{rotate(s, y, s.in(x, kPadded), inverse, beta)};
            });
          }
        }
        const Side s(device(), dtype, kContiguous);
        const Tensor from = s.in(x), y = rotate(s, s.out(shape), from, false, 0);
        CHECK(difference(rotate(s, s.out(shape), y, true, 0), from.to(f64), kBack) == "");
      }
    }
  }
}
