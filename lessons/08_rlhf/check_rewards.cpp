// Checks of the value at each token: targets, scores, KL. Expected values are computed by hand or token by token.
#include <algorithm>
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader;
using kit::Mistake;
using kit::Value;
using Numbers = std::vector<double>;

ScoredResponse response(std::vector<int32_t> tokens, std::vector<uint8_t> chosen) {
  ScoredResponse r;
  r.prompt = {7, 3};
  r.tokens = std::move(tokens);
  r.chosen = std::move(chosen);
  return r;
}

// A batch of problems with one kind of mistake: what stands at place t of a row.
struct Table {
  const std::vector<Problem>& problems;
  size_t width;

  // f(all tokens, length of the prompt, place) of each place, `padding` behind the row's last token that is read.
  template <class F>
  Value of(F f, double padding, size_t columns) const {
    Value result({static_cast<int64_t>(problems.size()), static_cast<int64_t>(columns)}, {});
    for (const Problem& p : problems) {
      std::vector<int32_t> all = p.prompt;
      all.insert(all.end(), p.answer.begin(), p.answer.end());
      for (size_t t = 0; t < columns; ++t) {
        result.v.push_back(t + 1 < all.size() ? f(all, p.prompt.size(), t) : padding);
      }
    }
    return result;
  }
  // The row moved to the right end.
  Value on_the_left(Value table) const {
    for (size_t b = 0; b < problems.size(); ++b) {
      const auto row = table.v.begin() + static_cast<ptrdiff_t>(b * width);
      const auto read = static_cast<ptrdiff_t>(problems[b].prompt.size() + problems[b].answer.size() - 1);
      std::rotate(row, row + read, row + static_cast<ptrdiff_t>(width));
    }
    return table;
  }
};

void compare_batch(Grader& g, const Impl& impl, const std::string& input, const std::vector<Problem>& problems) {
  if (g.failed()) return;
  Table table{problems, 0};
  size_t prompt = 0, answer = 0;
  for (const Problem& p : problems) {
    table.width = std::max(table.width, p.prompt.size() + p.answer.size() - 1);
    prompt = std::max(prompt, p.prompt.size());
    answer = std::max(answer, p.answer.size());
  }
  const size_t width = table.width, separate = prompt + answer - 1;
  const TokenBatch got = impl.sft_batch(problems);
  if (!g.expect(got.ids.defined() && got.targets.defined(), input + ": ids and targets", "undefined", "i32 [B, T]"))
    return;
  using Tokens = std::vector<int32_t>;
  const double x = -100;
  const auto id = [](const Tokens& all, size_t, size_t t) -> double { return all[t]; };
  const auto target = [=](const Tokens& all, size_t from, size_t t) -> double {
    return t + 1 >= from ? all[t + 1] : x;
  };
  const std::string wide =
      "T is the longest prompt + the longest answer - 1; it is that of the longest row, which need not have either";
  const std::string too_long = "T is one too large: the last token of a row is never read";
  // The whole row, its last token too.
  Value whole({static_cast<int64_t>(problems.size()), static_cast<int64_t>(width + 1)}, {});
  for (const Problem& p : problems) {
    Tokens all = p.prompt;
    all.insert(all.end(), p.answer.begin(), p.answer.end());
    all.resize(width + 1, 0);
    whole.v.insert(whole.v.end(), all.begin(), all.end());
  }
  g.equal(
      input + ": ids", got.ids, table.of(id, 0, width),
      {.mistakes = {{"-100 is for targets; an id must be one of the vocabulary, so padding takes any, say 0",
                     table.of(id, x, width)},
                    {"padded on the left: then every position embedding is another one",
                     table.on_the_left(table.of(id, 0, width))},
                    {wide, table.of(id, 0, separate)},
                    {too_long, table.of(id, 0, width + 1)},
                    {too_long, whole},
                    {"these are the targets' tokens; ids begin with the prompt's first token",
                     table.of([](const Tokens& all, size_t, size_t t) -> double { return all[t + 1]; }, 0, width)}}});
  const auto shifted = [=](int64_t by, size_t later) {
    return table.of(
        [=](const Tokens& all, size_t from, size_t t) -> double {
          const auto at = static_cast<size_t>(static_cast<int64_t>(t) + by);
          return at >= from + later && at < all.size() ? all[at] : x;
        },
        x, width);
  };
  g.equal(
      input + ": targets", got.targets, table.of(target, x, width),
      {.mistakes = {
           {"the end of sequence is not trained, as its id is also that of padding: mask by place, never by id; "
            "this model would never stop",
            table.of([=](const Tokens& all, size_t from,
                         size_t t) -> double { return t + 1 >= from && all[t + 1] != 0 ? all[t + 1] : x; },
                     x, width)},
           {"the end of sequence is not trained: it belongs to the answer; this model would never stop",
            table.of([=](const Tokens& all, size_t from,
                         size_t t) -> double { return t + 1 >= from && t + 2 < all.size() ? all[t + 1] : x; },
                     x, width)},
           {"the prompt is trained too: the model learns to ask instead of to answer",
            table.of([](const Tokens& all, size_t, size_t t) -> double { return all[t + 1]; }, x, width)},
           {"padding is trained: its targets must be -100", table.of(target, 0, width)},
           {"a prompt's targets must be -100, which means no target; 0 is a token",
            table.of([](const Tokens& all, size_t from, size_t t) -> double { return t + 1 >= from ? all[t + 1] : 0; },
                     0, width)},
           {"each target is its own input, so the model learns to copy; the target at t is token t + 1", shifted(0, 0)},
           {"shifted twice: at its place stands the token after the next", shifted(2, 0)},
           {"the answer's first token is not trained: it is predicted at the prompt's last place", shifted(1, 1)},
           {"the prompt's last token is trained too: the first target is the answer's first token",
            table.of([=](const Tokens& all, size_t from, size_t t) -> double { return t + 2 >= from ? all[t + 1] : x; },
                     x, width)},
           {"padded on the left: then every position embedding is another one",
            table.on_the_left(table.of(target, x, width))}}});
}

