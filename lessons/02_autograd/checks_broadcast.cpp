// The check of what was stretched and must be summed.
#include "lessons/02_autograd/checks.h"

namespace pg::lesson02 {
namespace {

using kit::Grader;
using kit::Value;

}  // namespace

void check_pass_summed(Grader& g, const Impl& impl) {
  Generator random = kit::draws(24);
  struct Row {
    Shape shape, result;
    DType dtype = f64;
  };
  const Row cases[] = {
      {{3}, {3, 3}},       {{4}, {3, 4}},    {{3, 1}, {3, 4}}, {{}, {2, 3}},         {{2, 1, 3}, {4, 2, 5, 3}},
      {{3, 4}, {3, 4}},    {{1}, {1}},       {{3}, {1, 3}},    {{1, 5}, {1, 5}},     {{1, 1}, {5, 7}},
      {{2, 1}, {3, 2, 4}}, {{1, 3}, {0, 3}}, {{}, {}},         {{5}, {2, 7, 5}, f32}};
  for (const auto& [shape, result, dtype] : cases) {
    const Tensor b = random_leaf(shape, random, dtype), x = Tensor::zeros(result, dtype);
    for (const bool first : {false, true}) {  // b is input 1, then input 0; its gradient doubles
      const Tensor z = first ? add(impl, b, x) : add(impl, x, b), dz = Tensor::full(z.shape(), 1, dtype);
      dz.copy_from(random_like(z, random));
      if (result == Shape{5, 7}) dz.copy_from(kit::with_zero_row(dz));
      if (dz.numel() == 40 * 3) dz.copy_from(dz * 1e3);
      if (shape == Shape{3} && result == Shape{1, 3}) dz.view_slice(1, 0, 1).fill(INFINITY);
      const std::string input = fmt::format("b {} stretched to {}: db", shape, result);
      if (first) b.zero_grad();
      try {
        backward(z, dz);
      } catch (const Error& error) {
        const std::string text = error.what();
        const auto has = [&](const Shape& s) { return text.find(fmt::format("has shape {}", s)) != std::string::npos; };
        bool partly = false;  // one stretched dim is still as long as that of the result
        for (int d = 0; d < shape.rank(); ++d) {
          Shape summed = shape;
          summed[d] = result[d + result.rank() - shape.rank()];
          partly |= !(summed == shape) && has(summed) && !has(result);
        }
        for (int left = shape.rank() + 1; left < result.rank(); ++left)
          partly |= has(Shape(std::vector<int64_t>(result.end() - left, result.end())));
        g.expect(false, input, text, fmt::format("a gradient of shape {}", shape),
                 has(Shape{}) && shape.rank() > 0
                     ? "pg::sum(d, {}) sums everything: pass d on where nothing was stretched"
                 : has(result) && numel(result) > numel(shape)
                     ? "the sum over the broadcast axis is missing: one number fed many, so many gradients come back"
                 : partly ? "a stretched dim is left: sum over every dim in which the input has size 1"
                          : "the gradient of an input has the input's own shape: reshape the sum to it");
        return;
      }
      Tensor want = dz.detach();
      while (want.rank() > shape.rank()) want = pg::sum(want, {0});
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape[d] == 1) want = pg::sum(want, {d}, true);
      }
      kit::Compare how{.rtol = tolerance(b)};
      if (numel(result) > numel(shape)) {
        Impl with = impl;  // the tape has its address
        const auto sum = [&](decltype(Impl::pass_summed) pass_summed, const Tensor& leaf) {
          with.pass_summed = pass_summed;
          return first ? add(with, leaf, x) : add(with, x, leaf);
        };
        how.mistakes = kit::known_gradients_by(sum, sum_mistakes(), dz, b).at[0];
      }
      how.mistakes.push_back({kNoPass, zeros_like(b)});
      if (!g.equal(input, gradient_of(b), want, how)) return;
    }
  }
  // Both inputs are stretched, each along the other's dim.
  const Tensor column = random_leaf({3, 1}, random), row = random_leaf({4}, random);
  const Tensor table = add(impl, column, row), dz = turned(Tensor::normal({4, 3}, 0, 1, random, f64));  // strided
  backward(table, dz);
  if (!g.equal("a [3, 1] + b [4]: da", gradient_of(column), pg::sum(dz, {1}, true)) ||
      !g.equal("a [3, 1] + b [4]: db", gradient_of(row), pg::sum(dz, {0})))
    return;
  // An input that needs no gradient must be left unchanged.
  const Tensor b = random_leaf({2}, random);
  backward(add(impl, b, Tensor::ones({3, 2}, f64)), Tensor::ones({3, 2}, f64));
  g.equal("b + constant, b [2] stretched to [3, 2], dz = 1: db", gradient_of(b), Value({2}, {3, 3}));
  g.note(fmt::format("{} ways to stretch, on both sides; one constant", std::size(cases)));
}

}  // namespace pg::lesson02
