// Norms on CUDA in cases that the op samples do not cover: long rows, odd row lengths, many rows, rows far from zero.
// The expected values come from the plain kernels in f64.
#include <cmath>

#include "tests/cuda/sides.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::vector<Tensor> rms_norms(const Side& s, const Tensor& rows, const NormOptions& o) {
  const Shape shape = rows.shape(), columns{rows.size(1)};
  const Tensor x = s.in(rows), residual = o.residual ? s.in(uniform(shape, 2)) : Tensor{};
  const Tensor w = o.weight ? s.in(uniform(columns, 3)) : Tensor{}, sum = o.residual ? s.out(shape) : Tensor{};
  const Tensor y = s.out(shape), rstd = s.per_row(shape[0]), dx = s.gradient(shape, o.beta);
  const Tensor dw = s.per_row(o.beta == 0 ? Tensor::full(columns, NAN) : uniform(columns, 7));
  if (o.residual && s.rounds_to != s.dtype) {
    sum.copy_from(stored_sum(s, x, residual));
    s.k().rms_norm(y, rstd, {}, sum, {}, w, kEps);
  } else {
    s.k().rms_norm(y, rstd, sum, x, residual, w, kEps);
  }
  s.k().rms_norm_backward(dx, dw, s.in(uniform(shape, 5)), o.residual ? s.in(sum) : x, w, rstd, o.beta, o.beta);
  std::vector<Tensor> results{y, rstd, dx, dw};
  if (o.residual) results.push_back(sum);
  return results;
}

}  // namespace

TEST_CASE("CUDA norms of every width", "[cuda][slow]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t c : {1, 5, 8, 32, 257, 768, 1024, 1031, 5000}) {
      INFO("C = " << c);
      // With a single column, RMS norm has a gradient only because of eps.
      const Tensor x = c == 1 ? uniform({3, c}, 1, 1e-3, 2e-3) : uniform({3, c}, 1);
      for (int64_t spare : {0, 16, 5}) {
        const Side cuda = on_cuda(dtype, spare);
        for (const NormOptions& o : {NormOptions{}, NormOptions{.residual = true, .beta = 0.5},
                                     NormOptions{.weight = false, .bias = false, .beta = 0.5}}) {
          check_against_plain(cuda, [&](const Side& s) { return layer_norms(s, x, o); });
        }
        for (const NormOptions& o :
             {NormOptions{.beta = 0.5}, NormOptions{.residual = c > 1}, NormOptions{.weight = false}}) {
          check_against_plain(cuda, [&](const Side& s) { return rms_norms(s, x, o); });
        }
      }
    }
  }
}

TEST_CASE("CUDA gradients of norm weights over many rows", "[cuda][slow]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t rows : {63, 64, 65, 3000, 8200}) {
      const int64_t c = rows > 3000 ? 5 : rows == 3000 ? 37 : 300;
      INFO(rows << " rows");
      const Tensor x = uniform({rows, c}, 1);
      check_against_plain(on_cuda(dtype),
                          [&](const Side& s) { return layer_norms(s, x, {.beta = rows == 64 ? 1.0 : 0}); });
      check_against_plain(on_cuda(dtype), [&](const Side& s) { return rms_norms(s, x, {.beta = 1}); });
    }
  }
}

TEST_CASE("CUDA norm gradients of rows too long for a block's registers", "[cuda]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t c : {6145, 8193, 16390}) {
      INFO("C = " << c);
      const Tensor x = uniform({2, c}, 1);
      check_against_plain(on_cuda(dtype, 5), [&](const Side& s) { return layer_norms(s, x, {.beta = 0.5}); });
    }
  }
}

TEST_CASE("each gradient of a CUDA norm is bit-identical if computed alone", "[cuda]") {
  const Side s = on_cuda(f32);
  for (int64_t c : {40, 1500, 8200}) {
    const Shape shape{70, c}, columns{c};
    const Tensor x = s.in(uniform(shape, 1)), dy = s.in(uniform(shape, 2)), w = s.in(uniform(columns, 3));
    const Tensor mean = s.per_row(uniform({70}, 4)), rstd = s.per_row(uniform({70}, 5, 1, 2));
    const Tensor dx = s.out(shape), dw = s.out(columns), db = s.out(columns);
    const auto alone = [&](const View& to_x, const View& to_w, const View& to_b) {
      s.k().layer_norm_backward(to_x, to_w, to_b, dy, x, w, mean, rstd, 0, 0, 0);
    };
    alone(dx, dw, db);
    const Tensor dx_alone = s.out(shape), dw_alone = s.out(columns), db_alone = s.out(columns);
    alone(dx_alone, {}, {}), alone({}, dw_alone, {}), alone({}, {}, db_alone);
    CHECK(same_bits(dx_alone, dx));
    CHECK(same_bits(dw_alone, dw));
    CHECK(same_bits(db_alone, db));
  }
}

TEST_CASE("CUDA norms of rows far from zero keep their precision", "[cuda]") {
  const Tensor x = uniform({2, 1000}, 1, 1000, 1001);
  check_against_plain(on_cuda(f64), [&](const Side& s) { return layer_norms(s, x, {}); });
  // f32 has 24 bits of precision, of which the mean takes 10.
  const Side s = on_cuda(f32), exact{Device{}, f64, f32};
  CHECK(relative_error(layer_norms(s, x, {})[0], layer_norms(exact, x, {})[0]) <= 0x1p-24 * 1000 / std::sqrt(1.0 / 12));
}

TEST_CASE("a CUDA norm of a sum has the bits of the sum and its norm", "[cuda]") {
  NoGrad no_grad;
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t c : {7, 64, 1500}) {  // 1500: a block per row
      INFO(name_of(dtype) << ", C = " << c);
      const Tensor x = random({3, c}, dtype, 1).to(device()), residual = random({3, c}, dtype, 2).to(device());
      const Tensor w = random({c}, dtype, 3).to(device()), b = random({c}, dtype, 4).to(device());
      const auto [sum, y] = add_layer_norm(x, residual, w, b);
      CHECK(same_bits(sum, x + residual));
      CHECK(same_bits(y, layer_norm(x + residual, w, b)));
      const auto [rms_sum, rms_y] = add_rms_norm(x, residual, w);
      CHECK(same_bits(rms_sum, sum));
      CHECK(same_bits(rms_y, rms_norm(sum, w)));
    }
  }
}