// `left` are rewards from an earlier use.
void compare_rewards(Grader& g, const Impl& impl, const std::string& input, ScoredResponse r, double score,
                     const Numbers& left) {
  if (g.failed()) return;
  const size_t tokens = r.tokens.size();
  const Numbers chosen(r.chosen.begin(), r.chosen.end());
  const auto last = static_cast<size_t>(chosen.rend() - std::find(chosen.rbegin(), chosen.rend(), 1.0)) - 1;
  const auto count = static_cast<size_t>(std::count(chosen.begin(), chosen.end(), 1.0));
  const auto first = static_cast<size_t>(std::find(chosen.begin(), chosen.end(), 1.0) - chosen.begin());
  // x at place `at`, 0 elsewhere
  const auto only = [&](size_t at, double x) {
    Numbers out(tokens, 0);
    if (at < tokens) out[at] = x;
    return Value(out);
  };
  const auto everywhere = [&](double x, bool all) {
    Numbers out;
    for (double c : chosen) out.push_back(all || c != 0 ? x : 0);
    return Value(out);
  };
  const auto n = static_cast<double>(count), length = static_cast<double>(tokens);
  Numbers kept = left, added = left;
  kept.resize(tokens, 0), added.resize(tokens, 0);
  kept[last] = score, added[last] += score;
  Numbers behind(tokens + 1, 0);
  behind[tokens] = score;
  const std::string by_length = "the score is divided by the length: then short responses pay";
  const std::string all = "every token is paid the whole score, so long responses earn more";
  const std::string old = "what was left from an earlier use is still there: all other rewards are 0";
  r.score.reward = score;
  r.rewards = left;
  impl.set_rewards(r);
  g.equal(
      input, Value(r.rewards), only(last, score),
      {.mistakes = {
           {"the score stands behind the response, on padding: nobody will ever see it there", Value(behind)},
           {old, Value(kept)},
           {old, Value(added)},
           {"the score is at the first token; what came later earned it too. Put it at the end, return-to-go "
            "carries it back",
            only(first, score)},
           {"the score is at the first token; what came later earned it too. Put it at the end, return-to-go "
            "carries it back",
            only(0, score)},
           {"the place is the number of chosen tokens - 1; between them are tokens of the world",
            only(count - 1, score)},
           {"one token too early: the end of sequence is a choice as well, and gets the score", only(last - 1, score)},
           {"the score is at a token that the world chose: the policy learns nothing from it", only(tokens - 1, score)},
           {all, everywhere(score, true)},
           {all, everywhere(score, false)},
           {by_length, everywhere(score / n, false)},
           {by_length, everywhere(score / length, true)},
           {by_length, only(last, score / n)},
           {by_length, only(last, score / length)}}});
}

