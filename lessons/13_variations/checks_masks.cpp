// The checks of lesson 13 on the masked denoiser: masks with their weights, and the loss.
#include <cmath>

#include "lessons/13_variations/checks.h"

namespace pg::lesson13 {
namespace {

using kit::Grader;
using kit::Mistake;

// Random ids [rows, length] below `count`.
Tensor random_ids(int64_t rows, int64_t length, int64_t count, uint64_t seed) {
  Generator random(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < rows * length; ++i) ids.push_back(static_cast<int32_t>(random.integer(count)));
  return Tensor::from(ids, {rows, length});
}

// ids, targets and weights as one list of numbers [3, B, L].
kit::Value all_of(const MaskedTokens& x) { return stack({x.ids.to(f64), x.targets.to(f64), x.weights.to(f64)}); }

// Masks by other rules.
enum class Time { right, frac, one, apart, unwrapped };
enum class Choice { right, visible, row, shared, columns, count, fifteen };
enum class Target { right, everywhere, inverted, mask, minus_1 };
enum class Weight { right, t, one, masked_only, share };
struct Rule {
  Time time = Time::right;
  Choice choice = Choice::right;
  Target target = Target::right;
  Weight weight = Weight::right;
};
MaskedTokens masked(const Tensor& ids, int32_t mask_id, uint64_t seed, const Rule& rule) {
  Generator random(seed);
  const int64_t rows = ids.size(0), length = ids.size(1);
  const auto token = ids.data<const int32_t>();
  const double u = random.uniform();
  std::vector<double> times;
  for (int64_t b = 0; b < rows; ++b) {
    const double x = u + static_cast<double>(b) / static_cast<double>(rows), frac = x - std::floor(x);
    times.push_back(rule.time == Time::frac ? frac : rule.time == Time::one ? 1 - u : 1 - frac);
    if (rule.time == Time::unwrapped) times.back() = 1 - x;
    if (rule.time == Time::apart) times.back() = b == 0 ? 1 - u : 1 - random.uniform();
  }
  std::vector<uint8_t> mask(static_cast<size_t>(rows * length));
  std::vector<double> first;
  for (int64_t n = 0; n < rows * length; ++n) {
    const bool by_column = rule.choice == Choice::columns;
    const int64_t b = by_column ? n % rows : n / length, i = by_column ? n / rows : n % length;
    const double t = times[static_cast<size_t>(b)];
    bool hit = false;
    if (rule.choice == Choice::row || rule.choice == Choice::shared) {
      // One number for each row, or one for each position.
      const size_t at = static_cast<size_t>(rule.choice == Choice::row ? b : i);
      if (first.size() <= at) first.push_back(random.uniform());
      hit = first[at] < t;
    } else if (rule.choice == Choice::count) {
      hit = static_cast<double>(i) < std::round(t * static_cast<double>(length));
    } else {
      const double r = random.uniform();
      hit = rule.choice == Choice::visible ? r >= t : rule.choice == Choice::fifteen ? r < 0.15 : r < t;
    }
    mask[static_cast<size_t>(b * length + i)] = hit;
  }
  MaskedTokens result{ids.clone(), Tensor::full(ids.shape(), -100, i32), Tensor::zeros(ids.shape(), f64)};
  for (int64_t b = 0; b < rows; ++b) {
    const double t = times[static_cast<size_t>(b)];
    double count = 0;
    for (int64_t i = 0; i < length; ++i) count += mask[static_cast<size_t>(b * length + i)];
    for (int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<size_t>(b * length + i);
      const bool hit = mask[at] != 0;
      if (hit) result.ids.data<int32_t>()[at] = mask_id;
      int32_t target = hit ? token[at] : -100;
      if (rule.target == Target::everywhere) target = token[at];
      if (rule.target == Target::inverted) target = hit ? -100 : token[at];
      if (rule.target == Target::mask && hit) target = mask_id;
      if (rule.target == Target::minus_1 && !hit) target = -1;
      result.targets.data<int32_t>()[at] = target;
      double weight = 1 / t;
      if (rule.weight == Weight::t) weight = t;
      if (rule.weight == Weight::one) weight = 1;
      if (rule.weight == Weight::masked_only && !hit) weight = 0;
      if (rule.weight == Weight::share) weight = static_cast<double>(length) / std::max(count, 1.0);
      result.weights.data<double>()[at] = weight;
    }
  }
  return result;
}

std::vector<Mistake> mask_mistakes(const Tensor& ids, int32_t mask_id, uint64_t seed) {
  const std::vector<std::pair<std::string, Rule>> rules = {
      {"the targets hold the visible tokens too: the loss would be taken on what the model can read; -100 there",
       {.target = Target::everywhere}},
      {"the targets are inverted: the token where it is masked, -100 where it is visible",
       {.target = Target::inverted}},
      {"the target is the mask itself: it is the token that was hidden", {.target = Target::mask}},
      {"the target of a visible token is -1: cross_entropy leaves out -100, so -100 in place of -1",
       {.target = Target::minus_1}},
      {"the weight is t: it is 1/t", {.weight = Weight::t}},
      {"the weights are 1: without 1/t the loss is the bound on nothing", {.weight = Weight::one}},
      {"the weights are 0 at visible tokens: the whole row has 1/t", {.weight = Weight::masked_only}},
      {"the weight is L divided by the masks of the row: here it is 1/t", {.weight = Weight::share}},
      {"t = frac(u + b/B) can be 0, and 1/0 is infinite: t = 1 - frac(u + b/B)", {.time = Time::frac}},
      {"all rows have the time of row 0: frac(u + b/B) spreads them over (0, 1]; in whole numbers b / B would be 0",
       {.time = Time::one}},
      {"frac is missing: u + b/B may be above 1, and a time is in (0, 1]", {.time = Time::unwrapped}},
      {"each row draws a time of its own: one u for the batch, and row b has 1 - frac(u + b/B)", {.time = Time::apart}},
      {"one random number for a whole row: draw one for each token", {.choice = Choice::row}},
      {"all rows have the same random numbers: draw one for each token of each row", {.choice = Choice::shared}},
      {"masked where the number is above t: t is the share that is masked, so below t", {.choice = Choice::visible}},
      {"the numbers are drawn column after column: row after row", {.choice = Choice::columns}},
      {"always the first tokens are masked: each token has the same chance", {.choice = Choice::count}},
      {"15 in 100, whatever t is: that is BERT; here the chance is t", {.choice = Choice::fifteen}}};
  std::vector<Mistake> mistakes = {{"nothing is masked", all_of({ids, Tensor::full(ids.shape(), -100, i32),
                                                                 masked(ids, mask_id, seed, {}).weights})}};
  for (const auto& [says, rule] : rules) mistakes.push_back({says, all_of(masked(ids, mask_id, seed, rule))});
  mistakes.push_back({"0 is written where a token is masked: mask_id", all_of(masked(ids, 0, seed, {}))});
  Generator counts(seed);
  mistakes.push_back({"exactly k tokens of a row are masked: that is mask_counts; here each token has the chance t",
                      all_of(pg::mask_counts(ids, mask_id, counts))});
  return mistakes;
}

// Whether the ids, targets and weights of a row could be those of some random numbers.
bool consistent(const MaskedTokens& x, const Tensor& ids, int32_t mask_id) {
  const int64_t length = ids.size(1);
  const auto token = ids.data<const int32_t>(), seen = x.ids.data<const int32_t>();
  const auto target = x.targets.data<const int32_t>();
  const auto weight = x.weights.data<const double>();
  bool fits = true;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool visible = seen[i] == token[i] && target[i] == -100, hidden = seen[i] == mask_id && target[i] == token[i];
    fits = fits && (visible || hidden) && weight[i] >= 1 && weight[i] == weight[i / length * length];
  }
  return fits;
}

std::string described(const Tensor& x) {
  return x.defined() ? fmt::format("{} {}", x.dtype(), x.shape()) : "undefined";
}

}  // namespace

