// Checks of the value at each token: targets, scores, KL. Expected values are computed by hand or token by token.
#include <algorithm>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader, kit::Value;
using Numbers = std::vector<double>;

ScoredResponse response(std::vector<int32_t> tokens, std::vector<uint8_t> chosen) {
  ScoredResponse r;
  r.prompt = {7, 3};
  r.tokens = std::move(tokens);
  r.action_mask = std::move(chosen);
  return r;
}

void compare_batch(Grader& g, const Impl& impl, const std::string& input, const std::vector<Problem>& problems) {
  if (g.failed()) return;
  size_t width = 0;
  for (const Problem& p : problems) width = std::max(width, p.prompt.size() + p.answer.size() - 1);
  Value ids({std::ssize(problems), static_cast<int64_t>(width)}, {}), targets = ids;
  for (const Problem& p : problems) {
    std::vector<int32_t> all = p.prompt;
    all.insert(all.end(), p.answer.begin(), p.answer.end());
    for (size_t t = 0; t < width; ++t) {
      const bool read = t + 1 < all.size();
      ids.v.push_back(read ? all[t] : 0);
      targets.v.push_back(read && t + 1 >= p.prompt.size() ? all[t + 1] : -100);
    }
  }
  const auto of_ids = kit::values_of(sft_mistakes(), [&](auto batch) { return batch(problems).ids; });
  const auto of_targets = kit::values_of(sft_mistakes(), [&](auto batch) { return batch(problems).targets; });
  const TokenBatch got = impl.sft_batch(problems);
  if (!g.expect(got.ids.defined() && got.targets.defined(), input + ": ids and targets", "undefined", "i32 [B, T]"))
    return;
  g.equal(input + ": ids", got.ids, ids, {.mistakes = of_ids});
  g.equal(input + ": targets", got.targets, targets, {.mistakes = of_targets});
}

// The rewards that f makes of a response.
template <class F, class... Args>
Value rewards_by(F f, ScoredResponse response, Args... args) {
  f(response, args...);
  return response.rewards;
}

// `left` are rewards from an earlier use.
void compare_rewards(Grader& g, const Impl& impl, const std::string& input, ScoredResponse r, double score,
                     const Numbers& left) {
  if (g.failed()) return;
  Numbers want(r.tokens.size(), 0);
  size_t last = want.size() - 1;
  while (r.action_mask[last] == 0) --last;
  want[last] = score;
  r.score.reward = score;
  r.rewards = left;
  const auto known = kit::values_of(score_mistakes(), [&](auto set) { return rewards_by(set, r); });
  impl.set_rewards(r);
  g.equal(input, Value(r.rewards), Value(want), {.mistakes = known});
}

void compare_kl(Grader& g, const Impl& impl, const std::string& input, ScoredResponse r, double beta) {
  if (g.failed()) return;
  const Numbers now = r.old_log_probs;
  Numbers want = r.rewards;
  for (size_t t = 0; t < want.size(); ++t) want[t] -= r.action_mask[t] ? beta * (now[t] - r.ref_log_probs[t]) : 0;
  const auto known = kit::values_of(kl_mistakes(), [&](auto subtract) { return rewards_by(subtract, r, beta); });
  impl.subtract_kl(r, beta);
  g.equal(input + ": rewards", Value(r.rewards), Value(want), {.mistakes = known});
  g.equal(input + ": the log-probabilities afterwards", Value(r.old_log_probs), Value(now),
          {.mistakes = {{"old_log_probs was overwritten: change rewards only", r.old_log_probs}}});
}

}  // namespace

