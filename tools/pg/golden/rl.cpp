// The golden operations for reinforcement learning.
#include <fmt/ranges.h>

#include "rl/algorithm.h"
#include "rl/kl.h"
#include "rl/preference_loss.h"
#include "rl/shaping.h"
#include "rl/value_loss.h"
#include "tools/pg/golden/ops.h"

namespace pg::tools {
namespace {

using Inputs = GoldenOp::Inputs;
using Attributes = GoldenAttributes;

// The entry of `choices` named by the attribute.
template <class T>
T choice(const Attributes& a, const char* name, const std::map<std::string, T>& choices) {
  const auto found = choices.find(a.word(name));
  if (found != choices.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [word, value] : choices) known.push_back(word);
  fail("{}: expected one of {}, got {}", name, fmt::join(known, ", "), a.word(name));
}

Tensor aggregated(const Tensor& loss, const Tensor& mask, const Attributes& a) {
  const Choice<rl::Aggregation> how = a.word("aggregation");
  return how.aggregate(loss, mask, rl::denominators(mask, a.number("max_length", 0)));
}

// log_prob, old_log_prob, advantage, mask → loss per token.
Tensor loss_of_tokens(const Inputs& in, const Attributes& attributes) {
  rl::Algorithm a;
  a.ratio = attributes.word("ratio");
  a.surrogate = attributes.word("surrogate");
  a.clip_low = attributes.number("low", a.clip_low);
  a.clip_high = attributes.number("high", a.clip_high);
  a.dual_clip = attributes.number("c", a.dual_clip);
  const Tensor advantage = expand(in[2], in[0].shape());
  const Tensor ratio = a.ratio.compute ? a.ratio.compute(in[0], in[1], in[3]) : Tensor{};
  return a.surrogate.loss({in[0], in[1], ratio, advantage, in[3]}, a);
}

Inputs policy_loss(const Inputs& in, const Attributes& a) { return {aggregated(loss_of_tokens(in, a), in[3], a)}; }

// log_prob, old_log_prob, advantage, mask, ref_log_prob, [sampler_log_prob] → scalar.
Inputs loss_with_kl(const Inputs& in, const Attributes& a) {
  const Tensor &log_prob = in[0], &old = in[1], &mask = in[3], &ref = in[4];
  Tensor of_tokens = loss_of_tokens(in, a);
  if (in.size() > 5) of_tokens = of_tokens * rl::truncated_weight(old, in[5], a.number("cap"), mask);
  const Tensor kl = Choice<rl::KlEstimator>(a.word("estimator")).estimate({log_prob, ref, old, {}, mask});
  return {aggregated(of_tokens, mask, a) + a.number("beta") * aggregated(kl, mask, a)};
}

void add_losses(GoldenTable& t) {
  t["rl.policy_loss"] = {4, 4, {"ratio", "surrogate", "low", "high", "c", "aggregation", "max_length"}, policy_loss};
  t["rl.loss"] = {5,
                  6,
                  {"ratio", "surrogate", "low", "high", "c", "aggregation", "max_length", "estimator", "beta", "cap"},
                  loss_with_kl};
  t["rl.truncated_weight"] = {
      2, 3, {"cap"}, [](const Inputs& in, const Attributes& a) {
        return Inputs{rl::truncated_weight(in[0], in[1], a.number("cap"), input_or_none(in, 2))};
      }};
  t["rl.aggregate"] = {2, 2, {"aggregation", "max_length"}, [](const Inputs& in, const Attributes& a) {
                         return Inputs{aggregated(in[0], in[1], a)};
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
