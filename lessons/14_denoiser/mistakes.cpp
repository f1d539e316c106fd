// The known mistakes of lesson 14, in an order in which the first row that fits a wrong result is the right one.
#include <algorithm>
#include <cmath>

#include "lessons/14_denoiser/checks.h"

namespace pg::lesson14 {
namespace {

using T = const Tensor&;

// mask_tokens by other rules.
enum class Time { right, frac, one, apart, unwrapped };
enum class Choice { right, none, visible, row, shared, columns, count, fifteen };
enum class Target { right, everywhere, inverted, mask, minus_1 };
enum class Weight { right, t, one, masked_only, share };
struct Rule {
  Time time = Time::right;
  Choice choice = Choice::right;
  Target target = Target::right;
  Weight weight = Weight::right;
};

// The times of the rows.
std::vector<double> times_of(int64_t rows, Time rule, Generator& random) {
  const double u = random.uniform();
  std::vector<double> times;
  for (int64_t b = 0; b < rows; ++b) {
    const double x = u + static_cast<double>(b) / static_cast<double>(rows), frac = x - std::floor(x);
    times.push_back(rule == Time::frac ? frac : rule == Time::one ? 1 - u : 1 - frac);
    if (rule == Time::unwrapped) times.back() = 1 - x;
    if (rule == Time::apart) times.back() = b == 0 ? 1 - u : 1 - random.uniform();
  }
  return times;
}
// Which tokens are masked.
std::vector<uint8_t> hits_of(const std::vector<double>& times, int64_t length, Choice rule, Generator& random) {
  const auto rows = std::ssize(times);
  std::vector<uint8_t> hits(static_cast<size_t>(rows * length));
  std::vector<double> first;  // one number for each row, or one for each position
  for (int64_t n = 0; n < rows * length; ++n) {
    const int64_t b = rule == Choice::columns ? n % rows : n / length,
                  i = rule == Choice::columns ? n / rows : n % length;
    const double t = times[static_cast<size_t>(b)];
    bool hit = false;
    if (rule == Choice::row || rule == Choice::shared) {
      const auto at = static_cast<size_t>(rule == Choice::row ? b : i);
      if (first.size() <= at) first.push_back(random.uniform());
      hit = first[at] < t;
    } else if (rule == Choice::count) {
      hit = static_cast<double>(i) < std::round(t * static_cast<double>(length));
    } else {
      const double r = random.uniform();
      hit = rule == Choice::visible ? r >= t : rule == Choice::fifteen ? r < 0.15 : r < t;
    }
    hits[static_cast<size_t>(b * length + i)] = hit && rule != Choice::none;
  }
  return hits;
}
template <Rule rule>
MaskedTokens masked(T ids, int32_t mask_id, Generator& random) {
  const int64_t length = ids.size(1);
  const std::vector<double> times = times_of(ids.size(0), rule.time, random);
  const std::vector<uint8_t> hits = hits_of(times, length, rule.choice, random);
  const auto token = ids.data<const int32_t>();
  MaskedTokens result{ids.clone(), Tensor::full(ids.shape(), -100, i32), Tensor::zeros(ids.shape(), f64)};
  for (size_t at = 0; at < hits.size(); ++at) {
    const size_t b = at / static_cast<size_t>(length);
    const auto row = hits.begin() + static_cast<ptrdiff_t>(b) * length;
    const bool hit = hits[at] != 0;
    if (hit) result.ids.data<int32_t>()[at] = mask_id;
    int32_t target = hit ? token[at] : rule.target == Target::minus_1 ? -1 : -100;
    if (rule.target == Target::everywhere) target = token[at];
    if (rule.target == Target::inverted) target = hit ? -100 : token[at];
    if (rule.target == Target::mask && hit) target = mask_id;
    result.targets.data<int32_t>()[at] = target;
    double weight = rule.weight == Weight::t ? times[b] : rule.weight == Weight::one ? 1 : 1 / times[b];
    if (rule.weight == Weight::masked_only && !hit) weight = 0;
    if (rule.weight == Weight::share)
      weight = static_cast<double>(length) / std::max(static_cast<double>(std::count(row, row + length, 1)), 1.0);
    result.weights.data<double>()[at] = weight;
  }
  return result;
}

}  // namespace

kit::Mistakes<&Impl::mask_tokens> mask_mistakes() {
  return {{"mask_nothing", "14.1", "nothing is masked", masked<Rule{.choice = Choice::none}>},
          {"mask_targets_all", "14.1",
           "the targets hold the visible tokens too: the loss would be taken on what the model can read; -100 there",
           masked<Rule{.target = Target::everywhere}>},
          {"mask_inverted", "14.1", "the targets are inverted: the token where it is masked, -100 where it is visible",
           masked<Rule{.target = Target::inverted}>},
          {"mask_is_target", "14.1", "the target is the mask itself: it is the token that was hidden",
           masked<Rule{.target = Target::mask}>},
          {"mask_target_1", "14.1",
           "the target of a visible token is -1: cross_entropy leaves out -100, so -100 in place of -1",
           masked<Rule{.target = Target::minus_1}>},
          {"mask_weight_t", "14.1", "the weight is t: it is 1/t", masked<Rule{.weight = Weight::t}>},
          {"mask_weight_1", "14.1", "the weights are 1: without 1/t the loss is the bound on nothing",
           masked<Rule{.weight = Weight::one}>},
          {"mask_weight_0", "14.1", "the weights are 0 at visible tokens: the whole row has 1/t",
           masked<Rule{.weight = Weight::masked_only}>},
          {"mask_share", "14.1", "the weight is L divided by the masks of the row: here it is 1/t",
           masked<Rule{.weight = Weight::share}>},
          {"mask_time_0", "14.1", "t = frac(u + b/B) can be 0, and 1/0 is infinite: t = 1 - frac(u + b/B)",
           masked<Rule{.time = Time::frac}>},
          {"mask_one_time", "14.1",
           "all rows have the time of row 0: frac(u + b/B) spreads them over (0, 1]; in whole numbers b / B would be 0",
           masked<Rule{.time = Time::one}>},
          {"mask_no_frac", "14.1", "frac is missing: u + b/B may be above 1, and a time is in (0, 1]",
           masked<Rule{.time = Time::unwrapped}>},
          {"mask_own_times", "14.1",
           "each row draws a time of its own: one u for the batch, and row b has 1 - frac(u + b/B)",
           masked<Rule{.time = Time::apart}>},
          {"mask_whole_row", "14.1", "one random number for a whole row: draw one for each token",
           masked<Rule{.choice = Choice::row}>},
          {"mask_shared", "14.1", "all rows have the same random numbers: draw one for each token of each row",
           masked<Rule{.choice = Choice::shared}>},
          {"mask_above_t", "14.1", "masked where the number is above t: t is the share that is masked, so below t",
           masked<Rule{.choice = Choice::visible}>},
          {"mask_columns", "14.1", "the numbers are drawn column after column: row after row",
           masked<Rule{.choice = Choice::columns}>},
          {"mask_first_tokens", "14.1", "always the first tokens are masked: each token has the same chance",
           masked<Rule{.choice = Choice::count}>},
          {"mask_bert", "14.1", "15 in 100, whatever t is: that is BERT; here the chance is t",
           masked<Rule{.choice = Choice::fifteen}>},
          {"mask_zero_id", "14.1", "0 is written where a token is masked: mask_id",
           [](T ids, int32_t, Generator& random) { return masked<Rule{}>(ids, 0, random); }},
          {"mask_counts", "14.1",
           "exactly k tokens of a row are masked: that is mask_counts; here each token has the chance t",
           [](T ids, int32_t mask_id, Generator& random) { return pg::mask_counts(ids, mask_id, random); }}};
}

Tensor loss_of(T logits, const MaskedTokens& tokens, const LossRule& rule) {
  const int64_t v = logits.size(2) - 1;
  const Tensor used = rule.mask_logit     ? logits
                      : rule.first_column ? slice(logits, 2, 1, v + 1)
                                          : slice(logits, 2, 0, v);
  const Tensor hidden = ne(tokens.targets, Tensor::full(tokens.targets.shape(), -100, i32));
  const Tensor safe = where(hidden, tokens.targets.to(f64), tokens.ids.to(f64)).to(i32);
  const Tensor p = sum(softmax(used) * one_hot(safe, used.size(2), used.dtype()), {-1});  // [B, L]
  const Tensor counted = rule.visible_too ? Tensor::ones(hidden.shape(), f64) : hidden.to(f64);
  const Tensor weights = pow(tokens.weights, rule.power) * counted;
  double divisor = 1;
  if (rule.divisor == LossRule::all) divisor = static_cast<double>(tokens.ids.numel());
  if (rule.divisor == LossRule::masked) divisor = sum(counted).item();
  if (rule.divisor == LossRule::rows) divisor = static_cast<double>(tokens.ids.size(0));
  if (rule.divisor == LossRule::length) divisor = static_cast<double>(tokens.ids.size(1));
  if (rule.divisor == LossRule::weights) divisor = sum(weights).item();
  return sum(log(p) * weights.to(p.dtype())) * (-rule.unit / divisor);
}

namespace {

template <LossRule rule>
Tensor loss(T logits, const MaskedTokens& tokens) {
  return loss_of(logits, tokens, rule);
}

}  // namespace

kit::Mistakes<&Impl::denoising_loss> loss_mistakes() {
  return {
      {"loss_mask_logit", "14.2",
       "the mask's logit is counted in the softmax: the mask is never predicted, only the first V logits are",
       loss<LossRule{.mask_logit = true}>},
      {"loss_first_cut", "14.2", "the first logit was cut off: the mask's is the last",
       loss<LossRule{.first_column = true}>},
      {"loss_visible_too", "14.2", "the loss is taken on visible tokens too: only masked ones have a target",
       loss<LossRule{.visible_too = true}>},
      {"loss_no_weight", "14.2", "the weights are missing: without 1/t this estimates another number",
       loss<LossRule{.power = 0}>},
      {"loss_divides", "14.2", "divided by the weights: they are 1/t already", loss<LossRule{.power = -1}>},
      {"loss_squares", "14.2", "the weights are squared: they are 1/t already", loss<LossRule{.power = 2}>},
      {"loss_per_mask", "14.2",
       "divided by the number of masks: all B·L positions count, the weight 1/t makes up for those not masked",
       loss<LossRule{.divisor = LossRule::masked}>},
      {"loss_plain_mean", "14.2",
       "neither weighted nor divided by B·L: a mean over the masked tokens, which is no bound",
       loss<LossRule{.power = 0, .divisor = LossRule::masked}>},
      {"loss_per_weight", "14.2", "divided by the sum of the weights: divide by B·L",
       loss<LossRule{.divisor = LossRule::weights}>},
      {"loss_per_row", "14.2", "divided by B only: the loss is per token, so by B·L",
       loss<LossRule{.divisor = LossRule::rows}>},
      {"loss_per_length", "14.2", "divided by L only: the sum is over all rows, so by B·L",
       loss<LossRule{.divisor = LossRule::length}>},
      {"loss_apart", "14.2",
       "the mean of the losses times the mean of the weights: each weight belongs to its own token, so multiply before "
       "you sum",
       [](T logits, const MaskedTokens& tokens) {
         return loss_of(logits, tokens, {.power = 0}) * mean(tokens.weights).item();
       }},
      {"loss_total", "14.2", "this is the sum: divide by B·L", loss<LossRule{.divisor = LossRule::none}>},
      {"loss_bits", "14.2", "in bits: nats are natural logarithms",
       [](T logits, const MaskedTokens& tokens) { return loss_of(logits, tokens, {.unit = 1 / std::log(2.0)}); }}};
}

}  // namespace pg::lesson14
