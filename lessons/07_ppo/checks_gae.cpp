// The checks of GAE. Expected values come from the definition, A[t] = Σ_l (gamma·lambda)^l delta[t+l] up to the end of
// the episode, or from a few values computed by hand. Nothing here iterates backwards.
#include <cmath>

#include "lessons/07_ppo/checks.h"

namespace pg::lesson07 {
namespace {

using kit::Grader;
using kit::Mistake;
using kit::Value;
using Numbers = std::vector<double>;
using Flags = std::vector<uint8_t>;

constexpr double kGamma = 0.9, kLambda = 0.8;

// What follows a step: the V of the next state, and whether the sum of deltas ends here.
struct Border {
  double next;
  bool stop;
};
struct Factors {
  double next, after;  // of V[t+1] in delta, and of A[t+1]
};

struct Sample {
  Tensor rewards, values, next;
  Numbers r = rewards.to_vector(), v = values.to_vector(), last = next.to_vector();
  Numbers kept = Numbers(r.size(), 1);
  Numbers flags = Numbers(r.size(), 0);  // the flags of the check
  size_t steps = static_cast<size_t>(rewards.size(1));

  size_t row_end(size_t i) const { return (i / steps + 1) * steps; }
  // The next step of the row that exists, or the row's end.
  size_t follower(size_t i) const {
    size_t j = i + 1;
    while (j < row_end(i) && kept[j] == 0) ++j;
    return j;
  }
  // V of the state after step i if the episode continues.
  double after(size_t i) const {
    const size_t j = follower(i);
    return j == row_end(i) ? last[i / steps] : v[j];
  }
  // The definition: for every step, the sum over the later steps. border(i) returns what follows step i.
  template <class BorderOf>
  Value advantages(BorderOf border, Factors f = {kGamma, kGamma* kLambda}) const {
    return each(rewards.shape(), [&](size_t i) {
      double sum = 0, weight = 1;
      if (kept[i] == 0) return sum;
      for (size_t j = i; j < row_end(i); j = follower(j), weight *= f.after) {
        const Border b = border(j);
        sum += weight * (r[j] + f.next * b.next - v[j]);
        if (b.stop) break;
      }
      return sum;
    });
  }
  Value plus_values(const Value& a) const {
    return each(a.shape, [&](size_t i) { return kept[i] == 0 ? 0 : a.v[i] + v[i]; });
  }
};

Sample sample(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return {normal(shape, seed, dtype) * 1.5, normal(shape, seed + 100, dtype) * 1.5,
          normal({shape[0]}, seed + 200, dtype) * 1.5};
}
Sample not_contiguous(const Sample& s) {
  return {kit::strided(s.rewards), kit::strided(s.values), kit::strided(s.next)};
}
Tensor flags(const Flags& x, const Sample& s) { return Tensor::from(x, s.rewards.shape()); }

Value whitened(const Value& a) {
  const auto n = static_cast<double>(a.v.size());
  double mean = 0, squares = 0;
  for (double x : a.v) mean += x / n;
  for (double x : a.v) squares += (x - mean) * (x - mean);
  return each(a.shape, [&](size_t i) { return (a.v[i] - mean) / std::sqrt(squares / (n - 1)); });
}

GaeOptions options() { return {.gamma = kGamma, .lambda = kLambda}; }

// Compares both results. Each mistake is an advantage; the returns are tried with it too.
void compare(Grader& g, const std::string& input, const Gae& got, const Sample& s, const Value& want, double rtol,
             std::vector<Mistake> mistakes) {
  if (g.failed()) return;
  std::vector<Mistake> of_returns = {
      {"these are the advantages; the returns are A + V", want},
      {"the returns are made from advantages scaled to mean 0 and deviation 1: the "
       "critic would learn targets of a wrong scale",
       s.plus_values(whitened(want))},
      {"masked slots must be 0 in the results", each(want.shape, [&](size_t i) { return want.v[i] + s.v[i]; })},
      {"at the end of an episode too the return is A + V",
       each(want.shape, [&](size_t i) { return s.flags[i] != 0 || s.kept[i] == 0 ? want.v[i] : want.v[i] + s.v[i]; })},
      {"V is subtracted; the returns are A + V",
       each(want.shape, [&](size_t i) { return want.v[i] - s.v[i] * s.kept[i]; })}};
  for (const Mistake& m : mistakes) of_returns.push_back({m.says, s.plus_values(m.value)});
  mistakes.push_back(
      {"these are scaled to mean 0 and deviation 1; do that later, in the loss, after the returns are "
       "computed",
       whitened(want)});
  mistakes.push_back({"these are the returns; subtract V", s.plus_values(want)});
  g.equal(input + ": advantages", got.advantages, want, {.rtol = rtol, .mistakes = mistakes});
  g.equal(input + ": returns", got.returns, s.plus_values(want), {.rtol = rtol, .mistakes = of_returns});
}

void compare_inside(Grader& g, const Impl& impl, const std::string& input, const Sample& s, double gamma, double lambda,
                    double rtol = kDouble) {
  if (g.failed()) return;
  const auto on = [&](size_t i) { return Border{s.after(i), false}; };
  const auto with = [&](double next, double after) { return s.advantages(on, {next, after}); };
  const auto next_value = [&](auto value) {
    return s.advantages(
        [&](size_t i) {
          return Border{value(i, s.follower(i) == s.row_end(i)), false};
        },
        {gamma, gamma * lambda});
  };
  // What the next row begins with is carried into this one.
  Value across = with(gamma, gamma * lambda);
  for (size_t i = across.v.size(); i-- > 0;) {
    const double later = i + 1 < across.v.size() ? across.v[i + 1] : 0;
    across.v[i] = s.r[i] + gamma * s.after(i) - s.v[i] + gamma * lambda * later;
  }
  compare(
      g, input, impl.gae(s.rewards, s.values, s.next, {.gamma = gamma, .lambda = lambda}), s,
      with(gamma, gamma * lambda), rtol,
      {{"lambda is forgotten: this is the return minus V, as for lambda = 1", with(gamma, gamma)},
       {"gamma is forgotten where A is carried on: the factor of A[t+1] is gamma·lambda", with(gamma, lambda)},
       {"gamma is forgotten in delta", with(1, gamma * lambda)},
       {"this is delta alone: the advantage of the next step is not added", with(gamma, 0)},
       {"gamma and lambda are those of the usual setting: use options.gamma and options.lambda", with(0.99, 0.9405)},
       {"next_values is not used: the rollout ends here, but the episode continues",
        next_value([&](size_t i, bool end) { return end ? 0 : s.after(i); })},
       {"next_values is used at every step; before the last one `next` is V[t+1]",
        next_value([&](size_t i, bool) { return s.last[i / s.steps]; })},
       {"every row uses the first of next_values: row b has next_values[b]",
        next_value([&](size_t i, bool end) { return end ? s.last[0] : s.after(i); })},
       {"delta uses V[t] where V[t+1] belongs", next_value([&](size_t i, bool) { return s.v[i]; })},
       {"A of the next row is carried into this one: each row begins with A = 0 at its end", across}});
}

// 07.2: flags `ended`.
void compare_termination(Grader& g, const Impl& impl, const std::string& input, Sample s, const Flags& ended,
                         double rtol = kDouble) {
  if (g.failed()) return;
  s.flags.assign(ended.begin(), ended.end());
  GaeOptions o = options();
  o.terminated = flags(ended, s);
  const auto stops = [&](auto end) {
    return s.advantages([&, end](size_t i) { return Border{end(i) ? 0 : s.after(i), end(i)}; });
  };
  const auto column = [&](size_t i) { return i % s.steps; };
  const auto with = [&](auto border) { return s.advantages(border); };
  compare(
      g, input, impl.gae(s.rewards, s.values, s.next, o), s, stops([&](size_t i) { return ended[i] != 0; }), rtol,
      {{"V of the next step is used after a termination: that is another episode's first state", with([&](size_t i) {
          return Border{s.after(i), ended[i] != 0};
        })},
       {"A is carried across the episode's end: rewards of the next episode are credited to this one",
        with([&](size_t i) {
          return Border{ended[i] ? 0 : s.after(i), false};
        })},
       {"terminated is read one step late: terminated[t] says that step t was the last",
        stops([&](size_t i) { return column(i) > 0 && ended[i - 1] != 0; })},
       {"terminated is read one step early: terminated[t] says that step t was the last",
        stops([&](size_t i) { return column(i) + 1 < s.steps && ended[i + 1] != 0; })},
       {"a termination at the last step of the row is overlooked: there next_values is not used either",
        stops([&](size_t i) { return column(i) + 1 < s.steps && ended[i] != 0; })},
       {"the flags of row 0 are used for every row", stops([&](size_t i) { return ended[column(i)] != 0; })},
       {"terminated is not used", stops([](size_t) { return false; })}});
}

// 07.3: flags `cut` and `ended`.
void compare_truncation(Grader& g, const Impl& impl, const std::string& input, Sample s, const Flags& cut,
                        const Flags& ended, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor final_values = normal(s.rewards.shape(), 74, s.rewards.dtype());
  const Numbers f = final_values.to_vector();
  GaeOptions o = options();
  o.terminated = flags(ended, s);
  o.truncated = flags(cut, s);
  o.final_values = s.rewards.contiguous() ? final_values : kit::strided(final_values);
  for (size_t i = 0; i < cut.size(); ++i) s.flags[i] = cut[i] | ended[i];
  const auto with = [&](auto next_if_cut, bool stop_if_cut, bool end_wins) {
    return s.advantages([&, next_if_cut](size_t i) {
      const bool over = ended[i] && (end_wins || !cut[i]);
      if (over) return Border{0, true};
      return cut[i] ? Border{next_if_cut(i), stop_if_cut} : Border{s.after(i), false};
    });
  };
  const auto final_value = [&](size_t i) { return f[i]; };
  compare(
      g, input, impl.gae(s.rewards, s.values, s.next, o), s, with(final_value, true, true), rtol,
      {{"truncation is treated as termination: without the time limit, more rewards would have followed",
        with([](size_t) { return 0.0; }, true, true)},
       {"V of the next step is used after a truncation: that is the next episode's first state; use final_values",
        with([&](size_t i) { return s.after(i); }, true, true)},
       {"after a truncation V[t] is used, of the state before the step; use final_values",
        with([&](size_t i) { return s.v[i]; }, true, true)},
       {"final_values are those of the next step: final_values[t] belongs to a truncation at step t",
        with([&](size_t i) { return i + 1 < s.row_end(i) ? f[i + 1] : 0; }, true, true)},
       {"the final values of row 0 are used for every row", with([&](size_t i) { return f[i % s.steps]; }, true, true)},
       {"at the last step of the row next_values is used; where that step is truncated, use final_values",
        with([&](size_t i) { return i + 1 == s.row_end(i) ? s.last[i / s.steps] : f[i]; }, true, true)},
       {"A is carried across the truncation: the next step belongs to another episode", with(final_value, false, true)},
       {"where both flags are 1 the episode has terminated: next is 0", with(final_value, true, false)},
       {"truncated is not used", s.advantages([&](size_t i) {
          return Border{ended[i] ? 0 : s.after(i), ended[i] != 0};
        })}});
}

// 07.4: `kept` is the mask; an episode ends where `ended` is 1, in slots of the mask only.
void compare_mask(Grader& g, const Impl& impl, const std::string& input, Sample s, const Flags& kept,
                  const Flags& ended, double rtol = kDouble) {
  if (g.failed()) return;
  GaeOptions o = options();
  o.mask = flags(kept, s);
  o.terminated = flags(ended, s);
  Sample whole = s, blank = s;
  s.kept.assign(kept.begin(), kept.end());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) blank.r[i] = blank.v[i] = 0;
    s.flags[i] = ended[i];
  }
  const auto stops = [&](const Sample& of, auto end) {
    return of.advantages([&, end](size_t i) { return Border{end(i) ? 0 : of.after(i), end(i)}; });
  };
  const auto flag = [&](size_t i) { return ended[i] != 0; };
  const auto slot_after = [&](size_t i) { return i + 1 < s.row_end(i) ? s.v[i + 1] : s.last[i / s.steps]; };
  Value of_blank = stops(blank, flag);
  for (size_t i = 0; i < kept.size(); ++i) of_blank.v[i] *= kept[i];
  compare(
      g, input, impl.gae(s.rewards, s.values, s.next, o), s, stops(s, flag), rtol,
      {{"the mask is not used", stops(whole, flag)},
       {"the slot before a masked slot uses its V; skip masked slots with `continue` at the start of the loop",
        s.advantages([&](size_t i) {
          return Border{flag(i) ? 0 : slot_after(i), flag(i)};
        })},
       {"A is lost at a masked slot: the slot before it needs A of the slot after it", s.advantages([&](size_t i) {
          return Border{flag(i) ? 0 : s.after(i), flag(i) || (i + 1 < s.row_end(i) && !kept[i + 1])};
        })},
       {"a masked slot is treated as a step with reward 0 and V 0; skip it, as if it did not exist", of_blank},
       {"a flag in a masked slot ends the episode: skip the slot before its flags are read", stops(s, [&](size_t i) {
          bool end = flag(i);
          for (size_t j = i + 1; j < s.follower(i); ++j) end = end || ended[j] != 0;
          return end;
        })}});
}

}  // namespace

