// The checks of GAE. Expected values come from the definition, A[t] = Σ_l (gamma·lambda)^l delta[t+l] up to the end of
// the episode, or from a few values computed by hand. Nothing here iterates backwards.
#include <cmath>

#include "lessons/07_ppo/checks.h"

namespace pg::lesson07 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

constexpr int64_t kRows = 2, kSteps = 6;
constexpr double kGamma = 0.9, kLambda = 0.8;

Tensor normal(const Shape& shape, uint64_t seed) {
  Generator random(seed);
  return Tensor::normal(shape, 0, 1.5, random, f64);
}
Tensor flags(const std::vector<uint8_t>& x) { return Tensor::from(x, {kRows, kSteps}); }

// What follows a step: the V of the next state, and whether the sum of deltas ends here.
struct Border {
  double next;
  bool stop;
};
struct Sample {
  Tensor rewards = normal({kRows, kSteps}, 71), values = normal({kRows, kSteps}, 72), next = normal({kRows}, 73);
  Numbers r = rewards.to_vector(), v = values.to_vector(), last = next.to_vector();

  // V of the state after step i if the episode continues.
  double after(size_t i) const { return (i + 1) % kSteps == 0 ? last[i / kSteps] : v[i + 1]; }
  // The definition: for every step, the sum over the later steps. border(i) returns what follows step i.
  template <class BorderOf>
  Value advantages(BorderOf border, double gamma = kGamma, double lambda = kLambda) const {
    Value a({kRows, kSteps}, Numbers(r.size(), 0));
    for (size_t i = 0; i < r.size(); ++i) {
      double weight = 1;
      for (size_t j = i; j < (i / kSteps + 1) * kSteps; ++j, weight *= gamma * lambda) {
        const Border b = border(j);
        a.v[i] += weight * (r[j] + gamma * b.next - v[j]);
        if (b.stop) break;
      }
    }
    return a;
  }
  Value plus_values(Value a) const {
    for (size_t i = 0; i < a.v.size(); ++i) a.v[i] += v[i];
    return a;
  }
};

Value whitened(Value a) {
  const auto n = static_cast<double>(a.v.size());
  double mean = 0, squares = 0;
  for (double x : a.v) mean += x / n;
  for (double x : a.v) squares += (x - mean) * (x - mean);
  for (double& x : a.v) x = (x - mean) / std::sqrt(squares / (n - 1));
  return a;
}

GaeOptions options() { return {.gamma = kGamma, .lambda = kLambda}; }

}  // namespace

