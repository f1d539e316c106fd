// Samples of softmax, cross-entropy and token log-probabilities.
#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

void softmax_samples(std::vector<OpSample>& out, Op op, Tensor (*f)(const Tensor&, int),
                     Tensor (*g)(const Tensor&, int)) {
  auto push = [&](const std::string& label, Inputs inputs, int dim, bool large = false) {
    out.push_back({op,
                   label,
                   std::move(inputs),
                   fn([f, dim](In x) { return f(x[0], dim); }),
                   fn([g, dim](In x) { return g(x[0], dim); }),
                   {},
                   large});
  };
  push("rows", normal({{4, 7}}), -1);
  push("columns", normal({{4, 7}}), 0);
  push("middle", normal({{3, 4, 5}}), 1);
  push("one class", normal({{4, 1}}), 1);
  push("rank 1", normal({{7}}), 0);
  push("no rows", normal({{0, 7}}), -1);
  push("wide range", uniform({{4, 7}}, -30, 30), -1);
  out.back().tolerance_bf16 = 5e-2;  // for p near 1 the backward pass needs 1 - p
  push("large", normal({{301, 701}}), -1, true);
  push("large columns", normal({{301, 301}}), 0, true);
  out.push_back({op, "used twice", normal({{3, 5}}), fn([f](In x) { return f(x[0], -1) * f(x[0], 0); }),
                 fn([g](In x) { return g(x[0], -1) * g(x[0], 0); })});
  out.push_back({op, "of an expanded row", normal({{1, 5}}), fn([f](In x) {
                   return f(expand(x[0], {3, 5}), -1);
                 }),
                 fn([g](In x) {
                   return g(expand(x[0], {3, 5}), -1);
                 })});
}

void cross_entropy_samples(std::vector<OpSample>& out) {
  const Tensor targets = ids({2, 0, 6, 2, 5}, {5});
  const Tensor some_ignored = ids({2, -100, 6, -100, 5}, {5});
  Generator g(11);
  const Tensor weight = Tensor::uniform({7}, 0.2, 2, g, f64);
  auto push = [&](const std::string& label, const Shape& logits, const Tensor& target, CrossEntropyOptions options,
                  bool weighted, bool large = false) {
    auto with_weight = [options, weighted](In x) {
      CrossEntropyOptions o = options;
      if (weighted) o.weight = x[2];
      return o;
    };
    out.push_back({Op::cross_entropy,
                   label,
                   with_constants(normal({logits}), {target, weighted ? weight : Tensor{}}),
                   fn([=](In x) { return cross_entropy(x[0], x[1], with_weight(x)); }),
                   fn([=](In x) { return composed::cross_entropy(x[0], x[1], with_weight(x)); }),
                   {2},
                   large});
  };
  const std::pair<std::string, Reduction> reductions[] = {
      {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};
  for (const auto& [name, reduction] : reductions) {
    push(name, {5, 7}, targets, {reduction}, false);
    push(name + ", some ignored", {5, 7}, some_ignored, {reduction}, false);
    push(name + ", smoothing", {5, 7}, some_ignored, {reduction, -100, 0.1}, false);
    push(name + ", weights", {5, 7}, some_ignored, {reduction}, true);
    push(name + ", smoothing and weights", {5, 7}, some_ignored, {reduction, -100, 0.1}, true);
  }
  push("another ignore index", {5, 7}, targets, {Reduction::mean, 2}, false);
  push("[2, 3, 7]", {2, 3, 7}, ids({0, 1, 2, 3, 4, 6}, {2, 3}), {}, false);
  push("[2, 3, 7] none", {2, 3, 7}, ids({0, 1, 2, 3, 4, 6}, {2, 3}), {Reduction::none}, false);
  push("rank 1", {7}, ids({3}, Shape{}), {}, false);
  push("one class", {4, 1}, ids({0, 0, 0, 0}, {4}), {}, false);
  push("one class, smoothing", {4, 1}, ids({0, 0, 0, 0}, {4}), {Reduction::sum, -100, 0.2}, false);
  push("no rows, sum", {0, 7}, ids({}, {0}), {Reduction::sum}, false);
  push("all ignored, sum", {2, 7}, ids({-100, -100}, {2}), {Reduction::sum}, false);
  push("large", {301, 701}, random_ids(301, 701, 7), {}, false, true);
  push("large, smoothing", {301, 701}, random_ids(301, 701, 8), {Reduction::mean, -100, 0.1}, false, true);
  // The gradient of the temporary logits is written over them for `upstream`, which another gradient then rescales.
  for (const auto& [name, reduction] : reductions) {
    for (double smoothing : {0.0, 0.1}) {
      const CrossEntropyOptions options{reduction, -100, smoothing};
      const Shape result = reduction == Reduction::none ? Shape{5} : Shape{};
      out.push_back({Op::cross_entropy,
                     name + (smoothing == 0 ? ", upstream" : ", upstream and smoothing"),
                     with_constants(uniform({{5, 7}, result}, 0.5, 2), {some_ignored}),
                     fn([=](In x) {
                       CrossEntropyOptions o = options;
                       const bool floating = x[1].defined() && is_floating(x[1].dtype());
                       o.upstream = floating ? x[1].to(sum_type(x[0].dtype())) : x[1];
                       return cross_entropy(x[0] * 1.5, x[2], o);
                     }),
                     fn([=](In x) { return composed::cross_entropy(x[0] * 1.5, x[2], options); }),
                     {1}});
    }
  }
  out.push_back({Op::cross_entropy, "of scaled logits", with_constants(normal({{5, 7}}), {targets}),
                 fn([](In x) { return cross_entropy(x[0] * 3, x[1]) + cross_entropy(x[0], x[1]); }), fn([](In x) {
                   return composed::cross_entropy(x[0] * 3, x[1]) + composed::cross_entropy(x[0], x[1]);
                 })});
}

void token_log_prob_samples(std::vector<OpSample>& out) {
  const TensorFunction call = fn([](In x) { return token_log_prob(x[0], x[1]); });
  const TensorFunction twin = fn([](In x) { return composed::token_log_prob(x[0], x[1]); });
  auto push = [&](const std::string& label, const Shape& logits, const Tensor& index, bool large = false) {
    out.push_back({Op::token_log_prob, label, with_constants(normal({logits}), {index}), call, twin, {}, large});
  };
  const Tensor index = ids({2, 0, 6, 2, 5}, {5});
  push("[5, 7]", {5, 7}, index);
  push("[2, 3, 7]", {2, 3, 7}, ids({0, 1, 2, 3, 4, 6}, {2, 3}));
  push("one class", {2, 1}, ids({0, 0}, {2}));
  push("no rows", {0, 7}, ids({}, {0}));
  push("large", {301, 701}, random_ids(301, 701, 9), true);
  out.push_back({Op::token_log_prob, "log-probability only", with_constants(normal({{5, 7}}), {index}),
                 fn([](In x) { return token_log_prob(x[0], x[1]).first; }),
                 fn([](In x) { return composed::token_log_prob(x[0], x[1]).first; })});
  out.push_back({Op::token_log_prob, "entropy only", with_constants(normal({{5, 7}}), {index}),
                 fn([](In x) { return token_log_prob(x[0], x[1]).second; }),
                 fn([](In x) { return composed::token_log_prob(x[0], x[1]).second; })});
}

}  // namespace

void probability(std::vector<OpSample>& out) {
  softmax_samples(out, Op::softmax, softmax, composed::softmax);
  softmax_samples(out, Op::log_softmax, log_softmax, composed::log_softmax);
  cross_entropy_samples(out);
  token_log_prob_samples(out);
}

}  // namespace pg::samples
