// The checks of GAE. Expected values come from the definition, A[t] = Σ_l (gamma·lambda)^l delta[t+l] up to the end of
// the episode, or from a few values computed by hand. Nothing here iterates backwards.
#include <cmath>
#include <utility>

#include "lessons/07_gae/checks.h"

namespace pg::lesson07 {
namespace {

using kit::Grader, kit::Mistake, kit::Value;
using Numbers = std::vector<double>;
using Flags = std::vector<uint8_t>;

constexpr double kGamma = 0.9, kLambda = 0.8;

// What follows a step: the V of the next state, and whether the sum of deltas ends here.
struct Border {
  double next;
  bool stop;
};

struct Sample {
  Tensor rewards, values, next;
  Numbers r = rewards.to_vector(), v = values.to_vector(), last = next.to_vector();
  Numbers kept = Numbers(r.size(), 1);
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
  Value advantages(BorderOf border, double gamma = kGamma, double lambda = kLambda) const {
    return each(rewards.shape(), [&](size_t i) {
      double sum = 0, weight = 1;
      if (kept[i] == 0) return sum;
      for (size_t j = i; j < row_end(i); j = follower(j), weight *= gamma * lambda) {
        const Border b = border(j);
        sum += weight * (r[j] + gamma * b.next - v[j]);
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

GaeOptions options() { return {.gamma = kGamma, .lambda = kLambda}; }

// What the known mistakes give, those of this check first: advantages and returns.
std::pair<std::vector<Mistake>, std::vector<Mistake>> mistakes(const char* check, const Sample& s,
                                                               const GaeOptions& o) {
  const auto rows = kit::first_of(check, gae_mistakes());
  return {kit::values_of(rows, [&](auto gae) { return gae(s.rewards, s.values, s.next, o).advantages; }),
          kit::values_of(rows, [&](auto gae) { return gae(s.rewards, s.values, s.next, o).returns; })};
}

void compare(Grader& g, const Impl& impl, const char* check, const std::string& input, const Sample& s,
             const GaeOptions& o, const Value& want, double rtol) {
  if (g.failed()) return;
  const Gae got = impl.gae(s.rewards, s.values, s.next, o);
  const auto [of_advantages, of_returns] = mistakes(check, s, o);
  g.equal(input + ": advantages", got.advantages, want, {.rtol = rtol, .mistakes = of_advantages});
  g.equal(input + ": returns", got.returns, s.plus_values(want), {.rtol = rtol, .mistakes = of_returns});
}

void compare_inside(Grader& g, const Impl& impl, const std::string& input, const Sample& s, double gamma, double lambda,
                    double rtol = kDouble) {
  const auto on = [&](size_t i) { return Border{s.after(i), false}; };
  compare(g, impl, "07.1", input, s, {.gamma = gamma, .lambda = lambda}, s.advantages(on, gamma, lambda), rtol);
}

// 07.2: flags `ended`.
void compare_termination(Grader& g, const Impl& impl, const std::string& input, const Sample& s, const Flags& ended,
                         double rtol = kDouble) {
  GaeOptions o = options();
  o.terminated = flags(ended, s);
  const auto border = [&](size_t i) { return Border{ended[i] ? 0 : s.after(i), ended[i] != 0}; };
  compare(g, impl, "07.2", input, s, o, s.advantages(border), rtol);
}

// 07.3: flags `cut` and `ended`.
void compare_truncation(Grader& g, const Impl& impl, const std::string& input, const Sample& s, const Flags& cut,
                        const Flags& ended, double rtol = kDouble) {
  const Tensor final_values = normal(s.rewards.shape(), 74, s.rewards.dtype());
  const Numbers f = final_values.to_vector();
  GaeOptions o = options();
  o.terminated = flags(ended, s);
  o.truncated = flags(cut, s);
  o.final_values = s.rewards.contiguous() ? final_values : kit::strided(final_values);
  const auto border = [&](size_t i) {
    return ended[i] ? Border{0, true} : cut[i] ? Border{f[i], true} : Border{s.after(i), false};
  };
  compare(g, impl, "07.3", input, s, o, s.advantages(border), rtol);
}

// 07.4: `kept` is the mask; an episode ends where `ended` is 1, in slots of the mask only.
void compare_mask(Grader& g, const Impl& impl, const std::string& input, Sample s, const Flags& kept,
                  const Flags& ended, double rtol = kDouble) {
  GaeOptions o = options();
  o.mask = flags(kept, s);
  o.terminated = flags(ended, s);
  s.kept.assign(kept.begin(), kept.end());
  const auto border = [&](size_t i) { return Border{ended[i] ? 0 : s.after(i), ended[i] != 0}; };
  compare(g, impl, "07.4", input, s, o, s.advantages(border), rtol);
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
  const auto by_hand = [&](const std::string& input, const Numbers& r, const Numbers& v) {
    const Sample s{row(r), row(v), Tensor::from(Numbers{8}, {1})};
    const Gae got = impl.gae(s.rewards, s.values, s.next, o);
    const auto [of_advantages, of_returns] = mistakes("07.4", s, o);
    return g.equal(input + ": advantages", got.advantages, Value({1, 4}, {-1, 0, 6, 0}), {.mistakes = of_advantages}) &&
           g.equal("the same: returns", got.returns, Value({1, 4}, {3, 0, 7, 0}), {.mistakes = of_returns});
  };
  if (!by_hand("mask {1, 0, 1, 0}, rewards 1 . 3 ., values 4 . 1 ., next 8, gamma = lambda = 1/2", {1, 10, 3, 20},
               {4, 7, 1, 9}) ||
      !by_hand("the same with nan and infinity where the mask is 0", {1, NAN, 3, INFINITY}, {4, INFINITY, 1, NAN}))
    return;
  compare_mask(g, impl, "rewards, values [2, 6], mask {011011, 110100}, no ends", sample({2, 6}, 71),
               {0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0}, Flags(12, 0));
  compare_mask(g, impl, "rewards, values [3, 5], mask {10110, 00000, 11001}, terminated {01001, 00100, 10000}",
               sample({3, 5}, 88), {1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1},
               {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0});
  compare_mask(g, impl, "rewards, values [2, 1] in f32, mask {0, 1}", sample({2, 1}, 91, f32), {0, 1}, {0, 0}, kSingle);
  g.note("by hand, with nan in masked slots, with masked rows and with flags in masked slots");
}

}  // namespace pg::lesson07