void compare_kl(Grader& g, const Impl& impl, const std::string& input, ScoredResponse r, double beta) {
  if (g.failed()) return;
  const Numbers before = r.rewards, now = r.old_log_probs, ref = r.ref_log_probs;
  const std::vector<uint8_t> chosen = r.chosen;
  const size_t count = before.size();
  const auto last = static_cast<size_t>(chosen.rend() - std::find(chosen.rbegin(), chosen.rend(), uint8_t{1})) - 1;
  const auto k1 = [&](size_t t) { return now[t] - ref[t]; };
  // rewards - price(t) at the tokens that the policy chose
  const auto with = [&](auto price) {
    Numbers out = before;
    for (size_t t = 0; t < count; ++t) out[t] -= chosen[t] ? price(t) : 0;
    return Value(out);
  };
  double total = 0;
  for (size_t t = 0; t < count; ++t) total += chosen[t] ? beta * k1(t) : 0;
  Numbers at_end = before, of_world = before, overwritten = before, first_alone = before;
  if (last < count) at_end[last] -= total;
  for (size_t t = 0; t < count; ++t) {
    of_world[t] -= beta * k1(t);
    if (chosen[t]) overwritten[t] = -beta * k1(t);
  }
  for (size_t t = 0; t < count && chosen[t]; ++t) first_alone[t] -= beta * k1(t);
  const std::string k3 =
      "this is k3: in the reward the unbiased k1 = log π - log ref gives the KL's gradient, k3 does not";
  const std::string absolute =
      "k1 may be negative, and must be, to be right on average: no absolute value, no maximum with 0";
  impl.subtract_kl(r, beta);
  g.equal(
      input + ": rewards", Value(r.rewards), with([&](size_t t) { return beta * k1(t); }),
      {.mistakes = {{"the sign is flipped: this pays the policy for leaving the reference",
                     with([&](size_t t) { return -beta * k1(t); })},
                    {"β is forgotten", with(k1)},
                    {"all of the KL is at the last token: each token should pay for itself, so credit is sharper",
                     Value(at_end)},
                    {"the KL is at the last token only; the other tokens are free to leave the reference",
                     with([&](size_t t) { return t == last ? beta * k1(t) : 0; })},
                    {"the last token does not pay: the end of sequence is a choice too",
                     with([&](size_t t) { return t == last ? 0 : beta * k1(t); })},
                    {"the loop ends at the first token of the world; skip that token and go on", Value(first_alone)},
                    {"only tokens without a reward pay; each chosen token does",
                     with([&](size_t t) { return before[t] == 0 ? beta * k1(t) : 0; })},
                    {k3, with([&](size_t t) { return beta * (std::expm1(-k1(t)) + k1(t)); })},
                    {"this is k2 = k1²/2; the price is k1", with([&](size_t t) { return beta * k1(t) * k1(t) / 2; })},
                    {absolute, with([&](size_t t) { return beta * std::abs(k1(t)); })},
                    {absolute, with([&](size_t t) { return beta * std::max(k1(t), 0.0); })},
                    {"probabilities are subtracted: take the log-probabilities as they are, without exp",
                     with([&](size_t t) { return beta * (std::exp(now[t]) - std::exp(ref[t])); })},
                    {"this is the ratio π/ref; the price is its logarithm",
                     with([&](size_t t) { return beta * std::exp(k1(t)); })},
                    {"the reference is not used", with([&](size_t t) { return beta * now[t]; })},
                    {"the world's tokens pay as well; the policy cannot help what they are", Value(of_world)},
                    {"the reward that was there is overwritten: take the KL off it", Value(overwritten)}}});
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
