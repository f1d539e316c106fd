// The checks of the two backwards.
#include <cmath>

#include "lessons/04_gpt/checks.h"

namespace pg::lesson04 {
namespace {

using kit::Grader;

// One comparison. Returns whether the check goes on.
bool compare_attention_backward(Grader& g, const Impl& impl, const std::string& name, const Qkv& x,
                                const Tensor& dout) {
  const Qkv leaf = leaves(x);
  backward(pg::attention(leaf.q, leaf.k, leaf.v), dout);
  const AttentionGrads got = impl.attention_backward(dout, x.q, x.k, x.v);
  const bool single = x.q.size(2) == 1;  // its weight is 1, whatever q and k are
  const Tensor want_q = single ? zeros_like(x.q) : leaf.q.grad(), want_k = single ? zeros_like(x.k) : leaf.k.grad();
  const double scale = 1 / root_of(x.q.size(3)), t = static_cast<double>(x.q.size(2));
  const Tensor p = attention_weights(x.q, x.k), dp = matmul(dout, transpose(x.v)), all = sum(dp * p, {-1}, true);
  const std::pair<const char*, Tensor> wrong[] = {
      {"only each weight's effect on itself: raising one weight lowers all the others", p * dp * scale},
      {"the scale 1/√D is missing: the scores were scaled, so their gradient is", p * (dp - all)},
      {"the scale 1/√D is applied twice", p * (dp - all) * (scale * scale)},
      {"the scale is a fixed 0.5, which is 1/√D for D = 4 only", p * (dp - all) * 0.5},
      {"the sum runs over the queries; it runs over the keys of one query", p * (dp - sum(dp * p, {-2}, true)) * scale},
      {"the mean of dp·p is subtracted; subtract the sum", p * (dp - all * (1 / t)) * scale},
      {"the sum is subtracted after the product: p · (dp - sum), not p · dp - sum", (p * dp - all) * scale},
      {"the sum lacks the weights: sum of dp · p, not of dp", p * (dp - sum(dp, {-1}, true)) * scale},
      {"the factor p is missing: ds = p · (dp - sum)", (dp - all) * scale},
      {"p is added to: the sum must be subtracted", p * (dp + all) * scale}};
  kit::Compare dq{.rtol = tolerance(dout), .mistakes = {{"dq and dk are exchanged", leaf.k.grad()}}, .gradient = true};
  kit::Compare dk{.rtol = tolerance(dout), .mistakes = {{"dq and dk are exchanged", leaf.q.grad()}}, .gradient = true};
  const Tensor ds = p * (dp - all) * scale;
  for (const auto& [says, value] : wrong) {
    dq.mistakes.push_back({says, matmul(value, x.k)});
    dk.mistakes.push_back({says, matmul(transpose(value), x.q)});
  }
  dq.mistakes.push_back({"the scores are q·k: dq takes k, not q", matmul(ds, x.q)});
  dq.mistakes.push_back({"ds is transposed for dk, not for dq", matmul(transpose(ds), x.k)});
  dk.mistakes.push_back({"ds is not transposed: a key collects from all queries that looked at it", matmul(ds, x.q)});
  dk.mistakes.push_back({"the scores are q·k: dk takes q, not k", matmul(transpose(ds), x.k)});
  const std::string input = fmt::format("q, k, v, dout {} in {}, {}: ", dout.shape(), dout.dtype(), name);
  const std::vector<kit::Mistake> dv = {
      {"p is not transposed: a value collects from all queries that looked at it", matmul(p, dout)},
      {"ds is not p: dv takes the weights themselves", matmul(transpose(ds), dout)},
      {"the scale has no part in dv: it divided the scores", leaf.v.grad() * scale}};
  return g.equal(input + "dv", got.dv, leaf.v.grad(), {.rtol = tolerance(dout), .mistakes = dv, .gradient = true}) &&
         g.equal(input + "dq", got.dq, want_q, dq) && g.equal(input + "dk", got.dk, want_k, dk);
}

}  // namespace

void check_attention_backward(Grader& g, const Impl& impl) {
  Generator random(43);
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
                      {"no rows", random_qkv({0, 2, 3, 5}, 65)},
                      {"random", random_qkv({1, 2, 7, 3}, 66, f32)}};
  for (const auto& [name, x] : rows) {
    if (!compare_attention_backward(g, impl, name, x, like(x))) return;
  }
  g.note(fmt::format("dq, dk and dv for {} tensors", std::size(rows)));
}

