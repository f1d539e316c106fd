// PPO in environments: rollout, GAE, minibatch updates.
#include "rl/control/trainer.h"

#include <cmath>
#include <numeric>
#include <span>

#include "nn/optim.h"
#include "nn/train/schedule.h"
#include "rl/methods/kl.h"
#include "rl/methods/statistics.h"
#include "tensor/base/clock.h"
#include "tensor/base/random.h"

namespace pg::rl {
namespace {

// Random streams of EnvTrainConfig::seed; the environments use the streams 0, 1, …
enum Stream : uint64_t { weight_stream = uint64_t{1} << 32, action_stream, minibatch_stream };

const EnvTrainConfig& checked(const EnvTrainConfig& config) {
  check_config(config);
  return config;
}

ActorCritic first_model(const EnvTrainConfig& c, const VectorEnv& envs) {
  Generator weights = random_stream(c.seed, weight_stream);
  return ActorCritic(envs.observation_size(), envs.environment().action_space(), {c.hidden, c.layers, c.shared},
                     weights);
}

// Collects rows of `columns` values step by step and returns them as a tensor [B, T, columns]: the steps of one
// environment are contiguous.
class Steps {
 public:
  Steps(int64_t environments, int64_t steps, int64_t columns)
      : environments_(environments), steps_(steps), columns_(columns) {
    values_.resize(static_cast<size_t>(environments * steps * columns));
  }
  // Stores the values of all environments at step t, which are concatenated in `values`.
  template <class Values>
  void set(int64_t t, const Values& values) {
    for (int64_t b = 0; b < environments_; ++b) {
      for (int64_t c = 0; c < columns_; ++c) {
        values_[static_cast<size_t>((b * steps_ + t) * columns_ + c)] =
            static_cast<double>(values[static_cast<size_t>(b * columns_ + c)]);
      }
    }
  }
  Tensor tensor(DType dtype, bool with_columns) const {
    const Tensor x = Tensor::from(values_, {environments_, steps_, columns_}).to(dtype);
    return with_columns ? x : x.view_reshape({environments_, steps_});
  }

 private:
  int64_t environments_, steps_, columns_;
  std::vector<double> values_;
};

Tensor rows_of(const std::vector<double>& values, int64_t columns) {
  return Tensor::from(values, {static_cast<int64_t>(values.size()) / columns, columns}).to(f32);
}

Tensor permutation(int64_t n, Generator& g) {
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, g);
  return Tensor::from(order, {n});
}

// N steps of a rollout.
struct Samples {
  Tensor observations, actions;  // [N, D], [N, k]
  Tensor log_prob, values;       // [N], of the policy that acted
  Tensor advantages, returns;    // [N, 1], [N]
  int64_t size() const { return log_prob.numel(); }
  Samples part(int64_t begin, int64_t end) const {
    const auto of = [&](const Tensor& x) { return x.view_slice(0, begin, end); };
    return {of(observations), of(actions), of(log_prob), of(values), of(advantages), of(returns)};
  }
};

// Computes the gradient of a micro-batch. `share` is its part of the mini-batch: the losses of all micro-batches add up
// to the means over the mini-batch. Returns what a report needs: policy loss, value loss, entropy, the number of
// clipped values, and then (from kFirstRatio on) all ratios.
constexpr size_t kFirstRatio = 4;
std::vector<double> backward_of(const Samples& s, double share, const ActorCritic& model, const EnvFunctions& functions,
                                const EnvTrainConfig& c) {
  const auto now = model.evaluate(s.observations, s.actions, functions.gaussian_log_prob);
  const auto term = [&](const Tensor& of_steps) { return share * mean(of_steps); };
  // The losses take [B, T]: here [N, 1], one column of N steps.
  const Tensor log_prob = unsqueeze(now.log_prob, 1), ratio = token_ratio(log_prob, unsqueeze(s.log_prob, 1));
  const Tensor policy =
      term(c.clip_low > 0 || c.clip_high > 0 ? functions.clip_loss(ratio, s.advantages, c.clip_low, c.clip_high)
                                             : log_prob_loss(log_prob, s.advantages));
  const Tensor value = term(functions.value_loss(now.value, s.returns, s.values, c.value_clip, {}));
  const Tensor entropy = term(now.entropy);
  backward(policy + c.value_coef * value - c.entropy_coef * entropy);

  std::vector<double> numbers = ratio.detach().to_vector();
  numbers.insert(numbers.begin(), {policy.item(), value.item(), entropy.item(),
                                   clipped_values(now.value.detach(), s.returns, s.values, c.value_clip)});
  return numbers;
}

}  // namespace

