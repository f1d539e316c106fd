// Wrong answers to lesson 8. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/08_rlhf/answers.h"

namespace pg::lesson08 {
namespace {

// The answers of answers.h, each with one mistake: the mutant of that name.

enum SftMistake {
  sft_end_masked,
  sft_first_missing,
  sft_left_padded,
  sft_not_shifted,
  sft_pad_id,
  sft_padding,
  sft_prompt,
  sft_shifted_twice,
};

template <SftMistake mistake>
TokenBatch sft_batch_with(std::span<const Problem> problems) {
  size_t longest = 0;
  for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const TokenBatch batch{Tensor::full(shape, mistake == sft_pad_id ? -100 : 0, i32),
                         Tensor::full(shape, mistake == sft_padding ? 0 : -100, i32)};
  const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
  for (size_t b = 0; b < problems.size(); ++b) {
    std::vector<int32_t> all = problems[b].prompt;
    all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
    const size_t shift = mistake == sft_not_shifted ? 0 : mistake == sft_shifted_twice ? 2 : 1;
    const size_t first = mistake == sft_prompt ? 0 : problems[b].prompt.size() + (mistake == sft_first_missing ? 1 : 0);
    const size_t start = b * longest + (mistake == sft_left_padded ? longest + 1 - all.size() : 0);
    for (size_t t = 0; t + 1 < all.size(); ++t) {
      ids[start + t] = all[t];
      const size_t next = t + shift;
      const bool trained = next >= first && next < all.size() && !(mistake == sft_end_masked && all[next] == 0);
      targets[start + t] = trained ? all[next] : -100;
    }
  }
  return batch;
}

enum PairMistake {
  pair_centre_difference,
  pair_log_sigmoid,
  pair_margin_added,
  pair_no_centring,
  pair_no_margin,
  pair_probability,
  pair_sign,
};

template <PairMistake mistake>
Tensor bradley_terry_loss_with(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  Tensor difference = mistake == pair_sign ? rejected - chosen : chosen - rejected;
  if (margin.defined() && mistake != pair_no_margin) {
    difference = mistake == pair_margin_added ? difference + margin.detach() : difference - margin.detach();
  }
  const Tensor loss = mistake == pair_log_sigmoid   ? neg(log(sigmoid(difference)))
                      : mistake == pair_probability ? sigmoid(difference)
                                                    : softplus(neg(difference));
  if (mistake == pair_no_centring) return loss;
  const Tensor centred = mistake == pair_centre_difference ? chosen - rejected : chosen + rejected;
  return loss + centring * (centred * centred);
}

enum ScoreMistake {
  score_before_end,
  score_by_length,
  score_everywhere,
  score_first,
  score_of_world,
  score_on_pad,
};

template <ScoreMistake mistake>
void set_rewards_with(ScoredResponse& response) {
  const size_t count = response.tokens.size(), last = rl::last_chosen(response);
  const double score = response.score.reward / (mistake == score_by_length ? response.length() : 1);
  response.rewards.assign(mistake == score_on_pad ? count + 1 : count, mistake == score_everywhere ? score : 0);
  const size_t place = mistake == score_before_end ? std::max<size_t>(last, 1) - 1
                       : mistake == score_first    ? 0
                       : mistake == score_of_world ? count - 1
                       : mistake == score_on_pad   ? count
                                                   : last;
  response.rewards[place] = score;
}

enum KlMistake {
  kl_absolute,
  kl_k3,
  kl_last_only,
  kl_no_beta,
  kl_of_world,
  kl_overwrites,
  kl_sign,
  kl_sum_at_end,
};

template <KlMistake mistake>
void subtract_kl_with(ScoredResponse& response, double beta) {
  const double factor = mistake == kl_no_beta ? 1 : mistake == kl_sign ? -beta : beta;
  const size_t last = rl::last_chosen(response);
  for (size_t t = 0; t < response.tokens.size(); ++t) {
    if (!response.chosen[t] && mistake != kl_of_world) continue;
    if (mistake == kl_last_only && t != last) continue;
    const double k1 = response.old_log_probs[t] - response.ref_log_probs[t];
    const double kl = mistake == kl_absolute ? std::abs(k1) : mistake == kl_k3 ? std::expm1(-k1) + k1 : k1;
    double& reward = response.rewards[mistake == kl_sum_at_end ? last : t];
    reward = (mistake == kl_overwrites ? 0 : reward) - factor * kl;
  }
}

enum LogProbMistake {
  log_prob_detached,
  log_prob_mean,
  log_prob_mean_of_places,
  log_prob_no_end,
  log_prob_no_mask,
  log_prob_of_inputs,
};

template <LogProbMistake mistake>
Tensor sequence_log_probs_with(const Transformer& policy, std::span<const Response* const> responses) {
  const rl::TokenRows rows = rl::token_rows(responses);
  const Tensor all = log_softmax(policy(rows.ids));
  const Tensor tokens = mistake == log_prob_of_inputs ? rows.ids : rows.targets;
  const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(tokens, 2)), 2), zero = Tensor::scalar(0, log_prob.dtype());
  Tensor kept = mistake == log_prob_no_mask ? log_prob : where(rows.mask, log_prob, zero);
  if (mistake == log_prob_no_end) kept = where(rows.targets.to(u8), kept, zero);  // the id of the end of sequence is 0
  if (mistake == log_prob_mean_of_places) return mean(kept, {1});
  const Tensor total = sum(kept, {1});
  if (mistake == log_prob_mean) return total / sum(rows.mask.to(log_prob.dtype()), {1});
  return mistake == log_prob_detached ? total.detach() : total;
}

