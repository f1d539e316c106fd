// The training loop for text tasks: rollout, reward, advantage, update.
#include "rl/text/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "rl/kl.h"
#include "rl/shaping.h"
#include "rl/text/credit.h"
#include "rl/text/update.h"
#include "rl/value_loss.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/base/random_stream.h"

namespace pg::rl {
namespace {

enum Stream : uint64_t { problem_stream, order_stream, rollout_stream, critic_stream, random_reference_stream };
constexpr int64_t kRounds = 8;  // maximum rounds of dynamic sampling; then the step uses the groups it has

class Timer {
 public:
  double lap() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

std::vector<Response*> pointers(Experience& experience) {
  std::vector<Response*> all;
  for (Response& r : experience.responses) all.push_back(&r);
  return all;
}

// Splits `all` into micro-batches of `size` (0: one). Responses to one prompt are sorted together, so that it is
// computed once for them.
template <class T>
std::vector<std::vector<T*>> micro_batches(std::vector<T*> all, int64_t size) {
  std::stable_sort(all.begin(), all.end(), [](const T* a, const T* b) { return a->prompt < b->prompt; });
  const size_t n = size == 0 ? all.size() : static_cast<size_t>(size);
  std::vector<std::vector<T*>> pieces;
  for (size_t begin = 0; begin < all.size(); begin += n) {
    pieces.emplace_back(all.begin() + static_cast<int64_t>(begin),
                        all.begin() + static_cast<int64_t>(std::min(all.size(), begin + n)));
  }
  return pieces;
}

Denominators denominators_of(const std::vector<Response*>& responses, int64_t max_length) {
  Denominators d{.max_length = static_cast<double>(max_length)};
  for (const Response* r : responses) {
    d.tokens += static_cast<double>(r->length());
    d.sequences += r->length() > 0;
  }
  return d;
}

const RlConfig& checked(const RlConfig& config) {
  check_config(config);
  return config;
}

// Share of the policy's tokens whose advantage is exactly 0.
double share_without_advantage(const Experience& experience) {
  double tokens = 0, zero = 0;
  for (const Response& r : experience.responses) {
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      tokens += r.chosen[t];
      zero += r.chosen[t] && r.advantages[t] == 0;
    }
  }
  return zero / tokens;
}

double reward_std(const Experience& experience) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(experience.responses.size());
  for (const Response& r : experience.responses) sum += r.score.reward;
  for (const Response& r : experience.responses) {
    squares += (r.score.reward - sum / n) * (r.score.reward - sum / n);
  }
  return std::sqrt(squares / n);
}

}  // namespace

RlTrainer::RlTrainer(Gpt2& policy, const TextTask& task, const RlConfig& config, Judge judge, Gpt2* reference)
    : policy_(policy),
      task_(task),
      config_(checked(config)),
      judge_(std::move(judge)),
      problems_(random_stream(config.seed, problem_stream)),
      order_(random_stream(config.seed, order_stream)),
      rollout_seed_(random_stream(config.seed, rollout_stream).seed()),
      slab_(policy),
      optimizer_(slab_, config.adamw),
      moving_(config.algorithm.baseline_decay),
      kl_(config.algorithm.kl_control) {
  check(policy.config.dropout == 0, "RlTrainer: the policy has dropout {}: its log-probabilities would be random",
        policy.config.dropout);
  check(policy.config.vocab_size == task.vocab_size(), "RlTrainer: {} has {} tokens, the policy {}", task.name(),
        task.vocab_size(), policy.config.vocab_size);
  if (config.algorithm.baseline == Baseline::critic) {
    if (config.shared_critic) {
      value_head_ = std::make_unique<Linear>(policy.config.n_embd, 1, true, Init::zeros(policy.config.dtype));
      value_head_->to(policy.device());
    } else {
      Generator generator = random_stream(config.seed, critic_stream);
      critic_ = std::make_unique<ScalarModel>(policy, 0, generator);
    }
    critic_slab_ = std::make_unique<ParamSlab>(critic_module());
    critic_optimizer_ = std::make_unique<AdamW>(*critic_slab_, config.adamw);
  }
  make_reference(reference);
}

