// Actor and critic networks for environments.
#include "rl/control/actor_critic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/layers.h"

namespace pg::rl {
namespace {

Linear orthogonal_linear(int64_t in, int64_t out, double gain, Generator& generator, DType dtype) {
  Linear layer(in, out, true, Init::zeros(dtype));
  layer.weight = orthogonal(out, in, gain, generator, dtype).set_requires_grad();
  return layer;
}

std::vector<Linear> hidden_layers(int64_t in, const ActorCriticOptions& o, Generator& generator, DType dtype) {
  check(o.hidden >= 1 && o.layers >= 1, "ActorCritic: there must be a hidden layer, got {} of width {}", o.layers,
        o.hidden);
  std::vector<Linear> layers;
  for (int64_t i = 0; i < o.layers; ++i) {
    layers.push_back(orthogonal_linear(i == 0 ? in : o.hidden, o.hidden, std::sqrt(2.0), generator, dtype));
  }
  return layers;
}

Tensor hidden(const std::vector<Linear>& layers, Tensor x) {
  for (const Linear& layer : layers) x = tanh(layer(x));
  return x;
}

// Index i drawn with probability softmax(logits)[i]: the first index at which the cumulative sum exceeds u times the
// total.
int32_t sample_index(std::span<const double> logits, double u) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (double z : logits) total += std::exp(z - highest);
  double below = 0;
  for (size_t i = 0; i + 1 < logits.size(); ++i) {
    below += std::exp(logits[i] - highest);
    if (u * total < below) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(logits.size() - 1);
}

}  // namespace

ActorCritic::ActorCritic(int64_t observation_size, const ActionSpace& actions, const ActorCriticOptions& options,
                         Generator& generator, DType dtype)
    : actor(hidden_layers(observation_size, options, generator, dtype)),
      critic(options.shared ? std::vector<Linear>{} : hidden_layers(observation_size, options, generator, dtype)),
      policy_head(orthogonal_linear(options.hidden, actions.discrete() ? actions.choices : actions.size(), 0.01,
                                    generator, dtype)),
      value_head(orthogonal_linear(options.hidden, 1, 1, generator, dtype)) {
  if (!actions.discrete()) log_std = Tensor::zeros({actions.size()}, dtype).set_requires_grad();
}

Tensor ActorCritic::policy(const Tensor& observations) const { return policy_head(hidden(actor, observations)); }

Tensor ActorCritic::value(const Tensor& observations) const {
  return squeeze(value_head(hidden(critic.empty() ? actor : critic, observations)), 1);
}

ActorCritic::Evaluation ActorCritic::evaluate(const Tensor& observations, const Tensor& actions,
                                              const GaussianLogProb& density) const {
  if (!critic.empty()) return evaluation(policy(observations), actions, value(observations), density);
  const Tensor features = hidden(actor, observations);
  return evaluation(policy_head(features), actions, squeeze(value_head(features), 1), density);
}

ActorCritic::Evaluation ActorCritic::evaluation(const Tensor& policy, const Tensor& actions, const Tensor& value,
                                                const GaussianLogProb& density) const {
  const auto [log_prob, entropy] = log_std.defined()
                                       ? density(policy, log_std, actions)
                                       : token_log_prob(policy, actions.view_reshape({policy.size(0)}).to(i32));
  return {log_prob, entropy, value};
}

Tensor ActorCritic::act(const Tensor& observations, Generator* generator) const {
  NoGrad guard;
  const Tensor distribution = policy(observations);
  const bool discrete = !log_std.defined();
  if (!generator) return discrete ? argmax(distribution, -1, true).to(distribution.dtype()) : distribution;
  const std::vector<double> p = distribution.to_vector();
  std::vector<double> actions;
  if (discrete) {
    const auto choices = static_cast<size_t>(distribution.size(1));
    for (size_t row = 0; row < p.size(); row += choices) {
      actions.push_back(sample_index(std::span(p).subspan(row, choices), generator->uniform()));
    }
  } else {
    const std::vector<double> log_stds = log_std.to_vector();
    for (size_t i = 0; i < p.size(); ++i) {
      actions.push_back(p[i] + std::exp(log_stds[i % log_stds.size()]) * generator->normal());
    }
  }
  return Tensor::from(actions, {distribution.size(0), discrete ? 1 : distribution.size(1)}).to(distribution.dtype());
}

void ActorCritic::visit(Visitor& visitor) {
  for (size_t i = 0; i < actor.size(); ++i) visitor(fmt::format("actor.{}", i), actor[i]);
  for (size_t i = 0; i < critic.size(); ++i) visitor(fmt::format("critic.{}", i), critic[i]);
  visitor("policy_head", policy_head);
  visitor("value_head", value_head);
  visitor("log_std", log_std);
}

std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  check(mean.rank() == 2 && actions.shape() == mean.shape() && log_std.shape() == Shape({mean.size(1)}),
        "gaussian_log_prob: expected mean and actions [N, k] and log_std [k], got {}, {} and {}", mean.shape(),
        actions.shape(), log_std.shape());
  const double log_tau = std::log(2 * std::numbers::pi), k = static_cast<double>(mean.size(1));
  const Tensor z = (actions - mean) * exp(neg(log_std));
  const Tensor log_volume = sum(log_std);
  const Tensor log_prob = sum(z * z, {1}) * -0.5 - (log_volume + k / 2 * log_tau);
  return {log_prob, expand(log_volume + k / 2 * (log_tau + 1), {mean.size(0)})};
}

}  // namespace pg::rl
