// Checks of the value at each token: targets, scores, KL. All expected values are computed by hand.
#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader;
using kit::Value;

ScoredResponse response(std::vector<int32_t> tokens, std::vector<uint8_t> chosen) {
  ScoredResponse r;
  r.prompt = {7, 3};
  r.tokens = std::move(tokens);
  r.chosen = std::move(chosen);
  return r;
}

}  // namespace

void check_sft_batch(Grader& g, const Impl& impl) {
  const std::vector<Problem> problems = {{{5, 3, 7}, {4, 6, 0}}, {{2}, {8, 0}}, {{9, 1}, {0}}};
  const std::string input = "prompt | answer: 5 3 7 | 4 6 0,  2 | 8 0,  9 1 | 0  (0 ends a sequence): ";
  const TokenBatch got = impl.sft_batch(problems);
  if (!g.expect(got.ids.defined() && got.targets.defined(), input + "ids and targets", "undefined", "i32 [3, 5]"))
    return;
  const Shape shape = {3, 5};
  g.equal(input + "ids", got.ids, Value(shape, {5, 3, 7, 4, 6, 2, 8, 0, 0, 0, 9, 1, 0, 0, 0}),
          {.mistakes = {{"-100 is for targets; an id must be one of the vocabulary, so padding takes any, say 0",
                         Value(shape, {5, 3, 7, 4, 6, 2, 8, -100, -100, -100, 9, 1, -100, -100, -100})},
                        {"padded on the left: then every position embedding is another one",
                         Value(shape, {5, 3, 7, 4, 6, 0, 0, 0, 2, 8, 0, 0, 0, 9, 1})}}});
  const double x = -100;
  g.equal(input + "targets", got.targets, Value(shape, {x, x, 4, 6, 0, 8, 0, x, x, x, x, 0, x, x, x}),
          {.mistakes = {
               {"the end of sequence is not trained, as its id is also that of padding: mask by place, never by id; "
                "this model would never stop",
                Value(shape, {x, x, 4, 6, x, 8, x, x, x, x, x, x, x, x, x})},
               {"the prompt is trained too: the model learns to ask instead of to answer",
                Value(shape, {3, 7, 4, 6, 0, 8, 0, x, x, x, 1, 0, x, x, x})},
               {"padding is trained: its targets must be -100",
                Value(shape, {x, x, 4, 6, 0, 8, 0, 0, 0, 0, x, 0, 0, 0, 0})},
               {"targets stand beside themselves, so the model learns to copy: a target is what follows at its place",
                Value(shape, {x, x, x, 4, 6, x, 8, x, x, x, x, x, x, x, x})},
               {"shifted twice: at its place stands the token after the next",
                Value(shape, {x, 4, 6, 0, x, 0, x, x, x, x, 0, x, x, x, x})},
               {"the answer's first token is not trained: it is predicted at the prompt's last place",
                Value(shape, {x, x, x, 6, 0, x, 0, x, x, x, x, x, x, x, x})}}});
  if (g.failed()) return;
  const std::vector<Problem> two = {{{1}, {2, 3, 0}}, {{4, 4}, {0}}};
  const TokenBatch other = impl.sft_batch(two);
  g.equal("prompt | answer: 1 | 2 3 0,  4 4 | 0: ids", other.ids, Value({2, 3}, {1, 2, 3, 4, 4, 0}));
  g.equal("the same: targets", other.targets, Value({2, 3}, {2, 3, 0, x, 0, x}));
  g.note("two batches, rows of unlike lengths, the end of sequence among them");
}

