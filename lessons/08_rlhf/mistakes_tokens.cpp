// The known mistakes of what each token gets, 08.1 and 08.3 to 08.5. In an order in which the first row that fits a
// wrong result is the right one.
#include <algorithm>
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

// sft_batch with a switch for each mistake.
struct Sft {
  bool pad_id = false, left_padded = false, wide = false, longer = false, last_read = false, next_ids = false;
  bool end_masked = false, end_dropped = false, padding = false, prompt_zero = false;
  int from = 0;   // the first token that is trained, counted from the answer's first
  int shift = 1;  // from an input to its target
};
template <Sft mistake>
TokenBatch sft(std::span<const Problem> problems) {
  size_t longest = 0, prompt = 0, answer = 0;
  for (const Problem& p : problems) {
    longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
    prompt = std::max(prompt, p.prompt.size());
    answer = std::max(answer, p.answer.size());
  }
  if (mistake.wide) longest = prompt + answer - 1;
  if (mistake.longer || mistake.last_read) ++longest;
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const int32_t padding = mistake.padding || mistake.prompt_zero ? 0 : -100;
  const TokenBatch batch{Tensor::full(shape, mistake.pad_id ? -100 : 0, i32), Tensor::full(shape, padding, i32)};
  for (size_t b = 0; b < problems.size(); ++b) {
    std::vector<int32_t> all = problems[b].prompt;
    all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
    const auto end = std::ssize(all) - (mistake.end_dropped ? 1 : 0);
    const size_t start = b * longest + (mistake.left_padded ? longest + 1 - all.size() : 0);
    for (size_t t = 0; t + (mistake.last_read ? 0 : 1) < all.size(); ++t) {
      batch.ids.data<int32_t>()[start + t] = all[mistake.next_ids ? t + 1 : t];
      const auto next = static_cast<int64_t>(t) + mistake.shift;
      const bool trained = next >= std::ssize(problems[b].prompt) + mistake.from && next < end &&
                           !(mistake.end_masked && all[static_cast<size_t>(next)] == 0);
      batch.targets.data<int32_t>()[start + t] = trained               ? all[static_cast<size_t>(next)]
                                                 : mistake.prompt_zero ? 0
                                                                       : -100;
    }
  }
  return batch;
}
constexpr int kAllOfThePrompt = -1'000'000;

}  // namespace

kit::Mistakes<&Impl::sft_batch> sft_mistakes() {
  return {
      {"sft_pad_id", "08.1", "-100 is for targets; an id must be one of the vocabulary, so padding takes any, say 0",
       sft<Sft{.pad_id = true}>},
      {"sft_left_padded", "08.1", "padded on the left: then every position embedding is another one",
       sft<Sft{.left_padded = true}>},
      {"sft_wide", "08.1",
       "T is the longest prompt + the longest answer - 1; it is that of the longest row, which need not have either",
       sft<Sft{.wide = true}>},
      {"sft_one_more", "08.1", "T is one too large: the last token of a row is never read", sft<Sft{.longer = true}>},
      {"sft_too_long", "08.1", "T is one too large: the last token of a row is never read",
       sft<Sft{.last_read = true}>},
      {"sft_next_ids", "08.1", "these are the targets' tokens; ids begin with the prompt's first token",
       sft<Sft{.next_ids = true}>},
      {"sft_end_masked", "08.1",
       "the end of sequence is not trained, as its id is also that of padding: mask by place, never by id; this model "
       "would never stop",
       sft<Sft{.end_masked = true}>},
      {"sft_end_dropped", "08.1",
       "the end of sequence is not trained: it belongs to the answer; this model would never stop",
       sft<Sft{.end_dropped = true}>},
      {"sft_prompt", "08.1", "the prompt is trained too: the model learns to ask instead of to answer",
       sft<Sft{.from = kAllOfThePrompt}>},
      {"sft_padding", "08.1", "padding is trained: its targets must be -100", sft<Sft{.padding = true}>},
      {"sft_prompt_zero", "08.1", "a prompt's targets must be -100, which means no target; 0 is a token",
       sft<Sft{.prompt_zero = true}>},
      {"sft_not_shifted", "08.1",
       "each target is its own input, so the model learns to copy; the target at t is token t + 1",
       sft<Sft{.shift = 0}>},
      {"sft_shifted_twice", "08.1", "shifted twice: at its place stands the token after the next",
       sft<Sft{.shift = 2}>},
      {"sft_first_missing", "08.1",
       "the answer's first token is not trained: it is predicted at the prompt's last place", sft<Sft{.from = 1}>},
      {"sft_prompt_last", "08.1",
       "the prompt's last token is trained too: the first target is the answer's first token", sft<Sft{.from = -1}>}};
}