void check_sft_batch(Grader& g, const Impl& impl) {
  compare_batch(g, impl, "prompt | answer: 5 3 7 | 4 0 6 0,  2 | 8 0,  9 1 | 0  (0 ends a sequence, and is a token)",
                {{{5, 3, 7}, {4, 0, 6, 0}}, {{2}, {8, 0}}, {{9, 1}, {0}}});
  compare_batch(g, impl, "prompt | answer: 1 2 3 4 | 0,  5 | 6 7 8 0", {{{1, 2, 3, 4}, {0}}, {{5}, {6, 7, 8, 0}}});
  compare_batch(g, impl, "prompt | answer: 1 | 2 3 0,  4 4 | 0", {{{1}, {2, 3, 0}}, {{4, 4}, {0}}});
  compare_batch(g, impl, "one problem: 3 | 0", {{{3}, {0}}});
  compare_batch(g, impl, "id 0 also inside: 0 0 7 | 9 0 50000 0,  6 | 0 5",
                {{{0, 0, 7}, {9, 0, 50000, 0}}, {{6}, {0, 5}}});
  if (g.failed()) return;
  // By hand.
  const std::vector<Problem> problems = {{{5, 3, 7}, {4, 6, 0}}, {{2}, {8, 0}}, {{9, 1}, {0}}};
  const TokenBatch got = impl.sft_batch(problems);
  const double x = -100;
  g.equal("5 3 7 | 4 6 0,  2 | 8 0,  9 1 | 0, by hand: ids", got.ids,
          Value({3, 5}, {5, 3, 7, 4, 6, 2, 8, 0, 0, 0, 9, 1, 0, 0, 0}));
  g.equal("the same: targets", got.targets, Value({3, 5}, {x, x, 4, 6, 0, 8, 0, x, x, x, x, 0, x, x, x}));
  g.note("five batches, rows of different lengths, the end of sequence among the targets");
}

void check_set_rewards(Grader& g, const Impl& impl) {
  compare_rewards(g, impl, "tokens 4 6 8 0, score 2.4, four rewards left from before: rewards",
                  response({4, 6, 8, 0}, {1, 1, 1, 1}), 2.4, {9, 8, 7, 6});
  compare_rewards(g, impl, "tokens 4 6 9 5 9, the nines from the world; score -1.5: rewards",
                  response({4, 6, 9, 5, 9}, {1, 1, 0, 1, 0}), -1.5, {});
  compare_rewards(g, impl, "tokens 9 9 4 0, the nines from the world; score 3: rewards",
                  response({9, 9, 4, 0}, {0, 0, 1, 1}), 3, {1, 2});
  compare_rewards(g, impl, "one token 0, score 0.5, three rewards left from before: rewards", response({0}, {1}), 0.5,
                  {9, 9, 9});
  g.note("one number, at the last token that the policy chose");
}

void check_subtract_kl(Grader& g, const Impl& impl) {
  const auto sample = [](Numbers rewards, Numbers now, Numbers ref, const std::vector<uint8_t>& chosen) {
    ScoredResponse r = response(std::vector<int32_t>(chosen.size(), 4), chosen);
    r.rewards = std::move(rewards);
    r.old_log_probs = std::move(now);
    r.ref_log_probs = std::move(ref);
    return r;
  };
  // log π - log ref is 0.3, -1, (not sampled by the policy), 0.2, 0.5.
  const ScoredResponse first =
      sample({0.5, 0, 0, 0, 2}, {-0.1, -2, -9, -0.5, -1}, {-0.4, -1, -3, -0.7, -1.5}, {1, 1, 0, 1, 1});
  compare_kl(g, impl,
             "rewards .5 0 0 0 2; log π -.1 -2 -9 -.5 -1; log ref -.4 -1 -3 -.7 -1.5; third token the world's; β .2",
             first, 0.2);
  if (g.failed()) return;
  ScoredResponse by_hand = first;
  impl.subtract_kl(by_hand, 0.2);
  g.equal("the same, by hand: rewards", Value(by_hand.rewards), Value({5}, {0.44, 0.2, 0, -0.04, 1.9}));
  ScoredResponse same = first;
  same.ref_log_probs = same.old_log_probs;
  compare_kl(g, impl, "the policy is the reference", same, 0.2);
  compare_kl(g, impl, "the first with β .5", first, 0.5);
  compare_kl(g, impl, "one token, log π -3, log ref -1, β 1", sample({4}, {-3}, {-1}, {1}), 1);
  compare_kl(g, impl, "five tokens, the world's first and last, β .1",
             sample({1, 2, 3, 4, 5}, {-2, -200, -1, -0.5, -7}, {-1, -150, -4, -0.2, -3}, {0, 1, 1, 1, 0}), 0.1);
  g.note("both signs, four β, tokens of the world, and a policy that has not moved");
}

}  // namespace pg::lesson08
