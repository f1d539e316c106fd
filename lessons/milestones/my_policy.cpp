// The loop of make my_policy: responses, rewards, advantages, loss, update.
#include "lessons/milestones/my_policy.h"

#include <map>

#include "nn/optim.h"
#include "nn/train/trainer.h"
#include "rl/text/trainer.h"

namespace pg::milestones {
namespace {

using Responses = std::vector<rl::Response>;

std::unique_ptr<Transformer> new_policy(const TextTask& task, Generator& g) {
  return std::make_unique<Transformer>(TransformerConfig{.vocab_size = task.vocab_size(),
                                                         .block_size = rl::block_size_for(task),
                                                         .n_layer = 1,
                                                         .n_head = 2,
                                                         .n_embd = 32,
                                                         .in_proj_std = 0.18},
                                       g);
}
std::unique_ptr<Transformer> copy_of(Transformer& model, const TextTask& task) {
  Generator unused(0);
  auto copy = new_policy(task, unused);
  load_state_dict(*copy, state_dict(model));
  return copy;
}

Tensor log_probs(const PolicyPieces& pieces, const Transformer& policy, const rl::TokenRows& rows) {  // [B, T]
  const Tensor logits = policy(rows.ids);
  const Tensor all = pieces.reinforce.token_log_prob(reshape(logits, {-1, logits.size(-1)}),
                                                     rows.targets.view_reshape({rows.targets.numel()}));
  return reshape(all, rows.ids.shape());
}

// The numbers of x [B, T] at the tokens of row b.
std::vector<double> of_row(const Tensor& x, const rl::TokenRows& rows, size_t b) {
  const std::vector<double> all = x.to_vector();
  const auto mask = rows.mask.data<uint8_t>();
  std::vector<double> row;
  for (size_t t = 0; t < static_cast<size_t>(x.size(1)); ++t) {
    const size_t at = b * static_cast<size_t>(x.size(1)) + t;
    if (mask[at]) row.push_back(all[at]);
  }
  return row;
}

// The reward of each token f64 [B, T]: that of the response at its last token, less 0.02 of the KL estimate at each.
Tensor token_rewards(const PolicyPieces& pieces, const Responses& responses, const rl::TokenRows& rows,
                     const Tensor& log_prob, const Tensor& reference) {
  const Tensor rewards = Tensor::zeros(rows.ids.shape(), f64);
  const auto mask = rows.mask.data<uint8_t>();
  for (size_t b = 0; b < responses.size(); ++b) {
    lesson08::ScoredResponse scored;
    static_cast<rl::Response&>(scored) = responses[b];
    scored.old_log_probs = of_row(log_prob, rows, b);
    scored.ref_log_probs = of_row(reference, rows, b);
    pieces.rlhf.set_rewards(scored);
    pieces.rlhf.subtract_kl(scored, 0.02);
    auto next = scored.rewards.begin();
    for (size_t at = b * static_cast<size_t>(rewards.size(1)); next != scored.rewards.end(); ++at) {
      if (mask[at]) rewards.data<double>()[at] = *next++;
    }
  }
  return rewards;
}

// What a method minimises, of one batch of responses. `old` are the log-probabilities of the policy that drew them.
Tensor loss_of(const PolicyPieces& pieces, const Method& method, const Tensor& log_prob, const Tensor& old,
               const Tensor& advantage, const rl::TokenRows& rows) {
  if (!method.advantage) return pieces.reinforce.reinforce_loss(log_prob, advantage, rows.mask);
  const Tensor ratio = method.per_sequence
                           ? expand(pieces.grpo.sequence_ratio(log_prob, old, rows.mask), log_prob.shape())
                           : pieces.grpo.token_ratio(log_prob, old, rows.mask);
  const lesson09::Denominators total{sum(rows.mask.to(f64)).item(), static_cast<double>(log_prob.size(0)),
                                     static_cast<double>(log_prob.size(1))};
  return pieces.grpo.aggregate(pieces.ppo.clip_loss(ratio, advantage, 0.2, 0.2), rows.mask, method.aggregation, total);
}

// The KL from the start in nats per token, by the three estimators.
void measure_kl(const PolicyPieces& pieces, const Tensor& now, const Tensor& reference, const Tensor& mask,
                Learned& learned) {
  const double tokens = sum(mask.to(f64)).item();
  const auto mean_of = [&](const Tensor& x) { return sum(where(mask, x, Tensor::scalar(0))).item() / tokens; };
  learned.k1 = mean_of(pieces.reinforce.k1(now, reference));
  learned.k2 = mean_of(pieces.reinforce.k2(now, reference));
  learned.k3 = mean_of(pieces.reinforce.k3(now, reference));
}

// Held-out problems: greedy responses, and eight samples of each for pass@8 and a vote.
void examine(const PolicyPieces& pieces, Transformer& policy, Transformer& start, const TextTask& task,
             Learned& learned) {
  const std::vector<Problem> problems = task.held_out(64);
  const auto n = static_cast<double>(problems.size());
  for (const rl::Response& r : rl::rollout(policy, task, problems, {.samples = 1, .greedy = true}).responses) {
    learned.solved += r.score.solved / n;
  }
  const Responses drawn = rl::rollout(policy, task, problems, {.samples = kSamples, .seed = 77}).responses;
  for (size_t p = 0; p < problems.size(); ++p) {
    std::map<std::string, rl::AnswerCount> answers;
    int64_t right = 0;
    for (size_t i = p * kSamples; i < (p + 1) * kSamples; ++i) {
      right += drawn[i].score.solved;
      if (const auto answer = task.answer_of(drawn[i].tokens)) {
        ++answers[*answer].count;
        answers[*answer].right = drawn[i].score.solved;
      }
    }
    std::vector<rl::AnswerCount> votes;
    for (const auto& [answer, count] : answers) votes.push_back(count);
    learned.vote += pieces.verify.majority_vote(votes) / n;
    learned.any_of_8 += pieces.verify.pass_at_k(kSamples, right, kSamples) / n;
  }
  NoGrad guard;
  const rl::TokenRows rows = rl::token_rows(rl::pointers(drawn));
  measure_kl(pieces, log_probs(pieces, policy, rows), log_probs(pieces, start, rows), rows.mask, learned);
}

}  // namespace

std::unique_ptr<Transformer> imitator(const PolicyPieces& pieces, const TextTask& task) {
  Generator init(1);
  auto policy = new_policy(task, init);
  TrainConfig config;
  config.max_steps = 60;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = 3e-3};
  Trainer trainer(*policy, config, [&](Generator& g) {
    std::vector<Problem> problems;
    for (int i = 0; i < 64; ++i) problems.push_back(task.sample(g));
    return pieces.rlhf.sft_batch(problems);
  });
  while (trainer.steps() < config.max_steps) trainer.step();
  return policy;
}