EnvTrainer::EnvTrainer(const EnvTrainConfig& config, EnvFunctions functions, Comm* comm)
    : EnvTrainer(
          config, [name = config.environment] { return make_environment(name); }, std::move(functions), comm) {}

EnvTrainer::EnvTrainer(const EnvTrainConfig& config, const MakeEnvironment& make, EnvFunctions functions, Comm* comm)
    : config_(checked(config)),
      functions_(std::move(functions)),
      make_(make),
      one_rank_(comm ? nullptr : single_rank()),
      comm_(comm ? *comm : *one_rank_),
      actions_(random_stream(config.seed, action_stream)),
      minibatches_(random_stream(config.seed, minibatch_stream)),
      envs_(make, config.environments, {config.normalize_observations, config.normalize_rewards, config.gamma},
            config.seed, &comm_),
      model_(first_model(config, envs_)),
      slab_(model_),
      gradient_({&slab_}, comm_),
      optimizer_(slab_, {.eps = config.adam_eps, .weight_decay = 0}) {}

EnvReport EnvTrainer::step() {
  check(!done(), "EnvTrainer: all {} steps are done", config_.total_steps);
  const Timer timer;
  EnvReport report = update(rollout());
  steps_ += batch_size();
  report.steps = steps_;
  report.episodes = envs_.episodes();
  report.episode_return = envs_.mean_return();
  report.episode_length = envs_.mean_length();
  report.steps_per_second = static_cast<double>(batch_size()) / timer.seconds();
  return report;
}

double EnvTrainer::learning_rate() const {
  const Schedule schedule{.kind = config_.anneal_lr ? Schedule::Kind::linear : Schedule::Kind::constant,
                          .lr = config_.lr,
                          .min_lr = 0,
                          .decay_steps = config_.total_steps / batch_size()};
  return schedule.at(steps_ / batch_size());
}

EnvRollout EnvTrainer::rollout() {
  NoGrad guard;
  const int64_t b = config_.environments, t_end = config_.rollout_steps, d = envs_.observation_size();
  const ActionSpace& space = envs_.environment().action_space();
  Steps observations(b, t_end, d), actions(b, t_end, space.size()), rewards(b, t_end, 1), terminated(b, t_end, 1),
      truncated(b, t_end, 1);
  std::vector<double> final_observations;  // last observations of the truncated episodes
  std::vector<int64_t> final_indices;      // index b·T + t of the last step of each truncated episode
  for (int64_t t = 0; t < t_end; ++t) {
    observations.set(t, envs_.observations());
    const std::vector<double> action = model_.act(rows_of(envs_.observations(), d), &actions_).to_vector();
    const VectorEnv::Step step = envs_.step(action);
    actions.set(t, action);
    rewards.set(t, step.rewards);
    terminated.set(t, step.terminated);
    truncated.set(t, step.truncated);
    for (int64_t i = 0; i < b; ++i) {
      const auto& last = step.final_observations[static_cast<size_t>(i)];
      if (!step.truncated[static_cast<size_t>(i)]) continue;
      final_observations.insert(final_observations.end(), last.begin(), last.end());
      final_indices.push_back(i * t_end + t);
    }
  }

  EnvRollout r;
  r.observations = observations.tensor(f32, true);
  r.actions = actions.tensor(f32, true);
  r.rewards = rewards.tensor(f32, false);
  r.terminated = terminated.tensor(u8, false);
  r.truncated = truncated.tensor(u8, false);
  // Log-probabilities and values of all steps in one pass: the bits of a row do not depend on its batch.
  const int64_t n = b * t_end;
  const auto now = model_.evaluate(r.observations.view_reshape({n, d}), r.actions.view_reshape({n, space.size()}),
                                   functions_.gaussian_log_prob);
  r.log_prob = now.log_prob.view_reshape({b, t_end});
  r.values = now.value.view_reshape({b, t_end});
  r.next_values = model_.value(rows_of(envs_.observations(), d));
  r.final_values = Tensor::zeros({b, t_end});
  if (!final_indices.empty()) {
    const std::vector<double> values = model_.value(rows_of(final_observations, d)).to_vector();
    const auto final_values = r.final_values.data<float>();
    for (size_t i = 0; i < values.size(); ++i)
      final_values[static_cast<size_t>(final_indices[i])] = static_cast<float>(values[i]);
  }
  const Gae estimate = functions_.gae(r.rewards, r.values, r.next_values,
                                      {.gamma = config_.gamma,
                                       .lambda = config_.lambda,
                                       .mask = {},
                                       .terminated = r.terminated,
                                       .truncated = r.truncated,
                                       .final_values = r.final_values});
  check(estimate.advantages.shape() == r.rewards.shape() && estimate.returns.shape() == r.rewards.shape(),
        "EnvTrainer: gae must return advantages and returns {}, got {} and {}", r.rewards.shape(),
        estimate.advantages.shape(), estimate.returns.shape());
  r.advantages = estimate.advantages;
  r.returns = estimate.returns;
  return r;
}