void check_gae(Grader& g, const Impl& impl) {
  const Sample s;
  const auto on = [&](size_t i) { return Border{s.after(i), false}; };
  const auto none = [&](size_t i) { return Border{(i + 1) % kSteps == 0 ? 0 : s.v[i + 1], false}; };
  const Gae got = impl.gae(s.rewards, s.values, s.next, options());
  const Value want = s.advantages(on);
  const std::string input = "rewards, values [2, 6], random; gamma 0.9, lambda 0.8: ";
  // delta without gamma, and the sum without gamma.
  Value undiscounted({kRows, kSteps}, Numbers(s.r.size(), 0));
  for (size_t i = 0; i < s.r.size(); ++i) {
    for (size_t j = i; j < (i / kSteps + 1) * kSteps; ++j) {
      undiscounted.v[i] += std::pow(kGamma * kLambda, static_cast<double>(j - i)) * (s.r[j] + s.after(j) - s.v[j]);
    }
  }
  g.equal(
      input + "advantages", got.advantages, want,
      {.mistakes = {{"lambda is forgotten: this is the return minus V, as for lambda = 1", s.advantages(on, kGamma, 1)},
                    {"gamma is forgotten where A is carried on: the factor of A[t+1] is gamma·lambda",
                     [&] {  // weights lambda^l instead of (gamma·lambda)^l
                       Value a({kRows, kSteps}, Numbers(s.r.size(), 0));
                       for (size_t i = 0; i < s.r.size(); ++i) {
                         for (size_t j = i; j < (i / kSteps + 1) * kSteps; ++j) {
                           a.v[i] +=
                               std::pow(kLambda, static_cast<double>(j - i)) * (s.r[j] + kGamma * s.after(j) - s.v[j]);
                         }
                       }
                       return a;
                     }()},
                    {"gamma is forgotten in delta", undiscounted},
                    {"this is delta alone: the advantage of the next step is not added", s.advantages(on, kGamma, 0)},
                    {"next_values is not used: the rollout ends here, but the episode continues", s.advantages(none)},
                    {"these are whitened; whiten later, in the loss, after the returns are computed", whitened(want)},
                    {"these are the returns; subtract V", s.plus_values(want)}}});
  g.equal(
      input + "returns", got.returns, s.plus_values(want),
      {.mistakes = {{"the returns are made from whitened advantages: the critic would learn targets of a wrong scale",
                     s.plus_values(whitened(want))},
                    {"these are the advantages; the returns are A + V", want}}});
  if (g.failed()) return;
  const auto row = [](const Numbers& x) { return Tensor::from(x, {1, 3}); };
  const Gae other =
      impl.gae(row({1, 2, 3}), row({0, 1, 2}), Tensor::from(Numbers{4}, {1}), {.gamma = 0.5, .lambda = 0.5});
  // By hand: delta = 1.5 2 3, and each A is delta + A of the next step / 4.
  g.equal("rewards {1, 2, 3}, values {0, 1, 2}, next 4, gamma and lambda 0.5: advantages", other.advantages,
          Value({1, 3}, {2.1875, 2.75, 3}));
  g.equal("the same: returns", other.returns, Value({1, 3}, {2.1875, 3.75, 5}));
  g.note("12 advantages and returns from the definition, 3 by hand");
}

void check_termination(Grader& g, const Impl& impl) {
  const Sample s;
  const std::vector<uint8_t> ended = {0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1};
  GaeOptions o = options();
  o.terminated = flags(ended);
  const auto border = [&](size_t i) { return Border{ended[i] ? 0 : s.after(i), ended[i] != 0}; };
  const auto bootstrapped = [&](size_t i) { return Border{s.after(i), ended[i] != 0}; };
  const auto carried = [&](size_t i) { return Border{ended[i] ? 0 : s.after(i), false}; };
  // Uses the flag of the previous step, as if `done` were stored together with the next observation.
  const auto late = [&](size_t i) {
    const bool end = i % kSteps != 0 && ended[i - 1];
    return Border{end ? 0 : s.after(i), end};
  };
  const auto early = [&](size_t i) {
    const bool end = (i + 1) % kSteps != 0 && ended[i + 1];
    return Border{end ? 0 : s.after(i), end};
  };
  const auto ignored = [&](size_t i) { return Border{s.after(i), false}; };
  g.equal("the same, terminated {001000, 100101}: advantages", impl.gae(s.rewards, s.values, s.next, o).advantages,
          s.advantages(border),
          {.mistakes = {
               {"V of the next step is used after a termination: that is another episode's first state",
                s.advantages(bootstrapped)},
               {"A is carried across the episode's end: rewards of the next episode are credited to this one",
                s.advantages(carried)},
               {"terminated is read one step late: terminated[t] says that step t was the last", s.advantages(late)},
               {"terminated is read one step early: terminated[t] says that step t was the last", s.advantages(early)},
               {"terminated is not used", s.advantages(ignored)}}});
  g.note("4 terminations, one of them at the last step of the rollout");
}

