// The checks of the two backwards.
#include <cmath>

#include "lessons/04_gpt/checks.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson04 {
namespace {

using kit::Grader;

// One comparison. Returns whether the check goes on.
bool compare_attention_backward(Grader& g, const Impl& impl, const std::string& name, const Qkv& x,
                                const Tensor& dout) {
  const AttentionGrads got = impl.attention_backward(dout, x.q, x.k, x.v);
  AttentionGrads want = reference().attention_backward(dout, x.q, x.k, x.v);
  if (x.q.size(2) == 1) want.dq = want.dk = zeros_like(x.q);  // the weight is 1, whatever q and k are
  const auto how = [&](Tensor AttentionGrads::*part) {
    return kit::as_gradient(tolerance(dout), kit::values_of(attention_backward_mistakes(), [&](auto wrong) {
                              return wrong(dout, x.q, x.k, x.v).*part;
                            }));
  };
  const std::string input = fmt::format("q, k, v, dout {} in {}, {}: ", dout.shape(), dout.dtype(), name);
  return g.equal(input + "dv", got.dv, want.dv, how(&AttentionGrads::dv)) &&
         g.equal(input + "dq", got.dq, want.dq, how(&AttentionGrads::dq)) &&
         g.equal(input + "dk", got.dk, want.dk, how(&AttentionGrads::dk));
}

}  // namespace

void check_attention_backward(Grader& g, const Impl& impl) {
  Generator random = kit::draws(43);
  const auto like = [&](const Qkv& x) { return Tensor::normal(x.q.shape(), 0, 1, random, x.q.dtype()); };
  Qkv large = random_qkv({1, 2, 3, 7}, 64);
  large.v = large.v * 1e3;
  struct Row {
    const char* name;
    Qkv x;
  };
  const auto turned = [](const Tensor& t) { return t.view_transpose(1, 2); };
  const Row rows[] = {{"random", random_qkv({2, 2, 5, 4}, 42)},
                      {"random", random_qkv({3, 1, 7, 5}, 49)},
                      {"random", random_qkv({2, 3, 5, 1}, 61)},
                      {"one position", random_qkv({1, 3, 1, 2}, 62)},
                      {"[B, T, H, D] with two dims exchanged", map(random_qkv({2, 5, 3, 7}, 63), turned)},
                      {"large values", large},
                      {"a query, a key and a value of 0", map(random_qkv({1, 2, 5, 3}, 67), kit::with_zero_row)},
                      {"no rows", random_qkv({0, 2, 3, 5}, 65)},
                      {"random", random_qkv({1, 2, 7, 3}, 66, f32)}};
  for (const auto& [name, x] : rows) {
    if (!compare_attention_backward(g, impl, name, x, like(x))) return;
  }
  g.note(fmt::format("dq, dk and dv for {} tensors", std::size(rows)));
}

namespace {

// One comparison. Returns whether the check goes on.
bool compare_norm(Grader& g, const Impl& impl, const std::string& name, const Tensor& x, const Tensor& w,
                  const Tensor& dy, double eps) {
  const LayerNormGrads got = impl.layer_norm_backward(dy, x, w, eps);
  LayerNormGrads want = reference().layer_norm_backward(dy, x, w, eps);
  if (x.size(1) == 1) want.dx = zeros_like(x), want.dw = zeros_like(w);  // x̂ is 0
  const auto how = [&](Tensor LayerNormGrads::*part) {
    return kit::as_gradient(tolerance(x), x.numel() == 0 ? std::vector<kit::Mistake>{}
                                                         : kit::values_of(layer_norm_mistakes(), [&](auto wrong) {
                                                             return wrong(dy, x, w, eps).*part;
                                                           }));
  };
  const std::string input = fmt::format("x, dy {} in {}, eps {:g}, {}: ", x.shape(), x.dtype(), eps, name);
  return g.equal(input + "db", got.db, want.db, how(&LayerNormGrads::db)) &&
         g.equal(input + "dw", got.dw, want.dw, how(&LayerNormGrads::dw)) &&
         g.equal(input + "dx", got.dx, want.dx, how(&LayerNormGrads::dx));
}

}  // namespace

void check_layer_norm_backward(Grader& g, const Impl& impl) {
  Generator random = kit::draws(44);
  const auto normal = [&](const Shape& shape, DType dtype = f64) {
    return Tensor::normal(shape, 0.5, 2, random, dtype);
  };
  const auto judge = [&](const std::string& name, const Tensor& x, double eps, double factor = 1) {
    const Tensor w = Tensor::normal({x.size(1)}, 1, 0.3, random, x.dtype());
    return compare_norm(g, impl, name, x, w, normal(x.shape(), x.dtype()) * factor, eps);
  };
  Tensor flat = normal({3, 4});
  flat.view_select(0, 1).fill(2);
  flat.view_select(0, 2).fill(0);
  if (!judge("random", normal({6, 5}), 0.1) || !judge("random", normal({4, 7}), 1e-5) ||
      !judge("one row", normal({1, 3}), 1e-5) ||
      !judge("a transposed view", normal({7, 3}).view_transpose(0, 1), 1e-3) ||
      !judge("a row of equal numbers", flat, 1e-2) || !judge("one channel", normal({5, 1}), 1e-5) ||
      !judge("large numbers", normal({2, 9}) * 1e4, 1e-5, 1e3) || !judge("no rows", normal({0, 4}), 1e-5) ||
      !judge("random", normal({3, 4}, f32), 1e-5))
    return;
  // x is far from 0: mean(x²) - mean(x)² loses twelve of its digits.
  const Tensor x = normal({3, 5}) + 1e6, w = normal({5}), dy = normal({3, 5});
  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + 1e-5), xhat = (x - mean(x, {-1}, true)) * rstd, d = dy * w;
  const Tensor want = (d - mean(d, {-1}, true) - xhat * mean(d * xhat, {-1}, true)) * rstd;
  const double error = kit::relative_error(impl.layer_norm_backward(dy, x, w, 1e-5).dx, want);
  g.expect(error <= 1e-7, "x [3, 5], all near a million: dx", fmt::format("relative error {:.1e}", error),
           "at most 1e-7", "mean(x²) - mean(x)² loses its digits far from 0: the variance is the mean of (x - mean)²");
  g.note("dx, dw and db for 10 tensors; each row feels its mean and its deviation");
}

}  // namespace pg::lesson04
