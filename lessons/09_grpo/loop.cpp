// The loop of the demonstration: rollout, advantages, ratio, update.
#include "lessons/09_grpo/loop.h"

#include <algorithm>
#include <cmath>

#include "rl/text/models.h"
#include "tensor/base/random_stream.h"

namespace pg::lesson09 {
namespace {

// The advantage of each response: [P, G] → [P, G]. The policy learns from these, not from rewards.
Tensor advantages(const Impl& impl, const rl::Algorithm& a, const Tensor& rewards) {
  switch (a.baseline) {
    case rl::Baseline::group_std:
      return impl.group_std_advantage(rewards, a.eps, a.ddof);
    case rl::Baseline::leave_one_out:
      return impl.leave_one_out_advantage(rewards);
    case rl::Baseline::gpg: {  // scaled up to compensate for groups without signal
      const double teach = sum(impl.groups_with_signal(rewards).to(f64)).item();
      return impl.group_mean_advantage(rewards) * (static_cast<double>(rewards.size(0)) / std::max(teach, 1.0));
    }
    default:
      return impl.group_mean_advantage(rewards);
  }
}

// The probability ratio of the current policy to the policy that sampled, per token: [B, T].
Tensor ratio_of(const Impl& impl, const rl::Algorithm& a, const Tensor& log_prob, const Tensor& old,
                const Tensor& mask) {
  if (a.ratio != rl::Ratio::sequence) return impl.token_ratio(log_prob, old, mask);
  return expand(impl.sequence_ratio(log_prob, old, mask), log_prob.shape());
}

// The loss of each token: [B, T].
Tensor surrogate(const rl::Algorithm& a, const Tensor& log_prob, const Tensor& ratio, const Tensor& advantage,
                 const Tensor& mask) {
  if (a.surrogate == rl::Surrogate::log_prob) return rl::log_prob_loss(log_prob, advantage, mask);
  if (a.surrogate == rl::Surrogate::cispo)
    return rl::cispo_loss(log_prob, ratio, advantage, a.clip_low, a.clip_high, mask);
  return rl::clip_loss(ratio, advantage, a.clip_low, a.clip_high);
}

Tensor rewards_of(const std::vector<rl::Response>& responses, int64_t samples) {
  std::vector<double> rewards;
  for (const rl::Response& r : responses) rewards.push_back(r.score.reward);
  return Tensor::from(rewards, {static_cast<int64_t>(responses.size()) / samples, samples});
}

// Samples G responses for each prompt. DAPO replaces groups without signal, in at most three rounds.
std::vector<rl::Response> collect(const Impl& impl, const rl::Algorithm& a, const Lesson& lesson, Gpt2& policy,
                                  uint64_t number, Step& step) {
  Generator draw = random_stream(lesson.seed, number);
  const auto group = static_cast<size_t>(lesson.samples), wanted = static_cast<size_t>(lesson.prompts) * group;
  std::vector<rl::Response> kept;
  const int rounds = a.dynamic_sampling ? 3 : 1;
  for (int round = 0; round < rounds && kept.size() < wanted; ++round) {
    std::vector<Problem> problems;
    while (problems.size() < (wanted - kept.size()) / group) problems.push_back(lesson.task.sample(draw));
    rl::Experience e = rl::rollout(
        policy, lesson.task, problems,
        {.samples = lesson.samples, .seed = lesson.seed, .first_row = (number * 8 + uint64_t(round)) << 20});
    if (round == 0) step.reward = mean(rewards_of(e.responses, lesson.samples)).item();
    const std::vector<double> teaches = impl.groups_with_signal(rewards_of(e.responses, lesson.samples)).to_vector();
    step.sampled += static_cast<double>(e.responses.size());
    for (size_t p = 0; p < teaches.size(); ++p) {
      if (round == 0) step.silent += (teaches[p] == 0) / static_cast<double>(teaches.size());
      if (teaches[p] == 0 && round + 1 < rounds) continue;
      std::move(e.responses.begin() + int64_t(p * group), e.responses.begin() + int64_t((p + 1) * group),
                std::back_inserter(kept));
    }
  }
  return kept;
}

void shuffle_scores(std::vector<rl::Response>& responses, uint64_t seed, uint64_t number) {
  Generator random = random_stream(seed + 1000, number);
  for (size_t i = responses.size(); i-- > 1;) {
    std::swap(responses[i].score, responses[static_cast<size_t>(random.integer(int64_t(i) + 1))].score);
  }
}

double largest_error(const Tensor& ratio, const Tensor& mask) {
  return amax(where(mask, abs(ratio - 1.0), Tensor::scalar(0, ratio.dtype()))).item();
}

}  // namespace

Student::Student(const Gpt2Config& config)
    : policy([&] {
        Generator unused(0);
        return Gpt2(config, unused);
      }()),
      slab(policy),
      optimizer(slab, {0.9, 0.95, 1e-8, 0}) {}
Student::Student(Gpt2& like) : Student(like.config) { load_state_dict(policy, state_dict(like)); }

Step learn_step(const Impl& impl, const rl::Algorithm& a, const Lesson& lesson, Student& student, uint64_t number) {
  Step step;
  // 1. Prompts → groups of responses → rewards → advantages.
  std::vector<rl::Response> responses = collect(impl, a, lesson, student.policy, number, step);
  if (lesson.shuffle) shuffle_scores(responses, lesson.seed, number);
  const Tensor rewards = rewards_of(responses, lesson.samples);                 // [P, G]
  const Tensor advantage = advantages(impl, a, rewards).view_reshape({-1, 1});  // [B, 1]

  // 2. For each mini-batch: how probable are the responses now, compared with when they were sampled?
  const auto count = static_cast<int64_t>(responses.size());
  for (int64_t m = 0; m < lesson.mini_batches; ++m) {
    const int64_t begin = count * m / lesson.mini_batches, end = count * (m + 1) / lesson.mini_batches;
    std::vector<const rl::Response*> part;
    for (int64_t i = begin; i < end; ++i) part.push_back(&responses[static_cast<size_t>(i)]);
    const rl::TokenRows rows = rl::token_rows(part);
    const Tensor old = rl::token_values(part, &rl::Response::sampler_log_probs, f32);  // [B, T]
    const Tensor worth = advantage.view_slice(0, begin, end).to(f32);                  // [B, 1]
    student.slab.zero_grad();
    const Tensor log_prob = rl::score_tokens(student.policy, rows).log_prob;  // [B, T]
    const Tensor ratio = ratio_of(impl, a, log_prob, old, rows.mask);         // [B, T]
    const Tensor by_token = surrogate(a, log_prob, ratio, worth, rows.mask);  // [B, T]
    const double longest = static_cast<double>(lesson.task.max_response());
    const Tensor loss = impl.aggregate(by_token, rows.mask, a.aggregation, rl::denominators(rows.mask, longest));
    backward(loss);
    const double norm = grad_norm(student.slab);
    student.optimizer.step(lesson.lr, clip_scale(norm, 1));

    // Statistics of the step.
    NoGrad no_grad;
    const double error = largest_error(ratio.detach(), rows.mask);
    if (m == 0) step.first_loss = loss.item(), step.first_norm = norm, step.first_ratio_error = error;
    step.last_loss = loss.item(), step.last_ratio_error = error;
    step.norm += norm / static_cast<double>(lesson.mini_batches);
    const auto value = ratio.detach().to_vector(), of = worth.to_vector(), kept = rows.mask.to_vector();
    double clipped = 0, tokens = 0;
    for (size_t i = 0; i < value.size(); ++i) {
      const double worth_of_row = of[i / static_cast<size_t>(rows.mask.size(1))];
      tokens += kept[i];
      if (kept[i] == 0 || a.surrogate != rl::Surrogate::clip) continue;
      clipped += worth_of_row > 0 ? value[i] > 1 + a.clip_high : worth_of_row < 0 && value[i] < 1 - a.clip_low;
    }
    step.clipped += clipped / tokens / static_cast<double>(lesson.mini_batches);
  }
  for (const rl::Response& r : responses) step.length += static_cast<double>(r.length()) / double(count);
  return step;
}

Held examine(Gpt2& policy, const TextTask& task, int64_t problems) {
  const auto e = rl::rollout(policy, task, task.held_out(problems), {.samples = 1, .greedy = true});
  Held held;
  for (const rl::Response& r : e.responses) {
    held.reward += r.score.reward / static_cast<double>(e.responses.size());
    held.solved += 100 * r.score.solved / static_cast<double>(e.responses.size());
  }
  return held;
}

rl::Algorithm bare(std::string_view name) {
  rl::Algorithm a = rl::algorithm(name);
  a.kl = rl::KlPlace::none;
  a.reference = rl::ReferenceKind::none;
  a.overlong_cache = 0;
  return a;
}

}  // namespace pg::lesson09