void check_mask_tokens(Grader& g, const Impl& impl) {
  struct Case {
    int64_t rows, length;
    int32_t mask_id;
    uint64_t seed;
  };
  for (const Case& one : {Case{5, 7, 11, 191}, Case{1, 9, 20, 192}, Case{3, 4, 11, 193}, Case{2, 1, 12, 194}}) {
    const uint64_t seed = one.seed;
    const Tensor ids = random_ids(one.rows, one.length, 11, seed + 10);
    const std::string input = fmt::format("ids [{}, {}], mask {}", one.rows, one.length, one.mask_id);
    const Unchanged inputs({ids});
    Generator mine(seed), engine(seed);
    const MaskedTokens want = pg::mask_tokens(ids, one.mask_id, engine), got = impl.mask_tokens(ids, one.mask_id, mine);
    if (!inputs.expect(g, input)) return;
    const auto fits = [&](const std::string& name, const Tensor& x, DType dtype) {
      return require(g, x.defined() && x.dtype() == dtype && x.shape() == ids.shape(), input + ": " + name,
                     described(x), fmt::format("{} {}", dtype, ids.shape()),
                     "three tensors of ids' shape: ids and targets i32, weights f64");
    };
    if (!fits("ids", got.ids, i32) || !fits("targets", got.targets, i32) || !fits("weights", got.weights, f64)) return;
    std::vector<Mistake> mistakes = mask_mistakes(ids, one.mask_id, seed);
    if (consistent(got, ids, one.mask_id)) {
      mistakes.push_back(
          {"three tensors that fit together, but of other random numbers: from `generator`, one for u, "
           "then one for each token, row after row",
           all_of(got)});
    }
    if (!g.equal(input + ": ids, targets, weights", all_of(got), all_of(want), {.mistakes = mistakes}) ||
        !require(g, mine.uniform() == engine.uniform(), input + ": the generator's next number", "another",
                 "that after 1 + B·L numbers", "one number for u, then one for each token, masked or not")) {
      return;
    }
  }
  const Tensor ids = random_ids(3, 4, 11, 197);
  Generator mine(198), engine(198);
  g.equal("ids [3, 4], every second element of a tensor: ids, targets, weights",
          all_of(impl.mask_tokens(kit::strided(ids), 12, mine)), all_of(pg::mask_tokens(ids, 12, engine)));
  g.note("five batches, every number as the engine draws it");
}