namespace {

using R = ScoredResponse&;

double count_of(R r) { return static_cast<double>(r.tokens.size()); }
// x at one place, 0 elsewhere.
void only(R r, size_t place, double x) {
  r.rewards.assign(r.tokens.size(), 0);
  if (place < r.rewards.size()) r.rewards[place] = x;
}
// x at each token, or at each that the policy chose.
void everywhere(R r, double x, bool world) {
  r.rewards.clear();
  for (const uint8_t chosen : r.action_mask) r.rewards.push_back(chosen || world ? x : 0);
}

}  // namespace

kit::Mistakes<&Impl::set_rewards> score_mistakes() {
  return {
      {"score_on_pad", "08.3", "the score stands behind the response, on padding: nobody will ever see it there",
       [](R r) {
         r.rewards.assign(r.tokens.size(), 0);
         r.rewards.push_back(r.score.reward);
       }},
      {"score_kept", "08.3", "what was left from an earlier use is still there: all other rewards are 0",
       [](R r) {
         r.rewards.resize(r.tokens.size(), 0);
         r.rewards[rl::last_chosen(r)] = r.score.reward;
       }},
      {"score_added", "08.3", "what was left from an earlier use is still there: all other rewards are 0",
       [](R r) {
         r.rewards.resize(r.tokens.size(), 0);
         r.rewards[rl::last_chosen(r)] += r.score.reward;
       }},
      {"score_first_chosen", "08.3",
       "the score is at the first token; what came later earned it too. Put it at the end, return-to-go carries it "
       "back",
       [](R r) {
         const auto first = std::find(r.action_mask.begin(), r.action_mask.end(), 1);
         only(r, static_cast<size_t>(first - r.action_mask.begin()), r.score.reward);
       }},
      {"score_first", "08.3",
       "the score is at the first token; what came later earned it too. Put it at the end, return-to-go carries it "
       "back",
       [](R r) { only(r, 0, r.score.reward); }},
      {"score_by_count", "08.3", "the place is the number of chosen tokens - 1; between them are tokens of the world",
       [](R r) { only(r, static_cast<size_t>(r.length()) - 1, r.score.reward); }},
      {"score_before_end", "08.3", "one token too early: the end of sequence is a choice as well, and gets the score",
       [](R r) { only(r, rl::last_chosen(r) - 1, r.score.reward); }},
      {"score_of_world", "08.3", "the score is at a token that the world chose: the policy learns nothing from it",
       [](R r) { only(r, r.tokens.size() - 1, r.score.reward); }},
      {"score_everywhere", "08.3", "every token is paid the whole score, so long responses earn more",
       [](R r) { everywhere(r, r.score.reward, true); }},
      {"score_at_each_chosen", "08.3", "every token is paid the whole score, so long responses earn more",
       [](R r) { everywhere(r, r.score.reward, false); }},
      {"score_shared", "08.3", "the score is divided by the length: then short responses pay",
       [](R r) { everywhere(r, r.score.reward / r.length(), false); }},
      {"score_shared_by_all", "08.3", "the score is divided by the length: then short responses pay",
       [](R r) { everywhere(r, r.score.reward / count_of(r), true); }},
      {"score_by_length", "08.3", "the score is divided by the length: then short responses pay",
       [](R r) { only(r, rl::last_chosen(r), r.score.reward / r.length()); }},
      {"score_by_tokens", "08.3", "the score is divided by the length: then short responses pay",
       [](R r) { only(r, rl::last_chosen(r), r.score.reward / count_of(r)); }}};
}

