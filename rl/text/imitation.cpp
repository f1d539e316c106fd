// Imitation: batches of a task's answers, and iterations that imitate the policy's own solutions.
#include "rl/text/imitation.h"

#include <algorithm>
#include <set>

#include "nn/train/schedule.h"
#include "rl/text/ranks.h"
#include "rl/text/speed.h"
#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/measure/profile.h"

namespace pg::rl {

TokenBatch sft_batch(std::span<const Problem> problems) {
  size_t longest = 0;
  for (const Problem& p : problems) {
    check(!p.prompt.empty() && !p.answer.empty(), "sft_batch: a problem needs a prompt and an answer");
    longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
  }
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
  for (size_t b = 0; b < problems.size(); ++b) {
    const std::vector<int32_t>&prompt = problems[b].prompt, &answer = problems[b].answer;
    const auto ids = batch.ids.data<int32_t>().subspan(b * longest),
               targets = batch.targets.data<int32_t>().subspan(b * longest);
    std::copy(prompt.begin(), prompt.end(), ids.begin());
    std::copy(answer.begin(), answer.end() - 1, ids.begin() + static_cast<int64_t>(prompt.size()));
    const std::vector<uint8_t>& learned = problems[b].action_mask;
    check(learned.empty() || learned.size() == answer.size(), "sft_batch: {} of {} tokens say whether they are learned",
          learned.size(), answer.size());
    for (size_t t = 0; t < answer.size(); ++t) {
      if (learned.empty() || learned[t] != 0) targets[prompt.size() - 1 + t] = answer[t];
    }
  }
  return batch;
}

TokenBatch packed_batch(std::span<const Sequence> texts) {
  const TokenRows rows = token_rows(texts);
  return {.ids = {}, .targets = {}, .packed = rows.packed, .indices = rows.indices, .tokens = rows.tokens};
}

NextBatch sft_batches(const TextTask& task, int64_t size) {
  return [&task, size](Generator& g) {
    std::vector<Problem> problems;
    for (int64_t i = 0; i < size; ++i) {
      problems.push_back(task.sample(g));
      Problem& p = problems.back();
      if (p.action_mask.empty()) p.action_mask.assign(p.answer.size(), 1);
    }
    std::vector<Sequence> texts;
    for (const Problem& p : problems) texts.push_back({p.prompt, p.answer, p.action_mask});
    return packed_batch(texts);
  };
}

namespace {

// Micro-batch `index` of the `count` that a step of these responses has. One without responses has no targets.
TokenBatch micro_batch_of(std::span<const Response> step, int64_t index, int64_t count) {
  const Shard part = shard_of(std::ssize(step), static_cast<int>(index), static_cast<int>(count));
  const bool nothing = part.size() == 0;
  const auto responses =
      nothing ? step.first(1) : step.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size()));
  std::vector<Sequence> texts;
  for (const Response& r : responses) texts.push_back({r.prompt, r.tokens, r.action_mask});
  TokenBatch batch = packed_batch(texts);
  if (nothing) batch.indices = batch.tokens = Tensor::zeros({0}, i32);
  return batch;
}

// Permutes over the responses which of them are solved.
void shuffle_solved(std::vector<Response>& responses, Generator& generator) {
  std::vector<uint8_t> solved;
  for (const Response& r : responses) solved.push_back(r.score.solved);
  shuffle(solved, generator);
  for (size_t i = 0; i < responses.size(); ++i) responses[i].score.solved = solved[i] != 0;
}

}  // namespace

Metrics expert_iteration(Transformer& policy, const TextTask& task, const ExpertIterationConfig& config,
                         int64_t iteration, Comm* comm, const std::function<bool()>& should_stop,
                         const std::function<bool()>& should_stop_anywhere) {
  check_config(config);
  const auto one_rank = comm ? nullptr : single_rank(policy.device());
  if (!comm) comm = one_rank.get();
  const auto number = static_cast<uint64_t>(iteration);
  Generator draws = random_stream(config.seed, number);
  std::vector<Problem> problems;
  for (int64_t i = 0; i < config.problems; ++i) problems.push_back(task.sample(draws));
  Timer timer;
  Experience experience = rollout_on_ranks(*comm, policy, task, problems,
                                           {.samples = config.samples,
                                            .temperature = config.temperature,
                                            .max_rows = config.max_rows,
                                            .seed = random_stream(config.seed, ~uint64_t{0}).seed(),
                                            .first_row = number << 32,
                                            .should_stop = should_stop});
  if (should_stop_anywhere && should_stop_anywhere()) return {};
  Metrics metrics, rolled_out;
  add_rollout_metrics(rolled_out, experience);
  metrics.add("solved", rolled_out.at("solved"));
  metrics.add("length/mean", rolled_out.at("length/mean"));
  StepWork work{.generations = {experience.work}, .rollout_seconds = timer.lap()};
  for (const Response& r : experience.responses) work.sampled += static_cast<double>(r.length());
  if (config.shuffle_rewards) shuffle_solved(experience.responses, draws);
  // Keep each distinct solution once: otherwise those that are already likely would be imitated most.
  std::set<std::pair<std::vector<int32_t>, std::vector<int32_t>>> seen;
  std::vector<Response> kept;
  for (const Response& r : experience.responses) {
    if (r.score.solved && seen.insert({r.prompt, r.tokens}).second) kept.push_back(r);
  }
  metrics.add("kept", static_cast<double>(kept.size()));
  if (kept.empty()) return metrics;

  const auto count = static_cast<int64_t>(kept.size());
  const int64_t steps_per_epoch = (count + config.batch - 1) / config.batch;
  int64_t at = 0, piece = 0;  // the next row of an epoch, the next micro-batch of a step
  TrainConfig train;
  train.max_steps = config.epochs * steps_per_epoch;
  if (config.micro_batch > 0) train.micro_batches = (config.batch + config.micro_batch - 1) / config.micro_batch;
  train.schedule = {.kind = Schedule::Kind::constant, .lr = config.lr};
  train.adamw = config.adamw;
  train.max_grad_norm = config.max_grad_norm;
  train.seed = draws.seed();
  const NextBatch next = [&](Generator& g) {
    if (at == 0 && piece == 0) shuffle(kept, g);
    const int64_t end = std::min(count, at + config.batch);
    const auto rows = std::span(kept).subspan(static_cast<size_t>(at), static_cast<size_t>(end - at));
    const TokenBatch batch = micro_batch_of(rows, piece, train.micro_batches);
    work.computed += static_cast<double>(batch.packed.ids.numel());
    piece = (piece + 1) % train.micro_batches;
    if (piece == 0) at = end == count ? 0 : end;
    return batch;
  };
  const double flops_before = profiled_flops();
  Trainer trainer(policy, train, next, comm);
  double loss = 0;
  for (int64_t step = 0; step < train.max_steps; ++step) {
    const double now = trainer.step().loss;
    if (step >= train.max_steps - steps_per_epoch) loss += now / static_cast<double>(steps_per_epoch);
  }
  metrics.add("sft_loss", loss);
  work.update_seconds = timer.lap();
  work.flops = profiled_flops() - flops_before;
  add_speed_metrics(metrics, policy, work, config.rates);
  return metrics;
}

}  // namespace pg::rl
