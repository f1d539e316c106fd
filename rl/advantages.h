#pragma once
// Advantage estimators. B episodes, T steps; N groups of G responses to one prompt each. Rewards are constants: no
// gradient flows through any of these functions. They compute in f64 and return the dtype of their input. mask u8 has
// the rewards' shape (undefined: all 1): slots where it is 0 may hold anything, are ignored and are 0 in the result.
#include "tensor/tensor.h"

namespace pg::rl {

// Return-to-go G_t = Σ_{t' >= t} gamma^(t'-t) r_t': rewards [B, T] → [B, T]. An action is credited only with the
// rewards that come after it (Williams 1992, "Simple statistical gradient-following algorithms", REINFORCE). Masked
// steps are skipped: they neither add a reward nor discount.
Tensor return_to_go(const Tensor& rewards, double gamma = 1, const Tensor& mask = {});

// Moving baseline of the mean return: b = Σ_k decay^(n-k) r_k / Σ_k decay^(n-k) over the batches seen so far. A batch
// is compared with the baseline of the batches before it: if b depended on the episode it is subtracted from, the
// gradient would be biased.
class MovingBaseline {
 public:
  // sum and weight are those of an earlier baseline to continue from.
  explicit MovingBaseline(double decay = 0.9, double sum = 0, double weight = 0);
  // returns of any shape → returns - value(). Then updates the baseline with their mean.
  Tensor advantage(const Tensor& returns, const Tensor& mask = {});
  double value() const { return weight_ > 0 ? sum_ / weight_ : 0; }  // 0 before the first batch
  double sum() const { return sum_; }
  double weight() const { return weight_; }

 private:
  double decay_, sum_, weight_;
};

// ---- groups: rewards [N, G], each row compared with itself. To use a whole batch as one group, reshape it to [1, B].

// r - mean: Dr. GRPO (Liu et al. 2025, arXiv:2503.20783). It is (G-1)/G times the leave-one-out advantage.
Tensor group_mean_advantage(const Tensor& rewards, const Tensor& mask = {});
// r - mean of the other responses: RLOO (Ahmadian et al. 2024, arXiv:2402.14740). It is the only one of these
// estimators that is unbiased and unscaled. A response without others in its group gets 0.
Tensor leave_one_out_advantage(const Tensor& rewards, const Tensor& mask = {});
// (r - mean) / (std + eps): GRPO (Shao et al. 2024, arXiv:2402.03300). ddof 1 divides the variance by G-1 (TRL, verl),
// ddof 0 by G. Equal rewards, also those that differ by rounding only, give exactly 0. This is not the gradient of any
// expected reward: it weights prompts by 1/std, and it can flip the sign of an action's gradient.
Tensor group_std_advantage(const Tensor& rewards, double eps = 1e-6, int ddof = 1, const Tensor& mask = {});
// (r - mean of its group) / (std over the batch + eps): Lite-PPO (Liu et al. 2025, arXiv:2508.08221).
Tensor batch_std_advantage(const Tensor& rewards, double eps = 1e-6, int ddof = 1, const Tensor& mask = {});
// r - Σ len·r / Σ len, the minimum-variance baseline when gradients grow with length: OPO (Hao et al. 2025,
// arXiv:2505.23585). lengths [N, G] in tokens, including EOS.
Tensor opo_advantage(const Tensor& rewards, const Tensor& lengths, const Tensor& mask = {});
// r - reward of the greedy response to the same prompt, greedy [N, 1]: ReMax (Li et al. 2023, arXiv:2310.10505).
Tensor remax_advantage(const Tensor& rewards, const Tensor& greedy, const Tensor& mask = {});
// (r - mean) / mean, 0 where the mean is 0: MaxRL (arXiv:2602.02710), for non-negative rewards.
Tensor maxrl_advantage(const Tensor& rewards, const Tensor& mask = {});
// alpha·(r - mean), alpha = responses / responses in groups whose rewards differ: GPG (Chu et al. 2025,
// arXiv:2504.02546). The scale compensates for groups without a learning signal.
Tensor gpg_advantage(const Tensor& rewards, const Tensor& mask = {});

// best - second best for the best response of the group, 0 for the others: the gradient of E[best of G] needs only the
// response that decides it (Tang, Zheng, Synnaeve and Munos 2025, arXiv:2503.19595). Its sum over the group is an
// unbiased estimate of that gradient.
Tensor best_only_advantage(const Tensor& rewards, const Tensor& mask = {});
// The same divided by std + eps, as in verl: biased unless all groups with different rewards have the same std.
Tensor pass_at_k_advantage(const Tensor& rewards, double eps = 1e-6, int ddof = 1, const Tensor& mask = {});
// PKPO: n / C(n, k) · Σ over the sets of k of the group's n responses that contain this one of (the set's best reward -
// that of its others). Its mean over the group is an unbiased estimate of the gradient of E[best of k], for any k from
// 2 to n: n times the estimator s^(loo-1) of Walder and Karkhanis 2025, arXiv:2505.15201, whose baseline leaves the
// response out. For k = n it is n·best_only_advantage; k = 1 would be leave_one_out_advantage. A group of fewer than k
// responses gets 0. Error for k below 2.
Tensor pkpo_advantage(const Tensor& rewards, int64_t k, const Tensor& mask = {});
// GDPO: several rewards, each [N, G], are normalised in their groups before they are added, so that a reward with a
// small spread counts as much as one with a large spread: Σ_k w_k·group_std_advantage(r_k), then the same over the
// batch, minus its mean and divided by its std + eps (Liu et al. 2026, arXiv:2601.05242, and TRL; verl divides by
// sqrt(var + 1e-8) in the second step).
Tensor gdpo_advantage(const std::vector<Tensor>& rewards, const std::vector<double>& weights, double eps = 1e-6,
                      int ddof = 1);

// u8 [N]: 1 for groups whose rewards differ by more than 1e-12 of their size, which is rounding. The other groups give
// no learning signal; DAPO's dynamic sampling replaces them (Yu et al. 2025, arXiv:2503.14476).
Tensor groups_with_signal(const Tensor& rewards, const Tensor& mask = {});

// ---- whole batches

// (x - mean) / sqrt(var + eps) over all slots. With shift_mean false the mean is added back (Ziegler et al. 2019,
// arXiv:1909.08593: rewards keep their mean, advantages lose it). ddof is 1 (TRL, verl) or 0. A single slot or equal
// values give 0 (with shift_mean), never NaN.
Tensor whiten(const Tensor& x, const Tensor& mask = {}, int ddof = 1, bool shift_mean = true, double eps = 1e-8);

// ---- actor and critic

struct GaeOptions {
  double gamma = 0.99, lambda = 0.95;
  Tensor mask = {};          // [B, T]: steps where it is 0 (observations, padding) are skipped by A and by V_{t+1}
  Tensor terminated = {};    // u8 [B, T], 1: the step ended the episode, so the next value is 0
  Tensor truncated = {};     // u8 [B, T], 1: a time limit cut the episode after the step; see final_values
  Tensor final_values = {};  // [B, T]: next value V where truncated: of the state in which the episode was cut
};
struct Gae {
  Tensor advantages, returns;  // [B, T]; returns = advantages + values, before any whitening
};
// delta_t = r_t + gamma·V_{t+1} - V_t;  A_t = delta_t + gamma·lambda·A_{t+1};  R_t = A_t + V_t (Schulman et al. 2015,
// arXiv:1506.02438). rewards and values are [B, T]. next_values [B] is V of the state after the last step, 0 where a
// response ends with that step. A is not carried from one episode to the next.
Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options);

}  // namespace pg::rl
