// Reward models and DPO: pairs, trainers, judges.
#include "rl/text/preferences.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "rl/methods/batch.h"
#include "rl/text/ranks.h"
#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/base/text.h"

namespace pg::rl {
namespace {

enum Stream : uint64_t { order_stream, dropout_stream };  // random streams of PreferenceConfig::seed

Response as_response(const std::vector<int32_t>& prompt, const std::vector<int32_t>& tokens) {
  Response r;
  r.prompt = prompt;
  r.tokens = tokens;
  r.action_mask.assign(tokens.size(), 1);
  return r;
}

const PreferenceConfig& checked(const PreferenceConfig& config) {
  check_config(config);
  return config;
}

// The chosen responses of these pairs, followed by the rejected ones.
std::vector<Response> both(const std::vector<Preference>& pairs, std::span<const size_t> which) {
  std::vector<Response> all;
  for (const size_t i : which) all.push_back(as_response(pairs[i].prompt, pairs[i].chosen));
  for (const size_t i : which) all.push_back(as_response(pairs[i].prompt, pairs[i].rejected));
  return all;
}

std::pair<Tensor, Tensor> halves(const Tensor& x) {
  const int64_t n = x.size(0) / 2;
  return {slice(x, 0, 0, n), slice(x, 0, n, 2 * n)};
}

// The number of elements of a that are greater than those of b, in f32: exact for up to 2^24 pairs.
Tensor count_greater(const Tensor& a, const Tensor& b) { return sum(gt(a.detach(), b.detach()).to(f32)); }

Tensor mean_of(const Tensor& x) { return mean(x.detach()); }

// A number that tells lists of pairs apart.
std::string fingerprint(const std::vector<Preference>& pairs) {
  std::string bytes;
  for (const Preference& pair : pairs) {
    for (const auto* tokens : {&pair.prompt, &pair.chosen, &pair.rejected})
      bytes += fmt::format("{};", fmt::join(*tokens, " "));
  }
  return fmt::format("{} pairs, {:016x}", pairs.size(), checksum(bytes));
}

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
  drawn_ += count;
  return batch;
}

PreferenceSteps::PreferenceSteps(Module& model, std::vector<Preference> pairs, const PreferenceConfig& config,
                                 Comm* comm)
    : model_(model),
      pairs_(std::move(pairs)),
      config_(checked(config)),
      slab_(model),
      one_rank_(comm ? nullptr : single_rank(slab_.params().device())),
      comm_(comm ? *comm : *one_rank_),
      optimizer_(slab_, config.adamw),
      gradient_({&slab_}, comm_),
      order_(pairs_.size(), random_stream(config.seed, order_stream)) {
  model_.set_dropout_stream(dropout_stream_);
  if (comm_.size() == 1) return;
  std::string text = fmt::format("pairs: {}\n", pairs_.size());
  PreferenceConfig c = config;
  for (const Field& field : joined({reward_model_fields(c), fields(c.dpo)})) {
    text += fmt::format("{}: {}\n", field.name, field.text());
  }
  check_same_on_all_ranks(comm_, "preferences", text);
}

Metrics PreferenceSteps::step(const std::vector<const char*>& others, const MeanLoss& mean_loss,
                              const std::function<bool()>& should_stop) {
  const PreferenceOrder order = order_;
  const std::vector<size_t> batch = order_.next(config_.batch);
  const int64_t n = config_.batch, size = config_.micro_batch == 0 ? n : std::min(n, config_.micro_batch);
  // The loss, the number of ordered pairs and the others, of each micro-batch.
  std::vector<std::vector<double>> parts(static_cast<size_t>((n + size - 1) / size),
                                         std::vector<double>(2 + others.size()));
  const Generator dropout = random_stream(config_.seed, dropout_stream);
  struct Part {
    size_t index;
    double share;  // of the batch
  };
  std::vector<Part> mine;
  std::vector<Tensor> scalars;
  const auto backward_of = [&](int64_t i) {
    const auto begin = static_cast<size_t>(i * size), end = std::min(batch.size(), begin + static_cast<size_t>(size));
    const std::vector<Response> responses = both(pairs_, std::span(batch).subspan(begin, end - begin));
    *dropout_stream_ = random_stream(dropout.seed(), static_cast<uint64_t>(optimizer_.steps() * std::ssize(parts) + i));
    Means means;
    const Tensor loss = mean_loss(pointers(responses), means);
    const double share = static_cast<double>(end - begin) / static_cast<double>(n);
    backward(share * loss);
    mine.push_back({static_cast<size_t>(i), share});
    scalars.insert(scalars.end(), {means.loss, means.ordered});
    scalars.insert(scalars.end(), means.others.begin(), means.others.end());
  };
  if (!gradient_.run(std::ssize(parts), backward_of, should_stop)) {
    order_ = order;
    return {};
  }
  const std::vector<Tensor> on_host = read_back(scalars);
  auto next = on_host.begin();
  for (const auto& [index, share] : mine) {
    for (size_t k = 0; k < parts[index].size(); ++k, ++next) parts[index][k] = (k == 1 ? 1 : share) * next->item();
  }
  gather_parts(comm_, parts);
  std::vector<double> total = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    for (size_t k = 0; k < total.size(); ++k) total[k] += parts[i][k];
  }
  Metrics metrics;
  metrics.add("loss", total[0]);
  metrics.add("accuracy", total[1] / static_cast<double>(n));
  for (size_t k = 0; k < others.size(); ++k) metrics.add(others[k], total[2 + k]);
  metrics.add("grad_norm", apply(slab_, optimizer_, config_));
  return metrics;
}

