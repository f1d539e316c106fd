// The known mistakes of lesson 13 on adapters, masks and the denoising loss. In an order in which the first row that
// fits a wrong result is the right one.
#include <algorithm>
#include <cmath>

#include "lessons/13_variations/checks.h"

namespace pg::lesson13 {
namespace {

using T = const Tensor&;

// A right adapter, but for A and the scale.
void append(Linear& layer, const LoraConfig& c, T a, double scale) {
  layer.weight.set_requires_grad(false);
  if (layer.bias.defined()) layer.bias.set_requires_grad(false);
  Tensor b = Tensor::zeros({layer.weight.size(0), c.rank}, layer.weight.dtype()), leaf = a;
  LoraAdapter one;
  one.end = layer.weight.size(0);
  one.scale = scale;
  one.a = leaf.set_requires_grad();
  one.b = b.set_requires_grad();
  layer.lora.push_back(one);
}
// A is uniform in ±high(in, out, rank), or positive.
template <auto high, bool positive = false>
void drawn(Linear& layer, const LoraConfig& c, Generator& g) {
  const double in = static_cast<double>(layer.weight.size(1)), out = static_cast<double>(layer.weight.size(0));
  const double bound = high(in, out, static_cast<double>(c.rank));
  append(layer, c,
         Tensor::uniform({c.rank, layer.weight.size(1)}, positive ? 0 : -bound, bound, g, layer.weight.dtype()),
         c.alpha / static_cast<double>(c.rank));
}
// scale(alpha, rank)
template <auto scale>
void scaled(Linear& layer, const LoraConfig& c, Generator& g) {
  const double bound = 1 / std::sqrt(static_cast<double>(layer.weight.size(1)));
  append(layer, c, Tensor::uniform({c.rank, layer.weight.size(1)}, -bound, bound, g, layer.weight.dtype()),
         scale(c.alpha, static_cast<double>(c.rank)));
}

}  // namespace

kit::Mistakes<&Impl::add_lora> add_mistakes() {
  return {{"lora_by_rank", "13.5", "uniform in ±1/√rank: A reads `in` channels, so it is ±1/√in",
           drawn<[](double, double, double rank) { return 1 / std::sqrt(rank); }>},
          {"lora_by_out", "13.5", "uniform in ±1/√out: A reads `in` channels, so it is ±1/√in",
           drawn<[](double, double out, double) { return 1 / std::sqrt(out); }>},
          {"lora_no_root", "13.5", "uniform in ±1/in: the root is missing, ±1/√in",
           drawn<[](double in, double, double) { return 1 / in; }>},
          {"lora_by_1", "13.5", "uniform in ±1: it is ±1/√in", drawn<[](double, double, double) { return 1.0; }>},
          {"lora_normal", "13.5", "normal, not uniform: Tensor::uniform(shape, -1/√in, 1/√in, generator, dtype)",
           [](Linear& layer, const LoraConfig& c, Generator& g) {
             const int64_t in = layer.weight.size(1);
             append(layer, c,
                    Tensor::normal({c.rank, in}, 0, 1 / std::sqrt(static_cast<double>(in)), g, layer.weight.dtype()),
                    c.alpha / static_cast<double>(c.rank));
           }},
          {"lora_positive", "13.5", "uniform from 0 to 1/√in: A has both signs, ±1/√in",
           drawn<[](double in, double, double) { return 1 / std::sqrt(in); }, true>},
          {"lora_alpha_only", "13.5", "alpha is not divided by the rank: scale = alpha / rank",
           scaled<[](double alpha, double) { return alpha; }>},
          {"lora_rank_twice", "13.5", "divided by the rank twice: scale = alpha / rank",
           scaled<[](double alpha, double rank) { return alpha / rank / rank; }>},
          {"lora_no_alpha", "13.5", "alpha is missing: scale = alpha / rank",
           scaled<[](double, double rank) { return 1 / rank; }>},
          {"lora_whole_numbers", "13.5", "alpha / rank is a division of whole numbers, 7 / 3 is 2: divide in double",
           scaled<[](double alpha, double rank) { return std::floor(alpha / rank); }>},
          {"lora_no_scale", "13.5", "the scale is not set: alpha / rank", scaled<[](double, double) { return 1.0; }>},
          {"lora_upside_down", "13.5", "upside down: scale = alpha / rank",
           scaled<[](double alpha, double rank) { return rank / alpha; }>},
          {"lora_rank_root", "13.5", "divided by the root of the rank: scale = alpha / rank",
           scaled<[](double alpha, double rank) { return alpha / std::sqrt(rank); }>}};
}

namespace {

// Adds `count` adapters' terms with factor(scale), from their own rows on or from row 0 on.
void merge(Linear& layer, double (*factor)(double), size_t count = 9, bool from_row_0 = false) {
  check(!layer.lora.empty() && !layer.lora_merged, "merge_lora: no adapter, or merged already");
  NoGrad no_grad;
  for (size_t i = 0; i < std::min(count, layer.lora.size()); ++i) {
    const LoraAdapter& one = layer.lora[i];
    const int64_t begin = from_row_0 ? 0 : one.begin;
    const Tensor rows = layer.weight.detach().view_slice(0, begin, begin + one.end - one.begin);
    rows.copy_from(rows + matmul(one.b, one.a) * factor(one.scale));
  }
  layer.lora_merged = true;
}
double right_factor(double scale) { return scale; }

}  // namespace

kit::Mistakes<&Impl::merge_lora> merge_mistakes() {
  return {{"merge_copy", "13.6", "the weight is what it was: nothing was written, or into a copy",
           [](Linear& layer) { merge(layer, right_factor, 0); }},
          {"merge_no_scale", "13.6", "the scale is missing: scale·B·A",
           [](Linear& layer) { merge(layer, [](double) { return 1.0; }); }},
          {"merge_scale_twice", "13.6", "the scale is applied twice: adapter.scale is alpha/rank already",
           [](Linear& layer) { merge(layer, [](double scale) { return scale * scale; }); }},
          {"merge_by_scale", "13.6", "divided by the scale: scale·B·A",
           [](Linear& layer) { merge(layer, [](double scale) { return 1 / scale; }); }},
          {"merge_minus", "13.6", "subtracted: merging adds",
           [](Linear& layer) { merge(layer, [](double scale) { return -scale; }); }},
          {"merge_term_twice", "13.6", "the term is added twice",
           [](Linear& layer) { merge(layer, [](double scale) { return 2 * scale; }); }},
          {"merge_first_only", "13.6",
           "only the first adapter is merged: a layer may have one for queries and one for values",
           [](Linear& layer) { merge(layer, right_factor, 1); }},
          {"merge_row_0", "13.6", "the terms are added from row 0 on: an adapter belongs to the rows begin to end - 1",
           [](Linear& layer) { merge(layer, right_factor, 9, true); }},
          {"merge_term_only", "13.6", "W is replaced by the term: W + scale·B·A",
           [](Linear& layer) {
             layer.weight.detach().fill(0);
             merge(layer, right_factor);
           }},
          {"merge_transposed", "13.6", "the term is transposed: B·A is [out, in], and a square weight takes either",
           [](Linear& layer) {
             const Tensor weight = layer.weight.detach(), before = weight.clone();
             merge(layer, right_factor);
             const bool square = weight.size(0) == weight.size(1) && layer.lora.size() == 1;
             if (square) weight.copy_from(before + transpose((weight - before).clone()));
           }}};
}

namespace {

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
  return {{"mask_nothing", "13.7", "nothing is masked", masked<Rule{.choice = Choice::none}>},
          {"mask_targets_all", "13.7",
           "the targets hold the visible tokens too: the loss would be taken on what the model can read; -100 there",
           masked<Rule{.target = Target::everywhere}>},
          {"mask_inverted", "13.7", "the targets are inverted: the token where it is masked, -100 where it is visible",
           masked<Rule{.target = Target::inverted}>},
          {"mask_is_target", "13.7", "the target is the mask itself: it is the token that was hidden",
           masked<Rule{.target = Target::mask}>},
          {"mask_target_1", "13.7",
           "the target of a visible token is -1: cross_entropy leaves out -100, so -100 in place of -1",
           masked<Rule{.target = Target::minus_1}>},
          {"mask_weight_t", "13.7", "the weight is t: it is 1/t", masked<Rule{.weight = Weight::t}>},
          {"mask_weight_1", "13.7", "the weights are 1: without 1/t the loss is the bound on nothing",
           masked<Rule{.weight = Weight::one}>},
          {"mask_weight_0", "13.7", "the weights are 0 at visible tokens: the whole row has 1/t",
           masked<Rule{.weight = Weight::masked_only}>},
          {"mask_share", "13.7", "the weight is L divided by the masks of the row: here it is 1/t",
           masked<Rule{.weight = Weight::share}>},
          {"mask_time_0", "13.7", "t = frac(u + b/B) can be 0, and 1/0 is infinite: t = 1 - frac(u + b/B)",
           masked<Rule{.time = Time::frac}>},
          {"mask_one_time", "13.7",
           "all rows have the time of row 0: frac(u + b/B) spreads them over (0, 1]; in whole numbers b / B would be 0",
           masked<Rule{.time = Time::one}>},
          {"mask_no_frac", "13.7", "frac is missing: u + b/B may be above 1, and a time is in (0, 1]",
           masked<Rule{.time = Time::unwrapped}>},
          {"mask_own_times", "13.7",
           "each row draws a time of its own: one u for the batch, and row b has 1 - frac(u + b/B)",
           masked<Rule{.time = Time::apart}>},
          {"mask_whole_row", "13.7", "one random number for a whole row: draw one for each token",
           masked<Rule{.choice = Choice::row}>},
          {"mask_shared", "13.7", "all rows have the same random numbers: draw one for each token of each row",
           masked<Rule{.choice = Choice::shared}>},
          {"mask_above_t", "13.7", "masked where the number is above t: t is the share that is masked, so below t",
           masked<Rule{.choice = Choice::visible}>},
          {"mask_columns", "13.7", "the numbers are drawn column after column: row after row",
           masked<Rule{.choice = Choice::columns}>},
          {"mask_first_tokens", "13.7", "always the first tokens are masked: each token has the same chance",
           masked<Rule{.choice = Choice::count}>},
          {"mask_bert", "13.7", "15 in 100, whatever t is: that is BERT; here the chance is t",
           masked<Rule{.choice = Choice::fifteen}>},
          {"mask_zero_id", "13.7", "0 is written where a token is masked: mask_id",
           [](T ids, int32_t, Generator& random) { return masked<Rule{}>(ids, 0, random); }},
          {"mask_counts", "13.7",
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
      {"loss_mask_logit", "13.8",
       "the mask's logit is counted in the softmax: the mask is never predicted, only the first V logits are",
       loss<LossRule{.mask_logit = true}>},
      {"loss_first_cut", "13.8", "the first logit was cut off: the mask's is the last",
       loss<LossRule{.first_column = true}>},
      {"loss_visible_too", "13.8", "the loss is taken on visible tokens too: only masked ones have a target",
       loss<LossRule{.visible_too = true}>},
      {"loss_no_weight", "13.8", "the weights are missing: without 1/t this estimates another number",
       loss<LossRule{.power = 0}>},
      {"loss_divides", "13.8", "divided by the weights: they are 1/t already", loss<LossRule{.power = -1}>},
      {"loss_squares", "13.8", "the weights are squared: they are 1/t already", loss<LossRule{.power = 2}>},
      {"loss_per_mask", "13.8",
       "divided by the number of masks: all B·L positions count, the weight 1/t makes up for those not masked",
       loss<LossRule{.divisor = LossRule::masked}>},
      {"loss_plain_mean", "13.8",
       "neither weighted nor divided by B·L: a mean over the masked tokens, which is no bound",
       loss<LossRule{.power = 0, .divisor = LossRule::masked}>},
      {"loss_per_weight", "13.8", "divided by the sum of the weights: divide by B·L",
       loss<LossRule{.divisor = LossRule::weights}>},
      {"loss_per_row", "13.8", "divided by B only: the loss is per token, so by B·L",
       loss<LossRule{.divisor = LossRule::rows}>},
      {"loss_per_length", "13.8", "divided by L only: the sum is over all rows, so by B·L",
       loss<LossRule{.divisor = LossRule::length}>},
      {"loss_apart", "13.8",
       "the mean of the losses times the mean of the weights: each weight belongs to its own token, so multiply before "
       "you sum",
       [](T logits, const MaskedTokens& tokens) {
         return loss_of(logits, tokens, {.power = 0}) * mean(tokens.weights).item();
       }},
      {"loss_total", "13.8", "this is the sum: divide by B·L", loss<LossRule{.divisor = LossRule::none}>},
      {"loss_bits", "13.8", "in bits: nats are natural logarithms",
       [](T logits, const MaskedTokens& tokens) { return loss_of(logits, tokens, {.unit = 1 / std::log(2.0)}); }}};
}

}  // namespace pg::lesson13