void check_truncation(Grader& g, const Impl& impl) {
  const Sample s;
  const std::vector<uint8_t> cut = {0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0}, ended = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0};
  const Tensor final_values = normal({kRows, kSteps}, 74);
  const Numbers f = final_values.to_vector();
  GaeOptions o = options();
  o.terminated = flags(ended);
  o.truncated = flags(cut);
  o.final_values = final_values;
  const auto with = [&](auto next_if_cut, bool stop_if_cut, bool end_wins) {
    return s.advantages([&, next_if_cut](size_t i) {
      const bool over = ended[i] && (end_wins || !cut[i]);
      if (over) return Border{0, true};
      return cut[i] ? Border{next_if_cut(i), stop_if_cut} : Border{s.after(i), false};
    });
  };
  const auto final_value = [&](size_t i) { return f[i]; };
  g.equal(
      "the same, truncated {001001, 010010}, terminated {000010, 000010}: advantages",
      impl.gae(s.rewards, s.values, s.next, o).advantages, with(final_value, true, true),
      {.mistakes = {
           {"truncation is treated as termination: without the time limit, more rewards would have followed",
            with([](size_t) { return 0.0; }, true, true)},
           {"V of the next step is used after a truncation: that is the next episode's first state; use final_values",
            with([&](size_t i) { return s.after(i); }, true, true)},
           {"A is carried across the truncation: the next step belongs to another episode",
            with(final_value, false, true)},
           {"where both flags are 1 the episode has terminated: next is 0", with(final_value, true, false)},
           {"truncated is not used", s.advantages([&](size_t i) {
              return Border{ended[i] ? 0 : s.after(i), ended[i] != 0};
            })}}});
  g.note("4 truncations, one of them with a termination at the same step");
}

void check_mask(Grader& g, const Impl& impl) {
  // gamma = lambda = 1/2. Only steps 0 and 2 exist: delta_2 = 3 + 4 - 1 = 6, delta_0 = 1 + 1/2·1 - 4 = -5/2, A_0 = -5/2
  // + 6/4 = -1.
  const auto row = [](const Numbers& x) { return Tensor::from(x, {1, static_cast<int64_t>(x.size())}); };
  GaeOptions o{.gamma = 0.5, .lambda = 0.5};
  o.mask = Tensor::from(std::vector<uint8_t>{1, 0, 1, 0}, {1, 4});
  const Gae got = impl.gae(row({1, 10, 3, 20}), row({4, 7, 1, 9}), Tensor::from(Numbers{8}, {1}), o);
  // The mistake: masked entries are replaced by zeros, and all slots are processed: delta_2 = 3 - 1, delta_3 = 4, ...
  g.equal("mask {1, 0, 1, 0}, rewards 1 . 3 ., values 4 . 1 ., next 8, gamma = lambda = 1/2: advantages",
          got.advantages, Value({1, 4}, {-1, 0, 6, 0}),
          {.mistakes = {
               {"the mask is not used",
                Value({1, 4}, {1 + 3.5 - 4 + (3.5 + (6.5 + 3.75) / 4) / 4, 3.5 + (6.5 + 3.75) / 4, 6.5 + 3.75, 15})},
               {"the slot before a masked slot uses its V; skip masked slots with `continue` at the start of the loop",
                Value({1, 4}, {1 + 3.5 - 4 + (3 + 4.5 - 1) / 4, 0, 3 + 4.5 - 1, 0})},
               {"A is lost at a masked slot: the slot before it needs A of the slot after it",
                Value({1, 4}, {-2.5, 0, 6, 0})}}});
  g.equal("the same: returns", got.returns, Value({1, 4}, {3, 0, 7, 0}),
          {.mistakes = {{"masked slots must be 0 in the results", Value({1, 4}, {3, 7, 7, 9})}}});
  const Gae odd = impl.gae(row({1, NAN, 3, INFINITY}), row({4, INFINITY, 1, NAN}), Tensor::from(Numbers{8}, {1}), o);
  g.equal("the same with nan and infinity where the mask is 0", odd.advantages, Value({1, 4}, {-1, 0, 6, 0}));
  g.note("by hand, and with nan in masked slots");
}

}  // namespace pg::lesson07