void check_gae(Grader& g, const Impl& impl) {
  const std::string both = "rewards, values ";
  compare_inside(g, impl, both + "[2, 6], random; gamma 0.9, lambda 0.8", sample({2, 6}, 71), kGamma, kLambda);
  if (g.failed()) return;
  const auto row = [](const Numbers& x) { return Tensor::from(x, {1, 3}); };
  const Gae other =
      impl.gae(row({1, 2, 3}), row({0, 1, 2}), Tensor::from(Numbers{4}, {1}), {.gamma = 0.5, .lambda = 0.5});
  // By hand: delta = 1.5 2 3, and each A is delta + A of the next step / 4.
  g.equal("rewards {1, 2, 3}, values {0, 1, 2}, next 4, gamma and lambda 0.5: advantages", other.advantages,
          Value({1, 3}, {2.1875, 2.75, 3}));
  g.equal("the same: returns", other.returns, Value({1, 3}, {2.1875, 3.75, 5}));
  compare_inside(g, impl, both + "[3, 5] in f32; gamma 0.9, lambda 0.8", sample({3, 5}, 81, f32), kGamma, kLambda,
                 kSingle);
  compare_inside(g, impl, both + "[3, 1]; gamma 0.9, lambda 0.8", sample({3, 1}, 82), kGamma, kLambda);
  compare_inside(g, impl, both + "[1, 4]; gamma 0.9, lambda 0", sample({1, 4}, 83), kGamma, 0);
  compare_inside(g, impl, both + "[1, 4]; gamma 1, lambda 1", sample({1, 4}, 83), 1, 1);
  compare_inside(g, impl, both + "[4, 3], not contiguous; gamma 0.9, lambda 0.8", not_contiguous(sample({4, 3}, 84)),
                 kGamma, kLambda);
  Sample large = sample({2, 3}, 85);
  compare_inside(g, impl, both + "[2, 3], up to 1000; gamma 0.9, lambda 0.8",
                 {large.rewards * 300.0, large.values * 300.0, large.next * 300.0}, kGamma, kLambda);
  compare_inside(g, impl, both + "[2, 0]: no steps", sample({2, 0}, 86), kGamma, kLambda);
  compare_inside(g, impl, both + "[0, 3]: no rows", sample({0, 3}, 87), kGamma, kLambda);
  g.note("advantages and returns of eight shapes from the definition, three by hand");
}