namespace {

// The backward of a layer norm with a switch for each common mistake.
struct Norm {
  bool through_mean = true, through_deviation = true, w = true, w_first = true, factor = true, means = true;
  bool eps_inside = true, rows = true;
  int ddof = 0;
  LayerNormGrads operator()(const Tensor& dy, const Tensor& x, const Tensor& w_, double eps) const {
    const std::vector<int> dim = {rows ? -1 : 0};
    const Tensor variance = var(x, dim, ddof, true);
    const Tensor rstd = eps_inside ? rsqrt(variance + eps) : 1.0 / (sqrt(variance) + eps);
    const Tensor xhat = (x - mean(x, dim, true)) * rstd, d = w && w_first ? dy * w_ : dy;
    const auto average = [&](const Tensor& t) { return means ? mean(t, dim, true) : sum(t, dim, true); };
    Tensor dx = d;
    if (through_mean) dx = dx - average(d);
    if (through_deviation) dx = dx - xhat * average(d * xhat);
    if (factor) dx = dx * rstd;
    if (w && !w_first) dx = dx * w_;
    return {dx, sum(dy * xhat, {0}), sum(dy, {0})};
  }
};
const std::pair<const char*, Norm> kWrongNorms[] = {
    {"mean and deviation are taken for constants, but x moves them too: two terms are missing",
     {.through_mean = false, .through_deviation = false}},
    {"the path through the mean is missing", {.through_mean = false}},
    {"the path through the deviation is missing", {.through_deviation = false}},
    {"w is missing: dx̂ = dy · w", {.w = false}},
    {"w multiplies the result; it multiplies dy, before the means are taken", {.w_first = false}},
    {"the factor 1/√(variance + eps) is missing", {.factor = false}},
    {"sums over the row in place of means", {.means = false}},
    {"eps stands beside the root; it is added to the variance", {.eps_inside = false}},
    {"the variance divides by C - 1; it is the mean of squares: var(x, {-1}, 0, true)", {.ddof = 1}},
    {"mean and variance run over the batch; each row has its own", {.rows = false}}};

// One comparison. Returns whether the check goes on.
bool compare_norm(Grader& g, const Impl& impl, const std::string& name, const Tensor& x, const Tensor& w,
                  const Tensor& dy, double eps) {
  const Tensor lx = x.clone().set_requires_grad(), lw = w.clone().set_requires_grad();
  const Tensor lb = zeros_like(w).set_requires_grad();
  backward(pg::layer_norm(lx, lw, lb, eps), dy);
  const LayerNormGrads got = impl.layer_norm_backward(dy, x, w, eps);
  const double rows = static_cast<double>(x.size(0)), rtol = tolerance(x);
  kit::Compare db{.rtol = rtol, .gradient = true}, dw = db, dx = db;
  if (x.numel() > 0) {
    db.mistakes = {{"this is a mean over the rows; add up", lb.grad() / rows}};
    dw.mistakes = {{"dy is multiplied by x; w multiplied the normalised x̂", sum(dy * x, {0})},
                   {"this is a mean over the rows; add up", lw.grad() / rows},
                   {"w has no part in dw = sum of dy · x̂", lw.grad() * w},
                   {"this is db: dw is the sum of dy · x̂", lb.grad()}};
    const std::string fixed = "the argument eps is added to the variance: neither 0 nor a fixed 1e-5";
    for (const double other : {0.0, 1e-5}) {
      dx.mistakes.push_back({fixed, Norm{}(dy, x, w, other).dx});
      dw.mistakes.push_back({fixed, Norm{}(dy, x, w, other).dw});
    }
    if (x.size(1) == 1)
      dx.mistakes.push_back({"a row of one number is its own mean: dx is 0", dy * (1 / std::sqrt(eps))});
    for (const auto& [says, norm] : kWrongNorms) {
      dx.mistakes.push_back({says, norm(dy, x, w, eps).dx});
      dw.mistakes.push_back({says, norm(dy, x, w, eps).dw});
    }
  }
  const std::string input = fmt::format("x, dy {} in {}, eps {:g}, {}: ", x.shape(), x.dtype(), eps, name);
  const bool single = x.size(1) == 1;  // x̂ is 0
  const Tensor want_w = single ? zeros_like(w) : lw.grad(), want_x = single ? zeros_like(x) : lx.grad();
  return g.equal(input + "db", got.db, lb.grad(), db) && g.equal(input + "dw", got.dw, want_w, dw) &&
         g.equal(input + "dx", got.dx, want_x, dx);
}

}  // namespace

void check_layer_norm_backward(Grader& g, const Impl& impl) {
  Generator random(44);
  const auto normal = [&](const Shape& shape, DType dtype = f64) {
    return Tensor::normal(shape, 0.5, 2, random, dtype);
  };
  const auto judge = [&](const std::string& name, const Tensor& x, double eps, double factor = 1) {
    const Tensor w = Tensor::normal({x.size(1)}, 1, 0.3, random, x.dtype());
    return compare_norm(g, impl, name, x, w, normal(x.shape(), x.dtype()) * factor, eps);
  };
  Tensor flat = normal({3, 4});
  flat.view_select(0, 1).fill(2);
  if (!judge("random", normal({6, 5}), 0.1) || !judge("random", normal({4, 7}), 1e-5) ||
      !judge("one row", normal({1, 3}), 1e-5) ||
      !judge("a transposed view", normal({7, 3}).view_transpose(0, 1), 1e-3) ||
      !judge("a row of equal numbers", flat, 1e-2) || !judge("one channel", normal({5, 1}), 1e-5) ||
      !judge("large numbers", normal({2, 9}) * 1e4, 1e-5, 1e3) || !judge("no rows", normal({0, 4}), 1e-5) ||
      !judge("random", normal({3, 4}, f32), 1e-5))
    return;
  // x is far from 0: mean(x²) - mean(x)² loses twelve of its digits.
  const Tensor x = normal({3, 5}) + 1e6, w = normal({5}), dy = normal({3, 5});
  const LayerNormGrads got = impl.layer_norm_backward(dy, x, w, 1e-5), want = Norm{}(dy, x, w, 1e-5);
  const double error = kit::relative_error(got.dx, want.dx);
  g.expect(error <= 1e-7, "x [3, 5], all near a million: dx", fmt::format("relative error {:.1e}", error),
           "at most 1e-7", "mean(x²) - mean(x)² loses its digits far from 0: the variance is the mean of (x - mean)²");
  g.note("dx, dw and db for 10 tensors; each row feels its mean and its deviation");
}

}  // namespace pg::lesson04
