// The PPO loop of the demonstration, which calls the learner's functions.
#include "lessons/07_ppo/ppo.h"

#include <cmath>
#include <numeric>

#include "rl/value_loss.h"
#include "tensor/base/random_stream.h"

namespace pg::lesson07 {
namespace {

enum Stream : uint64_t { weight_stream = uint64_t{1} << 32, action_stream, order_stream };

rl::ActorCritic first_model(const Recipe& r, const rl::VectorEnv& envs) {
  Generator weights = random_stream(r.seed, weight_stream);
  return rl::ActorCritic(envs.observation_size(), envs.environment().action_space(), {r.hidden, r.layers, r.shared},
                         weights);
}

template <class Numbers>
Tensor tensor(const Numbers& x, const Shape& shape) {
  return Tensor::from(std::vector<double>(x.begin(), x.end()), shape).to(f32);
}

Tensor permutation(int64_t n, Generator& g) {
  Tensor order = Tensor::arange(n, i32);
  const auto ids = order.data<int32_t>();
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(ids[static_cast<size_t>(i)], ids[static_cast<size_t>(g.integer(i + 1))]);
  return order;
}

}  // namespace

double Curve::mean() const {
  return std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
}

Ppo::Ppo(const Impl& impl, const Recipe& r)
    : impl_(impl),
      recipe_(r),
      actions_(random_stream(r.seed, action_stream)),
      order_(random_stream(r.seed, order_stream)),
      envs_([name = r.environment] { return make_environment(name); }, r.environments,
            {r.normalize_observations, r.normalize_rewards, r.gamma}, r.seed),
      model_(first_model(r, envs_)),
      slab_(model_),
      optimizer_(slab_, {.eps = r.adam_eps, .weight_decay = 0}) {}

Ppo::Evaluation Ppo::evaluate(const Tensor& seen, const Tensor& actions) const {
  const Tensor out = model_.policy(seen);  // logits, or means
  const auto [log_prob, entropy] = model_.log_std.defined() ? impl_.gaussian_log_prob(out, model_.log_std, actions)
                                                            : token_log_prob(out, squeeze(actions, 1).to(i32));
  return {log_prob, entropy, model_.value(seen)};
}

Rollout Ppo::rollout() {
  NoGrad guard;
  const int64_t b = recipe_.environments, d = envs_.observation_size(), k = envs_.environment().action_space().size();
  std::vector<Tensor> seen, actions, rewards, terminated, truncated, final_values;
  for (int64_t t = 0; t < recipe_.rollout_steps; ++t) {
    seen.push_back(tensor(envs_.observations(), {b, d}));
    actions.push_back(model_.act(seen.back(), &actions_));
    const rl::VectorEnv::Step step = envs_.step(actions.back().to_vector());
    rewards.push_back(tensor(step.rewards, {b}));
    terminated.push_back(tensor(step.terminated, {b}));
    truncated.push_back(tensor(step.truncated, {b}));
    final_values.push_back(Tensor::zeros({b}));
    for (size_t i = 0; i < step.truncated.size(); ++i) {
      if (!step.truncated[i]) continue;  // value after the cut: V of the final observation
      final_values.back().data<float>()[i] =
          static_cast<float>(model_.value(tensor(step.final_observations[i], {1, d})).item());
    }
  }
  const int64_t n = b * recipe_.rollout_steps;
  const auto steps = [&](const std::vector<Tensor>& x) { return stack(x, 1); };  // [B, T, ...]
  Rollout r;
  r.seen = steps(seen).view_reshape({n, d});
  r.actions = steps(actions).view_reshape({n, k});
  const Evaluation acted = evaluate(r.seen, r.actions);
  r.log_prob = acted.log_prob;
  r.values = acted.value;
  rl::GaeOptions options{.gamma = recipe_.gamma, .lambda = recipe_.lambda};
  const Tensor ended = steps(terminated), cut = steps(truncated);
  options.terminated = (recipe_.truncation_ends ? maximum(ended, cut) : ended).to(u8);
  options.truncated = cut.to(u8);
  options.final_values = steps(final_values);
  const Gae estimate = impl_.gae(steps(rewards), r.values.view_reshape(ended.shape()),
                                 model_.value(tensor(envs_.observations(), {b, d})), options);
  r.advantages = estimate.advantages.view_reshape({n});
  r.returns = estimate.returns.view_reshape({n});
  return r;
}

Diagnostics Ppo::update(const Rollout& data) {
  const int64_t n = data.values.size(0), size = n / recipe_.minibatches;
  const double left = 1 - static_cast<double>(steps_) / static_cast<double>(recipe_.total_steps);
  const double lr = recipe_.lr * (recipe_.anneal_lr ? left : 1),
               updates = static_cast<double>(recipe_.epochs * n / size);
  Diagnostics result{.explained = rl::explained_variance(data.values, data.returns)};
  for (int64_t epoch = 0; epoch < recipe_.epochs; ++epoch) {
    const Tensor order = permutation(n, order_);
    for (int64_t begin = 0; begin < n; begin += size) {
      const Tensor rows = order.view_slice(0, begin, begin + size);
      const auto part = [&](const Tensor& x) { return index_select(x, 0, rows); };
      const Evaluation now = evaluate(part(data.seen), part(data.actions));
      const Tensor ratio = unsqueeze(exp(now.log_prob - part(data.log_prob)), 1);  // [size, 1]
      const Tensor advantage = rl::whiten(unsqueeze(part(data.advantages), 1));
      const Tensor actor = mean(impl_.clip_loss(ratio, advantage, recipe_.clip, recipe_.clip));
      const Tensor critic =
          mean(impl_.value_loss(now.value, part(data.returns), part(data.values), recipe_.value_clip, {}));
      const Tensor entropy = mean(now.entropy);

      slab_.zero_grad();
      backward(actor + recipe_.value_coef * critic - recipe_.entropy_coef * entropy);
      optimizer_.step(lr, clip_scale(grad_norm(slab_), recipe_.max_grad_norm));

      result.entropy += entropy.item() / updates;
      for (double x : ratio.to_vector()) {
        if (epoch == 0 && begin == 0) result.first_ratio_error = std::max(result.first_ratio_error, std::abs(x - 1));
        if (std::abs(x - 1) > recipe_.clip) result.clipped += 1 / (updates * static_cast<double>(size));
      }
    }
  }
  return result;
}

Curve Ppo::train() {
  Curve curve;
  const int64_t batch = recipe_.environments * recipe_.rollout_steps;
  const double updates = static_cast<double>(recipe_.total_steps / batch);
  while (steps_ + batch <= recipe_.total_steps) {
    const Diagnostics d = update(rollout());
    steps_ += batch;
    worst_first_ratio_ = std::max(worst_first_ratio_, d.first_ratio_error);
    clipped_ += d.clipped / updates;
    curve.steps.push_back(static_cast<double>(steps_));
    curve.returns.push_back(envs_.episodes() > 0 ? envs_.mean_return() : 0);
    curve.entropy.push_back(d.entropy);
    curve.explained.push_back(d.explained);
  }
  return curve;
}

}  // namespace pg::lesson07
