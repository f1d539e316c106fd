// The checks of lesson 3.
#include "lessons/03_language_model/checks.h"

#include <algorithm>
#include <cmath>

namespace pg::lesson03 {
namespace {

using kit::Grader;
using kit::Value;

double tolerance(const Tensor& x) { return x.dtype() == f64 ? 1e-9 : 1e-6; }

void check_softmax(Grader& g, const Impl& impl) {
  Generator random = kit::draws(31);
  const auto normal = [&](const Shape& shape, DType dtype = f64) { return Tensor::normal(shape, 0, 2, random, dtype); };
  const Tensor turned = normal({7, 4});
  const std::pair<const char*, Tensor> cases[] = {
      {"random", normal({4, 7})},
      {"random, a transposed view", turned.view_transpose(0, 1)},
      {"random, every second column", normal({3, 10}).view_slice(1, 0, 10, 2)},
      {"one row", normal({1, 9})},
      {"one score in a row", normal({6, 1})},
      {"random, in f32", normal({5, 3}, f32)}};
  for (const auto& [name, x] : cases) {
    if (!g.equal(fmt::format("x {}, {}", x.shape(), name), impl.softmax(x), pg::softmax(x),
                 {.rtol = tolerance(x), .mistakes = kit::results_of(softmax_mistakes(), x)}))
      return;
  }
  const Tensor large = Tensor::from<double>(std::vector<double>{1000, 1001, -1e4, 0, 0, 0, -1000, -1001, -1e4}, {3, 3});
  const double p = 1 / (1 + std::exp(-1.0));
  if (!g.equal("x = {{1000, 1001, -10000}, {0, 0, 0}, {-1000, -1001, -10000}}", impl.softmax(large),
               Value({3, 3}, {1 - p, p, 0, 1. / 3, 1. / 3, 1. / 3, p, 1 - p, 0}),
               {.mistakes = kit::results_of(softmax_mistakes(), large)}))
    return;
  const Tensor masked = Tensor::from<double>(std::vector<double>{0, -INFINITY, std::log(3)}, {1, 3});
  const Tensor none = normal({0, 4});
  if (!g.equal("x [0, 4], no rows", impl.softmax(none), none)) return;
  if (!g.equal("x = {{0, -inf, log 3}}", impl.softmax(masked), Value({1, 3}, {0.25, 0, 0.75}))) return;

  const Tensor x = normal({3, 5}).set_requires_grad(), y = impl.softmax(x), dy = normal({3, 5});
  if (!g.equal("x [3, 5], random, on the tape", y.detach(), pg::softmax(x.detach())) || !y.requires_grad()) return;
  backward(y, dy);
  const auto gradient = [&](Tensor (*softmax)(const Tensor&)) {
    const Tensor leaf = x.detach().clone().set_requires_grad();
    backward(softmax(leaf), dy);
    return leaf.grad();
  };
  std::vector<kit::Mistake> mistakes;
  for (const auto& row : softmax_gradient_mistakes()) mistakes.push_back({row.says, gradient(row.wrong)});
  const Tensor through = pg::softmax(x.detach()) * dy;
  g.equal("the same, random dy: dx", x.grad(), through - pg::softmax(x.detach()) * sum(through, {-1}, true),
          {.mistakes = mistakes});
  const Tensor scores = large.clone().set_requires_grad();
  backward(impl.softmax(scores), Tensor::from<double>(std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3}, {3, 3}));
  const double slope = p * (1 - p);
  g.equal("x = {{1000, 1001, -10000}, {0, 0, 0}, {-1000, -1001, -10000}}, dy = {1, 2, 3} for each row: dx",
          scores.grad(), Value({3, 3}, {-slope, slope, 0, -1. / 3, 0, 1. / 3, -slope, slope, 0}));
  g.note(fmt::format("{} tensors, scores of 1000 and of -inf, the gradient", std::size(cases)));
}

// One comparison. Returns whether the check goes on.
bool compare_backward(Grader& g, const Impl& impl, const std::string& name, const Tensor& logits,
                      const std::vector<int32_t>& ids) {
  const Tensor targets = Tensor::from(ids, {logits.size(0)});
  Tensor leaf = logits.clone().set_requires_grad();
  backward(pg::cross_entropy(leaf, targets));
  const kit::Compare how{.rtol = tolerance(logits),
                         .mistakes = kit::results_of(cross_entropy_mistakes(), logits, targets)};
  return g.equal(fmt::format("logits {}, {}; targets {}", logits.shape(), name, fmt::join(ids, " ")),
                 impl.cross_entropy_backward(logits, targets), leaf.grad(), how);
}

void check_cross_entropy_backward(Grader& g, const Impl& impl) {
  Generator random = kit::draws(32);
  const auto normal = [&](const Shape& shape, DType dtype = f64) { return Tensor::normal(shape, 0, 2, random, dtype); };
  const Tensor far = Tensor::from<double>(std::vector<double>{1000, 0, -1000, 5, 999, 1000, 0, -1000}, {2, 4});
  const Tensor masked = Tensor::from<double>(std::vector<double>{0, -INFINITY, std::log(3)}, {1, 3});
  struct Row {
    const char* name;
    Tensor logits;
    std::vector<int32_t> targets;
  };
  const Row rows[] = {{"random", normal({6, 5}), {0, 4, 2, 2, 1, 3}},
                      {"random", normal({3, 7}), {6, 0, 3}},
                      {"a transposed view", normal({2, 5}).view_transpose(0, 1), {1, 0, 0, 1, 1}},
                      {"one row", normal({1, 4}), {3}},
                      {"a vocabulary of one", normal({5, 1}), {0, 0, 0, 0, 0}},
                      {"equal scores", Tensor::zeros({2, 3}, f64), {2, 0}},
                      {"scores of 1000", far, {1, 1}},
                      {"a score of -inf", masked, {2}},
                      {"random, in f32", normal({4, 3}, f32), {2, 0, 1, 1}}};
  for (const auto& [name, logits, targets] : rows) {
    if (!compare_backward(g, impl, name, logits, targets)) return;
  }
  g.note(fmt::format("{} tensors; each row sums to 0", std::size(rows)));
}

struct State {
  std::vector<double> p, m, v;
};

State after(State s, const std::vector<double>& g, const AdamWArgs& a, decltype(Impl::adamw) adamw) {
  adamw(s.p, g, s.m, s.v, a);
  return s;
}
void right(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
           const AdamWArgs& a) {
  Adam{}(p, g, m, v, a);
}

// Compares one step; `before` holds what the call before made.
bool adamw_step(Grader& g, const Impl& impl, const std::string& name, const State& start,
                const std::vector<double>& gradient, const AdamWArgs& a, State& before) {
  const State got = after(start, gradient, a, impl.adamw), want = after(start, gradient, a, right);
  struct Part {
    const char* name;
    std::vector<double> State::*part;
  };
  for (const auto& [part_name, part] : {Part{"p", &State::p}, {"m", &State::m}, {"v", &State::v}}) {
    std::vector<kit::Mistake> mistakes;
    for (const auto& row : adamw_mistakes()) mistakes.push_back({row.says, after(start, gradient, a, row.wrong).*part});
    if (before.p.size() == start.p.size()) {
      const std::string kept = "m or v is kept between calls: use those that are given";
      for (const std::vector<double>& v : {start.v, before.v})
        mistakes.push_back({kept, after({start.p, before.m, v}, gradient, a, right).*part});
    }
    if (!g.equal(fmt::format("{}: {}", name, part_name), got.*part, want.*part,
                 {.mistakes = mistakes, .before = Value(start.*part)}))
      return false;
  }
  before = got;
  return true;
}

void check_adamw(Grader& g, const Impl& impl) {
  const auto args = [](int t, double decay, double scale) {
    return AdamWArgs{.lr = 0.1,
                     .beta1 = 0.9,
                     .beta2 = 0.99,
                     .eps = 1e-3,
                     .weight_decay = decay,
                     .bias_correction1 = 1 - std::pow(0.9, t),
                     .bias_correction2 = 1 - std::pow(0.99, t),
                     .grad_scale = scale};
  };
  State before;
  const State four{{1, -2, 0.5, 3}, {0.1, 0, -0.2, 0.05}, {0.02, 0.01, 0.3, 0.001}};
  const std::vector<double> g4 = {0.3, -0.1, 2, 0}, g7 = {1, -1, 0.7, 1e4, -1e-4, 0.2, -3};
  if (!adamw_step(g, impl, "step 3, g = {0.3, -0.1, 2, 0}, p = {1, -2, 0.5, 3}", four, g4, args(3, 0.2, 0.5), before))
    return;
  const State fresh{{0.4, -0.1, 2, -3}, std::vector<double>(4), std::vector<double>(4)};
  if (!adamw_step(g, impl, "step 1, m = v = 0", fresh, {-2, 0.3, 0.01, 5}, args(1, 0, 1), before)) return;
  State seven{{1, 2, -3, 4, -5, 6, 0}, std::vector<double>(7), std::vector<double>(7)}, none;
  for (int t = 1; t <= 3; ++t) {
    if (!adamw_step(g, impl, fmt::format("7 parameters, step {} of three", t), seven, g7, args(t, 0.01, 2), none))
      return;
    seven = after(seven, g7, args(t, 0.01, 2), right);
  }
  if (!adamw_step(g, impl, "one parameter, step 1000", {{-1}, {0.2}, {0.5}}, {0.4}, args(1000, 0.5, 0.1), before) ||
      !adamw_step(g, impl, "an infinite gradient", {{1, 2}, {0, 0}, {0, 0}}, {INFINITY, 1}, args(1, 0, 1), before) ||
      !adamw_step(g, impl, "no parameters", {}, {}, args(2, 0.1, 1), before))
    return;
  g.note("8 steps: 4, 7, 2, one and no parameters; p, m and v");
}

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "03.1",
       .title = "softmax",
       .piece = kit::piece<&Impl::softmax>("softmax"),
       .section = "From scores to probabilities",
       .why = "Every probability in this project comes out of this function. Scores of 1000 do occur, and exp(1000) is "
              "infinite.",
       .hints = {"What happens to the probabilities when you subtract the same number from all scores of a row? Which "
                 "number makes exp safe?",
                 "softmax(x)[r, i] = exp(x[r, i] - m[r]) / Σ_j exp(x[r, j] - m[r]) with m = the row's maximum.",
                 "e = exp(x - amax(x, {-1}, true)); divide e by sum(e, {-1}, true): both keep a dim of size 1, so that "
                 "they broadcast over the row."},
       .solution = {"tensor/cpu/softmax.cpp", "void softmax("},
       .run = check_softmax,
       .harmless = {{"only positive", "probabilities are never negative"},
                    {{"rank 0", "rank 1", "rank 4"}, "x is [R, V]"}}},
      {.id = "03.2",
       .title = "backward of cross-entropy",
       .piece = kit::piece<&Impl::cross_entropy_backward>("cross_entropy_backward"),
       .section = "What the loss says to the scores",
       .why = "The gradient of nearly every language model begins here: what was said minus what was right.",
       .hints = {"The loss of a row is log Σ exp(x) minus the target's score. What is the derivative of each part?",
                 "dlogits[r, i] = (softmax(logits)[r, i] - [i == target[r]]) / R.",
                 "pg::softmax(logits), minus one_hot(targets, V, logits.dtype()), divided by the number of rows."},
       .solution = {"tensor/cpu/cross_entropy.cpp", "void cross_entropy_backward("},
       .run = check_cross_entropy_backward,
       .harmless = {{"detached", "the result of a backward is not on the tape"},
                    {{"rank 0", "rank 4"}, "logits are [R, V], targets [R]"},
                    {"no elements", "a mean over no rows has no gradient"}}},
      {.id = "03.3",
       .title = "AdamW",
       .piece = kit::piece<&Impl::adamw>("adamw"),
       .section = "The step downhill",
       .why =
           "Each parameter gets a step of about lr, whatever the size of its gradient. Five details decide whether it "
           "is AdamW or something similar that also learns.",
       .hints =
           {"m and v start at 0: what are they after one step, compared with g and g²? And why should decay not be "
            "divided by √v?",
            "g' = grad_scale·g; p -= lr·wd·p; m = β1·m + (1-β1)·g'; v = β2·v + (1-β2)·g'²; "
            "p -= lr · (m/bc1) / (√(v/bc2) + eps).",
            "One loop over i: scale the gradient, decay p[i], update m[i], update v[i], move p[i]."},
       .solution = {"tensor/cpu/adamw.cpp", "void adamw("},
       .run = check_adamw},
      {.id = "03.4",
       .title = "temperature, top-k, top-p",
       .piece = kit::piece<&Impl::filtered_probs>("filtered_probs"),
       .section = "Letting it speak",
       .why =
           "The long tail of improbable characters is where a model falls off its own text. The order of the filters "
           "matters, and libraries differ; this is the order of Hugging Face transformers.",
       .hints =
           {"With top_k = 2 and top_p = 0.7: of which total should 0.7 be a share?",
            "q = softmax(logits/T) over the k largest; then keep the shortest head of the ranking with Σ q >= p; "
            "divide by what is left.",
            "Rank the ids by logit. Exponentiate (logit - largest)/T where the logit is at least the k-th; walk the "
            "ranking with the mass so far, and zero every token that begins at or past top_p; divide by the sum."},
       .solution = {"tensor/sample.cpp", "std::vector<double> filtered_probs("},
       .run = check_filtered_probs,
       .harmless = {{"only positive", "probabilities are never negative"},
                    {"no elements", "there is no token to draw from"}}},
      {.id = "03.5",
       .title = "drawing a token",
       .piece = kit::piece<&Impl::sample_token>("sample_token"),
       .section = "Letting it speak",
       .why = "One wrong comparison and a filtered-out token is drawn once in a million; nobody finds that later.",
       .hints = {"Lay the probabilities end to end on [0, 1]. In which piece does u fall, and to whom do the borders "
                 "belong?",
                 "The first i with u < p[0] + … + p[i].",
                 "Add up; skip zeros; remember the last token seen; return at the first sum greater than u, and the "
                 "remembered one if none is."},
       .solution = {"tensor/sample.cpp", "int32_t sample_token("},
       .run = check_sample_token,
       .harmless = {{{"large", "infinite"}, "no probability is over 1"}, {"no elements", "there is no token to draw"}}},
  };
}

Impl reference() {
  return {.softmax = [](const Tensor& x) { return pg::softmax(x); },
          .cross_entropy_backward =
              [](const Tensor& logits, const Tensor& targets) {
                EnableGrad on;
                const Tensor leaf = logits.detach().set_requires_grad();
                backward(pg::cross_entropy(leaf, targets));
                return leaf.grad();
              },
          .adamw =
              [](std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                 const AdamWArgs& args) {
                const auto view = [](const double* x, size_t n) {
                  const int64_t size = static_cast<int64_t>(n);
                  return View{const_cast<double*>(x), f64, {size}, {1}};
                };
                kernels({}).adamw(view(p.data(), p.size()), view(g.data(), g.size()), view(m.data(), m.size()),
                                  view(v.data(), v.size()), args);
              },
          .filtered_probs = pg::filtered_probs,
          .sample_token = pg::sample_token};
}

}  // namespace pg::lesson03