namespace {

// Adds what backward_of() returned for the micro-batches of a mini-batch of `size` steps.
void add_parts(EnvReport& report, double& epoch_k3, const std::vector<std::vector<double>>& parts, int64_t size,
               const EnvTrainConfig& config) {
  const double share = 1 / static_cast<double>(size);
  double clipped = 0;
  for (const std::vector<double>& part : parts) {
    report.policy_loss += part[0];
    report.value_loss += part[1];
    report.entropy += part[2];
    clipped += part[3];
    for (const double rho : std::span(part).subspan(kFirstRatio)) {
      report.k1 -= share * std::log(rho);
      report.k3 += share * k3_value(std::log(rho));
      epoch_k3 += share * k3_value(std::log(rho));
      report.clip_low += rho < 1 - config.clip_low ? share : 0;
      report.clip_high += rho > 1 + config.clip_high ? share : 0;
    }
  }
  report.value_clip += clipped / static_cast<double>(size);
}

// max |ρ - 1|; NaN if a ratio is NaN.
double largest_ratio_error(const std::vector<std::vector<double>>& parts) {
  double largest = 0;
  for (const std::vector<double>& part : parts) {
    for (const double rho : std::span(part).subspan(kFirstRatio)) {
      largest = max_with_nan(largest, std::abs(rho - 1));
    }
  }
  return largest;
}

}  // namespace