void RlTrainer::make_reference(Gpt2* given) {
  const ReferenceKind kind = config_.algorithm.reference;
  check(kind != ReferenceKind::given || given, "RlTrainer: reference \"given\" needs a model (--reference-model RUN)");
  check(kind == ReferenceKind::given || !given, "RlTrainer: a model was given for reference \"{}\", which takes none",
        word(kind));
  switch (kind) {
    case ReferenceKind::none:
      return;
    case ReferenceKind::bigram:
      check(!task_.corpus().empty(), "RlTrainer: {} has no text to count neighbours in; take another reference",
            task_.name());
      reference_ = std::make_unique<BigramReference>(task_.corpus(), task_.vocab_size());
      return;
    case ReferenceKind::random: {
      Generator generator = random_stream(config_.seed, random_reference_stream);
      Gpt2 fresh(policy_.config, generator);
      fresh.to(policy_.device());
      reference_ = std::make_unique<ModelReference>(fresh);
      return;
    }
    case ReferenceKind::given:
      check(given->config.vocab_size == task_.vocab_size() && given->config.block_size >= block_size_for(task_),
            "RlTrainer: the reference has {} tokens and a block_size of {}, the task {} needs {} and {}",
            given->config.vocab_size, given->config.block_size, task_.name(), task_.vocab_size(),
            block_size_for(task_));
      check(given->device() == policy_.device(), "RlTrainer: the reference is on {}, the policy on {}",
            to_string(given->device()), to_string(policy_.device()));
      check_finite(*given, "the reference");
      reference_ = std::make_unique<ModelReference>(*given);
      return;
    case ReferenceKind::frozen:
    case ReferenceKind::moving:
      reference_ = std::make_unique<ModelReference>(policy_);
      return;
  }
}

Experience RlTrainer::collect(double temperature) {
  const BatchShape& b = config_.batch;
  Experience all;
  all.samples = b.samples;
  const auto wanted = static_cast<size_t>(b.prompts * b.samples);
  const int64_t rounds = config_.algorithm.dynamic_sampling ? kRounds : 1;
  std::vector<Problem> problems_kept;
  for (int64_t round = 0; round < rounds && all.responses.size() < wanted; ++round) {
    std::vector<Problem> problems;
    for (int64_t i = 0; i < b.prompts; ++i) problems.push_back(task_.sample(problems_));
    RolloutOptions options{.samples = b.samples,
                           .temperature = temperature,
                           .max_rows = config_.max_rows,
                           .seed = rollout_seed_,
                           .first_row = (static_cast<uint64_t>(step_) << 32) + (static_cast<uint64_t>(round) << 24),
                           .exhaustive = config_.exhaustive,
                           .stop_strings = config_.stop_strings};
    Experience part = rollout(policy_, task_, problems, options);
    if (judge_) judge_(part.responses);
    check_scores(part.responses, task_, judge_ ? "the judge" : "the task");
    const auto g = static_cast<size_t>(b.samples);
    for (size_t p = 0; p < problems.size() && all.responses.size() < wanted; ++p) {
      const auto group = std::span(part.responses).subspan(p * g, g);
      const bool alike = std::all_of(group.begin(), group.end(),
                                     [&](const Response& r) { return r.score.reward == group[0].score.reward; });
      if (alike && round + 1 < rounds) continue;
      std::move(group.begin(), group.end(), std::back_inserter(all.responses));
      problems_kept.push_back(problems[p]);
    }
  }
  if (config_.algorithm.baseline == Baseline::remax) {
    const RolloutOptions options{.samples = 1,
                                 .temperature = temperature,
                                 .greedy = true,
                                 .max_rows = config_.max_rows,
                                 .stop_strings = config_.stop_strings};
    Experience greedy = rollout(policy_, task_, problems_kept, options);
    if (judge_) judge_(greedy.responses);
    check_scores(greedy.responses, task_, judge_ ? "the judge" : "the task");
    for (const Response& r : greedy.responses) all.greedy.push_back(r.score.reward);
  }
  return all;
}

