// Names and hints of the checks of lesson 6, and the engine's own functions.
#include "lessons/06_reinforce/checks.h"

#include "rl/advantages.h"
#include "rl/methods/kl.h"
#include "rl/policy_loss.h"

namespace pg::lesson06 {

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "06.1",
       .title = "log-probability of a sample",
       .piece = kit::piece<&Impl::token_log_prob>("token_log_prob"),
       .section = "A gradient from samples",
       .why = "Everything in policy gradients goes through this number. It must be exact where probabilities round to "
              "0, and it must stay on the tape.",
       .hints = {"log softmax is a table of all log-probabilities. Which entry of each row is yours?",
                 "result[r] = log_softmax(logits)[r, ids[r]].",
                 "gather(log_softmax(logits), 1, unsqueeze(ids, 1)) is [R, 1]; squeeze the last dim away."},
       .solution = {"autograd/softmax.cpp", "token_log_prob("},
       .run = check_token_log_prob,
       .harmless = {{{"rank 0", "rank 4"}, "logits are [R, V]"}, {"infinite", "scores are finite numbers"}}},
      {.id = "06.2",
       .title = "the REINFORCE loss",
       .piece = kit::piece<&Impl::reinforce_loss>("reinforce_loss"),
       .section = "A gradient from samples",
       .why = "Its value means nothing; its gradient means everything. Sign, divisor and mask are where libraries go "
              "wrong.",
       .hints =
           {"Which sign makes a step downhill raise the probability of a rewarded action? By what must you divide "
            "so that the gradient is a mean over episodes?",
            "loss = -(1/B) Σ_b Σ_t mask·A·log π; d loss / d log π[b, t] = -mask·A/B.",
            "where(mask, log_prob, zero) and where(mask, advantage.detach(), zero), with a scalar zero; multiply the "
            "two; sum; divide by -B."},
       .solution = {"rl/policy_loss.cpp", "Tensor reinforce_loss("},
       .run = check_reinforce_loss,
       .harmless = {{{"rank 0", "rank 1", "rank 4"}, "all are [B, T]"}}},
      {.id = "06.3",
       .title = "return-to-go",
       .piece = kit::piece<&Impl::return_to_go>("return_to_go"),
       .section = "Who gets the credit",
       .why = "Crediting an action with rewards that came before it is not wrong on average, only noisy; crediting it "
              "with less than what follows is wrong.",
       .hints = {"Can the word of step 5 have caused the reward of step 2? How does G[t] follow from G[t+1]?",
                 "G[b, t] = r[b, t] + gamma·G[b, t+1], from the last step backwards.",
                 "Clone; for each b, for t from T-2 down to 0: g[b·T + t] += gamma · g[b·T + t + 1]."},
       .solution = {"rl/advantages.cpp", "Tensor return_to_go("},
       .run = check_return_to_go,
       .harmless = {{"detached", "rewards are data: no gradient passes through them"},
                    {"always f64", "rewards are f64"},
                    {{"rank 0", "rank 1", "rank 4"}, "rewards are [B, T]"},
                    {"infinite", "rewards are finite numbers"}}},
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
       .harmless = {{"detached", "an advantage is a number by which gradients are multiplied"},
                    {"no elements", "a batch has at least one return"},
                    {"infinite", "returns are finite numbers"}}},
      {.id = "06.5",
       .title = "k1, k2, k3",
       .piece = kit::piece<&Impl::k1, &Impl::k2, &Impl::k3>("k1"),
       .section = "How far from what it was",
       .why = "Three estimates of one number, with one sign and one direction to confuse. Here is where published code "
              "has been wrong.",
       .hints = {"The samples come from π, so where π is larger than the reference log π - log ref is positive. Which "
                 "of the three can be negative?",
                 "k1 = log π - log ref; k2 = k1²/2; k3 = e^d - 1 - d with d = log ref - log π.",
                 "k1: subtract. k2: d * d * 0.5. k3: d = ref_log_prob - log_prob; expm1(d) - d."},
       .solution = {"rl/methods/kl.cpp", "Tensor k3("},
       .run = check_kl,
       .harmless = {{{"only positive of function 2", "only positive of function 3"},
                     "k2 is a square, and k3 is e^d - 1 - d, which is never below 0"}}},
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

}  // namespace pg::lesson06