EnvReport EnvTrainer::update(const EnvRollout& data) {
  EnvReport report{.explained_variance = explained_variance(data.values, data.returns), .lr = learning_rate()};
  const int64_t n = batch_size(), size = n / config_.minibatches;
  const int64_t micro = config_.micro_batch > 0 ? std::min(config_.micro_batch, size) : size;
  const auto flat = [&](const Tensor& x) {
    return x.rank() == 3 ? x.view_reshape({n, x.size(2)}) : x.view_reshape({n});
  };
  int64_t updates = 0;
  for (int64_t epoch = 0; epoch < config_.epochs; ++epoch) {
    double epoch_k3 = 0;
    const Tensor order = permutation(n, minibatches_);
    const auto shuffled = [&](const Tensor& x) { return index_select(flat(x), 0, order); };
    const Samples samples = {shuffled(data.observations),
                             shuffled(data.actions),
                             shuffled(data.log_prob),
                             shuffled(data.values),
                             unsqueeze(shuffled(data.advantages), 1),
                             shuffled(data.returns)};
    for (int64_t begin = 0; begin < n; begin += size) {
      Samples mini = samples.part(begin, begin + size);
      if (config_.whiten_advantages && size > 1) mini.advantages = whiten(mini.advantages);
      std::vector<std::vector<double>> parts;  // by micro-batch: what backward_of() returns
      for (int64_t at = 0; at < size; at += micro) {
        parts.emplace_back(kFirstRatio + static_cast<size_t>(std::min(micro, size - at)));
      }
      gradient_.run(std::ssize(parts), [&](int64_t i) {
        const Samples part = mini.part(i * micro, std::min(size, (i + 1) * micro));
        const double share = static_cast<double>(part.size()) / static_cast<double>(size);
        parts[static_cast<size_t>(i)] = backward_of(part, share, model_, functions_, config_);
      });
      const double norm = grad_norm(slab_);  // throws Error if it is not finite
      optimizer_.step(report.lr, config_.max_grad_norm > 0 ? clip_scale(norm, config_.max_grad_norm) : 1);

      gather_parts(comm_, parts);
      report.grad_norm += norm;
      add_parts(report, epoch_k3, parts, size, config_);
      if (updates++ == 0) report.first_ratio_error = largest_ratio_error(parts);
    }
    report.epochs = epoch + 1;
    if (config_.target_kl > 0 && epoch_k3 / static_cast<double>(config_.minibatches) > config_.target_kl) break;
  }
  for (double* sum : {&report.policy_loss, &report.value_loss, &report.entropy, &report.grad_norm, &report.k1,
                      &report.k3, &report.clip_low, &report.clip_high, &report.value_clip}) {
    *sum /= static_cast<double>(updates);
  }
  return report;
}

void EnvTrainer::watch(int64_t episodes, bool greedy, uint64_t seed,
                       const std::function<void(const Environment&)>& begun, const Watch& stepped) const {
  const auto environment = make_();
  Generator states = random_stream(seed, 0), actions = random_stream(seed, action_stream);
  for (int64_t i = 0; i < episodes; ++i) {
    std::vector<double> seen = environment->reset(states);
    begun(*environment);
    for (;;) {
      const Tensor observation = rows_of(envs_.normalized(seen), envs_.observation_size());
      const std::vector<double> action = model_.act(observation, greedy ? nullptr : &actions).to_vector();
      const Transition t = environment->step(action);
      stepped(*environment, action, t);
      if (t.last()) break;
      seen = t.observation;
    }
  }
}

std::vector<double> EnvTrainer::play(int64_t episodes, bool greedy, uint64_t seed) const {
  std::vector<double> returns;
  watch(
      episodes, greedy, seed, [&](const Environment&) { returns.push_back(0); },
      [&](const Environment&, const std::vector<double>&, const Transition& t) { returns.back() += t.reward; });
  return returns;
}

EnvEpisode EnvTrainer::record(bool greedy, uint64_t seed) const {
  EnvEpisode episode;
  const auto keep = [&](const Environment& environment) {
    const std::vector<double> state = environment.state();
    episode.states.emplace_back(state.begin() + 2, state.end());
  };
  watch(1, greedy, seed, keep, [&](const Environment& environment, const std::vector<double>& a, const Transition& t) {
    keep(environment);
    episode.actions.push_back(a);
    episode.rewards.push_back(t.reward);
    episode.terminated = t.terminated;
  });
  return episode;
}

void EnvTrainer::save(const std::string& path, std::map<std::string, std::string> texts) {
  texts["env_train_config"] = to_json(config_);
  texts["environments"] = envs_.state();
  save_checkpoint(path, model_, &optimizer_,
                  {steps_, {{"actions", actions_}, {"minibatches", minibatches_}}, std::move(texts)});
}

void EnvTrainer::resume(const Checkpoint& checkpoint) {
  EnvTrainConfig saved = env_train_config_from_json(checkpoint.text("env_train_config"));
  check(saved == config_, "{}: the checkpoint is of another run: it has {}", checkpoint.file.path,
        differences(fields(saved), fields(config_)));
  checkpoint.restore(model_);
  checkpoint.restore(optimizer_);
  envs_.set_state(checkpoint.text("environments"));
  actions_ = checkpoint.generator("actions");
  minibatches_ = checkpoint.generator("minibatches");
  steps_ = checkpoint.state.step;
}

}  // namespace pg::rl
