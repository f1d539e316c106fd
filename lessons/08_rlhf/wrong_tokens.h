#pragma once
// Wrong answers to 08.1, 08.3, 08.4 and 08.5: those of answers.h, each with one mistake, the mutant of that name.
#include <algorithm>
#include <cmath>

#include "lessons/08_rlhf/lesson.h"

namespace pg::lesson08 {

enum SftMistake {
  sft_end_dropped,
  sft_end_masked,
  sft_first_missing,
  sft_left_padded,
  sft_next_ids,
  sft_not_shifted,
  sft_pad_id,
  sft_padding,
  sft_prompt,
  sft_prompt_last,
  sft_prompt_zero,
  sft_shifted_twice,
  sft_too_long,
  sft_wide,
};

template <SftMistake mistake>
TokenBatch sft_batch_with(std::span<const Problem> problems) {
  size_t longest = 0, prompt = 0, answer = 0;
  for (const Problem& p : problems) {
    longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
    prompt = std::max(prompt, p.prompt.size());
    answer = std::max(answer, p.answer.size());
  }
  if (mistake == sft_wide) longest = prompt + answer - 1;
  if (mistake == sft_too_long) ++longest;
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const double no_target = mistake == sft_padding || mistake == sft_prompt_zero ? 0 : -100;
  const TokenBatch batch{Tensor::full(shape, mistake == sft_pad_id ? -100 : 0, i32),
                         Tensor::full(shape, no_target, i32)};
  const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
  for (size_t b = 0; b < problems.size(); ++b) {
    std::vector<int32_t> all = problems[b].prompt;
    all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
    const size_t shift = mistake == sft_not_shifted ? 0 : mistake == sft_shifted_twice ? 2 : 1;
    const size_t own = problems[b].prompt.size();
    const size_t first = mistake == sft_prompt          ? 0
                         : mistake == sft_first_missing ? own + 1
                         : mistake == sft_prompt_last   ? own - 1
                                                        : own;
    const size_t start = b * longest + (mistake == sft_left_padded ? longest + 1 - all.size() : 0);
    const size_t end = mistake == sft_end_dropped ? all.size() - 1 : all.size();
    for (size_t t = 0; t + (mistake == sft_too_long ? 0 : 1) < all.size(); ++t) {
      ids[start + t] = all[mistake == sft_next_ids ? t + 1 : t];
      const size_t next = t + shift;
      const bool trained = next >= first && next < end && !(mistake == sft_end_masked && all[next] == 0);
      targets[start + t] = trained ? all[next] : mistake == sft_prompt_zero ? 0 : -100;
    }
  }
  return batch;
}

enum ScoreMistake {
  score_added,
  score_before_end,
  score_by_count,
  score_by_length,
  score_everywhere,
  score_first,
  score_kept,
  score_of_world,
  score_on_pad,
};

template <ScoreMistake mistake>
void set_rewards_with(ScoredResponse& response) {
  const size_t count = response.tokens.size(), last = rl::last_chosen(response);
  const double score = response.score.reward / (mistake == score_by_length ? response.length() : 1);
  if (mistake == score_kept || mistake == score_added) {
    response.rewards.resize(count, 0);
    response.rewards[last] = score + (mistake == score_added ? response.rewards[last] : 0);
    return;
  }
  response.rewards.assign(mistake == score_on_pad ? count + 1 : count, mistake == score_everywhere ? score : 0);
  const size_t place = mistake == score_before_end ? std::max<size_t>(last, 1) - 1
                       : mistake == score_first    ? 0
                       : mistake == score_of_world ? count - 1
                       : mistake == score_by_count ? static_cast<size_t>(response.length()) - 1
                       : mistake == score_on_pad   ? count
                                                   : last;
  response.rewards[place] = score;
}

enum KlMistake {
  kl_absolute,
  kl_changes_log_probs,
  kl_k2,
  kl_k3,
  kl_last_only,
  kl_no_beta,
  kl_no_end,
  kl_no_reference,
  kl_of_world,
  kl_overwrites,
  kl_positive,
  kl_probabilities,
  kl_ratio,
  kl_sign,
  kl_stops,
  kl_sum_at_end,
  kl_unpaid,
};

template <KlMistake mistake>
void subtract_kl_with(ScoredResponse& response, double beta) {
  const double factor = mistake == kl_no_beta ? 1 : mistake == kl_sign ? -beta : beta;
  const size_t last = rl::last_chosen(response);
  for (size_t t = 0; t < response.tokens.size(); ++t) {
    if (!response.chosen[t] && mistake == kl_stops) break;
    if (!response.chosen[t] && mistake != kl_of_world) continue;
    if (mistake == kl_last_only && t != last) continue;
    if (mistake == kl_no_end && t == last) continue;
    if (mistake == kl_unpaid && response.rewards[t] != 0) continue;
    const double now = response.old_log_probs[t], ref = mistake == kl_no_reference ? 0 : response.ref_log_probs[t];
    const double k1 = now - ref;
    const double kl = mistake == kl_absolute        ? std::abs(k1)
                      : mistake == kl_positive      ? std::max(k1, 0.0)
                      : mistake == kl_k2            ? k1 * k1 / 2
                      : mistake == kl_k3            ? std::expm1(-k1) + k1
                      : mistake == kl_probabilities ? std::exp(now) - std::exp(ref)
                      : mistake == kl_ratio         ? std::exp(k1)
                                                    : k1;
    double& reward = response.rewards[mistake == kl_sum_at_end ? last : t];
    reward = (mistake == kl_overwrites ? 0 : reward) - factor * kl;
    if (mistake == kl_changes_log_probs) response.old_log_probs[t] -= ref;
  }
}

enum LogProbMistake {
  log_prob_detached,
  log_prob_half_gradient,
  log_prob_mean,
  log_prob_mean_of_places,
  log_prob_no_end,
  log_prob_no_mask,
  log_prob_of_inputs,
  log_prob_of_world,
  log_prob_probabilities,
  log_prob_total,
};

template <LogProbMistake mistake>
Tensor sequence_log_probs_with(const Transformer& policy, std::span<const Response* const> responses) {
  const rl::TokenRows rows = rl::token_rows(responses);
  const Tensor logits = policy(rows.ids);
  const Tensor all = mistake == log_prob_half_gradient   ? logits - logsumexp(logits, {2}, true).detach()
                     : mistake == log_prob_probabilities ? softmax(logits)
                                                         : log_softmax(logits);
  const Tensor tokens = mistake == log_prob_of_inputs ? rows.ids : rows.targets;
  const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(tokens, 2)), 2), zero = Tensor::scalar(0, log_prob.dtype());
  const Tensor mask = rows.mask.clone();
  if (mistake == log_prob_of_world) {  // all tokens of the response, whoever chose them
    for (size_t b = 0; b < responses.size(); ++b) {
      const auto from = static_cast<int64_t>(responses[b]->prompt.size()) - 1;
      const auto to = from + static_cast<int64_t>(responses[b]->tokens.size());
      mask.view_select(0, static_cast<int64_t>(b)).view_slice(0, from, to).fill(1);
    }
  }
  Tensor kept = mistake == log_prob_no_mask ? log_prob : where(mask, log_prob, zero);
  if (mistake == log_prob_no_end) kept = where(rows.targets.to(u8), kept, zero);  // the id of the end of sequence is 0
  if (mistake == log_prob_mean_of_places) return mean(kept, {1});
  if (mistake == log_prob_total) return sum(kept);
  const Tensor total = sum(kept, {1});
  if (mistake == log_prob_mean) return total / sum(rows.mask.to(log_prob.dtype()), {1});
  return mistake == log_prob_detached ? total.detach() : total;
}

template <SftMistake mistake>
void wrong_sft_batch(Impl& m) {
  m.sft_batch = sft_batch_with<mistake>;
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

}  // namespace pg::lesson08
