// The checks of lesson 9.
#include "lessons/09_grpo/checks.h"

#include "rl/advantages.h"

namespace pg::lesson09 {

std::vector<kit::Check<Impl>> checks() {
  const std::vector<kit::Harmless> of_groups = {
      {"detached", "an advantage is a number by which gradients are multiplied"},
      {{"rank 0", "rank 1", "rank 4"}, "rewards have the shape [N, G]"},
      {"infinite", "rewards are finite: an infinite one has no advantage"},
      {"no elements", "a step has a group, and a group a response"}};
  return {
      {.id = "09.1",
       .title = "better than the group",
       .piece = kit::piece<&Impl::group_mean_advantage>("group_mean_advantage"),
       .section = "The group is the critic",
       .why = "Where PPO trains a second network to say what is usual here, GRPO asks the same question several times. "
              "Rows must not be mixed up, and a group that all solved must not be pushed by a rounding error.",
       .hints = {"Which rewards may a reward be compared with: those of its row or those of its column? And what is "
                 "0.9 - mean(seven times 0.9) in f32?",
                 "A[n, g] = r[n, g] - mean_g r[n, g], [N, G]; shifting a row by a constant changes nothing.",
                 "d = rewards - its first column; then d - mean(d, {1}, true). Equal rewards are exact zeros in d."},
       .solution = {"rl/advantages.cpp", "Tensor group_mean_advantage("},
       .run = check_group_mean,
       .harmless = of_groups},
      {.id = "09.2",
       .title = "in deviations of the group",
       .piece = kit::piece<&Impl::group_std_advantage>("group_std_advantage"),
       .section = "What the deviation does",
       .why = "GRPO's own formula. Libraries differ in G or G - 1 and in eps from 1e-4 to 1e-9, and a group of equal "
              "rewards is where it becomes noise divided by noise.",
       .hints = {"What is the deviation of one number, divided by G - 1? And of seven equal ones, in f32?",
                 "A = (r - mean) / (sqrt(Σ_g (r - mean)² / (G - ddof)) + eps), by row.",
                 "Centre as in 09.1; sum the squares by row; divide by max(G - ddof, 1); sqrt; add eps; divide."},
       .solution = {"rl/advantages.cpp", "Tensor group_std_advantage("},
       .run = check_group_std,
       .harmless = of_groups},
      {.id = "09.3",
       .title = "leave one out",
       .piece = kit::piece<&Impl::leave_one_out_advantage>("leave_one_out_advantage"),
       .section = "What the deviation does",
       .why = "A baseline that contains the reward it is subtracted from is not free of it. Leaving it out makes the "
              "estimate exact on average; the demonstration enumerates it.",
       .hints = {"How many others are there? What is their mean, if you know the sum of all?",
                 "A[n, g] = r[n, g] - (Σ_k r[n, k] - r[n, g]) / (G - 1).",
                 "G of 1: zeros. Else d = rewards - first column; d - (sum(d, {1}, true) - d) / (G - 1)."},
       .solution = {"rl/advantages.cpp", "Tensor leave_one_out_advantage("},
       .run = check_leave_one_out,
       .harmless = of_groups},
      {.id = "09.4",
       .title = "groups that teach",
       .piece = kit::piece<&Impl::groups_with_signal>("groups_with_signal"),
       .section = "The group is the critic",
       .why =
           "A group that all solve, or none, has advantage 0: its samples were paid for and teach nothing. The share "
           "of such groups is the first number to look at when nothing is learned.",
       .hints = {"When are all advantages of a row 0? Is a threshold needed?",
                 "u8 [N]: 1 where the largest of |r[n, g] - r[n, 0]| over g is not 0.",
                 "abs(rewards - first column); amax over {1}; ne(that, a scalar 0)."},
       .solution = {"rl/advantages.cpp", "Tensor groups_with_signal("},
       .run = check_signal,
       .harmless = {{"detached", "a u8 tensor has no tape"},
                    {{"f32", "always f64", "only positive"}, "a u8 tensor has no sign, and no digits to lose"},
                    {{"rank 0", "rank 1", "rank 4"}, "rewards have the shape [N, G]"},
                    {"infinite", "rewards are finite: an infinite one has no advantage"},
                    {"no elements", "a step has a group, and a group a response"}}},
      {.id = "09.5",
       .title = "the ratio of a token",
       .piece = kit::piece<&Impl::token_ratio>("token_ratio"),
       .section = "One sample, all the way",
       .why = "Its value is exactly 1 on the first update and its gradient is the policy gradient: the loss is 0 and "
              "learning goes on. Padding may hold anything.",
       .hints =
           {"Probabilities are divided; you have their logarithms. Where should the mask act, before or after exp?",
            "ρ = exp(clamp(log π - log old, ±20)) [B, T]; masked: log-ratio 0, so ρ = 1.",
            "where(mask, log_prob - old_log_prob, a scalar 0); clamp; exp."},
       .solution = {"rl/policy_loss.cpp", "Tensor token_ratio("},
       .run = check_token_ratio,
       .harmless = {{"only positive", "a ratio is above 0"},
                    {{"rank 0", "rank 1", "rank 4"}, "log-probabilities and mask have the shape [B, T]"},
                    {"no elements", "an update has a response, and a response a token"}}},
      {.id = "09.6",
       .title = "the ratio of a response",
       .piece = kit::piece<&Impl::sequence_ratio>("sequence_ratio"),
       .section = "One sample, all the way",
       .why = "GSPO: the reward is for the whole response, so the step is measured on the whole response. Not by the "
              "product of its ratios, which has no scale, but by their geometric mean.",
       .hints = {"A response of 100 tokens, each ratio 1.05: what is the product? What would you clip it at?",
                 "s[b] = exp( Σ_t mask·(log π - log old) / length[b] ), [B, 1].",
                 "Mask the log-ratios; sum over {1}, kept as a column; divide by max(length, 1); clamp; exp."},
       .solution = {"rl/policy_loss.cpp", "Tensor sequence_ratio("},
       .run = check_sequence_ratio,
       .harmless = {{"only positive", "a ratio is above 0"},
                    {{"rank 0", "rank 1", "rank 4"}, "log-probabilities and mask have the shape [B, T]"},
                    {"no elements", "an update has a response, and a response a token"}}},
      {.id = "09.7",
       .title = "from tokens to one number",
       .piece = kit::piece<&Impl::aggregate>("aggregate"),
       .section = "This choice is the algorithm",
       .why =
           "GRPO, DAPO and Dr. GRPO differ in this one division more than in anything else. Divided by what is in a "
           "micro-batch instead of the whole, gradient accumulation changes the result: libraries have shipped that.",
       .hints =
           {"If you cut a batch into two, which divisor makes the two losses add up to the one?",
            "token: Σ m·l / tokens. sequence: Σ_b (Σ_t m·l / len_b) / sequences. constant: Σ m·l / "
            "(sequences·max_length). sum: Σ m·l / sequences.",
            "kept = where(mask, loss, 0). Three of the four are sum(kept) over a number of `total`. For the fourth "
            "divide each row's sum by max(its length, 1) first."},
       .solution = {"rl/policy_loss.cpp", "Tensor token_mean("},
       .run = check_aggregate,
       .harmless = {{{"rank 0", "rank 1", "rank 4"}, "losses and mask have the shape [B, T]"},
                    {"no elements", "an update has a response, and a response a token"}}},
  };
}

Impl reference() {
  return {.group_mean_advantage = [](const Tensor& rewards) { return rl::group_mean_advantage(rewards); },
          .group_std_advantage = [](const Tensor& rewards, double eps,
                                    int ddof) { return rl::group_std_advantage(rewards, eps, ddof); },
          .leave_one_out_advantage = [](const Tensor& rewards) { return rl::leave_one_out_advantage(rewards); },
          .groups_with_signal = [](const Tensor& rewards) { return rl::groups_with_signal(rewards); },
          .token_ratio = rl::token_ratio,
          .sequence_ratio = rl::sequence_ratio,
          .aggregate =
              [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) {
                constexpr Tensor (*all[])(const Tensor&, const Tensor&, const Denominators&) = {
                    rl::token_mean, rl::sequence_mean, rl::constant_length_mean, rl::sequence_sum};
                return all[static_cast<size_t>(how)](loss, mask, total);
              }};
}

}  // namespace pg::lesson09