void RlTrainer::shape(Experience& experience) {
  const Algorithm& a = config_.algorithm;
  for (Response& r : experience.responses) {
    set_rewards(r);
    double extra = 0;
    if (!r.finished) extra -= config_.unfinished_penalty;
    if (a.overlong_cache > 0) {
      const auto cache = static_cast<int64_t>(a.overlong_cache * static_cast<double>(task_.max_response()));
      extra += overlong_penalty(r.length(), task_.max_response(), std::max<int64_t>(1, cache));
    }
    r.rewards[last_chosen(r)] += extra;
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      if (r.chosen[t]) r.rewards[t] += config_.log_prob_credit * r.sampler_log_probs[t];
    }
  }
  if (!config_.shuffle_rewards) return;
  std::vector<double> totals;
  for (const Response& r : experience.responses) {
    totals.push_back(std::accumulate(r.rewards.begin(), r.rewards.end(), 0.0));
  }
  shuffle(totals, order_);
  for (size_t i = 0; i < totals.size(); ++i) {
    Response& r = experience.responses[i];
    r.rewards.assign(r.tokens.size(), 0);
    r.rewards[last_chosen(r)] = totals[i];
  }
}

// Computes what is constant during the update: log-probabilities before it, those of the reference, values.
void RlTrainer::score_old(Experience& experience, double temperature, Metrics& metrics) {
  NoGrad no_grad;
  const bool same = backend(policy_.device()).exact();
  double k1_sum = 0, k3_sum = 0, tokens = 0;
  for (auto& piece : micro_batches(pointers(experience), config_.batch.micro_batch)) {
    const std::vector<const Response*> view(piece.begin(), piece.end());
    const TokenRows rows = token_rows(view);
    if (same) {
      for (Response* r : piece) r->old_log_probs = r->sampler_log_probs;
    } else {
      set_token_values(piece, &Response::old_log_probs, score_tokens(policy_, rows, temperature).log_prob);
    }
    if (critic_) set_token_values(piece, &Response::values, (*critic_)(rows.packed));
    if (value_head_) {
      set_token_values(piece, &Response::values, scalar_at_positions(*value_head_, policy_.hidden(rows.packed)));
    }
    if (!reference_) continue;
    set_token_values(piece, &Response::ref_log_probs, reference_->log_prob(rows, temperature));
    for (const Response* r : piece) {
      for (size_t t = 0; t < r->tokens.size(); ++t) {
        if (!r->chosen[t]) continue;
        const double d = r->ref_log_probs[t] - r->old_log_probs[t];
        k1_sum -= d;
        k3_sum += k3_value(d);
        ++tokens;
      }
    }
  }
  const auto responses = static_cast<double>(experience.responses.size());
  if (reference_) {
    metrics.add("ref_kl/k1", k1_sum / tokens);
    metrics.add("ref_kl/k3", k3_sum / tokens);
    metrics.add("ref_kl/beta", kl_.beta());
  }
  if (config_.algorithm.kl == KlPlace::reward) {
    for (Response& r : experience.responses) subtract_kl(r, kl_.beta());
  }
  if (config_.algorithm.kl == KlPlace::none) return;
  beta_ = kl_.beta();
  kl_.update(k1_sum / responses, responses, tokens);
}

void RlTrainer::learn(Experience& experience, double temperature, Metrics& metrics) {
  const Algorithm& a = config_.algorithm;
  const BatchShape& b = config_.batch;
  const double lr = config_.schedule.at(step_);
  std::vector<Response*> order = pointers(experience);
  LossSums sums;
  double grad_norm_sum = 0, first_ratio_error = 0, without_gradient = 0;
  const auto updates = static_cast<double>(a.epochs * b.mini_batches);
  for (int64_t epoch = 0; epoch < a.epochs; ++epoch) {
    if (updates > 1) shuffle(order, order_);
    for (int64_t m = 0; m < b.mini_batches; ++m) {
      const auto count = static_cast<int64_t>(order.size());
      const std::vector<Response*> mini(order.begin() + count * m / b.mini_batches,
                                        order.begin() + count * (m + 1) / b.mini_batches);
      const Update update{.algorithm = a,
                          .policy = policy_,
                          .critic = critic_.get(),
                          .value_head = value_head_.get(),
                          .reference = reference_.get(),
                          .temperature = temperature,
                          .beta = beta_,
                          .total = denominators_of(mini, task_.max_response())};
      slab_.zero_grad();
      if (critic_slab_) critic_slab_->zero_grad();
      for (const auto& piece : micro_batches(mini, b.micro_batch)) {
        const std::vector<const Response*> view(piece.begin(), piece.end());
        backward(micro_batch_loss(update, view, sums));
      }
      if (epoch == 0 && m == 0) {
        first_ratio_error = sums.stats.worst_ratio_error();
        for (const auto& [name, parameter] : named_parameters(policy_)) without_gradient += !has_grad(parameter);
      }
      // Compute both norms before stepping: a non-finite gradient must skip the policy and the critic.
      const double norm = grad_norm(slab_), critic_norm = critic_slab_ ? grad_norm(*critic_slab_) : 0;
      grad_norm_sum += norm;
      optimizer_.step(lr, clip_scale_or_one(norm));
      if (critic_optimizer_) critic_optimizer_->step(config_.critic_lr, clip_scale_or_one(critic_norm));
    }
  }
  metrics.add("loss", sums.loss / updates);
  metrics.add("policy_loss", sums.policy_loss / updates);
  if (a.kl == KlPlace::loss) metrics.add("kl_loss", sums.kl_loss / updates);
  if (critic_slab_) {
    metrics.add("value/loss", sums.value_loss / updates);
    metrics.add("value/clip", sums.clipped_values / sums.values);
    const Tensor mask = response_mask(experience.responses);
    metrics.add("value/explained_variance",
                explained_variance(response_values(experience.responses, &Response::values),
                                   response_values(experience.responses, &Response::returns), mask));
  }
  sums.stats.report(metrics);
  metrics.add("grad_norm", grad_norm_sum / updates);
  metrics.add("lr", lr);
  metrics.add("sampler/max_log_prob_difference", sums.max_log_prob_difference);
  metrics.add("check/first_ratio_error", first_ratio_error);
  metrics.add("check/parameters_without_gradient", without_gradient);
}