enum DpoMistake {
  dpo_log_sigmoid,
  dpo_no_beta,
  dpo_no_reference,
  dpo_probability,
  dpo_reference_added,
  dpo_reference_gradient,
  dpo_rewards_no_beta,
  dpo_rewards_with_gradient,
  dpo_sign,
};

template <DpoMistake mistake>
DpoLoss dpo_loss_with(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                      const Tensor& ref_rejected, const DpoOptions& options) {
  const double beta = mistake == dpo_no_beta ? 1 : options.beta;
  const auto log_ratio = [](const Tensor& x, const Tensor& ref) {
    if (mistake == dpo_no_reference) return x;
    return x - (mistake == dpo_reference_gradient ? ref : ref.detach());
  };
  const Tensor c = log_ratio(chosen, ref_chosen), r = log_ratio(rejected, ref_rejected);
  const Tensor difference = mistake == dpo_reference_added
                                ? beta * (chosen + ref_chosen.detach()) - beta * (rejected + ref_rejected.detach())
                                : beta * c - beta * r;
  const Tensor loss = mistake == dpo_log_sigmoid   ? neg(log(sigmoid(difference)))
                      : mistake == dpo_probability ? sigmoid(difference)
                      : mistake == dpo_sign        ? softplus(difference)
                                                   : softplus(neg(difference));
  const auto reward = [&](const Tensor& ratio) {
    const Tensor scaled = mistake == dpo_rewards_no_beta ? ratio : beta * ratio;
    return mistake == dpo_rewards_with_gradient ? scaled : scaled.detach();
  };
  return {loss, reward(c), reward(r)};
}

template <SftMistake mistake>
void wrong_sft_batch(Impl& m) {
  m.sft_batch = sft_batch_with<mistake>;
}
template <PairMistake mistake>
void wrong_pair_loss(Impl& m) {
  m.bradley_terry_loss = bradley_terry_loss_with<mistake>;
}
template <ScoreMistake mistake>
void wrong_set_rewards(Impl& m) {
  m.set_rewards = set_rewards_with<mistake>;
}
template <KlMistake mistake>
void wrong_subtract_kl(Impl& m) {
  m.subtract_kl = subtract_kl_with<mistake>;
}
template <LogProbMistake mistake>
void wrong_log_probs(Impl& m) {
  m.sequence_log_probs = sequence_log_probs_with<mistake>;
}
template <DpoMistake mistake>
void wrong_dpo_loss(Impl& m) {
  m.dpo_loss = dpo_loss_with<mistake>;
}

}  // namespace

