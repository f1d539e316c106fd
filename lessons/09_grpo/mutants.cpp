// Wrong answers to lesson 9. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/09_grpo/answers.h"

namespace pg::lesson09 {

const kit::Mutants<Impl> mutants = {
    {"aggregate_empty", "09.7", "a response without a token",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = sum(mask.to(loss.dtype()), {1}, true);
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_longest_here", "09.7", "max_length is the same",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * static_cast<double>(loss.size(1)));
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_mask_late", "09.7", "the mask comes after the mean",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         return sum(mean(kept, {1}, true)) / total.sequences;
       };
     }},
    {"aggregate_mask_product", "09.7", "choose with where",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = loss * mask.to(loss.dtype());
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_micro_batch", "09.7", "eight small ones are not one large one",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const double tokens = sum(mask.to(f64)).item();
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean) return sum(kept) / tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_micro_sequences", "09.7", "eight small ones are not one large one",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return mean(sum(kept, {1}, true) / length);
       };
     }},
    {"aggregate_mixed_up", "09.7", "this is the sequence mean",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::sequence_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_no_mask", "09.7", "the mask is not used",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = loss;
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_sequence_as_token", "09.7", "this is the token mean",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean || how == Aggregation::sequence_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"aggregate_sum_micro", "09.7", "eight small ones are not one large one",
     [](Impl& m) {
       m.aggregate = [](const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) -> Tensor {
         const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
         if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
         if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
         if (how == Aggregation::sequence_sum) return sum(kept) / static_cast<double>(loss.size(0));
         const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
         return sum(sum(kept, {1}, true) / length) / total.sequences;
       };
     }},
    {"loo_by_group", "09.3", "there are G - 1 of them",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         const double g = static_cast<double>(rewards.size(1));
         if (g == 1) return zeros_like(rewards);
         return rewards - (sum(rewards, {1}, true) - rewards) / g;
       };
     }},
    {"loo_rounded", "09.3", "then equal rewards are exact zeros",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         const double g = static_cast<double>(rewards.size(1));
         if (g == 1) return zeros_like(rewards);
         return rewards - (sum(rewards, {1}, true) - rewards) / (g - 1);
       };
     }},
    {"loo_self", "09.3", "includes the reward itself",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         const int64_t g = rewards.size(1);
         if (g == 1) return zeros_like(rewards);
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         return d - sum(d, {1}, true) / static_cast<double>(g);
       };
     }},
    {"loo_singleton", "09.3", "a group of one has no others",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         const int64_t g = rewards.size(1);
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         return d - (sum(d, {1}, true) - d) / static_cast<double>(g - 1);
       };
     }},
    {"loo_singleton_reward", "09.3", "worth 0",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         const int64_t g = rewards.size(1);
         if (g == 1) return rewards.clone();
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         return d - (sum(d, {1}, true) - d) / static_cast<double>(g - 1);
       };
     }},
    {"loo_sum", "09.3", "not their mean",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         if (rewards.size(1) == 1) return zeros_like(rewards);
         return rewards - (sum(rewards, {1}, true) - rewards);
       };
     }},
    {"loo_transposed", "09.3", "across prompts",
     [](Impl& m) {
       m.leave_one_out_advantage = [](const Tensor& rewards) -> Tensor {
         if (rewards.size(1) == 1) return zeros_like(rewards);
         const double n = static_cast<double>(rewards.size(0));
         return rewards - (sum(rewards, {0}, true) - rewards) / (n - 1);
       };
     }},
    {"mean_of_batch", "09.1", "each row has its own mean",
     [](Impl& m) {
       m.group_mean_advantage = [](const Tensor& rewards) -> Tensor { return rewards - mean(rewards, {0, 1}, true); };
     }},
    {"mean_of_others", "09.1", "that is leave-one-out",
     [](Impl& m) {
       m.group_mean_advantage = [](const Tensor& rewards) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);  // equal rewards: exactly 0 from here on
         const double g = static_cast<double>(rewards.size(1));
         return g > 1 ? (d - mean(d, {1}, true)) * (g / (g - 1)) : d;
       };
     }},
    {"mean_rounded", "09.1", "then equal rewards are exact zeros",
     [](Impl& m) {
       m.group_mean_advantage = [](const Tensor& rewards) -> Tensor { return rewards - mean(rewards, {1}, true); };
     }},
    {"mean_sign", "09.1", "it is reward minus mean",
     [](Impl& m) {
       m.group_mean_advantage = [](const Tensor& rewards) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);  // equal rewards: exactly 0 from here on
         return mean(d, {1}, true) - d;
       };
     }},
    {"mean_transposed", "09.1", "across prompts",
     [](Impl& m) {
       m.group_mean_advantage = [](const Tensor& rewards) -> Tensor { return rewards - mean(rewards, {0}, true); };
     }},
    {"ratio_detached", "09.5", "flows through the ratio",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, log_prob.detach() - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
         return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"ratio_exchanged", "09.5", "the two are exchanged",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, old_log_prob - log_prob, Tensor::scalar(0, log_prob.dtype()));
         return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"ratio_mask_last", "09.5", "mask the log-ratio, before exp",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor ratio = exp(clamp(log_prob - old_log_prob, -rl::kMaxLogRatio, rl::kMaxLogRatio));
         return where(mask, ratio, Tensor::scalar(0, log_prob.dtype()));
       };
     }},
    {"ratio_mask_product", "09.5", "choose with where",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = (log_prob - old_log_prob) * mask.to(log_prob.dtype());
         return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"ratio_no_clamp", "09.5", "not held within",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
         return exp(log_ratio);
       };
     }},
    {"ratio_no_exp", "09.5", "exp is missing",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
         return log_ratio;
       };
     }},
    {"ratio_no_mask", "09.5", "the mask is not used",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob,
                          [[maybe_unused]] const Tensor& mask) -> Tensor {
         const Tensor log_ratio = log_prob - old_log_prob;
         return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"ratio_of_logs", "09.5", "divided by the other",
     [](Impl& m) {
       m.token_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         return where(mask, log_prob / old_log_prob, Tensor::scalar(1, log_prob.dtype()));
       };
     }},
    {"sequence_all_steps", "09.6", "in place of the response",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
         return exp(clamp(mean(log_ratio, {1}, true), -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"sequence_empty", "09.6", "a response without a token",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
         const Tensor length = sum(mask.to(log_prob.dtype()), {1}, true);
         return exp(clamp(sum(log_ratio, {1}, true) / length, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"sequence_exchanged", "09.6", "the two are exchanged",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, old_log_prob - log_prob, Tensor::scalar(0, log_prob.dtype()));
         const Tensor length =
             maximum(sum(mask.to(log_prob.dtype()), {1}, true), Tensor::ones({1, 1}, log_prob.dtype()));
         return exp(clamp(sum(log_ratio, {1}, true) / length, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"sequence_mask_length_only", "09.6", "padding is in the sum",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = log_prob - old_log_prob;
         const Tensor length =
             maximum(sum(mask.to(log_prob.dtype()), {1}, true), Tensor::ones({1, 1}, log_prob.dtype()));
         return exp(clamp(sum(log_ratio, {1}, true) / length, -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"sequence_mean_of_ratios", "09.6", "geometric mean",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor ratio = exp(log_prob - old_log_prob);
         const Tensor length =
             maximum(sum(mask.to(log_prob.dtype()), {1}, true), Tensor::ones({1, 1}, log_prob.dtype()));
         return sum(where(mask, ratio, Tensor::scalar(0, log_prob.dtype())), {1}, true) / length;
       };
     }},
    {"sequence_padding", "09.6", "padding is in the mean",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob,
                             [[maybe_unused]] const Tensor& mask) -> Tensor {
         return exp(clamp(mean(log_prob - old_log_prob, {1}, true), -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"sequence_sum", "09.6", "take their mean",
     [](Impl& m) {
       m.sequence_ratio = [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) -> Tensor {
         const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
         return exp(clamp(sum(log_ratio, {1}, true), -rl::kMaxLogRatio, rl::kMaxLogRatio));
       };
     }},
    {"signal_first_two", "09.4", "only the first two",
     [](Impl& m) {
       m.groups_with_signal = [](const Tensor& rewards) -> Tensor {
         const int64_t second = std::min<int64_t>(rewards.size(1), 2) - 1;
         return ne(rewards.view_select(1, 0), rewards.view_select(1, second));
       };
     }},
    {"signal_inverted", "09.4", "the other way round",
     [](Impl& m) {
       m.groups_with_signal = [](const Tensor& rewards) -> Tensor {
         const Tensor distance = abs(rewards - rewards.view_slice(1, 0, 1));
         return eq(amax(distance, {1}), Tensor::scalar(0, rewards.dtype()));
       };
     }},
    {"signal_threshold", "09.4", "a threshold swallows",
     [](Impl& m) {
       m.groups_with_signal = [](const Tensor& rewards) -> Tensor {
         const Tensor distance = abs(rewards - rewards.view_slice(1, 0, 1));
         return gt(amax(distance, {1}), Tensor::scalar(1e-6, rewards.dtype()));
       };
     }},
    {"signal_unsolved", "09.4", "solved by all",
     [](Impl& m) {
       m.groups_with_signal = [](const Tensor& rewards) -> Tensor {
         return ne(amax(abs(rewards), {1}), Tensor::scalar(0, rewards.dtype()));
       };
     }},
    {"signal_zero_or_one", "09.4", "any equal rewards will do",
     [](Impl& m) {
       m.groups_with_signal = [](const Tensor& rewards) -> Tensor {
         const Tensor usual = mean(rewards, {1}), zero = Tensor::scalar(0, rewards.dtype());
         return ne(usual * (usual - 1.0), zero);
       };
     }},
    {"std_eps_inside", "09.2", "eps is inside the root",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - ddof, 1));
         return off / sqrt(sum(off * off, {1}, true) / count + eps);
       };
     }},
    {"std_noise", "09.2", "noise divided by rounding noise",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor off = rewards - mean(rewards, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - ddof, 1));
         return off / (sqrt(sum(off * off, {1}, true) / count) + eps);
       };
     }},
    {"std_not_centred", "09.2", "not centred",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - ddof, 1));
         return off / (sqrt(sum(rewards * rewards, {1}, true) / count) + eps);
       };
     }},
    {"std_of_batch", "09.2", "each row has its own mean",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor off = rewards - mean(rewards, {0, 1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.numel() - ddof, 1));
         return off / (sqrt(sum(off * off, {0, 1}, true) / count) + eps);
       };
     }},
    {"std_population", "09.2", "population for sample",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, [[maybe_unused]] int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1), 1));
         return off / (sqrt(sum(off * off, {1}, true) / count) + eps);
       };
     }},
    {"std_rewards", "09.2", "the mean is still in it",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - ddof, 1));
         return rewards / (sqrt(sum(off * off, {1}, true) / count) + eps);
       };
     }},
    {"std_sample", "09.2", "sample for population",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, [[maybe_unused]] int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - 1, 1));
         return off / (sqrt(sum(off * off, {1}, true) / count) + eps);
       };
     }},
    {"std_singleton", "09.2", "divide by at least 1",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(rewards.size(1) - ddof);
         return off / (sqrt(sum(off * off, {1}, true) / count) + eps);
       };
     }},
    {"std_transposed", "09.2", "across prompts",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor off = rewards - mean(rewards, {0}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(0) - ddof, 1));
         return off / (sqrt(sum(off * off, {0}, true) / count) + eps);
       };
     }},
    {"std_variance", "09.2", "take its root",
     [](Impl& m) {
       m.group_std_advantage = [](const Tensor& rewards, double eps, int ddof) -> Tensor {
         const Tensor d = rewards - rewards.view_slice(1, 0, 1);
         const Tensor off = d - mean(d, {1}, true);
         const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - ddof, 1));
         return off / (sum(off * off, {1}, true) / count + eps);
       };
     }},
};

}  // namespace pg::lesson09