namespace {

// The loss by other rules.
struct LossRule {
  bool mask_logit = false, first_column = false, visible_too = false;
  double power = 1;  // of the weight
  enum { all, masked, rows, length, none, weights } divisor = all;
  double unit = 1;
};
Tensor loss_of(const Tensor& logits, const MaskedTokens& tokens, const LossRule& rule) {
  const int64_t v = logits.size(2) - 1;
  const Tensor used = rule.mask_logit     ? logits
                      : rule.first_column ? slice(logits, 2, 1, v + 1)
                                          : slice(logits, 2, 0, v);
  const Tensor hidden = ne(tokens.targets, Tensor::full(tokens.targets.shape(), -100, i32));
  const Tensor safe =
      where(hidden, tokens.targets.to(f64), where(hidden, zeros_like(tokens.ids.to(f64)), tokens.ids.to(f64))).to(i32);
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

}  // namespace

void check_denoising_loss(Grader& g, const Impl& impl) {
  struct Case {
    int64_t rows, length;
    int32_t mask_id;
    uint64_t seed;
    double mask_logit;
  };
  for (const Case& one : {Case{3, 5, 11, 201, 1}, Case{4, 7, 6, 202, 300}, Case{1, 6, 13, 208, INFINITY}}) {
    const int32_t mask_id = one.mask_id;
    const Tensor ids = random_ids(one.rows, one.length, mask_id, one.seed);
    Generator random(one.seed);
    const MaskedTokens tokens = pg::mask_tokens(ids, mask_id, random);
    const Tensor logits = random_tensor({one.rows, one.length, mask_id + 1}, one.seed + 1);
    logits.view_slice(2, mask_id, mask_id + 1).fill(one.mask_logit);
    const std::string input = fmt::format("logits [{}, {}, {}], mask {}", one.rows, one.length, mask_id + 1, mask_id);
    const auto value = [&](const LossRule& rule) { return kit::Value(loss_of(logits, tokens, rule)); };
    const std::vector<Mistake> mistakes = {
        {"the mask's logit is counted in the softmax: the mask is never predicted, only the first V logits are",
         value({.mask_logit = true})},
        {"the first logit was cut off: the mask's is the last", value({.first_column = true})},
        {"the loss is taken on visible tokens too: only masked ones have a target", value({.visible_too = true})},
        {"the weights are missing: without 1/t this estimates another number", value({.power = 0})},
        {"divided by the weights: they are 1/t already", value({.power = -1})},
        {"the weights are squared: they are 1/t already", value({.power = 2})},
        {"divided by the number of masks: all B·L positions count, the weight 1/t makes up for those not masked",
         value({.divisor = LossRule::masked})},
        {"neither weighted nor divided by B·L: a mean over the masked tokens, which is no bound",
         value({.power = 0, .divisor = LossRule::masked})},
        {"divided by the sum of the weights: divide by B·L", value({.divisor = LossRule::weights})},
        {"divided by B only: the loss is per token, so by B·L", value({.divisor = LossRule::rows})},
        {"divided by L only: the sum is over all rows, so by B·L", value({.divisor = LossRule::length})},
        {"the mean of the losses times the mean of the weights: each weight belongs to its own token, so multiply "
         "before you sum",
         kit::Value(loss_of(logits, tokens, {.power = 0}) * mean(tokens.weights).item())},
        {"this is the sum: divide by B·L", value({.divisor = LossRule::none})},
        {"in bits: nats are natural logarithms", value({.unit = 1 / std::log(2.0)})}};
    const Unchanged inputs({logits, tokens.ids, tokens.targets, tokens.weights});
    const Tensor want = loss_of(logits, tokens, {});
    const Tensor got = impl.denoising_loss(logits, tokens);
    if (!inputs.expect(g, input) ||
        !require(g, got.defined() && got.rank() == 0, input, described(got), "one number, a tensor of rank 0",
                 "the loss is one number: sum it up") ||
        !same_tensor(g, input, got, want, {.mistakes = mistakes})) {
      return;
    }
    // The engine's own: the same sum from a denoiser without the mask's logit.
    const MaskedDenoiser denoiser{mask_id, [&](const Tensor&, const Tensor&) {
                                    return reshape(slice(logits, 2, 0, mask_id), {-1, mask_id});
                                  }};
    g.equal(input + ": summed_denoising_loss / (B·L)", got,
            summed_denoising_loss(denoiser, tokens).item() / static_cast<double>(ids.numel()));
    same_gradients(
        g, input, [&](const auto& in) { return impl.denoising_loss(in[0], tokens); },
        [&](const auto& in) { return loss_of(in[0], tokens, {}); }, {{"logits", logits}});
    if (g.failed()) return;
  }
  const Tensor ids = random_ids(2, 3, 11, 204), logits = random_tensor({2, 3, 12}, 205);
  const MaskedTokens none{ids, Tensor::full({2, 3}, -100, i32), Tensor::full({2, 3}, 40, f64)};
  g.equal("a batch in which nothing is masked", impl.denoising_loss(logits, none), 0.0);
  Generator random(206);
  const MaskedTokens tokens = pg::mask_tokens(ids, 11, random);
  const MaskedTokens apart{kit::strided(tokens.ids), kit::strided(tokens.targets), kit::strided(tokens.weights)};
  same_tensor(g, "logits [2, 3, 12], every second element of tensors", impl.denoising_loss(kit::strided(logits), apart),
              loss_of(logits, tokens, {}));
  same_tensor(g, "logits [2, 3, 12] f32", impl.denoising_loss(logits.to(f32), tokens),
              loss_of(logits.to(f32), tokens, {}), {.rtol = 1e-6});
  g.note("three batches and one without masks, with gradients");
}

}  // namespace pg::lesson13
