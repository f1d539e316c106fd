// The golden operations for reinforcement learning.
#include <algorithm>

#include "rl/methods/algorithm.h"
#include "rl/methods/kl.h"
#include "rl/methods/kl_control.h"
#include "rl/methods/other_losses.h"
#include "tools/pg/golden/ops.h"

namespace pg::tools {
namespace {

using Inputs = GoldenOp::Inputs;
using Attributes = GoldenAttributes;

// ---- the fields of an algorithm as attributes: by name, with '_' in place of '-'

// Shorter names of fields.
constexpr std::pair<const char*, const char*> kShortNames[] = {{"low", "clip-low"},
                                                               {"high", "clip-high"},
                                                               {"c", "dual-clip"},
                                                               {"cap", "weight-cap"},
                                                               {"estimator", "kl-estimator"}};

std::string attribute_of(std::string field) {
  std::replace(field.begin(), field.end(), '-', '_');
  return field;
}

// The names of all these attributes, and `others`.
std::vector<std::string> with_fields(std::vector<std::string> others = {}) {
  rl::Algorithm a;
  for (const Field& field : rl::fields(a)) others.push_back(attribute_of(field.name));
  for (const auto& [name, field] : kShortNames) others.emplace_back(name);
  return others;
}

// The algorithm that the attributes describe. A field without an attribute has its default. Numbers may be outside the
// ranges of options, which leave out what is useless in training: the functions check what they need.
rl::Algorithm algorithm_of(const Attributes& attributes) {
  rl::Algorithm a;
  std::vector<Field> fields = rl::fields(a);
  for (Field& field : fields) field.range = kAnyNumber;
  for (const Field& field : fields) {
    if (const std::string name = attribute_of(field.name); attributes.has(name)) field.set(attributes.text(name));
  }
  for (const auto& [name, field] : kShortNames) {
    if (!attributes.has(name)) continue;
    check(!attributes.has(attribute_of(field)), "golden: '{}' and '{}' are one field", name, attribute_of(field));
    find_field(fields, "golden", field).set(attributes.text(name));
  }
  return a;
}

// ---- losses

Tensor aggregated(const Tensor& loss, const Tensor& mask, const rl::Aggregation& how, const Attributes& a) {
  return how.aggregate(loss, mask, rl::denominators(mask, a.number("max_length", 0)));
}

// What the update gets. The selection of tokens is made at log_prob, as verl makes it. Without sampler_log_prob the
// sampler is the policy before the update.
rl::Batch batch_of(const rl::Algorithm& a, const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& advantage,
                   const Tensor& mask, const Tensor& sampler_log_prob, const Tensor& entropy) {
  rl::Batch batch;
  batch.mask = mask;
  batch.advantage = contiguous(expand(advantage, log_prob.shape()));
  batch.sampler_log_prob = sampler_log_prob.defined() ? sampler_log_prob : old_log_prob;
  batch.entropy = entropy;
  if (a.tokens.select) {
    check(entropy.defined() || !a.tokens.needs_entropy, "golden: tokens {} needs the entropy as an input",
          a.tokens.name);
    Generator generator(0);
    batch.old_log_prob = log_prob.detach();
    batch.selected = a.tokens.select(batch, a, generator);
  }
  batch.old_log_prob = old_log_prob;
  return batch;
}

Tensor loss_of_tokens(const rl::Algorithm& a, const Tensor& log_prob, const rl::Batch& batch) {
  check(a.ratio.compute || !a.surrogate.needs_ratio, "golden: surrogate {} needs a ratio", a.surrogate.name);
  return rl::token_losses(a, log_prob, batch);
}

// log_prob, old_log_prob, advantage, mask, [entropy] → scalar.
Inputs policy_loss(const Inputs& in, const Attributes& attributes) {
  const rl::Algorithm a = algorithm_of(attributes);
  const rl::Batch batch = batch_of(a, in[0], in[1], in[2], in[3], {}, input_or_none(in, 4));
  return {aggregated(loss_of_tokens(a, in[0], batch), in[3], a.aggregation, attributes)};
}

// log_prob, old_log_prob, advantage, mask, ref_log_prob, [sampler_log_prob] → scalar.
Inputs loss_with_kl(const Inputs& in, const Attributes& attributes) {
  const Tensor &log_prob = in[0], &old = in[1], &mask = in[3], &ref = in[4];
  const rl::Algorithm a = algorithm_of(attributes);
  const rl::Batch batch = batch_of(a, log_prob, old, in[2], mask, input_or_none(in, 5), {});
  const Tensor kl = a.kl_estimator.estimate({log_prob, ref, old, {}, mask});
  return {aggregated(loss_of_tokens(a, log_prob, batch), mask, a.aggregation, attributes) +
          a.kl_control.beta * aggregated(kl, mask, a.aggregation, attributes)};
}

// old_log_prob, sampler_log_prob, [mask] → [B, T], 0 where masked.
Inputs weight(const Inputs& in, const Attributes& attributes) {
  const rl::Algorithm a = algorithm_of(attributes);
  check(bool(a.weight.compute), "rl.weight: weight {} has no weights", a.weight.name);
  const Tensor mask = input_or_none(in, 2);
  const Tensor result = contiguous(expand(a.weight.compute(in[0], in[1], mask, a), in[0].shape()));
  return {mask.defined() ? result * mask.to(result.dtype()) : result};
}

// log_prob, advantage, entropy, mask → u8 [B, T].
Inputs tokens(const Inputs& in, const Attributes& attributes) {
  const rl::Algorithm a = algorithm_of(attributes);
  check(bool(a.tokens.select), "rl.tokens: tokens {} selects none", a.tokens.name);
  return {batch_of(a, in[0], in[0], in[1], in[3], {}, in[2]).selected};
}

// The parts of the reward, each [N, G] and named "0", "1", … → [N, G].
Inputs advantage(const Inputs& in, const Attributes& attributes) {
  const rl::Algorithm a = algorithm_of(attributes);
  check(!a.baseline.needs.greedy && !a.baseline.needs.critic,
        "rl.advantage: baseline {} needs more than rewards; rl.remax and rl.gae have its inputs", a.baseline.name);
  const Shape shape = in[0].shape();
  check(shape.rank() == 2, "rl.advantage: expected rewards [N, G], got {}", shape);
  const int64_t responses = in[0].numel();
  rl::Batch batch;
  batch.samples = shape[1];
  batch.prompts.assign(static_cast<size_t>(responses), 1);
  batch.lengths = batch.prompts;
  batch.mask = Tensor::ones({responses, 1}, u8);
  for (const Tensor& part : in) {
    check(part.shape() == shape, "rl.advantage: every part of the reward must be {}, got {}", shape, part.shape());
    batch.part_names.push_back(std::to_string(batch.parts.size()));
    batch.parts.push_back(part.contiguous_copy().view_reshape({responses, 1}));
  }
  const std::vector<double> weights = rl::part_weights(a, batch.part_names);
  batch.reward = Tensor::zeros({responses, 1}, in[0].dtype());
  for (size_t k = 0; k < weights.size(); ++k) batch.reward = batch.reward + batch.parts[k] * weights[k];
  rl::MovingBaseline moving(a.baseline_decay);
  return {rl::advantages(a, batch, moving).view_reshape(shape)};
}

void add_losses(GoldenTable& t) {
  t["rl.policy_loss"] = {4, 5, with_fields({"max_length"}), policy_loss};
  t["rl.loss"] = {5, 6, with_fields({"max_length"}), loss_with_kl};
  t["rl.weight"] = {2, 3, with_fields(), weight};
  t["rl.tokens"] = {4, 4, with_fields(), tokens};
  t["rl.truncated_weight"] = {
      2, 3, {"cap"}, [](const Inputs& in, const Attributes& a) {
        return Inputs{rl::truncated_weight(in[0], in[1], a.number("cap"), input_or_none(in, 2))};
      }};
  t["rl.aggregate"] = {2, 2, {"aggregation", "max_length"}, [](const Inputs& in, const Attributes& a) {
                         const Choice<rl::Aggregation> how = a.word("aggregation");
                         return Inputs{aggregated(in[0], in[1], how, a)};
                       }};
  t["rl.value_loss"] = {4, 4, {"clip"}, [](const Inputs& in, const Attributes& a) {
                          const Tensor loss = rl::value_loss(in[0], in[1], in[2], a.number("clip"), in[3]);
                          return Inputs{rl::token_mean(loss, in[3], rl::denominators(in[3]))};
                        }};
  t["rl.bradley_terry"] = {
      2, 3, {"centring"}, [](const Inputs& in, const Attributes& a) {
        return Inputs{rl::bradley_terry_loss(in[0], in[1], input_or_none(in, 2), a.number("centring", 0))};
      }};
  t["rl.dpo"] = {4, 4, {"kind", "beta", "label_smoothing"}, [](const Inputs& in, const Attributes& a) {
                   rl::DpoOptions options{.beta = a.number("beta"), .label_smoothing = a.number("label_smoothing", 0)};
                   find_field(rl::fields(options), "rl.dpo", "kind").set(a.word("kind"));
                   return Inputs{rl::dpo_loss(in[0], in[1], in[2], in[3], options).loss};
                 }};
}

void add_kl(GoldenTable& t) {
  using Estimator = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
  constexpr std::pair<const char*, Estimator> estimators[] = {{"rl.k1", rl::k1}, {"rl.k2", rl::k2}, {"rl.k3", rl::k3}};
  for (const auto& [name, f] : estimators)
    t[name] = {2, 3, {}, [f = f](const Inputs& in, const Attributes&) {
                 return Inputs{f(in[0], in[1], input_or_none(in, 2))};
               }};
  t["rl.weighted_k3"] = {3, 4, {}, [](const Inputs& in, const Attributes&) {
                           return Inputs{rl::weighted_k3(in[0], in[1], in[2], input_or_none(in, 3))};
                         }};
  t["rl.full_kl"] = {2, 2, {}, [](const Inputs& in, const Attributes&) { return Inputs{rl::full_kl(in[0], in[1])}; }};
}

// The KL of every update → beta after that update.
Inputs kl_control(const Inputs& in, const Attributes& a) {
  rl::KlControl control({a.word("schedule"), a.number("beta"), a.number("warmup_tokens", 0), a.number("target", 6),
                         a.number("horizon", 10000)});
  std::vector<double> betas;
  for (const double kl : in[0].to_vector()) {
    control.update(kl, a.number("responses", 1), a.number("tokens", 0));
    betas.push_back(control.beta());
  }
  return {Tensor::from(betas, in[0].shape()).to(in[0].dtype())};
}

// Lengths → rewards.
Inputs overlong_penalty(const Inputs& in, const Attributes& a) {
  std::vector<double> rewards;
  for (const double length : in[0].to_vector()) {
    rewards.push_back(rl::overlong_penalty(static_cast<int64_t>(length), a.integer("max_length"), a.integer("cache")));
  }
  return {Tensor::from(rewards, in[0].shape())};
}

void add_shaping(GoldenTable& t) {
  t["rl.kl_control"] = {
      1, 1, {"schedule", "beta", "target", "horizon", "warmup_tokens", "responses", "tokens"}, kl_control};
  t["rl.overlong_penalty"] = {1, 1, {"max_length", "cache"}, overlong_penalty};
}

void add_advantages(GoldenTable& t) {
  t["rl.advantage"] = {1, 8, with_fields(), advantage};
  using OfRewards = Tensor (*)(const Tensor&, const Tensor&);
  constexpr std::pair<const char*, OfRewards> of_rewards[] = {{"rl.group_mean", rl::group_mean_advantage},
                                                              {"rl.rloo", rl::leave_one_out_advantage},
                                                              {"rl.maxrl", rl::maxrl_advantage},
                                                              {"rl.gpg", rl::gpg_advantage}};
  for (const auto& [name, f] : of_rewards)
    t[name] = {
        1, 2, {}, [f = f](const Inputs& in, const Attributes&) { return Inputs{f(in[0], input_or_none(in, 1))}; }};
  using Standardised = Tensor (*)(const Tensor&, double, int, const Tensor&);
  constexpr std::pair<const char*, Standardised> standardised[] = {{"rl.group_std", rl::group_std_advantage},
                                                                   {"rl.batch_std", rl::batch_std_advantage}};
  for (const auto& [name, f] : standardised)
    t[name] = {1, 2, {"eps", "ddof"}, [f = f](const Inputs& in, const Attributes& a) {
                 return Inputs{f(in[0], a.number("eps"), static_cast<int>(a.integer("ddof")), input_or_none(in, 1))};
               }};
  t["rl.opo"] = {2, 3, {}, [](const Inputs& in, const Attributes&) {
                   return Inputs{rl::opo_advantage(in[0], in[1], input_or_none(in, 2))};
                 }};
  t["rl.remax"] = {2, 3, {}, [](const Inputs& in, const Attributes&) {
                     return Inputs{rl::remax_advantage(in[0], in[1], input_or_none(in, 2))};
                   }};
  t["rl.return_to_go"] = {1, 2, {"gamma"}, [](const Inputs& in, const Attributes& a) {
                            return Inputs{rl::return_to_go(in[0], a.number("gamma"), input_or_none(in, 1))};
                          }};
  t["rl.whiten"] = {1, 2, {"ddof", "shift_mean", "eps"}, [](const Inputs& in, const Attributes& a) {
                      return Inputs{rl::whiten(in[0], input_or_none(in, 1), static_cast<int>(a.integer("ddof")),
                                               a.flag("shift_mean"), a.number("eps"))};
                    }};
  t["rl.gae"] = {3, 7, {"gamma", "lambda"}, [](const Inputs& in, const Attributes& a) {
                   const rl::GaeOptions options{a.number("gamma"),    a.number("lambda"),   input_or_none(in, 3),
                                                input_or_none(in, 4), input_or_none(in, 5), input_or_none(in, 6)};
                   const rl::Gae g = rl::gae(in[0], in[1], in[2], options);
                   return Inputs{g.advantages, g.returns};
                 }};
}

}  // namespace

void add_rl(GoldenTable& t) {
  add_losses(t);
  add_kl(t);
  add_shaping(t);
  add_advantages(t);
}

}  // namespace pg::tools