namespace {

// Takes price(log π, log ref) off the rewards of the chosen tokens for which `pays` is true.
template <class Price>
void charge(
    R r, Price price, bool (*pays)(R, size_t) = [](R, size_t) { return true; }) {
  for (size_t t = 0; t < r.tokens.size(); ++t) {
    if (r.action_mask[t] && pays(r, t)) r.rewards[t] -= price(r.old_log_probs[t], r.ref_log_probs[t]);
  }
}
// For which each chosen token pays beta·price.
template <auto price>
void charge_all(R r, double beta) {
  charge(r, [=](double now, double ref) { return beta * price(now, ref); });
}
double k1(double now, double ref) { return now - ref; }
// The right price, for some tokens only.
template <auto pays>
void charge_some(R r, double beta) {
  charge(
      r, [=](double now, double ref) { return beta * k1(now, ref); }, pays);
}

}  // namespace

kit::Mistakes<&Impl::subtract_kl> kl_mistakes() {
  return {
      {"kl_sign", "08.4", "the sign is flipped: this pays the policy for leaving the reference",
       charge_all<[](double now, double ref) { return ref - now; }>},
      {"kl_no_beta", "08.4", "β is forgotten", [](R r, double) { charge(r, k1); }},
      {"kl_sum_at_end", "08.4",
       "all of the KL is at the last token: each token should pay for itself, so credit is sharper",
       [](R r, double beta) {
         const std::vector<double> before = r.rewards;
         charge_all<k1>(r, beta);
         double total = 0;
         for (size_t t = 0; t < before.size(); ++t) total += before[t] - r.rewards[t];
         r.rewards = before;
         r.rewards[rl::last_chosen(r)] -= total;
       }},
      {"kl_last_only", "08.4", "the KL is at the last token only; the other tokens are free to leave the reference",
       charge_some<[](R r, size_t t) { return t == rl::last_chosen(r); }>},
      {"kl_no_end", "08.4", "the last token does not pay: the end of sequence is a choice too",
       charge_some<[](R r, size_t t) { return t != rl::last_chosen(r); }>},
      {"kl_stops", "08.4", "the loop ends at the first token of the world; skip that token and go on",
       [](R r, double beta) {
         const std::vector<uint8_t> chosen = r.action_mask;
         std::fill(std::find(r.action_mask.begin(), r.action_mask.end(), 0), r.action_mask.end(), 0);
         charge_all<k1>(r, beta);
         r.action_mask = chosen;
       }},
      {"kl_unpaid", "08.4", "only tokens without a reward pay; each chosen token does",
       charge_some<[](R r, size_t t) { return r.rewards[t] == 0; }>},
      {"kl_k3", "08.4",
       "this is k3: in the reward the unbiased k1 = log π - log ref gives the KL's gradient, k3 does not",
       charge_all<[](double now, double ref) { return std::expm1(ref - now) + k1(now, ref); }>},
      {"kl_k2", "08.4", "this is k2 = k1²/2; the price is k1",
       charge_all<[](double now, double ref) { return k1(now, ref) * k1(now, ref) / 2; }>},
      {"kl_absolute", "08.4",
       "k1 may be negative, and must be, to be right on average: no absolute value, no maximum with 0",
       charge_all<[](double now, double ref) { return std::abs(k1(now, ref)); }>},
      {"kl_positive", "08.4",
       "k1 may be negative, and must be, to be right on average: no absolute value, no maximum with 0",
       charge_all<[](double now, double ref) { return std::max(k1(now, ref), 0.0); }>},
      {"kl_probabilities", "08.4", "probabilities are subtracted: take the log-probabilities as they are, without exp",
       charge_all<[](double now, double ref) { return std::exp(now) - std::exp(ref); }>},
      {"kl_ratio", "08.4", "this is the ratio π/ref; the price is its logarithm",
       charge_all<[](double now, double ref) { return std::exp(k1(now, ref)); }>},
      {"kl_no_reference", "08.4", "the reference is not used", charge_all<[](double now, double) { return now; }>},
      {"kl_of_world", "08.4", "the world's tokens pay as well; the policy cannot help what they are",
       [](R r, double beta) {
         const std::vector<uint8_t> chosen = std::exchange(r.action_mask, std::vector<uint8_t>(r.tokens.size(), 1));
         charge_all<k1>(r, beta);
         r.action_mask = chosen;
       }},
      {"kl_overwrites", "08.4", "the reward that was there is overwritten: take the KL off it", [](R r, double beta) {
         for (size_t t = 0; t < r.tokens.size(); ++t) r.rewards[t] *= r.action_mask[t] ? 0 : 1;
         charge_all<k1>(r, beta);
       }}};
}

