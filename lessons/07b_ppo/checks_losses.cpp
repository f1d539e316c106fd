// The checks of the two losses. Expected values are computed by hand or element by element, in plain double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lessons/07b_ppo/checks.h"

namespace pg::lesson07b {
namespace {

using kit::Grader, kit::Value;
using Numbers = std::vector<double>;

// ratio and A: one A for each ratio, or one for each row [B, 1].
void compare_clip(Grader& g, const Impl& impl, const std::string& input, const Tensor& ratio, const Tensor& advantage,
                  double low, double high, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor rho = leaf(ratio), a = leaf(advantage), weight = normal(ratio.shape(), 75, ratio.dtype());
  const Numbers x = ratio.to_vector(), w = weight.to_vector();
  const Numbers all = advantage.view_expand(ratio.shape()).to_vector();
  const auto inside = [=](double p) { return std::min(std::max(p, 1 - low), 1 + high); };
  const auto known = kit::known_gradients(clip_mistakes(), weight, rho, a, low, high);
  const Tensor got = impl.clip_loss(rho, a, low, high);
  const Value want = each(ratio.shape(), [&](size_t i) { return -std::min(x[i] * all[i], inside(x[i]) * all[i]); });
  g.equal(input, got.detach(), want, {.rtol = rtol, .mistakes = known.results});
  if (g.failed() || !on_the_tape(g, got)) return;
  backward(got, weight.to(got.dtype()));
  const Value want_at_ratio =
      each(ratio.shape(), [&](size_t i) { return x[i] * all[i] <= inside(x[i]) * all[i] ? -w[i] * all[i] : 0; });
  g.equal(input + ": the gradient at the ratio, 0 only where the ratio is past the clip in the direction A favours",
          gradient_of(rho), want_at_ratio, as_gradient(rtol, known.at[0]));
  g.equal(input + ": the gradient at the advantage", gradient_of(a), zeros_like(advantage),
          {.rtol = rtol, .mistakes = known.at[1]});
}

void compare_value(Grader& g, const Impl& impl, const std::string& input, const Tensor& values, const Tensor& returns,
                   const Tensor& old_values, double clip, const Tensor& mask = {}, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor v = leaf(values), target = leaf(returns);
  const Tensor old = old_values.defined() ? leaf(old_values) : old_values;
  const Tensor weight = normal(values.shape(), 79, values.dtype());
  const int64_t count = values.numel();
  const Numbers x = values.to_vector(), r = returns.to_vector(), w = weight.to_vector();
  const Numbers kept = numbers(mask, count, 1), before = numbers(old_values, count, 0);
  const auto held = [=](double change) { return std::min(std::max(change, -clip), clip); };
  const auto near = [&](size_t i) { return before[i] + held(x[i] - before[i]); };
  const auto half_square = [](double e) { return e * e / 2; };
  const auto of = [&](auto loss) { return each(values.shape(), [&](size_t i) { return kept[i] != 0 ? loss(i) : 0; }); };
  const auto free = [&](size_t i) { return half_square(x[i] - r[i]); };
  const auto bounded = [&](size_t i) { return clip == 0 ? free(i) : half_square(near(i) - r[i]); };
  const auto known = kit::known_gradients(value_mistakes(), weight, v, target, old, clip, mask);
  const Tensor got = impl.value_loss(v, target, old, clip, mask);
  g.equal(input, got.detach(), of([&](size_t i) { return std::max(free(i), bounded(i)); }),
          {.rtol = rtol, .mistakes = known.results});
  if (g.failed() || !on_the_tape(g, got)) return;
  backward(got, weight.to(got.dtype()));
  g.equal(input + ": the gradient at v", gradient_of(v),
          of([&](size_t i) { return free(i) >= bounded(i) ? w[i] * (x[i] - r[i]) : 0; }),
          as_gradient(rtol, known.at[0]));
  const auto constant = [&](const char* name, const Tensor& at) {
    if (g.failed() || !at.defined()) return;
    const Value grad = gradient_of(at);
    g.expect(std::all_of(grad.v.begin(), grad.v.end(), [](double e) { return e == 0; }),
             input + ": the gradient at the " + name, "not 0", "0",
             "a gradient flows into what is a constant: detach() it");
  };
  constant("returns", target);
  constant("old_values", old);
}

}  // namespace

void check_clip_loss(Grader& g, const Impl& impl) {
  const Numbers ratios = {0.5, 0.9, 1.25, 1.6, 0.5, 0.9, 1.25, 1.6}, gains = {2, 2, 2, 2, -2, -2, -2, -2};
  const Tensor rho = Tensor::from(ratios, {2, 4}), a = Tensor::from(gains, {2, 4});
  compare_clip(g, impl, "ratio 0.5 0.9 1.25 1.6 with A = 2 and with A = -2; low 0.2, high 0.3", rho, a, 0.2, 0.3);
  if (g.failed()) return;
  // By hand: the clipped ratios are 0.8 0.9 1.25 1.3.
  g.equal("the same, by hand", impl.clip_loss(rho, a, 0.2, 0.3),
          Value({2, 4}, {-1, -1.8, -2.5, -2.6, 1.6, 1.8, 2.5, 3.2}));
  const auto random = [](const Shape& shape, DType dtype = f64) { return exp(normal(shape, 92, dtype) * 0.5); };
  compare_clip(g, impl, "ratio [3, 5], random; low 0.1, high 0.5", random({3, 5}), normal({3, 5}, 93), 0.1, 0.5);
  compare_clip(g, impl, "ratio [2, 3], one A for each row; low 0.2, high 0.3", random({2, 3}),
               Tensor::from(Numbers{1, -1}, {2, 1}), 0.2, 0.3);
  compare_clip(g, impl, "ratio 1 with A = 1 -1 0; low 0.2, high 0.2", Tensor::ones({1, 3}, f64),
               Tensor::from(Numbers{1, -1, 0}, {1, 3}), 0.2, 0.2);
  compare_clip(g, impl, "ratio 0.1 2.5 400 with A = -1 1 1; low 1, high 1",
               Tensor::from(Numbers{0.1, 2.5, 400}, {3, 1}), Tensor::from(Numbers{-1, 1, 1}, {3, 1}), 1, 1);
  compare_clip(g, impl, "ratio [4, 3] in f32; low 0.2, high 0.3", random({4, 3}, f32), normal({4, 3}, 94, f32), 0.2,
               0.3, kSingle);
  compare_clip(g, impl, "ratio [3, 2], not contiguous; low 0.2, high 0.3", kit::strided(random({3, 2})),
               kit::strided(normal({3, 2}, 95)), 0.2, 0.3);
  compare_clip(g, impl, "ratio [3, 2], an episode of advantage 0", random({3, 2}),
               kit::with_zero_row(normal({3, 2}, 97)), 0.2, 0.3);
  compare_clip(g, impl, "ratio [2, 0]: no steps", random({2, 0}), normal({2, 0}, 96), 0.2, 0.3);
  g.note("both signs of A, four ranges, f32, and the gradient");
}

void check_value_loss(Grader& g, const Impl& impl) {
  // R = 0 in both cases. near = old ± 0.5 where v is further away from old: 0.7, 1.5, -1, 0.25, -0.5.
  const Tensor v = Tensor::from(Numbers{1, 1, -1, 0.25, 2}, {5}), zero = Tensor::zeros({5}, f64);
  const Tensor old = Tensor::from(Numbers{0.2, 2, -0.8, 0.125, -1}, {5});
  compare_value(g, impl, "v 1 1 -1 0.25 2, R = 0, old 0.2 2 -0.8 0.125 -1, clip 0", v, zero, old, 0);
  compare_value(g, impl, "the same without old", v, zero, {}, 0);
  const auto of = [](const Shape& shape, uint64_t seed, DType dtype = f64) { return normal(shape, seed, dtype); };
  compare_value(g, impl, "v, R, old [3, 5], random, clip 0.3, no mask", of({3, 5}, 80), of({3, 5}, 81), of({3, 5}, 82),
                0.3);
  compare_value(g, impl, "v 1 1 -1 0.25 2, R = 0, old 0.2 2 -0.8 0.125 -1, clip 0.5", v, zero, old, 0.5);
  if (g.failed()) return;
  const auto half_squares = [](Numbers x) {
    for (double& e : x) e = e * e / 2;
    return Value({5}, x);
  };
  g.equal("the same, by hand", impl.value_loss(v, zero, old, 0.5, {}), half_squares({1, 1.5, -1, 0.25, 2}));
  const auto mask = [](const Shape& shape) {
    const Tensor m = Tensor::ones(shape, u8);
    m.view_select(0, 0).fill(0);
    return m;
  };
  compare_value(g, impl, "v, R, old [3, 5], random, clip 0, row 0 masked", of({3, 5}, 80), of({3, 5}, 81),
                of({3, 5}, 82), 0, mask({3, 5}));
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor two = Tensor::from(std::vector<uint8_t>{1, 0, 1, 0}, {2, 2});
  const Tensor u = Tensor::from(Numbers{3, 1, -1, 2}, {2, 2}), r = Tensor::from(Numbers{1, inf, -2, NAN}, {2, 2});
  const std::string odd = "mask {{1, 0}, {1, 0}}, nan and infinity where it is 0, clip ";
  compare_value(g, impl, odd + "0.5", u, r, Tensor::from(Numbers{3, 0, -1, inf}, {2, 2}), 0.5, two);
  compare_value(g, impl, odd + "0", u, r, {}, 0, two);
  compare_value(g, impl, "v nan where the mask is 0, clip 0.5", Tensor::from(Numbers{3, NAN, -1, inf}, {2, 2}), u, u,
                0.5, two);
  compare_value(g, impl, "[2, 3], all masked, clip 0.5", of({2, 3}, 83), of({2, 3}, 84), of({2, 3}, 85), 0.5,
                Tensor::zeros({2, 3}, u8));
  compare_value(g, impl, "[4, 3] in f32, clip 0.3", of({4, 3}, 86, f32), of({4, 3}, 87, f32), of({4, 3}, 88, f32), 0.3,
                mask({4, 3}), kSingle);
  compare_value(g, impl, "[3, 2], not contiguous, clip 0.3", kit::strided(of({3, 2}, 89)), kit::strided(of({3, 2}, 90)),
                kit::strided(of({3, 2}, 91)), 0.3, kit::strided(mask({3, 2})));
  compare_value(g, impl, "[1, 3], a hundred times larger, clip 30", of({1, 3}, 92) * 300.0, of({1, 3}, 93) * 300.0,
                of({1, 3}, 94) * 300.0, 30);
  for (const Shape& shape : {Shape{}, Shape{2, 1, 3, 5}, Shape{2, 0}}) {
    compare_value(g, impl, fmt::format("v, R, old {}, clip 0.3", shape), of(shape, 95), of(shape, 96), of(shape, 97),
                  0.3);
  }
  g.note("unclipped, clipped, masked, f32, and the gradients");
}

}  // namespace pg::lesson07b