Module& RlTrainer::critic_module() {
  if (value_head_) return *value_head_;
  return *critic_;
}

double RlTrainer::clip_scale_or_one(double norm) const {
  return config_.max_grad_norm == 0 ? 1 : clip_scale(norm, config_.max_grad_norm);
}

Metrics RlTrainer::step() {
  const Algorithm& a = config_.algorithm;
  EvalMode eval_mode(policy_);
  Timer timer;
  double temperature = config_.temperature;
  if (const AdaptiveTemperature& t = config_.adaptive_temperature; t.target_std > 0) {
    temperature = adaptive_temperature(config_.temperature, last_std_, t.target_std, t.low, t.high);
  }
  Metrics metrics;
  Experience experience = collect(temperature);
  last_std_ = reward_std(experience);
  add_rollout_metrics(metrics, experience);
  if (config_.adaptive_temperature.target_std > 0) metrics.add("temperature", temperature);
  shape(experience);
  const double rollout_seconds = timer.lap();
  score_old(experience, temperature, metrics);
  check_probabilities(experience, temperature, metrics);
  assign_advantages(a, experience, moving_);
  metrics.add("advantage/zero", share_without_advantage(experience));
  if (config_.shuffle_rewards) metrics.add("check/rewards_shuffled", 1);
  if (on_samples_) on_samples_(step_ + 1, experience);
  learn(experience, temperature, metrics);
  const double update_seconds = timer.lap();
  ++step_;
  if (a.reference == ReferenceKind::moving && step_ % a.reference_interval == 0) {
    static_cast<ModelReference&>(*reference_).follow(policy_);
  }
  double tokens = 0;
  for (const Response& r : experience.responses) tokens += static_cast<double>(r.length());
  metrics.add("time/rollout_s", rollout_seconds);
  metrics.add("time/update_s", update_seconds);
  metrics.add("time/tokens_per_s", tokens / (rollout_seconds + update_seconds));
  lamps_ = rl::lamps(a, metrics, step_, task_.vocab_size());
  return metrics;
}

bool RlTrainer::run(const RlHooks& hooks) {
  const int64_t start = step_;
  on_samples_ = hooks.on_samples;
  for (;;) {
    const bool done = step_ >= config_.steps;
    const bool repeated = step_ == start && start > 0 && !done;  // already done by the run that stopped at this step
    const auto due = [&](int64_t interval) { return done || (interval > 0 && step_ % interval == 0 && !repeated); };
    if (hooks.on_eval && due(config_.eval_interval)) hooks.on_eval(step_, evaluate());
    if (hooks.on_checkpoint && step_ > 0 && due(config_.checkpoint_interval)) hooks.on_checkpoint(step_);
    if (done) return true;
    if (hooks.should_stop && hooks.should_stop()) return false;
    const Metrics metrics = step();
    if (hooks.on_step) hooks.on_step(step_, metrics);
  }
}

}  // namespace pg::rl