namespace {

using T = const Tensor&;
using Rows = const rl::TokenRows&;
using Responses = std::span<const Response* const>;

Tensor pick(T all, T tokens) { return squeeze(gather(all, 2, unsqueeze(tokens, 2)), 2); }
Tensor kept(T mask, T x) { return where(mask, x, Tensor::scalar(0, x.dtype())); }
// [B, T], with 0 where nothing counts.
Tensor counted(Rows rows, T logits) { return kept(rows.mask, pick(log_softmax(logits), rows.targets)); }
template <auto sums>
Tensor of_logits(const Transformer& policy, Responses responses) {
  const rl::TokenRows rows = rl::token_rows(responses);
  return sums(rows, policy(rows.ids));
}
// The sums count the whole response, whoever chose its tokens, and with `prompt` the prompt too.
template <bool prompt>
Tensor with_world(const Transformer& policy, Responses responses) {
  rl::TokenRows rows = rl::token_rows(responses);
  for (size_t b = 0; b < responses.size(); ++b) {
    const auto from = std::ssize(responses[b]->prompt) - 1, to = from + std::ssize(responses[b]->tokens);
    rows.mask.view_select(0, static_cast<int64_t>(b)).view_slice(0, prompt ? 0 : from, to).fill(1);
  }
  return sum(counted(rows, policy(rows.ids)), {1});
}

}  // namespace

kit::Mistakes<&Impl::sequence_log_probs> log_prob_mistakes() {
  return {
      {"log_prob_half_gradient", "08.5",
       "only the targets' own scores have a gradient: the sum over all tokens needs one too, no detach()",
       of_logits<[](Rows rows, T x) {
         return sum(kept(rows.mask, pick(x - logsumexp(x, {2}, true).detach(), rows.targets)), {1});
       }>},
      {"log_prob_mean", "08.5",
       "the mean over tokens: the probability of a response is a product, so its logarithm is a sum",
       of_logits<[](Rows rows, T x) { return sum(counted(rows, x), {1}) / sum(rows.mask.to(x.dtype()), {1}); }>},
      {"log_prob_mean_of_places", "08.5",
       "the mean over tokens: the probability of a response is a product, so its logarithm is a sum",
       of_logits<[](Rows rows, T x) { return mean(counted(rows, x), {1}); }>},
      {"log_prob_of_world", "08.5", "tokens that the policy did not choose are in it: use the mask", with_world<false>},
      {"log_prob_with_prompt", "08.5", "the prompt is in it, which nobody chose", with_world<true>},
      {"log_prob_no_mask", "08.5", "prompt and padding are in it: use the mask",
       of_logits<[](Rows rows, T x) { return sum(pick(log_softmax(x), rows.targets), {1}); }>},
      {"log_prob_no_end", "08.5", "the end of sequence is left out: to stop is a choice too",  // its id is 0
       of_logits<[](Rows rows, T x) { return sum(kept(rows.targets.to(u8), counted(rows, x)), {1}); }>},
      {"log_prob_of_inputs", "08.5", "this is the probability of the ids that were read; take that of the targets",
       of_logits<[](Rows rows, T x) { return sum(kept(rows.mask, pick(log_softmax(x), rows.ids)), {1}); }>},
      {"log_prob_probabilities", "08.5", "probabilities are added up; add up their logarithms",
       of_logits<[](Rows rows, T x) { return sum(kept(rows.mask, pick(softmax(x), rows.targets)), {1}); }>},
      {"log_prob_total", "08.5", "one number for each response: sum over dim 1 alone",
       of_logits<[](Rows rows, T x) { return sum(counted(rows, x)); }>}};
}

}  // namespace pg::lesson08
