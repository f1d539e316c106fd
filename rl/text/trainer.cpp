// The training loop for text tasks: rollout, reward, advantage, update.
#include "rl/text/trainer.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "nn/train/run_steps.h"
#include "rl/masked.h"
#include "rl/methods/batch.h"
#include "rl/methods/kl.h"
#include "rl/methods/kl_control.h"
#include "rl/methods/other_losses.h"
#include "rl/text/speed.h"
#include "rl/text/update.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/measure/profile.h"

namespace pg::rl {
namespace {

enum Stream : uint64_t { problem_stream, order_stream, rollout_stream, critic_stream, random_reference_stream };

const RlConfig& checked(const RlConfig& config) {
  check_config(config);
  return config;
}

}  // namespace

RlTrainer::RlTrainer(Transformer& policy, const TextTask& task, const RlConfig& config, Judge judge,
                     Transformer* reference, Comm* comm)
    : one_rank_(comm ? nullptr : single_rank(policy.device())),
      comm_(comm ? *comm : *one_rank_),
      policy_(policy),
      sampler_(policy),
      task_(task),
      config_(checked(config)),
      judge_(std::move(judge)),
      problems_(random_stream(config.seed, problem_stream)),
      order_(random_stream(config.seed, order_stream)),
      rollout_seed_(random_stream(config.seed, rollout_stream).seed()),
      slab_(policy, {&comm_, config.zero}),
      optimizer_(slab_, config.adamw),
      moving_(config.algorithm.baseline_decay),
      kl_(config.algorithm.kl_control) {
  const double dropout = policy.config.largest_dropout();
  check(dropout == 0, "RlTrainer: the policy has dropout {}: its log-probabilities would be random", dropout);
  check(policy.config.vocab_size == task.vocab_size(), "RlTrainer: {} has {} tokens, the policy {}", task.name(),
        task.vocab_size(), policy.config.vocab_size);
  if (config.algorithm.baseline.needs.critic) {
    if (config.shared_critic) {
      value_head_ = std::make_unique<Linear>(policy.config.n_embd, 1, true, Init::zeros(policy.config.trained_dtype()));
      value_head_->to(policy.device());
    } else {
      Generator generator = random_stream(config.seed, critic_stream);
      critic_ = std::make_unique<ScalarModel>(policy, 0, generator);
    }
    critic_slab_ = std::make_unique<ParamSlab>(critic_module(), Sharding{&comm_, config.zero});
    critic_optimizer_ = std::make_unique<AdamW>(*critic_slab_, config.adamw);
  }
  std::vector<ParamSlab*> slabs = {&slab_};
  if (critic_slab_) slabs.push_back(critic_slab_.get());
  gradient_ = std::make_unique<GradientSum>(std::move(slabs), comm_);
  const ReferenceKind& kind = config.algorithm.reference;
  check(kind.is_given || !reference, "RlTrainer: a model was given for reference \"{}\", which takes none", kind.name);
  if (kind.make) reference_ = kind.make({policy, task, reference, random_stream(config.seed, random_reference_stream)});
}

double RlTrainer::temperature() const {
  const AdaptiveTemperature& t = config_.adaptive_temperature;
  if (t.target_std == 0) return config_.temperature;
  return adaptive_temperature(config_.temperature, last_std_, t.target_std, t.low, t.high);
}

// The reward becomes the sum of its parts times their weights.
void RlTrainer::weigh_parts(std::vector<Response>& responses) const {
  for (Response& r : responses) {
    check(r.score.per_token.empty(), "reward-weights: {} pays single tokens, so its reward has no parts to weigh",
          task_.name());
    std::vector<std::string> names;
    for (const auto& [name, value] : r.score.parts) names.push_back(name);
    const std::vector<double> weights = part_weights(config_.algorithm, names);
    r.score.reward = 0;
    for (size_t k = 0; k < weights.size(); ++k) r.score.reward += weights[k] * r.score.parts[k].second;
  }
}

Experience RlTrainer::sample_on_ranks(const std::vector<Problem>& problems, RolloutOptions options) {
  options.sampler = &sampler_;
  Experience all = rollout_on_ranks(comm_, policy_, task_, problems, options, [this](std::vector<Response>& responses) {
    if (judge_) {  // rollout() has checked the task's own scores
      judge_(responses);
      check_scores(responses, task_, "the judge");
    }
    if (!config_.algorithm.reward_weights.empty()) {
      weigh_parts(responses);
      check_scores(responses, task_, "reward-weights");
    }
  });
  work_.generations.push_back(all.work);
  for (const Response& r : all.responses) work_.sampled += static_cast<double>(r.length());
  return all;
}

// G responses to each prompt, scored by the task or the judge. Dynamic sampling replaces prompts whose responses all
// have equal rewards, but keeps those of its last round if there are too few others. False: hooks.should_stop.
bool RlTrainer::sample(double temperature, const RlHooks& hooks, Metrics& metrics, Experience& all) {
  const BatchShape& b = config_.batch;
  all.samples = b.samples;
  const auto wanted = static_cast<size_t>(b.prompts * b.samples);
  const int64_t rounds = config_.algorithm.dynamic_sampling ? kSamplingRounds : 1;
  std::vector<Problem> problems_kept;
  double responses = 0, reward = 0, groups = 0, groups_alike = 0;  // of all rounds
  for (int64_t round = 0; round < rounds && all.responses.size() < wanted; ++round) {
    std::vector<Problem> problems;
    for (int64_t i = 0; i < b.prompts; ++i) problems.push_back(task_.sample(problems_));
    RolloutOptions options{.samples = b.samples,
                           .temperature = temperature,
                           .max_rows = config_.max_rows,
                           .seed = rollout_seed_,
                           .first_row = (static_cast<uint64_t>(step_) << 32) + (static_cast<uint64_t>(round) << 24),
                           .exhaustive = config_.exhaustive,
                           .stop_strings = config_.stop_strings,
                           .should_stop = hooks.should_stop_here};
    Experience part = sample_on_ranks(problems, options);
    if (hooks.should_stop && hooks.should_stop()) return false;
    const auto g = static_cast<size_t>(b.samples);
    const std::vector<double> signal = groups_with_signal(part, config_.algorithm).to_vector();
    for (size_t p = 0; p < problems.size(); ++p) {
      const auto group = std::span(part.responses).subspan(p * g, g);
      const bool alike = signal[p] == 0;
      for (const Response& r : group) reward += r.score.reward;
      responses += static_cast<double>(g);
      ++groups;
      groups_alike += alike;
      if ((alike && round + 1 < rounds) || all.responses.size() >= wanted) continue;
      std::move(group.begin(), group.end(), std::back_inserter(all.responses));
      problems_kept.push_back(problems[p]);
    }
  }
  metrics.add("sampled/responses", responses);
  metrics.add("sampled/reward", reward / responses);
  metrics.add("sampled/alike", groups_alike / groups);
  if (config_.algorithm.baseline.needs.greedy) {
    const RolloutOptions options{.samples = 1,
                                 .temperature = temperature,
                                 .greedy = true,
                                 .max_rows = config_.max_rows,
                                 .stop_strings = config_.stop_strings,
                                 .should_stop = hooks.should_stop_here};
    const Experience greedy = sample_on_ranks(problems_kept, options);
    if (hooks.should_stop && hooks.should_stop()) return false;
    for (const Response& r : greedy.responses) all.greedy.push_back(r.score.reward);
  }
  return true;
}

// Changes of the reward that do not depend on the algorithm's KL: penalties for length, credit for log-probability, and
// the shuffle of a control experiment.
void RlTrainer::add_penalties(Batch& batch, const Experience& experience) {
  const Algorithm& a = config_.algorithm;
  const int64_t longest = task_.max_response();
  const auto cache = std::max<int64_t>(1, static_cast<int64_t>(a.overlong_cache * static_cast<double>(longest)));
  std::vector<double> penalty;
  for (const Response& r : experience.responses) {
    penalty.push_back(r.finished ? 0 : -config_.unfinished_penalty);
    const bool is_long = !r.score.solved && (!r.finished || r.length() > r.answer_length);
    if (a.overlong_cache > 0 && is_long) penalty.back() += overlong_penalty(r.length(), longest, cache);
  }
  const Shape column = {batch.size(), 1};
  batch.reward = batch.reward + reward_at_end(Tensor::from(penalty, column), batch.mask);
  if (config_.log_prob_credit != 0) batch.reward = batch.reward + config_.log_prob_credit * batch.sampler_log_prob;
  if (!config_.shuffle_rewards) return;
  std::vector<double> totals = sum(batch.reward, {1}).to_vector();
  shuffle(totals, order_);
  batch.reward = reward_at_end(Tensor::from(totals, column), batch.mask);
}

// What is constant during the update: the policy's log-probabilities, and what the critic and the reference say.
void RlTrainer::score_tokens_before_update(Batch& batch, double temperature, const RlHooks& hooks) {
  NoGrad no_grad;
  const Algorithm& a = config_.algorithm;
  const bool same = backend(policy_.device()).exact();  // then the sampler's log-probabilities are the policy's
  const Shape shape = batch.mask.shape();
  const auto zeros_if = [&](bool needed) { return needed ? Tensor::zeros(shape, f64) : Tensor{}; };
  batch.old_log_prob = same ? batch.sampler_log_prob : Tensor::zeros(shape, f64);
  batch.entropy = zeros_if(a.tokens.needs_entropy);
  batch.value = zeros_if(critic_ || value_head_);
  batch.ref_log_prob = zeros_if(bool(reference_));
  const auto pieces = micro_batches(batch, all_rows(batch), config_.batch.micro_batch);
  struct Scored {
    const Tensor& to;
    const std::vector<size_t>& rows;
  };
  std::vector<Scored> scored;
  std::vector<Tensor> on_device;
  const auto put = [&](const Tensor& to, const std::vector<size_t>& rows, const Tensor& values) {
    scored.push_back({to, rows});
    on_device.push_back(values);
  };
  for (auto i = static_cast<size_t>(comm_.rank()); i < pieces.size(); i += static_cast<size_t>(comm_.size())) {
    if (hooks.should_stop_here && hooks.should_stop_here()) break;
    const std::vector<size_t>& rows = pieces[i];
    const Batch part = rows_of(batch, rows);
    if (!same || a.tokens.needs_entropy) {
      const TokenScores scores = score_tokens(policy_, part, temperature);
      if (!same) put(batch.old_log_prob, rows, scores.log_prob);
      if (a.tokens.needs_entropy) put(batch.entropy, rows, scores.entropy);
    }
    if (batch.value.defined()) {
      const Tensor values =
          critic_ ? (*critic_)(part.packed) : scalar_at_positions(*value_head_, policy_.hidden(part.packed));
      put(batch.value, rows, masked(values, part.mask.to(values.device()), 0, "value"));
    }
    if (reference_) put(batch.ref_log_prob, rows, reference_->log_prob(part, temperature));
  }
  const std::vector<Tensor> on_host = read_back(on_device);
  for (size_t i = 0; i < scored.size(); ++i) put_rows(scored[i].to, scored[i].rows, on_host[i]);
  std::vector<Tensor> shared;
  if (!same) shared.push_back(batch.old_log_prob);
  for (const Tensor& x : {batch.entropy, batch.value, batch.ref_log_prob}) {
    if (x.defined()) shared.push_back(x);
  }
  share_rows(comm_, shared, pieces);
}

// Measures the KL to the reference and subtracts it from the reward, if the algorithm does. Returns its weight in this
// step, and sets the weight of the next.
double RlTrainer::add_kl(Batch& batch, Metrics& metrics) {
  const Algorithm& a = config_.algorithm;
  const double beta = kl_.beta();
  if (!reference_) return beta;
  const Tensor &log_prob = batch.old_log_prob, &ref = batch.ref_log_prob, &mask = batch.mask;
  const double tokens = sum(mask.to(f64)).item(), k1_sum = sum(k1(log_prob, ref, mask)).item();
  metrics.add("ref_kl/k1", k1_sum / tokens);
  metrics.add("ref_kl/k3", sum(k3(log_prob, ref, mask)).item() / tokens);
  metrics.add("ref_kl/beta", beta);
  if (a.kl.in_reward) batch.reward = a.kl.subtract(batch.reward, {log_prob, ref, log_prob, {}, mask}, beta);
  const auto responses = static_cast<double>(batch.size());
  if (a.kl.in_reward || a.kl.in_loss) kl_.update(k1_sum / responses, responses, tokens);
  return beta;
}

// Epochs of optimizer steps on mini-batches of the batch.
std::optional<double> RlTrainer::learn(const Batch& batch, double temperature, double beta, const RlHooks& hooks,
                                       Metrics& metrics) {
  const Algorithm& a = config_.algorithm;
  const BatchShape& b = config_.batch;
  const double lr = config_.schedule.at(step_);
  std::vector<size_t> order = all_rows(batch);
  LossSums sums;
  double grad_norm_sum = 0, first_ratio_error = 0, without_gradient = 0;
  const auto updates = static_cast<double>(a.epochs * b.mini_batches);
  for (int64_t epoch = 0; epoch < a.epochs; ++epoch) {
    if (updates > 1) shuffle(order, order_);
    for (int64_t m = 0; m < b.mini_batches; ++m) {
      const auto count = static_cast<int64_t>(order.size());
      const std::vector<size_t> mini(order.begin() + count * m / b.mini_batches,
                                     order.begin() + count * (m + 1) / b.mini_batches);
      const Update update{.algorithm = a,
                          .policy = policy_,
                          .critic = critic_.get(),
                          .value_head = value_head_.get(),
                          .reference = reference_.get(),
                          .temperature = temperature,
                          .beta = beta,
                          .total = denominators_of(batch, mini, task_.max_response())};
      const double loss_before = sums.loss;
      const auto pieces =
          micro_batches(batch, config_.skip_zero_advantage ? rows_with_advantage(batch, mini) : mini, b.micro_batch);
      std::vector<LossTerms> terms;  // of this rank's pieces
      std::vector<size_t> mine;
      const auto backward_of = [&](int64_t i) {
        mine.push_back(static_cast<size_t>(i));
        backward(micro_batch_loss(update, rows_of(batch, pieces[mine.back()]), terms.emplace_back()));
      };
      const bool first = epoch == 0 && m == 0;  // later the weights have changed
      if (!gradient_->run(std::ssize(pieces), backward_of, first ? hooks.should_stop : nullptr)) return std::nullopt;
      std::vector<LossSums> of_pieces(pieces.size()), of_mine = read_sums(a, terms);
      for (size_t i = 0; i < mine.size(); ++i) of_pieces[mine[i]] = std::move(of_mine[i]);
      for (const LossSums& piece : gathered(comm_, of_pieces)) sums.add(piece);
      if (first) {
        first_ratio_error = sums.stats.worst_ratio_error();
        for (const auto& [name, parameter] : trainable_parameters(policy_)) without_gradient += !has_grad(parameter);
      }
      // Compute both norms before stepping: a non-finite gradient must skip the policy and the critic.
      const double norm = grad_norm(slab_), critic_norm = critic_slab_ ? grad_norm(*critic_slab_) : 0;
      grad_norm_sum += norm;
      optimizer_.step(lr, clip_scale_or_one(norm));
      if (critic_optimizer_) critic_optimizer_->step(config_.critic_lr, clip_scale_or_one(critic_norm));
      if (hooks.on_update) {
        hooks.on_update({epoch, m, sums.loss - loss_before, norm, sums.stats.worst_ratio_error()});
      }
    }
  }
  metrics.add("loss", sums.loss / updates);
  metrics.add("policy_loss", sums.policy_loss / updates);
  if (a.kl.in_loss) metrics.add("kl_loss", sums.kl_loss / updates);
  if (critic_slab_) {
    metrics.add("value/loss", sums.value_loss / updates);
    metrics.add("value/clip", sums.clipped_values / sums.values);
    metrics.add("value/explained_variance", explained_variance(batch.value, batch.returns, batch.mask));
  }
  sums.stats.report(a, metrics);
  metrics.add("grad_norm", grad_norm_sum / updates);
  metrics.add("lr", lr);
  metrics.add("sampler/max_log_prob_difference", sums.max_log_prob_difference);
  metrics.add("check/first_ratio_error", first_ratio_error);
  metrics.add("check/parameters_without_gradient", without_gradient);
  return sums.positions;
}

Module& RlTrainer::critic_module() const {
  if (value_head_) return *value_head_;
  return *critic_;
}

double RlTrainer::clip_scale_or_one(double norm) const {
  return config_.max_grad_norm == 0 ? 1 : clip_scale(norm, config_.max_grad_norm);
}

Metrics RlTrainer::step(const RlHooks& hooks) {
  const auto state = std::tuple(problems_, order_, moving_, kl_, last_std_);
  const int64_t before = step_;
  Metrics metrics = try_step(hooks);
  if (step_ == before) std::tie(problems_, order_, moving_, kl_, last_std_) = state;
  return metrics;
}

Metrics RlTrainer::try_step(const RlHooks& hooks) {
  const Algorithm& a = config_.algorithm;
  EvalMode eval_mode(policy_);
  Timer timer;
  PeakMemory peak(policy_.device());
  Metrics metrics;

  work_ = {};

  // Rollout: responses to prompts, scored.
  const double temperature = this->temperature();
  Experience experience;
  if (!sample(temperature, hooks, metrics, experience)) return {};
  last_std_ = reward_std(experience);
  add_rollout_metrics(metrics, experience);
  if (config_.adaptive_temperature.target_std > 0) metrics.add("temperature", temperature);

  // Reward of each token: the score, penalties, and the KL to the reference if the algorithm has it there.
  Batch batch = make_batch(experience, a);
  add_penalties(batch, experience);
  work_.rollout_seconds = timer.lap();
  rollout_memory_ = peak.lap();
  const double flops_before = profiled_flops();
  score_tokens_before_update(batch, temperature, hooks);
  if (hooks.should_stop && hooks.should_stop()) return {};
  const double beta = add_kl(batch, metrics);
  check_probabilities(batch, temperature, metrics);

  // Advantage of each token. A group that was kept though its scores are equal must not learn from penalties alone.
  if (a.dynamic_sampling) {
    const Tensor signal = groups_with_signal(experience, a).view_reshape({-1, 1});
    batch.signal = contiguous(expand(signal, {signal.size(0), batch.samples})).view_reshape({batch.size(), 1});
  }
  batch.advantage = advantages(a, batch, moving_);
  if (a.tokens.select) batch.selected = a.tokens.select(batch, a, order_);
  metrics.add("advantage/zero", share_without_advantage(batch));
  if (config_.shuffle_rewards) metrics.add("check/rewards_shuffled", 1);
  if (hooks.on_samples) hooks.on_samples(step_ + 1, experience, batch);

  // Update of the policy and the critic, then of the reference.
  const std::optional<double> positions = learn(batch, temperature, beta, hooks, metrics);
  if (!positions) return {};
  work_.computed = *positions;
  work_.update_seconds = timer.lap();
  work_.flops = profiled_flops() - flops_before;
  update_memory_ = peak.lap();
  ++step_;
  if (a.reference.follow) a.reference.follow(*reference_, policy_, step_, a);

  // Metrics.
  add_speed_metrics(metrics, policy_, work_, config_.rates);
  health_checks_ = rl::health_checks(a, metrics, step_, task_.vocab_size());
  return metrics;
}

bool RlTrainer::run(const RlHooks& hooks) {
  const auto one_step = [&] {
    const int64_t before = step_;
    const Metrics metrics = step(hooks);
    if (step_ > before && hooks.on_step) hooks.on_step(step_, metrics);
    return step_ > before;
  };
  const auto evaluation = [&](int64_t step) {
    if (!hooks.on_eval) return;
    Experience responses;
    hooks.on_eval(step, evaluate(&responses));
    if (hooks.on_held_out) hooks.on_held_out(step, responses);
  };
  return run_steps({.last = config_.steps,
                    .eval_interval = config_.eval_interval,
                    .checkpoint_interval = config_.checkpoint_interval,
                    .steps = [this] { return step_; },
                    .step = one_step,
                    .on_eval = evaluation,
                    .on_checkpoint = hooks.on_checkpoint,
                    .should_stop = hooks.should_stop});
}

}  // namespace pg::rl