void check_set_rewards(Grader& g, const Impl& impl) {
  ScoredResponse r = response({4, 6, 8, 0}, {1, 1, 1, 1});
  r.score.reward = 2.4;
  r.rewards = {9, 9, 9};  // left from an earlier use
  impl.set_rewards(r);
  g.equal("tokens 4 6 8 0, score 2.4: rewards", Value(r.rewards), Value({4}, {0, 0, 0, 2.4}),
          {.mistakes = {
               {"the score stands behind the response, on padding: nobody will ever see it there",
                Value({5}, {0, 0, 0, 0, 2.4})},
               {"the score is at the first token; what came later earned it too. Put it at the end, return-to-go "
                "carries it back",
                Value({4}, {2.4, 0, 0, 0})},
               {"one token too early: the end of sequence is a choice as well, and gets the score",
                Value({4}, {0, 0, 2.4, 0})},
               {"every token is paid the whole score, so long responses earn more", Value({4}, {2.4, 2.4, 2.4, 2.4})},
               {"the score is divided by the length: then short responses pay", Value({4}, {0.6, 0.6, 0.6, 0.6})},
               {"the score is divided by the length: then short responses pay", Value({4}, {0, 0, 0, 0.6})}}});
  if (g.failed()) return;
  ScoredResponse world = response({4, 6, 9, 5, 9}, {1, 1, 0, 1, 0});
  world.score.reward = -1.5;
  impl.set_rewards(world);
  g.equal("tokens 4 6 9 5 9, the nines from the world; score -1.5: rewards", Value(world.rewards),
          Value({5}, {0, 0, 0, -1.5, 0}),
          {.mistakes = {{"the score is at a token that the world chose: the policy learns nothing from it",
                         Value({5}, {0, 0, 0, 0, -1.5})}}});
  g.note("one number, at the last token that the policy chose");
}

void check_subtract_kl(Grader& g, const Impl& impl) {
  const auto sample = [] {
    ScoredResponse r = response({4, 6, 9, 0}, {1, 1, 0, 1});
    r.rewards = {0.5, 0, 0, 2};
    r.old_log_probs = {-0.1, -2, -9, -1};
    r.ref_log_probs = {-0.4, -1, -3, -1.5};
    return r;
  };
  // log π - log ref is 0.3, -1, (not sampled by the policy), 0.5.
  const double k3[] = {std::exp(-0.3) - 1 + 0.3, std::exp(1.0) - 1 - 1, std::exp(-0.5) - 1 + 0.5};
  ScoredResponse r = sample();
  impl.subtract_kl(r, 0.2);
  g.equal(
      "rewards .5 0 0 2; log π -.1 -2 -9 -1; log ref -.4 -1 -3 -1.5; third token the world's; β .2", Value(r.rewards),
      Value({4}, {0.44, 0.2, 0, 1.9}),
      {.mistakes = {
           {"the sign is flipped: this pays the policy for leaving the reference", Value({4}, {0.56, -0.2, 0, 2.1})},
           {"β is forgotten", Value({4}, {0.2, 1, 0, 1.5})},
           {"all of the KL is at the last token: each token should pay for itself, so credit is sharper",
            Value({4}, {0.5, 0, 0, 2 + 0.2 * 0.2})},
           {"the KL is at the last token only; the other tokens are free to leave the reference",
            Value({4}, {0.5, 0, 0, 1.9})},
           {"this is k3: in the reward the unbiased k1 = log π - log ref gives the KL's gradient, k3 does not",
            Value({4}, {0.5 - 0.2 * k3[0], -0.2 * k3[1], 0, 2 - 0.2 * k3[2]})},
           {"the absolute value: k1 may be negative, and must be, to be right on average",
            Value({4}, {0.44, -0.2, 0, 1.9})},
           {"the world's tokens pay as well; the policy cannot help what they are", Value({4}, {0.44, 0.2, 1.2, 1.9})},
           {"the reward that was there is overwritten: take the KL off it", Value({4}, {-0.06, 0.2, 0, -0.1})}}});
  if (g.failed()) return;
  ScoredResponse same = sample();
  same.ref_log_probs = same.old_log_probs;
  impl.subtract_kl(same, 0.2);
  g.equal("the policy is the reference: rewards", Value(same.rewards), Value({4}, {0.5, 0, 0, 2}));
  ScoredResponse more = sample();
  impl.subtract_kl(more, 0.5);
  g.equal("the same with β .5: rewards", Value(more.rewards), Value({4}, {0.35, 0.5, 0, 1.75}));
  g.note("both signs, two β, a token of the world, and a policy that has not moved");
}

}  // namespace pg::lesson08