void check_termination(Grader& g, const Impl& impl) {
  compare_termination(g, impl, "rewards, values [2, 6], terminated {001000, 100101}", sample({2, 6}, 71),
                      {0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1});
  compare_termination(g, impl, "rewards, values [3, 5], terminated {01000, 00010, 10001}", sample({3, 5}, 88),
                      {0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1});
  compare_termination(g, impl, "rewards, values [3, 1], terminated {1, 0, 1}", sample({3, 1}, 89), {1, 0, 1});
  compare_termination(g, impl, "rewards, values [2, 3] in f32, terminated {010, 001}", sample({2, 3}, 90, f32),
                      {0, 1, 0, 0, 0, 1}, kSingle);
  g.note("advantages and returns, terminations inside rows and at their ends");
}

void check_truncation(Grader& g, const Impl& impl) {
  compare_truncation(g, impl, "rewards, values [2, 6], truncated {001001, 010010}, terminated {000010, 000010}",
                     sample({2, 6}, 71), {0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0});
  compare_truncation(g, impl, "rewards, values [3, 5], truncated {00001, 01000, 10101}, terminated none",
                     sample({3, 5}, 88), {0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1}, Flags(15, 0));
  compare_truncation(g, impl, "rewards, values [3, 1], truncated {1, 1, 0}, terminated {1, 0, 0}", sample({3, 1}, 89),
                     {1, 1, 0}, {1, 0, 0});
  compare_truncation(g, impl, "rewards, values [2, 3], not contiguous, truncated {010, 001}",
                     not_contiguous(sample({2, 3}, 90)), {0, 1, 0, 0, 0, 1}, Flags(6, 0));
  g.note("advantages and returns, truncations inside rows and at their ends, and both flags at one step");
}

