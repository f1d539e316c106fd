// Wrong answers to lesson 6. The checks must call each WRONG and say why; everything else must stay
// ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include <cmath>

#include "lessons/06_reinforce/answers.h"
#include "lessons/06_reinforce/right.h"

namespace pg::lesson06 {
namespace {

// The answers of answers.h, each with one mistake: the mutant of that name.

enum LogProbMistake {
  log_prob_detached,
  log_prob_f64,
  log_prob_half_gradient,
  log_prob_log_of_softmax,
  log_prob_mean,
  log_prob_one_maximum,
  log_prob_overflows,
  log_prob_over_rows,
  log_prob_probability,
  log_prob_row_kept,
  log_prob_scores,
};

template <LogProbMistake mistake>
Tensor log_prob_with(const Tensor& logits, const Tensor& ids) {
  const auto pick = [&](const Tensor& x) { return squeeze(gather(x, 1, unsqueeze(ids, 1)), 1); };
  if (mistake == log_prob_row_kept) return gather(log_softmax(logits), 1, unsqueeze(ids, 1));
  if (mistake == log_prob_scores) return pick(logits);
  if (mistake == log_prob_probability) return pick(softmax(logits));
  if (mistake == log_prob_log_of_softmax) return pick(log(softmax(logits)));
  if (mistake == log_prob_detached) return pick(log_softmax(logits.detach()));
  if (mistake == log_prob_half_gradient) return pick(logits - logsumexp(logits.detach(), {1}, true));
  if (mistake == log_prob_over_rows) return pick(log_softmax(logits, 0));
  if (mistake == log_prob_overflows) return pick(logits - log(sum(exp(logits), {1}, true)));
  if (mistake == log_prob_f64) return pick(log_softmax(cast(logits, f64)));
  if (mistake == log_prob_mean) return mean(pick(log_softmax(logits)));
  if (mistake == log_prob_one_maximum && logits.numel() > 0) {
    const Tensor moved = logits - amax(logits.detach());
    return pick(moved - log(sum(exp(moved), {1}, true)));
  }
  return pick(log_softmax(logits));
}

enum LossMistake {
  loss_all_slots,
  loss_by_steps_of_row,
  loss_by_time,
  loss_each_episode,
  loss_exp,
  loss_half_masked,
  loss_inverted,
  loss_mask_product,
  loss_no_mask,
  loss_no_tape,
  loss_not_detached,
  loss_not_divided,
  loss_product_masked,
  loss_sign,
  loss_token_mean,
  loss_whitened,
};

template <LossMistake mistake>
Tensor loss_with(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  const Tensor zero = Tensor::scalar(0, log_prob.dtype()), kept = mask.to(log_prob.dtype());
  const Tensor lp = mistake == loss_no_tape ? log_prob.detach() : mistake == loss_exp ? exp(log_prob) : log_prob;
  const Tensor plain = advantage.detach();
  const Tensor a = mistake == loss_not_detached ? advantage
                   : mistake == loss_whitened   ? (plain - mean(plain)) / sqrt(var(plain))
                                                : plain;
  const auto chosen = [&](const Tensor& x) {
    return mistake == loss_inverted ? where(mask, zero, x) : where(mask, x, zero);
  };
  Tensor product = chosen(lp) * chosen(a);
  if (mistake == loss_no_mask) product = lp * a;
  if (mistake == loss_mask_product) product = lp * a * kept;
  if (mistake == loss_product_masked) product = where(mask, lp * a, zero);
  if (mistake == loss_half_masked) product = where(mask, lp, zero) * a;
  const double episodes = static_cast<double>(log_prob.size(0)), length = static_cast<double>(log_prob.size(1));
  if (mistake == loss_each_episode) return neg(sum(product, {1}));
  if (mistake == loss_by_steps_of_row) return neg(mean(sum(product, {1}) / sum(kept, {1})));
  const double divisor = mistake == loss_all_slots     ? episodes * length
                         : mistake == loss_by_time     ? length
                         : mistake == loss_not_divided ? 1
                         : mistake == loss_token_mean  ? sum(kept).item()
                                                       : episodes;
  return sum(product) / (mistake == loss_sign ? divisor : -divisor);
}

enum ReturnMistake {
  return_across_rows,
  return_divided,
  return_from_start,
  return_in_place,
  return_late,
  return_next_alone,
  return_no_gamma,
  return_not_own,
  return_past,
  return_total,
};

template <ReturnMistake mistake>
Tensor return_with(const Tensor& rewards, double gamma) {
  const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
  const Tensor result = mistake == return_in_place ? rewards : rewards.clone();
  const auto g = result.data<double>();
  const std::vector<double> r = rewards.to_vector();
  const double factor = mistake == return_no_gamma ? 1 : gamma;
  if (mistake == return_across_rows) {
    for (int64_t i = count - 2; i >= 0; --i) g[static_cast<size_t>(i)] += gamma * g[static_cast<size_t>(i + 1)];
    return result;
  }
  for (int64_t b = 0; b < rows; ++b) {
    const auto at = [&](int64_t t) { return static_cast<size_t>(b * steps + t); };
    if (mistake == return_past) {
      for (int64_t t = 1; t < steps; ++t) g[at(t)] += gamma * g[at(t - 1)];
      continue;
    }
    if (mistake == return_from_start) {
      for (int64_t t = 0; t < steps; ++t) g[at(t)] *= std::pow(gamma, t);
    }
    if (mistake == return_late) {
      for (int64_t t = 0; t < steps; ++t) g[at(t)] *= gamma;
    }
    if (mistake == return_divided) {  // Σ_k≥t gamma^k·r[k], divided by gamma^t
      for (int64_t t = 0; t < steps; ++t) g[at(t)] *= std::pow(gamma, t);
      for (int64_t t = steps - 2; t >= 0; --t) g[at(t)] += g[at(t + 1)];
      for (int64_t t = 0; t < steps; ++t) g[at(t)] /= std::pow(gamma, t);
      continue;
    }
    for (int64_t t = steps - 2; t >= 0; --t) {
      if (mistake == return_next_alone) {
        g[at(t)] = r[at(t)] + gamma * r[at(t + 1)];
      } else {
        g[at(t)] += (mistake == return_from_start ? 1 : factor) * g[at(t + 1)];
      }
    }
    if (mistake == return_not_own) {
      for (int64_t t = 0; t < steps; ++t) g[at(t)] -= r[at(t)];
    }
  }
  if (mistake == return_total) return expand(result.view_slice(1, 0, 1), rewards.shape()).clone();
  return result;
}

enum BaselineMistake {
  advantage_decay_fixed,
  advantage_last_batch,
  advantage_learns_nothing,
  advantage_moving_mean,
  advantage_no_weight,
  advantage_own_batch,
  advantage_plain_mean,
  advantage_plus,
  advantage_shared,
  advantage_sum,
  advantage_sum_stays,
  advantage_weight_first,
};

template <BaselineMistake mistake>
Tensor advantage_with(Baseline& mine, const Tensor& returns) {
  static Baseline shared;
  Baseline& baseline = mistake == advantage_shared ? shared : mine;
  baseline.decay = mistake == advantage_decay_fixed ? 0.9 : mine.decay;
  const double old_weight = baseline.weight, decay = baseline.decay;
  const auto learn_weight = [&] { baseline.weight = (mistake == advantage_plain_mean ? 1 : decay) * old_weight + 1; };
  const auto learn_sum = [&] {
    const double all = sum(returns.detach()).item();
    const double batch = mistake == advantage_sum ? all : all / static_cast<double>(returns.numel());
    const double kept = mistake == advantage_plain_mean || mistake == advantage_sum_stays ? 1
                        : mistake == advantage_last_batch                                 ? 0
                                                                                          : decay;
    baseline.sum = kept * baseline.sum + (mistake == advantage_moving_mean ? 1 - decay : 1) * batch;
  };
  if (mistake == advantage_weight_first || mistake == advantage_own_batch) learn_weight();
  if (mistake == advantage_own_batch) learn_sum();
  const bool undivided =
      mistake == advantage_no_weight || mistake == advantage_moving_mean || mistake == advantage_last_batch;
  const double b = baseline.weight > 0 ? baseline.sum / (undivided ? 1 : baseline.weight) : 0.0;
  const Tensor result = mistake == advantage_plus ? returns.detach() + b : returns.detach() - b;
  if (mistake == advantage_own_batch || mistake == advantage_learns_nothing) return result;
  learn_sum();
  if (mistake != advantage_weight_first) learn_weight();
  return result;
}

enum KlMistake {
  k1_absolute,
  k1_detached,
  k1_sign,
  k1_weighted,
  k2_absolute,
  k2_half_gradient,
  k2_no_half,
  k2_quarter,
  k3_exchanged,
  k3_exp,
  k3_is_k2,
  k3_mean,
  k3_minus_twice,
  k3_no_d,
  k3_plus,
  k3_ratio,
};

template <KlMistake mistake>
Tensor k1_with(const Tensor& log_prob, const Tensor& ref_log_prob) {
  if (mistake == k1_sign) return ref_log_prob - log_prob;
  if (mistake == k1_absolute) return abs(log_prob - ref_log_prob);
  if (mistake == k1_detached) return log_prob.detach() - ref_log_prob;
  if (mistake == k1_weighted) return exp(log_prob) * (log_prob - ref_log_prob);
  return log_prob - ref_log_prob;
}
template <KlMistake mistake>
Tensor k2_with(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = log_prob - ref_log_prob;
  if (mistake == k2_absolute) return abs(d) * 0.5;
  if (mistake == k2_quarter) return (d * 0.5) * (d * 0.5);
  if (mistake == k2_half_gradient) return d * d.detach() * 0.5;
  return mistake == k2_no_half ? d * d : d * d * 0.5;
}
template <KlMistake mistake>
Tensor k3_with(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = mistake == k3_exchanged ? log_prob - ref_log_prob : ref_log_prob - log_prob;
  if (mistake == k3_exp) return exp(d) - 1.0 - d;
  if (mistake == k3_ratio) return exp(ref_log_prob) / exp(log_prob) - 1.0 - d;
  if (mistake == k3_is_k2) return d * d * 0.5;
  if (mistake == k3_minus_twice) return expm1(d) - 1.0 - d;
  if (mistake == k3_no_d) return expm1(d);
  if (mistake == k3_plus) return expm1(d) + d;
  return mistake == k3_mean ? mean(expm1(d) - d) : expm1(d) - d;
}

template <LogProbMistake mistake>
void wrong_log_prob(Impl& m) {
  m.token_log_prob = log_prob_with<mistake>;
}
template <LossMistake mistake>
void wrong_loss(Impl& m) {
  m.reinforce_loss = loss_with<mistake>;
}
template <ReturnMistake mistake>
void wrong_return(Impl& m) {
  m.return_to_go = return_with<mistake>;
}
template <BaselineMistake mistake>
void wrong_advantage(Impl& m) {
  m.advantage = advantage_with<mistake>;
}
template <KlMistake mistake>
void wrong_kl(Impl& m) {
  m.k1 = k1_with<mistake>;
  m.k2 = k2_with<mistake>;
  m.k3 = k3_with<mistake>;
}

}  // namespace

const kit::Mutants<Impl> mutants = {
    {"advantage_decay_fixed", "06.4", "use baseline.decay", wrong_advantage<advantage_decay_fixed>},
    {"advantage_last_batch", "06.4", "last batch alone", wrong_advantage<advantage_last_batch>},
    {"advantage_learns_nothing", "06.4", "learned nothing", wrong_advantage<advantage_learns_nothing>},
    {"advantage_moving_mean", "06.4", "too small at first", wrong_advantage<advantage_moving_mean>},
    {"advantage_no_weight", "06.4", "not divided by weight", wrong_advantage<advantage_no_weight>},
    {"advantage_own_batch", "06.4", "in its own baseline", wrong_advantage<advantage_own_batch>},
    {"advantage_plain_mean", "06.4", "older ones must count less", wrong_advantage<advantage_plain_mean>},
    {"advantage_plus", "06.4", "plus the baseline", wrong_advantage<advantage_plus>},
    {"advantage_shared", "06.4", "learned nothing", wrong_advantage<advantage_shared>},
    {"advantage_sum", "06.4", "learns their mean", wrong_advantage<advantage_sum>},
    {"advantage_sum_stays", "06.4", "decay is missing at sum", wrong_advantage<advantage_sum_stays>},
    {"advantage_weight_first", "06.4", "compute the result first", wrong_advantage<advantage_weight_first>},
    {"k1_absolute", "06.5", "k1 may be negative", wrong_kl<k1_absolute>},
    {"k1_detached", "06.5", "nothing is learned", wrong_kl<k1_detached>},
    {"k1_sign", "06.5", "policy minus reference", wrong_kl<k1_sign>},
    {"k1_weighted", "06.5", "weighted by π", wrong_kl<k1_weighted>},
    {"k2_absolute", "06.5", "not the square", wrong_kl<k2_absolute>},
    {"k2_half_gradient", "06.5", "one of two contributions is missing", wrong_kl<k2_half_gradient>},
    {"k2_no_half", "06.5", "1/2 is missing", wrong_kl<k2_no_half>},
    {"k2_quarter", "06.5", "the 1/2 is squared too", wrong_kl<k2_quarter>},
    {"k3_exchanged", "06.5", "exchanged", wrong_kl<k3_exchanged>},
    {"k3_exp", "06.5", "use expm1", wrong_kl<k3_exp>},
    {"k3_is_k2", "06.5", "this is k2", wrong_kl<k3_is_k2>},
    {"k3_mean", "06.5", "one estimate for each element", wrong_kl<k3_mean>},
    {"k3_minus_twice", "06.5", "subtracted twice", wrong_kl<k3_minus_twice>},
    {"k3_no_d", "06.5", "d is not subtracted", wrong_kl<k3_no_d>},
    {"k3_plus", "06.5", "d is added", wrong_kl<k3_plus>},
    {"k3_ratio", "06.5", "use expm1", wrong_kl<k3_ratio>},
    {"log_prob_detached", "06.1", "nothing is learned", wrong_log_prob<log_prob_detached>},
    {"log_prob_f64", "06.1", "dtype", wrong_log_prob<log_prob_f64>},
    {"log_prob_half_gradient", "06.1", "only the id's own score", wrong_log_prob<log_prob_half_gradient>},
    {"log_prob_log_of_softmax", "06.1", "use log_softmax", wrong_log_prob<log_prob_log_of_softmax>},
    {"log_prob_mean", "06.1", "do not take their mean", wrong_log_prob<log_prob_mean>},
    {"log_prob_one_maximum", "06.1", "each row needs its own", wrong_log_prob<log_prob_one_maximum>},
    {"log_prob_over_rows", "06.1", "over the V tokens", wrong_log_prob<log_prob_over_rows>},
    {"log_prob_overflows", "06.1", "subtract the row's largest score", wrong_log_prob<log_prob_overflows>},
    {"log_prob_probability", "06.1", "take its logarithm", wrong_log_prob<log_prob_probability>},
    {"log_prob_row_kept", "06.1", "only the shape is not", wrong_log_prob<log_prob_row_kept>},
    {"log_prob_scores", "06.1", "row's sum of e^x", wrong_log_prob<log_prob_scores>},
    {"loss_all_slots", "06.2", "in place of B", wrong_loss<loss_all_slots>},
    {"loss_by_steps_of_row", "06.2", "its own number of steps", wrong_loss<loss_by_steps_of_row>},
    {"loss_by_time", "06.2", "divided by T", wrong_loss<loss_by_time>},
    {"loss_each_episode", "06.2", "divide their sum by B", wrong_loss<loss_each_episode>},
    {"loss_exp", "06.2", "gradient of the probability", wrong_loss<loss_exp>},
    {"loss_half_masked", "06.2", "choose the advantage too", wrong_loss<loss_half_masked>},
    {"loss_inverted", "06.2", "the wrong way round", wrong_loss<loss_inverted>},
    {"loss_mask_product", "06.2", "0 times infinity", wrong_loss<loss_mask_product>},
    {"loss_no_mask", "06.2", "the mask is not used", wrong_loss<loss_no_mask>},
    {"loss_no_tape", "06.2", "nothing is learned", wrong_loss<loss_no_tape>},
    {"loss_not_detached", "06.2", "detach() it", wrong_loss<loss_not_detached>},
    {"loss_not_divided", "06.2", "not divided", wrong_loss<loss_not_divided>},
    {"loss_product_masked", "06.2", "on both factors", wrong_loss<loss_product_masked>},
    {"loss_sign", "06.2", "the sign is flipped", wrong_loss<loss_sign>},
    {"loss_token_mean", "06.2", "divide by the episodes", wrong_loss<loss_token_mean>},
    {"loss_whitened", "06.2", "take them as they are", wrong_loss<loss_whitened>},
    {"return_across_rows", "06.3", "an episode of its own", wrong_return<return_across_rows>},
    {"return_divided", "06.3", "a division by zero", wrong_return<return_divided>},
    {"return_from_start", "06.3", "distance from the start", wrong_return<return_from_start>},
    {"return_in_place", "06.3", "work on a clone", wrong_return<return_in_place>},
    {"return_late", "06.3", "it comes at once", wrong_return<return_late>},
    {"return_next_alone", "06.3", "only the next reward", wrong_return<return_next_alone>},
    {"return_no_gamma", "06.3", "gamma is ignored", wrong_return<return_no_gamma>},
    {"return_not_own", "06.3", "own reward is missing", wrong_return<return_not_own>},
    {"return_past", "06.3", "sums the past", wrong_return<return_past>},
    {"return_total", "06.3", "did not cause", wrong_return<return_total>},
    {"right_one_hot", "06.1", "ok", [](Impl& m) { m.token_log_prob = right_one_hot; }},
    {"right_by_maximum", "06.1", "ok", [](Impl& m) { m.token_log_prob = right_by_maximum; }},
    {"right_mean_of_episodes", "06.2", "ok", [](Impl& m) { m.reinforce_loss = right_mean_of_episodes; }},
    {"right_by_definition", "06.3", "ok", [](Impl& m) { m.return_to_go = right_by_definition; }},
    {"right_by_matrix", "06.3", "ok", [](Impl& m) { m.return_to_go = right_by_matrix; }},
    {"right_running_mean", "06.4", "ok", [](Impl& m) { m.advantage = right_running_mean; }},
    {"right_constant_reference", "06.5", "ok", [](Impl& m) { m.k1 = right_k1, m.k2 = right_k2, m.k3 = right_k3; }},
};

}  // namespace pg::lesson06
