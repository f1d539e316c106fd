// Reward models and DPO: pairs, trainers, judges.
#include "rl/text/preferences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/base/error.h"
#include "tensor/base/random.h"

namespace pg::rl {
namespace {

Response as_response(const std::vector<int32_t>& prompt, const std::vector<int32_t>& tokens) {
  Response r;
  r.prompt = prompt;
  r.tokens = tokens;
  r.chosen.assign(tokens.size(), 1);
  return r;
}

const PreferenceConfig& checked(const PreferenceConfig& config) {
  check_config(config);
  return config;
}

// The chosen responses of these pairs, followed by the rejected ones.
std::vector<Response> both(const std::vector<Preference>& pairs, const std::vector<size_t>& which) {
  std::vector<Response> all;
  for (const size_t i : which) all.push_back(as_response(pairs[i].prompt, pairs[i].chosen));
  for (const size_t i : which) all.push_back(as_response(pairs[i].prompt, pairs[i].rejected));
  return all;
}

std::vector<Response> all_of(const std::vector<Preference>& pairs) {
  std::vector<size_t> which(pairs.size());
  std::iota(which.begin(), which.end(), size_t{0});
  return both(pairs, which);
}

std::pair<Tensor, Tensor> halves(const Tensor& x) {
  const int64_t n = x.size(0) / 2;
  return {slice(x, 0, 0, n), slice(x, 0, n, 2 * n)};
}

double share_greater(const Tensor& a, const Tensor& b) { return mean(gt(a.detach(), b.detach()).to(f64)).item(); }

// Clips and updates; returns the gradient norm. Throws Error if a gradient is not finite.
double apply(ParamSlab& slab, AdamW& optimizer, const PreferenceConfig& config) {
  const double norm = grad_norm(slab);
  optimizer.step(config.schedule.at(optimizer.steps()),
                 config.max_grad_norm == 0 ? 1 : clip_scale(norm, config.max_grad_norm));
  return norm;
}

}  // namespace

std::vector<Preference> label_pairs(const Experience& experience, double noise, Generator& generator) {
  check(noise >= 0, "label_pairs: noise must not be negative, got {}", noise);
  const auto g = static_cast<size_t>(experience.samples);
  std::vector<Preference> pairs;
  for (size_t i = 0; i + 1 < experience.responses.size(); i += 2) {
    if (i / g != (i + 1) / g) continue;
    const Response& a = experience.responses[i];
    const Response& b = experience.responses[i + 1];
    const double difference = a.score.reward - b.score.reward;
    const double u = generator.uniform();
    if (difference == 0) continue;
    const bool first = noise == 0 ? difference > 0 : u < 1 / (1 + std::exp(-difference / noise));
    pairs.push_back({a.prompt, first ? a.tokens : b.tokens, first ? b.tokens : a.tokens});
  }
  return pairs;
}

Tensor sequence_scores(const ScalarModel& model, std::span<const Response* const> responses) {
  size_t longest = 0;
  for (const Response* r : responses) longest = std::max(longest, r->prompt.size() + r->tokens.size());
  const auto n = static_cast<int64_t>(responses.size());
  const Tensor ids = Tensor::zeros({n, static_cast<int64_t>(longest)}, i32), last = Tensor::zeros({n, 1}, i32);
  for (size_t b = 0; b < responses.size(); ++b) {
    const Response& r = *responses[b];
    const auto row = ids.data<int32_t>().subspan(b * longest);
    std::copy(r.tokens.begin(), r.tokens.end(), std::copy(r.prompt.begin(), r.prompt.end(), row.begin()));
    last.data<int32_t>()[b] = static_cast<int32_t>(r.prompt.size() + r.tokens.size()) - 1;
  }
  const Tensor all = model(ids);
  return squeeze(gather(all, 1, last.to(all.device())), 1);
}

Tensor sequence_log_probs(const Transformer& policy, std::span<const Response* const> responses) {
  return sum(score_tokens(policy, token_rows(responses)).log_prob, {1});
}

PreferenceOrder::PreferenceOrder(size_t pairs, Generator generator) : generator_(generator), order_(pairs) {
  check(pairs > 0, "there are no preferences to learn from");
  std::iota(order_.begin(), order_.end(), size_t{0});
  at_ = pairs;
}

std::vector<size_t> PreferenceOrder::next(int64_t count) {
  std::vector<size_t> batch;
  while (static_cast<int64_t>(batch.size()) < count) {
    if (at_ == order_.size()) {
      shuffle(order_, generator_);
      at_ = 0;
    }
    batch.push_back(order_[at_++]);
  }
  return batch;
}

RewardModelTrainer::RewardModelTrainer(ScalarModel& model, std::vector<Preference> pairs,
                                       const PreferenceConfig& config)
    : model_(model),
      pairs_(std::move(pairs)),
      config_(checked(config)),
      slab_(model),
      optimizer_(slab_, config.adamw),
      order_(pairs_.size(), random_stream(config.seed, 0)) {}

Metrics RewardModelTrainer::step() {
  const std::vector<Response> responses = both(pairs_, order_.next(config_.batch));
  slab_.zero_grad();
  const Tensor scores = sequence_scores(model_, pointers(responses));
  const auto [chosen, rejected] = halves(scores);
  const Tensor loss = mean(bradley_terry_loss(chosen, rejected, {}, config_.centring));
  backward(loss);
  Metrics metrics;
  metrics.add("loss", loss.item());
  metrics.add("accuracy", share_greater(chosen, rejected));
  metrics.add("score/mean", mean(scores.detach()).item());
  metrics.add("grad_norm", apply(slab_, optimizer_, config_));
  return metrics;
}

double RewardModelTrainer::accuracy(const std::vector<Preference>& pairs) const {
  NoGrad no_grad;
  const std::vector<Response> responses = all_of(pairs);
  const auto [chosen, rejected] = halves(sequence_scores(model_, pointers(responses)));
  return share_greater(chosen, rejected);
}

RewardModelJudge::RewardModelJudge(const ScalarModel& model, double mean, double std)
    : model_(model), mean_(mean), std_(std) {
  check_finite(model, "the reward model");
  check(std::isfinite(mean) && std::isfinite(std) && std > 0,
        "RewardModelJudge: expected a finite mean and a positive std of the reward model's scores, got {} and {}", mean,
        std);
}

RewardModelJudge::RewardModelJudge(const ScalarModel& model, const std::vector<Response>& normalise_over)
    : model_(model) {
  check_finite(model, "the reward model");
  const std::vector<double> all = scores(normalise_over);
  check(all.size() > 1, "RewardModelJudge: at least two responses are needed to normalise over, got {}", all.size());
  const auto n = static_cast<double>(all.size());
  double squares = 0;
  for (const double s : all) mean_ += s / n;
  for (const double s : all) squares += (s - mean_) * (s - mean_) / n;
  check(squares > 0, "RewardModelJudge: the model gives all responses the same score");
  std_ = std::sqrt(squares);
}

std::vector<double> RewardModelJudge::scores(const std::vector<Response>& responses) const {
  NoGrad no_grad;
  return sequence_scores(model_, pointers(responses)).to_vector();
}

void RewardModelJudge::operator()(std::vector<Response>& responses) const {
  const std::vector<double> all = scores(responses);
  for (size_t i = 0; i < responses.size(); ++i) {
    Score& score = responses[i].score;
    const double true_reward = score.reward;
    score.reward = (all[i] - mean_) / std_;
    score.parts = {{"reward model", score.reward}, {"true", true_reward}};
    score.per_token.clear();
  }
}

DpoTrainer::DpoTrainer(Transformer& policy, std::vector<Preference> pairs, const PreferenceConfig& config)
    : policy_(policy),
      reference_(policy),
      pairs_(std::move(pairs)),
      config_(checked(config)),
      slab_(policy),
      optimizer_(slab_, config.adamw),
      order_(pairs_.size(), random_stream(config.seed, 0)) {
  const double dropout = policy.config.largest_dropout();
  check(dropout == 0, "DpoTrainer: the policy has dropout {}: its log-probabilities would be random", dropout);
}

Metrics DpoTrainer::step() {
  const std::vector<Response> responses = both(pairs_, order_.next(config_.batch));
  const auto view = pointers(responses);
  Tensor ref;
  {
    NoGrad no_grad;
    ref = sequence_log_probs(reference_.model(), view);
  }
  slab_.zero_grad();
  const Tensor log_probs = sequence_log_probs(policy_, view);
  const auto [chosen, rejected] = halves(log_probs);
  const auto [ref_chosen, ref_rejected] = halves(ref);
  const DpoLoss dpo = dpo_loss(chosen, rejected, ref_chosen, ref_rejected, config_.dpo);
  const Tensor loss = mean(dpo.loss);
  backward(loss);
  Metrics metrics;
  metrics.add("loss", loss.item());
  metrics.add("accuracy", share_greater(dpo.chosen_reward, dpo.rejected_reward));
  metrics.add("reward/chosen", mean(dpo.chosen_reward).item());
  metrics.add("reward/rejected", mean(dpo.rejected_reward).item());
  metrics.add("log_prob/chosen", mean(chosen.detach()).item());
  metrics.add("log_prob/rejected", mean(rejected.detach()).item());
  metrics.add("grad_norm", apply(slab_, optimizer_, config_));
  return metrics;
}

double DpoTrainer::accuracy(const std::vector<Preference>& pairs) const {
  NoGrad no_grad;
  const std::vector<Response> responses = all_of(pairs);
  const auto view = pointers(responses);
  const auto [chosen, rejected] =
      halves(sequence_log_probs(policy_, view) - sequence_log_probs(reference_.model(), view));
  return share_greater(chosen, rejected);
}

}  // namespace pg::rl