void check_mask(Grader& g, const Impl& impl) {
  // gamma = lambda = 1/2. Only steps 0 and 2 exist: delta_2 = 3 + 4 - 1 = 6, delta_0 = 1 + 1/2·1 - 4 = -5/2, A_0 = -5/2
  // + 6/4 = -1.
  const auto row = [](const Numbers& x) { return Tensor::from(x, {1, static_cast<int64_t>(x.size())}); };
  GaeOptions o{.gamma = 0.5, .lambda = 0.5};
  o.mask = Tensor::from(Flags{1, 0, 1, 0}, {1, 4});
  const Gae got = impl.gae(row({1, 10, 3, 20}), row({4, 7, 1, 9}), Tensor::from(Numbers{8}, {1}), o);
  g.equal("mask {1, 0, 1, 0}, rewards 1 . 3 ., values 4 . 1 ., next 8, gamma = lambda = 1/2: advantages",
          got.advantages, Value({1, 4}, {-1, 0, 6, 0}),
          {.mistakes = {
               {"the mask is not used",
                Value({1, 4}, {1 + 3.5 - 4 + (3.5 + (6.5 + 3.75) / 4) / 4, 3.5 + (6.5 + 3.75) / 4, 6.5 + 3.75, 15})},
               {"the slot before a masked slot uses its V; skip masked slots with `continue` at the start of the loop",
                Value({1, 4}, {1 + 3.5 - 4 + (3 + 4.5 - 1) / 4, 0, 3 + 4.5 - 1, 0})},
               {"A is lost at a masked slot: the slot before it needs A of the slot after it",
                Value({1, 4}, {-2.5, 0, 6, 0})},
               {"a masked slot is treated as a step with reward 0 and V 0; skip it, as if it did not exist",
                Value({1, 4}, {1 - 4 + (0.5 + (2 + 4.0 / 4) / 4) / 4, 0, 2 + 4.0 / 4, 0})}}});
  g.equal("the same: returns", got.returns, Value({1, 4}, {3, 0, 7, 0}),
          {.mistakes = {{"masked slots must be 0 in the results", Value({1, 4}, {3, 7, 7, 9})}}});
  if (g.failed()) return;
  const Gae odd = impl.gae(row({1, NAN, 3, INFINITY}), row({4, INFINITY, 1, NAN}), Tensor::from(Numbers{8}, {1}), o);
  const std::string nan = "a masked slot may hold anything, and 0 times infinity is nan: skip it, do not multiply by 0";
  g.equal("the same with nan and infinity where the mask is 0: advantages", odd.advantages,
          Value({1, 4}, {-1, 0, 6, 0}),
          {.mistakes = {{nan, Value({1, 4}, Numbers(4, NAN))}, {nan, Value({1, 4}, {-1, NAN, 6, NAN})}}});
  g.equal("the same: returns", odd.returns, Value({1, 4}, {3, 0, 7, 0}),
          {.mistakes = {{nan, Value({1, 4}, Numbers(4, NAN))}, {nan, Value({1, 4}, {3, NAN, 7, NAN})}}});
  compare_mask(g, impl, "rewards, values [2, 6], mask {011011, 110100}, no ends", sample({2, 6}, 71),
               {0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0}, Flags(12, 0));
  compare_mask(g, impl, "rewards, values [3, 5], mask {10110, 00000, 11001}, terminated {01001, 00100, 10000}",
               sample({3, 5}, 88), {1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1},
               {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0});
  compare_mask(g, impl, "rewards, values [2, 1] in f32, mask {0, 1}", sample({2, 1}, 91, f32), {0, 1}, {0, 0}, kSingle);
  g.note("by hand, with nan in masked slots, with masked rows and with flags in masked slots");
}

}  // namespace pg::lesson07
