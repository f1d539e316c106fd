// The checks of lesson 6.
#include <cmath>
#include <limits>

#include "lessons/06_reinforce/lesson.h"
#include "rl/advantages.h"
#include "rl/kl.h"
#include "rl/policy_loss.h"

namespace pg::lesson06 {
namespace {

using kit::Grader;
using kit::Value;

Tensor normal(const Shape& shape, uint64_t seed) {
  Generator random(seed);
  return Tensor::normal(shape, 0, 1.5, random, f64);
}
Value gradient_of(const Tensor& leaf) {
  const Tensor grad = leaf.grad();
  return grad.defined() ? Value(grad) : Value(zeros_like(leaf));
}

void check_token_log_prob(Grader& g, const Impl& impl) {
  const Tensor logits = normal({6, 5}, 61), weight = normal({6}, 62);
  const Tensor ids = Tensor::from<int32_t>(std::vector<int32_t>{0, 4, 2, 2, 1, 3}, {6});
  Tensor mine = logits.clone().set_requires_grad(), ours = logits.clone().set_requires_grad();
  const Tensor got = impl.token_log_prob(mine, ids), want = pg::token_log_prob(ours, ids).first;
  const Tensor p = softmax(logits), chosen = squeeze(gather(p, 1, unsqueeze(ids, 1)), 1);
  g.equal("logits [6, 5], random; ids 0 4 2 2 1 3", got.detach(), want.detach(),
          {.mistakes = {{"this is the probability; take its logarithm", chosen},
                        {"these are the scores of the ids: the log-sum-exp of the row is missing",
                         squeeze(gather(logits, 1, unsqueeze(ids, 1)), 1)}}});
  if (g.failed()) return;
  if (!g.expect(got.requires_grad(), "the result", "no tape", "a tensor on the tape",
                "without a gradient nothing is learned: use ops all the way, no detach() and no data()")) {
    return;
  }
  backward(got, weight);
  backward(want, weight);
  g.equal("the gradient that arrives at the logits", gradient_of(mine), ours.grad());
  const Tensor far = Tensor::from<double>(std::vector<double>{1000, 0, 0, 1000}, {2, 2});
  g.equal("logits {{1000, 0}, {0, 1000}}, ids 0 0", impl.token_log_prob(far, Tensor::zeros({2}, i32)),
          Value({2}, {0, -1000}),
          {.mistakes = {{"log of a probability that rounded to 0: use log_softmax", Value({2}, {0, -INFINITY})}}});
  g.note("values, gradients, and scores of 1000");
}

void check_reinforce_loss(Grader& g, const Impl& impl) {
  const Tensor log_prob = neg(abs(normal({3, 4}, 63)));
  const Tensor advantage = normal({3, 4}, 64);
  const Tensor mask = Tensor::from<uint8_t>(std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0}, {3, 4});
  const Tensor kept = mask.to(f64);
  Tensor leaf = log_prob.clone().set_requires_grad(), weights = advantage.clone().set_requires_grad();
  backward(impl.reinforce_loss(leaf, weights, mask));
  const Tensor want = kept * advantage / -3.0;
  g.equal(
      "log_prob, advantage [3, 4]; 7 of 12 steps count: the gradient at log_prob", gradient_of(leaf), want,
      {.mistakes = {
           {"the sign is flipped: a loss is minimised, so rewarded actions need a negative gradient", neg(want)},
           {"the mask is not used", advantage / -3.0},
           {"divided by the number of steps, so long episodes count less; divide by the episodes B", want * 3.0 / 7.0},
           {"divided by B·T in place of B", want / 4.0},
           {"not divided by the number of episodes", want * 3.0}}});
  g.equal("the gradient at the advantage", gradient_of(weights), Tensor::zeros({3, 4}, f64),
          {.mistakes = {{"a gradient flows into the advantage: detach() it", kept * log_prob / -3.0}}});
  if (g.failed()) return;
  const Tensor endless = log_prob.clone();
  endless.view_select(0, 2).view_slice(0, 1, 4).fill(-INFINITY);
  g.equal("the loss itself, with log_prob = -inf where the mask is 0", impl.reinforce_loss(endless, advantage, mask),
          sum(where(mask, log_prob * advantage, Tensor::scalar(0, f64))) / -3.0,
          {.mistakes = {{"0 times infinity is nan: choose with where(mask, ...) in place of multiplying by the mask",
                         Tensor::scalar(NAN, f64)}}});
  const Tensor few = neg(abs(normal({2, 5}, 68))), gains = normal({2, 5}, 69), all = Tensor::ones({2, 5}, u8);
  g.equal("log_prob, advantage [2, 5], every step counts: the loss itself", impl.reinforce_loss(few, gains, all),
          sum(few * gains) / -2.0);
  g.note("gradient, mask, two shapes, and infinity where nothing counts");
}

void check_return_to_go(Grader& g, const Impl& impl) {
  const Tensor r = normal({3, 5}, 65), before = r.clone();
  const double gamma = 0.9;
  const Tensor want = rl::return_to_go(r, gamma);
  const auto flip = [](const Tensor& x) {
    return index_select(x, 1, Tensor::from<int32_t>(std::vector<int32_t>{4, 3, 2, 1, 0}, {5}));
  };
  const Tensor total = expand(want.view_slice(1, 0, 1), {3, 5});
  g.equal("rewards [3, 5], random, gamma 0.9", impl.return_to_go(r, gamma), want,
          {.mistakes = {{"every step gets the whole return; an action is not to blame for what came before it", total},
                        {"gamma is ignored", rl::return_to_go(r, 1)},
                        {"this sums the past; credit goes to what comes after", flip(rl::return_to_go(flip(r), gamma))},
                        {"the step's own reward is missing", want - r},
                        {"discounted by the distance from the start, not from the step", [&] {
                           Tensor d = r.clone();
                           for (int64_t t = 0; t < 5; ++t)
                             d.view_select(1, t).copy_from(r.view_select(1, t) * std::pow(gamma, t));
                           return Value(rl::return_to_go(d, 1));
                         }()}}});
  g.equal("the rewards afterwards", r, before,
          {.mistakes = {{"the rewards were overwritten: work on a clone", Value(want)}}});
  g.equal("rewards [2, 1]", impl.return_to_go(Tensor::ones({2, 1}, f64), 0.5), Tensor::ones({2, 1}, f64));
  const Tensor longer = normal({2, 7}, 70);
  g.equal("rewards [2, 7], random, gamma 0.5", impl.return_to_go(longer, 0.5), rl::return_to_go(longer, 0.5));
  g.note("two shapes, and episodes of one step");
}

void check_advantage(Grader& g, const Impl& impl) {
  Baseline baseline{.decay = 0.5};
  const auto batch = [](std::vector<double> v) { return Tensor::from(v, {static_cast<int64_t>(v.size())}); };
  const std::string input = "decay 0.5, batches {4, 8}, {1, 3}, {0, 0}: advantages of the ";
  g.equal(input + "first", impl.advantage(baseline, batch({4, 8})), Value({2}, {4, 8}),
          {.mistakes = {{"the batch is in its own baseline: then the baseline depends on the action it judges",
                         Value({2}, {-2, 2})}}});
  g.equal(input + "second", impl.advantage(baseline, batch({1, 3})), Value({2}, {-5, -3}),
          {.mistakes = {{"the batch is in its own baseline: then the baseline depends on the action it judges",
                         Value({2}, {1 - 10.0 / 3, 3 - 10.0 / 3})},
                        {"plus the baseline; subtract it", Value({2}, {7, 9})}}});
  // After {6, 2}: sum = 0.5·6 + 2 = 5, weight = 1.5.
  g.equal(input + "third", impl.advantage(baseline, batch({0, 0})), Value({2}, {-10.0 / 3, -10.0 / 3}),
          {.mistakes = {{"the plain mean of all batches; older ones should count less", Value({2}, {-4, -4})},
                        {"sum is not divided by weight", Value({2}, {-5, -5})}}});
  g.equal("the baseline after it: {sum, weight}", std::vector<double>{baseline.sum, baseline.weight},
          std::vector<double>{2.5, 1.75});
  g.note("three batches, each judged by those before it");
}

void check_kl(Grader& g, const Impl& impl) {
  const Tensor lp = neg(abs(normal({7}, 66))), ref = neg(abs(normal({7}, 67)));
  const std::string input = "log_prob, ref_log_prob [7], random: ";
  const Tensor d = lp - ref, want3 = rl::k3(lp, ref);
  g.equal(input + "k1", impl.k1(lp, ref), d,
          {.mistakes = {{"reference minus policy; it is policy minus reference", neg(d)}}});
  g.equal(input + "k2", impl.k2(lp, ref), rl::k2(lp, ref), {.mistakes = {{"the factor 1/2 is missing", d * d}}});
  g.equal(input + "k3", impl.k3(lp, ref), want3,
          {.mistakes = {{"the two are exchanged: the ratio is ref/π, not π/ref", rl::k3(ref, lp)},
                        {"the 1 is not subtracted", want3 + 1.0},
                        {"this is the ratio itself", exp(neg(d))}}});
  if (g.failed()) return;
  const Tensor near = Tensor::from<double>(std::vector<double>{-1, -1}, {2}),
               beside = Tensor::from<double>(std::vector<double>{-1 + 1e-6, -1 - 1e-6}, {2});
  const Tensor tiny = beside - near;
  g.equal("log_prob = -1, ref = -1 ± 0.000001: k3", impl.k3(near, beside), tiny * tiny * 0.5,
          {.rtol = 1e-5,
           .mistakes = {
               {"exp(d) - 1 loses its digits where the policies agree, which is where every run begins: use expm1(d)",
                exp(tiny) - 1.0 - tiny}}});
  if (g.failed()) return;
  const Tensor rows = neg(abs(normal({2, 5}, 78))).set_requires_grad(), ref_rows = neg(abs(normal({2, 5}, 79)));
  const Tensor plain = rows.detach();
  const std::string taped = "log_prob, ref_log_prob [2, 5], on the tape: ";
  g.equal(taped + "k1", impl.k1(rows, ref_rows).detach(), rl::k1(plain, ref_rows));
  g.equal(taped + "k2", impl.k2(rows, ref_rows).detach(), rl::k2(plain, ref_rows));
  g.equal(taped + "k3", impl.k3(rows, ref_rows).detach(), rl::k3(plain, ref_rows));
  g.note("two shapes each, and policies that nearly agree");
}

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "06.1",
       .title = "log-probability of a sample",
       .piece = kit::piece<&Impl::token_log_prob>("token_log_prob"),
       .section = "A gradient from samples",
       .why = "Everything in policy gradients goes through this number. It must be exact where probabilities round to "
              "0, and it "
              "must stay on the tape.",
       .hints = {"log softmax is a table of all log-probabilities. Which entry of each row is yours?",
                 "result[r] = log_softmax(logits)[r, ids[r]].",
                 "gather(log_softmax(logits), 1, unsqueeze(ids, 1)) is [R, 1]; squeeze the last dim away."},
       .solution = {"autograd/softmax.cpp", "token_log_prob("},
       .run = check_token_log_prob},
      {.id = "06.2",
       .title = "the REINFORCE loss",
       .piece = kit::piece<&Impl::reinforce_loss>("reinforce_loss"),
       .section = "A gradient from samples",
       .why = "Its value means nothing; its gradient means everything. Sign, divisor and mask are where libraries go "
              "wrong.",
       .hints = {"Which sign makes a step downhill raise the probability of a rewarded action? By what must you divide "
                 "so that "
                 "the gradient is a mean over episodes?",
                 "loss = -(1/B) Σ_b Σ_t mask·A·log π; d loss / d log π[b, t] = -mask·A/B.",
                 "Multiply log_prob by advantage.detach(); where(mask, that, a scalar 0); sum; divide by -B."},
       .solution = {"rl/policy_loss.cpp", "Tensor reinforce_loss("},
       .run = check_reinforce_loss},
      {.id = "06.3",
       .title = "return-to-go",
       .piece = kit::piece<&Impl::return_to_go>("return_to_go"),
       .section = "Who gets the credit",
       .why = "Crediting an action with rewards that came before it is not wrong on average, only noisy; crediting it "
              "with less "
              "than what follows is wrong.",
       .hints = {"Can the word of step 5 have caused the reward of step 2? How does G[t] follow from G[t+1]?",
                 "G[b, t] = r[b, t] + gamma·G[b, t+1], from the last step backwards.",
                 "Clone; for each b, for t from T-2 down to 0: g[b·T + t] += gamma · g[b·T + t + 1]."},
       .solution = {"rl/advantages.cpp", "Tensor return_to_go("},
       .run = check_return_to_go,
       .harmless = {{"detached", "rewards are data: no gradient passes through them"}}},
      {.id = "06.4",
       .title = "the moving baseline",
       .piece = kit::piece<&Impl::advantage>("advantage"),
       .section = "What is usual",
       .why =
           "A baseline that has seen the episode it judges is no longer free of it: the gradient is then biased, by a "
           "little, silently.",
       .hints = {"After one batch, what should the baseline be? And before it?",
                 "advantage = returns - sum/weight (0 at first); then sum = decay·sum + mean(returns), weight = "
                 "decay·weight + 1.",
                 "Compute the result first. Then update sum, then weight."},
       .solution = {"rl/advantages.cpp", "Tensor MovingBaseline::advantage("},
       .run = check_advantage,
       .harmless = {{"detached", "an advantage is a number by which gradients are multiplied"}}},
      {.id = "06.5",
       .title = "k1, k2, k3",
       .piece = kit::piece<&Impl::k1, &Impl::k2, &Impl::k3>("k1"),
       .section = "How far from what it was",
       .why = "Three estimates of one number, with one sign and one direction to confuse. Here is where published code "
              "has been "
              "wrong.",
       .hints = {"The samples come from π, so where π is larger than the reference log π - log ref is positive. Which "
                 "of the "
                 "three can be negative?",
                 "k1 = log π - log ref; k2 = k1²/2; k3 = e^d - 1 - d with d = log ref - log π.",
                 "k1: subtract. k2: d * d * 0.5. k3: d = ref_log_prob - log_prob; expm1(d) - d."},
       .solution = {"rl/kl.cpp", "Tensor k3("},
       .run = check_kl},
  };
}

Impl reference() {
  return {
      .token_log_prob = [](const Tensor& logits, const Tensor& ids) { return pg::token_log_prob(logits, ids).first; },
      .reinforce_loss = rl::reinforce_loss,
      .return_to_go = [](const Tensor& rewards, double gamma) { return rl::return_to_go(rewards, gamma); },
      .advantage =
          [](Baseline& b, const Tensor& returns) {
            rl::MovingBaseline engine(b.decay, b.sum, b.weight);
            const Tensor result = engine.advantage(returns);
            b.sum = engine.sum();
            b.weight = engine.weight();
            return result;
          },
      .k1 = [](const Tensor& log_prob, const Tensor& ref) { return rl::k1(log_prob, ref); },
      .k2 = [](const Tensor& log_prob, const Tensor& ref) { return rl::k2(log_prob, ref); },
      .k3 = [](const Tensor& log_prob, const Tensor& ref) { return rl::k3(log_prob, ref); }};
}

Impl learner() { return {token_log_prob, reinforce_loss, return_to_go, advantage, k1, k2, k3}; }

}  // namespace pg::lesson06
