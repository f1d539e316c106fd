// The checks of lesson 3.
#include <cmath>
#include <numeric>

#include "lessons/03_language_model/lesson.h"

namespace pg::lesson03 {
namespace {

using kit::Grader;
using kit::Value;

void check_softmax(Grader& g, const Impl& impl) {
  Generator random(31);
  const Tensor x = Tensor::normal({4, 7}, 0, 2, random, f64);
  const Tensor e = exp(x);
  g.equal("x [4, 7], random", impl.softmax(x), pg::softmax(x),
          {.mistakes = {{"the columns sum to 1; the rows should", pg::softmax(x, 0)},
                        {"nothing is divided by the sum", e},
                        {"the whole tensor sums to 1; each row should", e / sum(e)}}});
  if (g.failed()) return;
  const Tensor leaf = Tensor::normal({3, 5}, 0, 2, random, f64).set_requires_grad();
  g.equal("x [3, 5], random, on the tape", impl.softmax(leaf).detach(), pg::softmax(leaf.detach()));
  if (g.failed()) return;
  const Tensor large = Tensor::from<double>(std::vector<double>{1000, 1001, -1e4, 0, 0, 0}, {2, 3});
  const double p = 1 / (1 + std::exp(-1.0));
  g.equal("x = {{1000, 1001, -10000}, {0, 0, 0}}", impl.softmax(large),
          Value({2, 3}, {1 - p, p, 0, 1. / 3, 1. / 3, 1. / 3}),
          {.mistakes = {{"exp overflows: subtract the row's maximum first, it changes nothing else",
                         Value(exp(large) / sum(exp(large), {-1}, true))}}});
  g.note("28 random scores, and scores of 1000");
}

void check_cross_entropy_backward(Grader& g, const Impl& impl) {
  Generator random(32);
  const Tensor logits = Tensor::normal({6, 5}, 0, 2, random, f64);
  const Tensor targets = Tensor::from<int32_t>(std::vector<int32_t>{0, 4, 2, 2, 1, 3}, {6});
  const Tensor p = pg::softmax(logits), y = one_hot(targets, 5, f64);
  Tensor leaf = logits.clone().set_requires_grad();
  backward(pg::cross_entropy(leaf, targets));
  const std::vector<int32_t> next = {4, 2, 2, 1, 3, 0};
  g.equal("logits [6, 5], random; targets 0 4 2 2 1 3", impl.cross_entropy_backward(logits, targets), leaf.grad(),
          {.mistakes = {{"the loss is a mean over the rows: divide by their number", p - y},
                        {"the sign is flipped: raising the target's score must lower the loss", (y - p) / 6.0},
                        {"the 1 at the target is not subtracted", p / 6.0},
                        {"only the target's score gets a gradient; all others push too", (p - y) * y / 6.0},
                        {"divided by the vocabulary's size in place of the number of rows", (p - y) / 5.0},
                        {"the targets are off by one row", (p - one_hot(Tensor::from(next, {6}), 5, f64)) / 6.0}}});
  if (g.failed()) return;
  const Tensor other = Tensor::normal({3, 7}, 0, 2, random, f64);
  const Tensor labels = Tensor::from<int32_t>(std::vector<int32_t>{6, 0, 3}, {3});
  leaf = other.clone().set_requires_grad();
  backward(pg::cross_entropy(leaf, labels));
  g.equal("logits [3, 7], random; targets 6 0 3", impl.cross_entropy_backward(other, labels), leaf.grad());
  g.note("two shapes; each row sums to 0");
}

// AdamW with a switch for each common mistake.
struct Adam {
  bool corrected = true, decoupled = true, eps_outside = true, scaled = true, squared = true;
  std::vector<double> operator()(std::vector<double> p, const std::vector<double>& g, std::vector<double> m,
                                 std::vector<double> v, const AdamWArgs& a) const {
    for (size_t i = 0; i < p.size(); ++i) {
      double d = (scaled ? a.grad_scale : 1) * g[i];
      if (!decoupled) d += a.weight_decay * p[i];
      if (decoupled) p[i] -= a.lr * a.weight_decay * p[i];
      m[i] = a.beta1 * m[i] + (1 - a.beta1) * d;
      v[i] = a.beta2 * v[i] + (1 - a.beta2) * (squared ? d * d : std::abs(d));
      const double mean = corrected ? m[i] / a.bias_correction1 : m[i];
      const double square = corrected ? v[i] / a.bias_correction2 : v[i];
      p[i] -= a.lr * mean / (eps_outside ? std::sqrt(square) + a.eps : std::sqrt(square + a.eps));
    }
    return p;
  }
};

void check_adamw(Grader& g, const Impl& impl) {
  const AdamWArgs a{.lr = 0.1,
                    .beta1 = 0.9,
                    .beta2 = 0.99,
                    .eps = 1e-3,
                    .weight_decay = 0.2,
                    .bias_correction1 = 1 - std::pow(0.9, 3),
                    .bias_correction2 = 1 - std::pow(0.99, 3),
                    .grad_scale = 0.5};
  const std::vector<double> p = {1, -2, 0.5, 3}, gradient = {0.3, -0.1, 2, 0}, m = {0.1, 0, -0.2, 0.05},
                            v = {0.02, 0.01, 0.3, 0.001};
  const Tensor tp = Tensor::from(p, {4}), tm = Tensor::from(m, {4}), tv = Tensor::from(v, {4});
  kernels({}).adamw(tp, Tensor::from(gradient, {4}), tm, tv, a);
  std::vector<double> gp = p, gm = m, gv = v;
  impl.adamw(gp, gradient, gm, gv, a);
  const auto with = [&](const Adam& adam) { return adam(p, gradient, m, v, a); };
  g.equal("step 3, g = {0.3, -0.1, 2, 0}, p = {1, -2, 0.5, 3}: p", gp, tp,
          {.mistakes = {{"the bias correction is missing: early means of m and v lean towards their start at 0",
                         with({.corrected = false})},
                        {"the decay went into the gradient, where m and v get hold of it; it must act on p directly",
                         with({.decoupled = false})},
                        {"eps stands inside the root; it must be added to it", with({.eps_outside = false})},
                        {"grad_scale is ignored: a clipped gradient would not be", with({.scaled = false})},
                        {"v is the mean of the squares of g", with({.squared = false})}}});
  g.equal("the same: m", gm, tm, {.before = Value(m)});
  g.equal("the same: v", gv, tv, {.before = Value(v)});
  g.note("p, m and v of 4 parameters at step 3");
}

std::vector<double> plain_probs(const std::vector<double>& logits, double temperature) {
  std::vector<double> p;
  for (double x : logits) p.push_back(std::exp(x / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= total;
  return p;
}
std::vector<double> keep(std::vector<double> p, const std::vector<int>& ids, bool renormalise = true) {
  std::vector<double> kept(p.size(), 0);
  double total = 0;
  for (int id : ids) total += p[static_cast<size_t>(id)];
  for (int id : ids) kept[static_cast<size_t>(id)] = p[static_cast<size_t>(id)] / (renormalise ? total : 1);
  return kept;
}

void check_filtered_probs(Grader& g, const Impl& impl) {
  const std::vector<double> logits = {1, 3, 2, 0, -1};  // descending order: 1, 2, 0, 3, 4
  const auto p = plain_probs(logits, 1);                // 0.087, 0.643, 0.237, 0.032, 0.012... in the order of ids
  const auto got = [&](const SampleOptions& o) { return impl.filtered_probs(logits, o); };
  g.equal("logits {1, 3, 2, 0, -1}, temperature 0.5", got({.temperature = 0.5}), plain_probs(logits, 0.5),
          {.mistakes = {{"the temperature is ignored", p},
                        {"multiplied by the temperature; divide, so that cold means sure", plain_probs(logits, 2)}}});
  g.equal("the same logits, top_k 2", got({.top_k = 2}), keep(p, {1, 2}),
          {.mistakes = {{"one too many are kept", keep(p, {1, 2, 0})},
                        {"one too few are kept", keep(p, {1})},
                        {"what is left does not sum to 1: divide by its sum", keep(p, {1, 2}, false)},
                        {"the first k ids are kept, not the k largest", keep(p, {0, 1})}}});
  g.equal("the same logits, top_p 0.7", got({.top_p = 0.7}), keep(p, {1, 2}),
          {.mistakes = {
               {"the token that crosses the line is dropped; it must stay, or nothing might be left", keep(p, {1})},
               {"one too many are kept: stop once the mass has reached p", keep(p, {1, 2, 0})},
               {"what is left does not sum to 1: divide by its sum", keep(p, {1, 2}, false)}}});
  // Within the best two, token 1 has 0.73 of the mass: top-p must be applied to what top-k kept.
  g.equal("the same logits, top_k 2 and top_p 0.7", got({.top_k = 2, .top_p = 0.7}), keep(p, {1}),
          {.mistakes = {{"top-p must judge what top-k left over, scaled to sum to 1", keep(p, {1, 2})}}});
  g.equal(
      "the same logits, temperature 2 and top_p 0.7", got({.temperature = 2, .top_p = 0.7}),
      keep(plain_probs(logits, 2), {1, 2, 0}),
      {.mistakes = {{"top-p must see the probabilities after the temperature", keep(plain_probs(logits, 2), {1, 2})}}});
  const std::vector<double> high = {1000, 999};
  g.equal("logits {1000, 999}, temperature 1", impl.filtered_probs(high, {}), plain_probs({1, 0}, 1));
  const std::vector<double> tied = {1, 2, 2, 0};
  g.equal("logits {1, 2, 2, 0}, top_k 1: both best stay", impl.filtered_probs(tied, {.top_k = 1}),
          std::vector<double>{0, 0.5, 0.5, 0});
  g.note("temperature, top-k and top-p, alone and together");
}

void check_sample_token(Grader& g, const Impl& impl) {
  const std::vector<double> probs = {0, 0.25, 0, 0.5, 0.25, 0};
  const double u[] = {0, 0.2, 0.25, 0.74, 0.75, 0.9999999};
  const int32_t want[] = {1, 1, 3, 3, 4, 4};
  const char* says[] = {"a token of probability 0 is drawn: skip those",
                        "",
                        "at u = 0.25 the first quarter is used up: compare with <, not <=",
                        "",
                        "",
                        ""};
  for (size_t i = 0; i < std::size(u); ++i) {
    const int32_t token = impl.sample_token(probs, u[i]);
    g.expect(token == want[i], fmt::format("p = {{0, 0.25, 0, 0.5, 0.25, 0}}, u = {}", u[i]),
             fmt::format("token {}", token), fmt::format("token {}", want[i]),
             says[i][0]                                                          ? says[i]
             : token >= 0 && token < 6 && probs[static_cast<size_t>(token)] == 0 ? "a token of probability 0 is drawn"
                                                                                 : "");
  }
  std::vector<double> thirds(10, 0.1);  // their sum is 0.9999999999999999
  g.expect(impl.sample_token(thirds, 0.99999999999999994) == 9, "ten times 0.1 and the largest u below 1",
           fmt::format("token {}", impl.sample_token(thirds, 0.99999999999999994)), "token 9",
           "the probabilities sum to a hair less than 1: the last token must catch the rest");
  g.note("borders, gaps and a sum of 0.9999999999999999");
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
       .run = check_softmax},
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
       .harmless = {{"detached", "the result of a backward is not on the tape"}}},
      {.id = "03.3",
       .title = "AdamW",
       .piece = kit::piece<&Impl::adamw>("adamw"),
       .section = "The step downhill",
       .why =
           "Each parameter gets a step of about lr, whatever the size of its gradient. Five details decide whether it "
           "is AdamW or something that merely also learns.",
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
       .run = check_filtered_probs},
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
       .run = check_sample_token},
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

Impl learner() { return {softmax, cross_entropy_backward, adamw, filtered_probs, sample_token}; }

}  // namespace pg::lesson03
