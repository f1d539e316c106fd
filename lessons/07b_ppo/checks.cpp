// Names and hints of the checks of lesson 7b, and the engine's own functions.
#include "lessons/07b_ppo/checks.h"

#include "rl/control/actor_critic.h"
#include "rl/methods/other_losses.h"
#include "rl/policy_loss.h"

namespace pg::lesson07b {

std::vector<kit::Check<Impl>> checks() {
  const auto gaussian_piece = kit::piece<&Impl::gaussian_log_prob>("gaussian_log_prob");
  const kit::Source gaussian_source{"rl/control/actor_critic.cpp", "gaussian_log_prob("};
  return {
      {.id = "07.5",
       .title = "the clipped surrogate",
       .piece = kit::piece<&Impl::clip_loss>("clip_loss"),
       .section = "How far to step",
       .why = "The usual mistakes are at negative A. The gradient must be 0 where the ratio is past the clip in the "
              "direction that A favours, and nowhere else.",
       .hints = {"A bad action has become twice as likely. Should the gradient be 0 there?",
                 "loss = -min(ratio·A, clip(ratio, 1 - low, 1 + high)·A); d loss / d ratio = -A or 0.",
                 "Detach A. free = ratio·A, clipped = clamp(ratio, 1 - low, 1 + high)·A. where(le(free, clipped), "
                 "free, clipped), and neg."},
       .solution = {"rl/policy_loss.cpp", "Tensor clip_loss("},
       .run = check_clip_loss,
       .harmless = {{{"rank 0", "rank 1", "rank 4"}, "ratio and A are [B, T]"},
                    {"infinite", "ratios are finite numbers"}}},
      {.id = "07.6",
       .title = "the value loss",
       .piece = kit::piece<&Impl::value_loss>("value_loss"),
       .section = "The critic",
       .why = "The clip of the critic has the same purpose: a value gains nothing by moving far in one update. The "
              "demonstration measures its effect.",
       .hints =
           {"v has moved past old + clip, and is nearer to R than that. Which of the two errors is larger?",
            "loss = max((v - R)², (old + clamp(v - old, ±clip) - R)²) / 2; with clip = 0 the first alone.",
            "Both errors through where(mask, error, 0) before squaring; then where(ge(free, bounded), free, bounded)."},
       .solution = {"rl/methods/value_loss.cpp", "Tensor value_loss("},
       .run = check_value_loss,
       .harmless = {{"only positive", "a squared error is never negative"}}},
      {.id = "07.7",
       .title = "log-prob of a torque",
       .piece = gaussian_piece,
       .section = "A bell for each joint",
       .why = "A missing constant cancels in the ratio. A variance in place of the std does not cancel, and no error "
              "is reported.",
       .hints = {"The torques of two joints are sampled independently. How do their probabilities combine, and how do "
                 "the logarithms?",
                 "log p = -Σ_i ((a_i - mean_i)² / (2 std_i²) + log_std_i + log(2π)/2): [N, k] → [N].",
                 "z = (actions - mean) / exp(log_std); z·z·0.5 + log_std + half of log(2π); sum over dim 1; neg."},
       .solution = gaussian_source,
       .run = check_log_prob,
       .harmless = {{{"rank 0", "rank 4"}, "mean and actions are [N, k], log_std [k]"},
                    {"infinite", "all are finite numbers"}}},
      {.id = "07.8",
       .title = "its entropy",
       .piece = gaussian_piece,
       .section = "A bell for each joint",
       .why = "The entropy bonus keeps a policy exploring. With the wrong sign it makes the policy stop exploring.",
       .hints = {"Does it depend on the mean or on the std?",
                 "H = Σ_i (log_std_i + log(2πe)/2), the same number for all N rows.",
                 "log_std + (log(2π) + 1)/2; sum over the k numbers; expand to {N}."},
       .solution = gaussian_source,
       .run = check_entropy},
  };
}

Impl reference() {
  return {.clip_loss = rl::clip_loss, .value_loss = rl::value_loss, .gaussian_log_prob = rl::gaussian_log_prob};
}

}  // namespace pg::lesson07b