double PreferenceSteps::ordered_share(const std::vector<Preference>& pairs,
                                      const std::function<Tensor(std::span<const Response* const>)>& values_of) const {
  NoGrad no_grad;
  const Shard mine = shard_of(std::ssize(pairs), comm_.rank(), comm_.size());
  double ordered = 0;
  if (mine.size() > 0) {
    std::vector<size_t> which(static_cast<size_t>(mine.size()));
    std::iota(which.begin(), which.end(), static_cast<size_t>(mine.begin));
    const std::vector<Response> responses = both(pairs, which);
    const auto [chosen, rejected] = halves(values_of(pointers(responses)));
    ordered = count_greater(chosen, rejected).item();
  }
  double total = 0;
  for (const auto& of_rank : gather_values(comm_, {ordered})) total += of_rank[0];
  return total / static_cast<double>(pairs.size());
}

void PreferenceSteps::save(const std::string& path, std::map<std::string, std::string> texts) const {
  texts["pairs"] = fingerprint(pairs_);
  texts["pairs_drawn"] = fmt::format("{}", order_.drawn());
  save_checkpoint(path, model_, &optimizer_, {steps(), {}, std::move(texts)});
}

void PreferenceSteps::resume(const Checkpoint& checkpoint) {
  const std::string& path = checkpoint.file.path;
  const auto saved = checkpoint.state.metadata.find("pairs");
  check(saved != checkpoint.state.metadata.end(),
        "{}: it has no state to continue from: an earlier version saved the weights only", path);
  check(saved->second == fingerprint(pairs_),
        "{}: the run learned from other pairs ({}) than those that are drawn now ({}): the model that writes them, or "
        "an option of the task or of the pairs, has changed since",
        path, saved->second, fingerprint(pairs_));
  checkpoint.restore(model_);
  checkpoint.restore(optimizer_);
  order_ = PreferenceOrder(pairs_.size(), random_stream(config_.seed, order_stream));
  order_.next(std::strtoll(checkpoint.text("pairs_drawn").c_str(), nullptr, 10));
}

RewardModelTrainer::RewardModelTrainer(ScalarModel& model, std::vector<Preference> pairs,
                                       const PreferenceConfig& config, Comm* comm)
    : model_(model), centring_(config.centring), steps_(model, std::move(pairs), config, comm) {}

Metrics RewardModelTrainer::step(const std::function<bool()>& should_stop) {
  const auto mean_loss = [&](std::span<const Response* const> responses, PreferenceSteps::Means& means) {
    const Tensor scores = sequence_scores(model_, responses);
    const auto [chosen, rejected] = halves(scores);
    const Tensor loss = mean(bradley_terry_loss(chosen, rejected, {}, centring_));
    means = {loss.detach(), count_greater(chosen, rejected), {mean_of(scores)}};
    return loss;
  };
  return steps_.step({"score/mean"}, mean_loss, should_stop);
}

double RewardModelTrainer::accuracy(const std::vector<Preference>& pairs) const {
  EvalMode eval_mode(model_);
  return steps_.ordered_share(
      pairs, [&](std::span<const Response* const> responses) { return sequence_scores(model_, responses); });
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

DpoTrainer::DpoTrainer(Transformer& policy, std::vector<Preference> pairs, const PreferenceConfig& config, Comm* comm)
    : policy_(policy), reference_(policy), options_(config.dpo), steps_(policy, std::move(pairs), config, comm) {
  const double dropout = policy.config.largest_dropout();
  check(dropout == 0, "DpoTrainer: the policy has dropout {}: its log-probabilities would be random", dropout);
}

Metrics DpoTrainer::step(const std::function<bool()>& should_stop) {
  const auto mean_loss = [&](std::span<const Response* const> responses, PreferenceSteps::Means& means) {
    const auto [ref_chosen, ref_rejected] = halves(reference_log_probs(responses));
    const auto [chosen, rejected] = halves(sequence_log_probs(policy_, responses));
    const DpoLoss dpo = dpo_loss(chosen, rejected, ref_chosen, ref_rejected, options_);
    const Tensor loss = mean(dpo.loss);
    means = {loss.detach(),
             count_greater(dpo.chosen_reward, dpo.rejected_reward),
             {mean_of(dpo.chosen_reward), mean_of(dpo.rejected_reward), mean_of(chosen), mean_of(rejected)}};
    return loss;
  };
  return steps_.step({"reward/chosen", "reward/rejected", "log_prob/chosen", "log_prob/rejected"}, mean_loss,
                     should_stop);
}

Tensor DpoTrainer::reference_log_probs(std::span<const Response* const> responses) const {
  NoGrad no_grad;
  return sequence_log_probs(reference_.model(), responses);
}

double DpoTrainer::accuracy(const std::vector<Preference>& pairs) const {
  return steps_.ordered_share(pairs, [&](std::span<const Response* const> responses) {
    return sequence_log_probs(policy_, responses) - reference_log_probs(responses);
  });
}

}  // namespace pg::rl
