// Wrong answers to lesson 6. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/06_reinforce/answers.h"

namespace pg::lesson06 {

const kit::Mutants<Impl> mutants = {
    {"advantage_no_weight", "06.4", "not divided by weight",
     [](Impl& m) {
       m.advantage = [](Baseline& baseline, const Tensor& returns) -> Tensor {
         const Tensor result = returns.detach() - (baseline.weight > 0 ? baseline.sum : 0.0);
         baseline.sum = baseline.decay * baseline.sum + mean(returns.detach()).item();
         baseline.weight = baseline.decay * baseline.weight + 1;
         return result;
       };
     }},
    {"advantage_own_batch", "06.4", "in its own baseline",
     [](Impl& m) {
       m.advantage = [](Baseline& baseline, const Tensor& returns) -> Tensor {
         baseline.sum = baseline.decay * baseline.sum + mean(returns.detach()).item();
         baseline.weight = baseline.decay * baseline.weight + 1;
         return returns.detach() - baseline.sum / baseline.weight;
       };
     }},
    {"advantage_plain_mean", "06.4", "older ones should count less",
     [](Impl& m) {
       m.advantage = [](Baseline& baseline, const Tensor& returns) -> Tensor {
         const Tensor result = returns.detach() - (baseline.weight > 0 ? baseline.sum / baseline.weight : 0.0);
         baseline.sum = baseline.sum + mean(returns.detach()).item();
         baseline.weight = baseline.weight + 1;
         return result;
       };
     }},
    {"advantage_plus", "06.4", "plus the baseline",
     [](Impl& m) {
       m.advantage = [](Baseline& baseline, const Tensor& returns) -> Tensor {
         const Tensor result = returns.detach() + (baseline.weight > 0 ? baseline.sum / baseline.weight : 0.0);
         baseline.sum = baseline.decay * baseline.sum + mean(returns.detach()).item();
         baseline.weight = baseline.decay * baseline.weight + 1;
         return result;
       };
     }},
    {"k1_sign", "06.5", "policy minus reference",
     [](Impl& m) {
       m.k1 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor { return ref_log_prob - log_prob; };
       m.k2 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = log_prob - ref_log_prob;
         return d * d * 0.5;
       };
       m.k3 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = ref_log_prob - log_prob;
         return expm1(d) - d;
       };
     }},
    {"k2_no_half", "06.5", "1/2 is missing",
     [](Impl& m) {
       m.k1 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor { return log_prob - ref_log_prob; };
       m.k2 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = log_prob - ref_log_prob;
         return d * d;
       };
       m.k3 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = ref_log_prob - log_prob;
         return expm1(d) - d;
       };
     }},
    {"k3_exchanged", "06.5", "exchanged",
     [](Impl& m) {
       m.k1 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor { return log_prob - ref_log_prob; };
       m.k2 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = log_prob - ref_log_prob;
         return d * d * 0.5;
       };
       m.k3 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = log_prob - ref_log_prob;
         return expm1(d) - d;
       };
     }},
    {"k3_exp", "06.5", "use expm1",
     [](Impl& m) {
       m.k1 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor { return log_prob - ref_log_prob; };
       m.k2 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = log_prob - ref_log_prob;
         return d * d * 0.5;
       };
       m.k3 = [](const Tensor& log_prob, const Tensor& ref_log_prob) -> Tensor {
         const Tensor d = ref_log_prob - log_prob;
         return exp(d) - 1.0 - d;
       };
     }},
    {"log_prob_detached", "06.1", "nothing is learned",
     [](Impl& m) {
       m.token_log_prob = [](const Tensor& logits, const Tensor& ids) -> Tensor {
         return squeeze(gather(log_softmax(logits.detach()), 1, unsqueeze(ids, 1)), 1);
       };
     }},
    {"log_prob_log_of_softmax", "06.1", "use log_softmax",
     [](Impl& m) {
       m.token_log_prob = [](const Tensor& logits, const Tensor& ids) -> Tensor {
         return squeeze(gather(log(softmax(logits)), 1, unsqueeze(ids, 1)), 1);
       };
     }},
    {"log_prob_probability", "06.1", "take its logarithm",
     [](Impl& m) {
       m.token_log_prob = [](const Tensor& logits, const Tensor& ids) -> Tensor {
         return squeeze(gather(softmax(logits), 1, unsqueeze(ids, 1)), 1);
       };
     }},
    {"log_prob_scores", "06.1", "log-sum-exp",
     [](Impl& m) {
       m.token_log_prob = [](const Tensor& logits, const Tensor& ids) -> Tensor {
         return squeeze(gather(logits, 1, unsqueeze(ids, 1)), 1);
       };
     }},
    {"loss_all_slots", "06.2", "in place of B",
     [](Impl& m) {
       m.reinforce_loss = [](const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) -> Tensor {
         const Tensor weighted = where(mask, log_prob * advantage.detach(), Tensor::scalar(0, log_prob.dtype()));
         return sum(weighted) / -static_cast<double>(log_prob.numel());
       };
     }},
    {"loss_mask_product", "06.2", "0 times infinity",
     [](Impl& m) {
       m.reinforce_loss = [](const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) -> Tensor {
         const Tensor weighted = log_prob * advantage.detach() * mask.to(f64);
         return sum(weighted) / -static_cast<double>(log_prob.size(0));
       };
     }},
    {"loss_no_mask", "06.2", "the mask is not used",
     [](Impl& m) {
       m.reinforce_loss = [](const Tensor& log_prob, const Tensor& advantage,
                             [[maybe_unused]] const Tensor& mask) -> Tensor {
         const Tensor weighted = log_prob * advantage.detach();
         return sum(weighted) / -static_cast<double>(log_prob.size(0));
       };
     }},
    {"loss_not_detached", "06.2", "detach() it",
     [](Impl& m) {
       m.reinforce_loss = [](const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) -> Tensor {
         const Tensor weighted = where(mask, log_prob * advantage, Tensor::scalar(0, log_prob.dtype()));
         return sum(weighted) / -static_cast<double>(log_prob.size(0));
       };
     }},
    {"loss_sign", "06.2", "the sign is flipped",
     [](Impl& m) {
       m.reinforce_loss = [](const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) -> Tensor {
         const Tensor weighted = where(mask, log_prob * advantage.detach(), Tensor::scalar(0, log_prob.dtype()));
         return sum(weighted) / static_cast<double>(log_prob.size(0));
       };
     }},
    {"loss_token_mean", "06.2", "divide by the episodes",
     [](Impl& m) {
       m.reinforce_loss = [](const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) -> Tensor {
         const Tensor weighted = where(mask, log_prob * advantage.detach(), Tensor::scalar(0, log_prob.dtype()));
         return sum(weighted) / -sum(mask.to(f64)).item();
       };
     }},
    {"return_in_place", "06.3", "work on a clone",
     [](Impl& m) {
       m.return_to_go = [](const Tensor& rewards, double gamma) -> Tensor {
         const Tensor result = rewards;
         const auto g = result.data<double>();
         const int64_t steps = rewards.size(1);
         for (int64_t b = 0; b < rewards.size(0); ++b) {
           for (int64_t t = steps - 2; t >= 0; --t) {
             const size_t at = static_cast<size_t>(b * steps + t);
             g[at] += gamma * g[at + 1];
           }
         }
         return result;
       };
     }},
    {"return_no_gamma", "06.3", "gamma is ignored",
     [](Impl& m) {
       m.return_to_go = [](const Tensor& rewards, [[maybe_unused]] double gamma) -> Tensor {
         const Tensor result = rewards.clone();
         const auto g = result.data<double>();
         const int64_t steps = rewards.size(1);
         for (int64_t b = 0; b < rewards.size(0); ++b) {
           for (int64_t t = steps - 2; t >= 0; --t) {
             const size_t at = static_cast<size_t>(b * steps + t);
             g[at] += g[at + 1];
           }
         }
         return result;
       };
     }},
    {"return_past", "06.3", "sums the past",
     [](Impl& m) {
       m.return_to_go = [](const Tensor& rewards, double gamma) -> Tensor {
         const Tensor result = rewards.clone();
         const auto g = result.data<double>();
         const int64_t steps = rewards.size(1);
         for (int64_t b = 0; b < rewards.size(0); ++b) {
           for (int64_t t = 1; t < steps; ++t) {
             const size_t at = static_cast<size_t>(b * steps + t);
             g[at] += gamma * g[at - 1];
           }
         }
         return result;
       };
     }},
    {"return_total", "06.3", "not to blame",
     [](Impl& m) {
       m.return_to_go = [](const Tensor& rewards, double gamma) -> Tensor {
         const Tensor result = rewards.clone();
         const auto g = result.data<double>();
         const int64_t steps = rewards.size(1);
         for (int64_t b = 0; b < rewards.size(0); ++b) {
           for (int64_t t = steps - 2; t >= 0; --t) {
             const size_t at = static_cast<size_t>(b * steps + t);
             g[at] += gamma * g[at + 1];
           }
         }
         return expand(result.view_slice(1, 0, 1), rewards.shape()).clone();
       };
     }},
};

}  // namespace pg::lesson06