Learned learn(const PolicyPieces& pieces, Transformer& start, const TextTask& task, const Method& method,
              int64_t steps) {
  const auto policy = copy_of(start, task);
  ParamSlab slab(*policy);
  AdamW optimizer(slab, {0.9, 0.95, 1e-8, 0});
  lesson06::Baseline baseline;
  Generator g(9);
  Learned learned;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Problem> problems;
    for (int64_t i = 0; i < kPrompts; ++i) problems.push_back(task.sample(g));
    Responses responses =
        rl::rollout(*policy, task, problems, {.samples = kSamples, .seed = 1000 + static_cast<uint64_t>(step)})
            .responses;
    std::vector<double> scores;
    for (const rl::Response& r : responses) scores.push_back(r.score.reward);
    const Tensor rewards = Tensor::from(scores, {kPrompts, kSamples});
    learned.rewards.push_back(mean(rewards).item());
    const double with_signal = sum(pieces.grpo.groups_with_signal(rewards).to(f64)).item();
    learned.silent += (1 - with_signal / kPrompts) / static_cast<double>(steps);
    if (method.shuffled) shuffle(scores, g);
    for (size_t i = 0; i < responses.size(); ++i) responses[i].score.reward = scores[i];

    const rl::TokenRows rows = rl::token_rows(rl::pointers(responses));
    Tensor old, advantage;
    {
      NoGrad guard;
      old = log_probs(pieces, *policy, rows);
      if (method.advantage) {
        advantage = reshape(method.advantage(pieces, Tensor::from(scores, {kPrompts, kSamples})), {-1, 1}).to(f32);
      } else {
        const Tensor each = token_rewards(pieces, responses, rows, old, log_probs(pieces, start, rows));
        advantage = pieces.reinforce.advantage(baseline, pieces.reinforce.return_to_go(each, 1)).to(f32);
      }
    }
    for (int pass = 0; pass < (method.advantage ? 2 : 1); ++pass) {  // with a ratio a second pass is allowed
      slab.zero_grad();
      backward(loss_of(pieces, method, log_probs(pieces, *policy, rows), old, advantage, rows));
      optimizer.step(2e-3, clip_scale(grad_norm(slab), 1));
    }
  }
  examine(pieces, *policy, start, task, learned);
  return learned;
}

double log_prob_difference(const PolicyPieces& pieces, Transformer& policy, const TextTask& task) {
  NoGrad guard;
  const Responses drawn = rl::rollout(policy, task, task.held_out(16), {.samples = 2, .seed = 5}).responses;
  const std::vector<const rl::Response*> pointers = rl::pointers(drawn);
  const std::vector<double> sums = pieces.rlhf.sequence_log_probs(policy, pointers).to_vector();
  const rl::TokenRows rows = rl::token_rows(pointers);
  const Tensor each = log_probs(pieces, policy, rows);
  double worst = 0;
  for (size_t b = 0; b < drawn.size(); ++b) {
    double sum = 0;
    for (const double x : of_row(each, rows, b)) sum += x;
    worst = std::max(worst, std::abs(sum - sums[b]));
  }
  return worst;
}

}  // namespace pg::milestones
