// Wrong answers to lesson 8. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/08_rlhf/answers.h"

namespace pg::lesson08 {

const kit::Mutants<Impl> mutants = {
    {"dpo_log_sigmoid", "08.6", "softplus(-x)",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * (chosen - ref_chosen.detach());
         const Tensor r = options.beta * (rejected - ref_rejected.detach());
         return {neg(log(sigmoid(c - r))), c.detach(), r.detach()};
       };
     }},
    {"dpo_no_beta", "08.6", "forgotten",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, [[maybe_unused]] const DpoOptions& options) -> DpoLoss {
         const Tensor c = chosen - ref_chosen.detach(), r = rejected - ref_rejected.detach();
         return {softplus(neg(c - r)), c.detach(), r.detach()};
       };
     }},
    {"dpo_no_reference", "08.6", "the reference is not used",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, [[maybe_unused]] const Tensor& ref_chosen,
                       [[maybe_unused]] const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * chosen, r = options.beta * rejected;
         return {softplus(neg(c - r)), c.detach(), r.detach()};
       };
     }},
    {"dpo_probability", "08.6", "minus its logarithm",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * (chosen - ref_chosen.detach());
         const Tensor r = options.beta * (rejected - ref_rejected.detach());
         return {sigmoid(c - r), c.detach(), r.detach()};
       };
     }},
    {"dpo_reference_added", "08.6", "are added",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * (chosen + ref_chosen.detach());
         const Tensor r = options.beta * (rejected + ref_rejected.detach());
         return {softplus(neg(c - r)), options.beta * (chosen - ref_chosen).detach(),
                 options.beta * (rejected - ref_rejected).detach()};
       };
     }},
    {"dpo_reference_gradient", "08.6", "into the reference",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * (chosen - ref_chosen), r = options.beta * (rejected - ref_rejected);
         return {softplus(neg(c - r)), c.detach(), r.detach()};
       };
     }},
    {"dpo_rewards_no_beta", "08.6", "in the implicit rewards",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = chosen - ref_chosen.detach(), r = rejected - ref_rejected.detach();
         return {softplus(neg(options.beta * (c - r))), c.detach(), r.detach()};
       };
     }},
    {"dpo_rewards_with_gradient", "08.6", "detach() them",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * (chosen - ref_chosen.detach());
         const Tensor r = options.beta * (rejected - ref_rejected.detach());
         return {softplus(neg(c - r)), c, r};
       };
     }},
    {"dpo_sign", "08.6", "the rejected response likelier",
     [](Impl& m) {
       m.dpo_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                       const Tensor& ref_rejected, const DpoOptions& options) -> DpoLoss {
         const Tensor c = options.beta * (chosen - ref_chosen.detach());
         const Tensor r = options.beta * (rejected - ref_rejected.detach());
         return {softplus(c - r), c.detach(), r.detach()};
       };
     }},
    {"kl_absolute", "08.4", "k1 may be negative",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           if (!response.chosen[t]) continue;
           response.rewards[t] -= beta * std::abs(response.old_log_probs[t] - response.ref_log_probs[t]);
         }
       };
     }},
    {"kl_k3", "08.4", "this is k3",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           if (!response.chosen[t]) continue;
           const double d = response.ref_log_probs[t] - response.old_log_probs[t];
           response.rewards[t] -= beta * (std::expm1(d) - d);
         }
       };
     }},
    {"kl_last_only", "08.4", "free to leave",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         const size_t t = rl::last_chosen(response);
         response.rewards[t] -= beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
       };
     }},
    {"kl_no_beta", "08.4", "forgotten",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, [[maybe_unused]] double beta) -> void {
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           if (!response.chosen[t]) continue;
           response.rewards[t] -= response.old_log_probs[t] - response.ref_log_probs[t];
         }
       };
     }},
    {"kl_of_world", "08.4", "cannot help",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           response.rewards[t] -= beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
         }
       };
     }},
    {"kl_overwrites", "08.4", "take the KL off it",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           if (!response.chosen[t]) continue;
           response.rewards[t] = -beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
         }
       };
     }},
    {"kl_sign", "08.4", "pays the policy for leaving",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           if (!response.chosen[t]) continue;
           response.rewards[t] += beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
         }
       };
     }},
    {"kl_sum_at_end", "08.4", "each token should pay for itself",
     [](Impl& m) {
       m.subtract_kl = [](ScoredResponse& response, double beta) -> void {
         double sum = 0;
         for (size_t t = 0; t < response.tokens.size(); ++t) {
           if (response.chosen[t]) sum += response.old_log_probs[t] - response.ref_log_probs[t];
         }
         response.rewards[rl::last_chosen(response)] -= beta * sum;
       };
     }},
    {"log_prob_detached", "08.5", "nothing is learned",
     [](Impl& m) {
       m.sequence_log_probs = [](const Gpt2& policy, std::span<const Response* const> responses) -> Tensor {
         NoGrad no_grad;
         const rl::TokenRows rows = rl::token_rows(responses);
         const Tensor all = log_softmax(policy(rows.ids));
         const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
         return sum(where(rows.mask, log_prob, Tensor::scalar(0, log_prob.dtype())), {1});
       };
     }},
    {"log_prob_mean", "08.5", "the mean over tokens",
     [](Impl& m) {
       m.sequence_log_probs = [](const Gpt2& policy, std::span<const Response* const> responses) -> Tensor {
         const rl::TokenRows rows = rl::token_rows(responses);
         const Tensor all = log_softmax(policy(rows.ids));
         const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
         const Tensor kept = where(rows.mask, log_prob, Tensor::scalar(0, log_prob.dtype()));
         return sum(kept, {1}) / sum(rows.mask.to(log_prob.dtype()), {1});
       };
     }},
    {"log_prob_mean_of_places", "08.5", "the mean over tokens",
     [](Impl& m) {
       m.sequence_log_probs = [](const Gpt2& policy, std::span<const Response* const> responses) -> Tensor {
         const rl::TokenRows rows = rl::token_rows(responses);
         const Tensor all = log_softmax(policy(rows.ids));
         const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
         return mean(where(rows.mask, log_prob, Tensor::scalar(0, log_prob.dtype())), {1});
       };
     }},
    {"log_prob_no_end", "08.5", "to stop is a choice",
     [](Impl& m) {
       m.sequence_log_probs = [](const Gpt2& policy, std::span<const Response* const> responses) -> Tensor {
         const rl::TokenRows rows = rl::token_rows(responses);
         const Tensor all = log_softmax(policy(rows.ids));
         const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
         const Tensor no_end = rows.targets.to(u8);  // an end of sequence is 0, any other id is not
         return sum(where(rows.mask, where(no_end, log_prob, Tensor::scalar(0, log_prob.dtype())),
                          Tensor::scalar(0, log_prob.dtype())),
                    {1});
       };
     }},
    {"log_prob_no_mask", "08.5", "use the mask",
     [](Impl& m) {
       m.sequence_log_probs = [](const Gpt2& policy, std::span<const Response* const> responses) -> Tensor {
         const rl::TokenRows rows = rl::token_rows(responses);
         const Tensor all = log_softmax(policy(rows.ids));
         const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
         return sum(log_prob, {1});
       };
     }},
    {"log_prob_of_inputs", "08.5", "take that of the targets",
     [](Impl& m) {
       m.sequence_log_probs = [](const Gpt2& policy, std::span<const Response* const> responses) -> Tensor {
         const rl::TokenRows rows = rl::token_rows(responses);
         const Tensor all = log_softmax(policy(rows.ids));
         const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.ids, 2)), 2);
         return sum(where(rows.mask, log_prob, Tensor::scalar(0, log_prob.dtype())), {1});
       };
     }},
    {"pair_centre_difference", "08.2", "Centre their sum",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                                 double centring) -> Tensor {
         Tensor difference = chosen - rejected;
         if (margin.defined()) difference = difference - margin.detach();
         const Tensor off = chosen - rejected;
         return softplus(neg(difference)) + centring * (off * off);
       };
     }},
    {"pair_log_sigmoid", "08.2", "softplus(-x)",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                                 double centring) -> Tensor {
         Tensor difference = chosen - rejected;
         if (margin.defined()) difference = difference - margin.detach();
         const Tensor sum = chosen + rejected;
         return neg(log(sigmoid(difference))) + centring * (sum * sum);
       };
     }},
    {"pair_margin_added", "08.2", "the margin is added",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                                 double centring) -> Tensor {
         Tensor difference = chosen - rejected;
         if (margin.defined()) difference = difference + margin.detach();
         const Tensor sum = chosen + rejected;
         return softplus(neg(difference)) + centring * (sum * sum);
       };
     }},
    {"pair_no_centring", "08.2", "scores may drift",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                                 [[maybe_unused]] double centring) -> Tensor {
         Tensor difference = chosen - rejected;
         if (margin.defined()) difference = difference - margin.detach();
         return softplus(neg(difference));
       };
     }},
    {"pair_no_margin", "08.2", "the margin is not used",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, [[maybe_unused]] const Tensor& margin,
                                 double centring) -> Tensor {
         const Tensor sum = chosen + rejected;
         return softplus(rejected - chosen) + centring * (sum * sum);
       };
     }},
    {"pair_probability", "08.2", "minus its logarithm",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                                 double centring) -> Tensor {
         Tensor difference = chosen - rejected;
         if (margin.defined()) difference = difference - margin.detach();
         const Tensor sum = chosen + rejected;
         return sigmoid(difference) + centring * (sum * sum);
       };
     }},
    {"pair_sign", "08.2", "prefer the rejected one",
     [](Impl& m) {
       m.bradley_terry_loss = [](const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                                 double centring) -> Tensor {
         Tensor difference = rejected - chosen;
         if (margin.defined()) difference = difference - margin.detach();
         const Tensor sum = chosen + rejected;
         return softplus(neg(difference)) + centring * (sum * sum);
       };
     }},
    {"score_before_end", "08.3", "is a choice as well",
     [](Impl& m) {
       m.set_rewards = [](ScoredResponse& response) -> void {
         response.rewards.assign(response.tokens.size(), 0);
         response.rewards[std::max<size_t>(rl::last_chosen(response), 1) - 1] = response.score.reward;
       };
     }},
    {"score_by_length", "08.3", "short responses pay",
     [](Impl& m) {
       m.set_rewards = [](ScoredResponse& response) -> void {
         const auto length = static_cast<double>(response.length());
         response.rewards.assign(response.tokens.size(), 0);
         response.rewards[rl::last_chosen(response)] = response.score.reward / length;
       };
     }},
    {"score_everywhere", "08.3", "long responses earn more",
     [](Impl& m) {
       m.set_rewards = [](ScoredResponse& response) -> void {
         response.rewards.assign(response.tokens.size(), response.score.reward);
       };
     }},
    {"score_first", "08.3", "return-to-go",
     [](Impl& m) {
       m.set_rewards = [](ScoredResponse& response) -> void {
         response.rewards.assign(response.tokens.size(), 0);
         response.rewards[0] = response.score.reward;
       };
     }},
    {"score_of_world", "08.3", "the world chose",
     [](Impl& m) {
       m.set_rewards = [](ScoredResponse& response) -> void {
         response.rewards.assign(response.tokens.size(), 0);
         response.rewards.back() = response.score.reward;
       };
     }},
    {"score_on_pad", "08.3", "on padding",
     [](Impl& m) {
       m.set_rewards = [](ScoredResponse& response) -> void {
         response.rewards.assign(response.tokens.size() + 1, 0);
         response.rewards[response.tokens.size()] = response.score.reward;
       };
     }},
    {"sft_end_masked", "08.1", "mask by place, never by id",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             if (t + 1 >= problems[b].prompt.size() && all[t + 1] != 0) targets[b * longest + t] = all[t + 1];
           }
         }
         return batch;
       };
     }},
    {"sft_first_missing", "08.1", "first token is not trained",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             if (t >= problems[b].prompt.size()) targets[b * longest + t] = all[t + 1];
           }
         }
         return batch;
       };
     }},
    {"sft_left_padded", "08.1", "padded on the left",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + longest + 1 - all.size() + t] = all[t];
             if (t + 1 >= problems[b].prompt.size()) targets[b * longest + longest + 1 - all.size() + t] = all[t + 1];
           }
         }
         return batch;
       };
     }},
    {"sft_not_shifted", "08.1", "what follows at its place",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             if (t >= problems[b].prompt.size()) targets[b * longest + t] = all[t];
           }
         }
         return batch;
       };
     }},
    {"sft_pad_id", "08.1", "an id must be one of the vocabulary",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::full(shape, -100, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             if (t + 1 >= problems[b].prompt.size()) targets[b * longest + t] = all[t + 1];
           }
         }
         return batch;
       };
     }},
    {"sft_padding", "08.1", "padding is trained",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::zeros(shape, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             targets[b * longest + t] = t + 1 >= problems[b].prompt.size() ? all[t + 1] : -100;
           }
         }
         return batch;
       };
     }},
    {"sft_prompt", "08.1", "the prompt is trained",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             targets[b * longest + t] = all[t + 1];
           }
         }
         return batch;
       };
     }},
    {"sft_shifted_twice", "08.1", "shifted twice",
     [](Impl& m) {
       m.sft_batch = [](std::span<const Problem> problems) -> TokenBatch {
         size_t longest = 0;
         for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
         const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
         const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
         const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
         for (size_t b = 0; b < problems.size(); ++b) {
           std::vector<int32_t> all = problems[b].prompt;
           all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
           for (size_t t = 0; t + 1 < all.size(); ++t) {
             ids[b * longest + t] = all[t];
             if (t + 2 >= problems[b].prompt.size() && t + 2 < all.size()) targets[b * longest + t] = all[t + 2];
           }
         }
         return batch;
       };
     }},
};

}  // namespace pg::lesson08
