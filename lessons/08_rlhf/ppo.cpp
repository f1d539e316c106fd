// Stage 3, PPO with four models: the engine's own loop (RlTrainer::step in rl/text/trainer.cpp, one page), in which two
// functions are the lesson's.
#include <algorithm>

#include "lessons/08_rlhf/stages.h"
#include "rl/text/trainer.h"

namespace pg::lesson08 {
namespace {

double mean_of(const std::vector<Response>& responses, double (*number)(const Response&)) {
  double sum = 0;
  for (const Response& r : responses) sum += number(r);
  return sum / static_cast<double>(responses.size());
}

// Calls f for each row of the tensors [B, T], as a response whose tokens are the T positions, and returns its rewards.
template <class F>
Tensor row_by_row(const Tensor& mask, F f) {
  const auto columns = static_cast<size_t>(mask.size(1));
  const auto chosen = mask.data<const uint8_t>();
  std::vector<double> rewards;
  for (size_t begin = 0; begin < chosen.size(); begin += columns) {
    ScoredResponse r;
    r.tokens.resize(columns);
    r.action_mask.assign(chosen.begin() + static_cast<int64_t>(begin),
                         chosen.begin() + static_cast<int64_t>(begin + columns));
    f(r, begin);
    rewards.insert(rewards.end(), r.rewards.begin(), r.rewards.end());
  }
  return Tensor::from(rewards, mask.shape());
}

// The algorithm PPO with the lesson's functions: the reward model's score goes to the last token, and each token pays
// for its KL.
rl::Algorithm ppo(const Impl& impl, double beta) {
  rl::Algorithm a = rl::algorithm("ppo");
  a.epochs = 2;
  a.kl_control.beta = beta;
  a.place_reward = [&impl](const Tensor& score, const Tensor& mask) {
    return row_by_row(mask, [&](ScoredResponse& r, size_t begin) {
      r.score.reward = score.data<const double>()[begin / static_cast<size_t>(mask.size(1))];
      impl.set_rewards(r);
    });
  };
  a.kl.subtract = [&impl](const Tensor& reward, const rl::KlInputs& in, double weight) {
    return row_by_row(in.mask, [&](ScoredResponse& r, size_t begin) {
      const auto part = [&](const Tensor& x) {
        const auto all = x.data<const double>().subspan(begin, r.tokens.size());
        return std::vector<double>(all.begin(), all.end());
      };
      r.rewards = part(reward);
      r.old_log_probs = part(in.log_prob);
      r.ref_log_probs = part(in.ref_log_prob);
      impl.subtract_kl(r, weight);
    });
  };
  return a;
}

}  // namespace

Curve improve(const Impl& impl, Transformer& policy, const TextTask& task, const rl::Judge& judge,
              const PpoOptions& o) {
  rl::RlConfig config;
  config.algorithm = ppo(impl, o.beta);
  config.batch = {.prompts = o.batch, .samples = 1};
  config.schedule.lr = o.lr;
  config.critic_lr = 3e-3;
  config.adamw = {0.9, 0.95, 1e-8, 0};
  config.seed = o.seed;
  Curve curve;
  rl::RlHooks hooks;
  hooks.on_samples = [&](int64_t, const rl::Experience& experience, const rl::Batch& batch) {
    curve.proxy.push_back(mean_of(experience.responses, [](const Response& r) { return r.score.reward; }));
    curve.human.push_back(mean_of(experience.responses, [](const Response& r) { return r.score.parts[1].second; }));
    const Tensor kl = batch.old_log_prob - batch.ref_log_prob;  // 0 where the policy sampled nothing
    curve.kl.push_back(sum(kl).item() / static_cast<double>(batch.size()));
  };
  // Policy, reference, reward model (the judge) and critic. The trainer copies the policy as the frozen reference, and
  // makes a critic whose head starts at 0.
  rl::RlTrainer trainer(policy, task, config, judge);
  while (trainer.steps() < o.steps) trainer.step(hooks);
  return curve;
}

}  // namespace pg::lesson08