const kit::Mutants<Impl> mutants = {
    {"dpo_log_sigmoid", "08.6", "softplus(-x)", wrong_dpo_loss<dpo_log_sigmoid>},
    {"dpo_no_beta", "08.6", "forgotten", wrong_dpo_loss<dpo_no_beta>},
    {"dpo_no_reference", "08.6", "the reference is not used", wrong_dpo_loss<dpo_no_reference>},
    {"dpo_probability", "08.6", "minus its logarithm", wrong_dpo_loss<dpo_probability>},
    {"dpo_reference_added", "08.6", "are added", wrong_dpo_loss<dpo_reference_added>},
    {"dpo_reference_gradient", "08.6", "into the reference", wrong_dpo_loss<dpo_reference_gradient>},
    {"dpo_rewards_no_beta", "08.6", "in the implicit rewards", wrong_dpo_loss<dpo_rewards_no_beta>},
    {"dpo_rewards_with_gradient", "08.6", "detach() them", wrong_dpo_loss<dpo_rewards_with_gradient>},
    {"dpo_sign", "08.6", "the rejected response likelier", wrong_dpo_loss<dpo_sign>},
    {"kl_absolute", "08.4", "k1 may be negative", wrong_subtract_kl<kl_absolute>},
    {"kl_k3", "08.4", "this is k3", wrong_subtract_kl<kl_k3>},
    {"kl_last_only", "08.4", "free to leave", wrong_subtract_kl<kl_last_only>},
    {"kl_no_beta", "08.4", "forgotten", wrong_subtract_kl<kl_no_beta>},
    {"kl_of_world", "08.4", "cannot help", wrong_subtract_kl<kl_of_world>},
    {"kl_overwrites", "08.4", "take the KL off it", wrong_subtract_kl<kl_overwrites>},
    {"kl_sign", "08.4", "pays the policy for leaving", wrong_subtract_kl<kl_sign>},
    {"kl_sum_at_end", "08.4", "each token should pay for itself", wrong_subtract_kl<kl_sum_at_end>},
    {"log_prob_detached", "08.5", "nothing is learned", wrong_log_probs<log_prob_detached>},
    {"log_prob_mean", "08.5", "the mean over tokens", wrong_log_probs<log_prob_mean>},
    {"log_prob_mean_of_places", "08.5", "the mean over tokens", wrong_log_probs<log_prob_mean_of_places>},
    {"log_prob_no_end", "08.5", "to stop is a choice", wrong_log_probs<log_prob_no_end>},
    {"log_prob_no_mask", "08.5", "use the mask", wrong_log_probs<log_prob_no_mask>},
    {"log_prob_of_inputs", "08.5", "take that of the targets", wrong_log_probs<log_prob_of_inputs>},
    {"pair_centre_difference", "08.2", "Centre their sum", wrong_pair_loss<pair_centre_difference>},
    {"pair_log_sigmoid", "08.2", "softplus(-x)", wrong_pair_loss<pair_log_sigmoid>},
    {"pair_margin_added", "08.2", "the margin is added", wrong_pair_loss<pair_margin_added>},
    {"pair_no_centring", "08.2", "scores may drift", wrong_pair_loss<pair_no_centring>},
    {"pair_no_margin", "08.2", "the margin is not used", wrong_pair_loss<pair_no_margin>},
    {"pair_probability", "08.2", "minus its logarithm", wrong_pair_loss<pair_probability>},
    {"pair_sign", "08.2", "prefer the rejected one", wrong_pair_loss<pair_sign>},
    {"score_before_end", "08.3", "is a choice as well", wrong_set_rewards<score_before_end>},
    {"score_by_length", "08.3", "short responses pay", wrong_set_rewards<score_by_length>},
    {"score_everywhere", "08.3", "long responses earn more", wrong_set_rewards<score_everywhere>},
    {"score_first", "08.3", "return-to-go", wrong_set_rewards<score_first>},
    {"score_of_world", "08.3", "the world chose", wrong_set_rewards<score_of_world>},
    {"score_on_pad", "08.3", "on padding", wrong_set_rewards<score_on_pad>},
    {"sft_end_masked", "08.1", "mask by place, never by id", wrong_sft_batch<sft_end_masked>},
    {"sft_first_missing", "08.1", "first token is not trained", wrong_sft_batch<sft_first_missing>},
    {"sft_left_padded", "08.1", "padded on the left", wrong_sft_batch<sft_left_padded>},
    {"sft_not_shifted", "08.1", "what follows at its place", wrong_sft_batch<sft_not_shifted>},
    {"sft_pad_id", "08.1", "an id must be one of the vocabulary", wrong_sft_batch<sft_pad_id>},
    {"sft_padding", "08.1", "padding is trained", wrong_sft_batch<sft_padding>},
    {"sft_prompt", "08.1", "the prompt is trained", wrong_sft_batch<sft_prompt>},
    {"sft_shifted_twice", "08.1", "shifted twice", wrong_sft_batch<sft_shifted_twice>},
};

}  // namespace pg::lesson08
