// Imitation, learning from preferences and expert iteration on several ranks: weights and metrics have the bits of one
// rank, and micro-batches add up to their batch.
#include <cmath>

#include "nn/variants/lora.h"
#include "rl/text/imitation.h"
#include "rl/text/preferences.h"
#include "tests/rl/on_ranks.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::bytes_on;
using pg::testing::check_equal_on_ranks;
using pg::testing::contains;
using pg::testing::small_policy;
using pg::testing::TempDir;
using pg::testing::warm_up;
using pg::testing::weights;

namespace {

std::unique_ptr<TextTask> sorting() { return make_text_task("sort", {{"length", "3"}}); }

// Adds adapters and freezes the other weights.
void adapt(Transformer& policy, double dropout) {
  Generator g(6);
  add_lora(policy, {.rank = 2, .alpha = 4, .dropout = dropout}, g);
}

void add(std::vector<double>& all, const std::vector<double>& values) {
  all.insert(all.end(), values.begin(), values.end());
}
void add(std::vector<double>& all, const Metrics& metrics) {
  for (const auto& [name, value] : metrics.values()) {
    if (!name.starts_with("time/")) all.push_back(value);
  }
}

// Pairs of a sorted answer and the same in reverse, or cut short if that is equal.
std::vector<Preference> pairs_of(const TextTask& task, size_t count) {
  Generator g(11);
  std::vector<Preference> pairs(count);
  for (Preference& pair : pairs) {
    const Problem problem = task.sample(g);
    pair = {problem.prompt, problem.answer, problem.answer};
    std::reverse(pair.rejected.begin(), pair.rejected.end() - 1);
    if (pair.rejected == pair.chosen) pair.rejected.pop_back();
  }
  return pairs;
}

// A model and the settings of a training on pairs.
struct PairJob {
  PreferenceConfig config = {.batch = 10, .micro_batch = 4};
  DType dtype = f32;
  double lora_dropout = -1;  // < 0: no adapters
  size_t pairs = 17;         // more than a batch and no multiple of it, so that a step's batch spans two passes
  int64_t steps = 4;
};

Transformer policy_of(const PairJob& job, const TextTask& task) {
  Transformer policy = small_policy(task, {.dtype = job.dtype});
  if (job.lora_dropout >= 0) adapt(policy, job.lora_dropout);
  return policy;
}

template <class AnyTrainer>
std::vector<double> steps_of(AnyTrainer& trainer, const PairJob& job, const TextTask& task, Module& model) {
  std::vector<double> all;
  for (int64_t i = 0; i < job.steps; ++i) add(all, trainer.step());
  all.push_back(trainer.accuracy(pairs_of(task, 7)));
  all.push_back(trainer.accuracy(pairs_of(task, 1)));  // fewer than ranks
  add(all, weights(model));
  return all;
}

std::vector<double> reward_model(const PairJob& job, Comm* comm) {
  const auto task = sorting();
  Transformer policy = policy_of(job, *task);
  Generator g(7);
  ScalarModel model(policy, 0.2, g);
  RewardModelTrainer trainer(model, pairs_of(*task, job.pairs), job.config, comm);
  return steps_of(trainer, job, *task, model);
}

std::vector<double> dpo(const PairJob& job, Comm* comm) {
  const auto task = sorting();
  Transformer policy = policy_of(job, *task);
  DpoTrainer trainer(policy, pairs_of(*task, job.pairs), job.config, comm);
  return steps_of(trainer, job, *task, policy);
}

struct SftJob {
  int64_t micro_batches = 5, steps = 3;
  DType dtype = f32;
  double lora_dropout = -1;        // < 0: no adapters
  std::string from = {}, to = {};  // checkpoints
  int zero = 0;
};

// What pg sft does on a task.
std::vector<double> sft(const SftJob& job, Comm* comm) {
  const auto task = sorting();
  Transformer policy = small_policy(*task, {.dtype = job.dtype});
  if (job.lora_dropout >= 0) adapt(policy, job.lora_dropout);
  TrainConfig config;
  config.max_steps = job.steps;
  config.micro_batches = job.micro_batches;
  config.zero = comm ? job.zero : 0;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = 3e-3};
  Trainer trainer(policy, config, sft_batches(*task, 3), comm);
  if (!job.from.empty()) trainer.resume(load_checkpoint(job.from));
  const auto one = single_rank();
  std::vector<double> all;
  while (trainer.steps() < job.steps) {
    const StepReport report = trainer.step();
    all.insert(all.end(), {report.loss, report.grad_norm});
  }
  trainer.with_all_weights([&] {
    for (const int64_t problems : {7, 2}) {
      Metrics metrics;
      add_rollout_metrics(metrics, rollout_on_ranks(comm ? *comm : *one, policy, *task, task->held_out(problems),
                                                    {.samples = 1, .greedy = true}));
      add(all, metrics);
    }
    add(all, weights(policy));
  });
  if (!job.to.empty()) trainer.save(job.to);
  return all;
}

struct ExpertJob {
  int64_t at_least = 18;  // responses that must be imitated: more than one step of each iteration
  ExpertIterationConfig config = {.problems = 61, .samples = 4, .batch = 5, .micro_batch = 2};
  DType dtype = f32;
};

std::vector<double> expert(const ExpertJob& job, Comm* comm) {
  const auto task = sorting();
  Transformer policy = small_policy(*task, {.dtype = job.dtype});
  warm_up(policy, *task, 80, 16);
  std::vector<double> all;
  double kept = 0;
  for (int64_t i = 1; i <= 3; ++i) {
    const Metrics metrics = expert_iteration(policy, *task, job.config, i, comm);
    kept += metrics.at("kept");
    add(all, metrics);
  }
  check(kept >= static_cast<double>(job.at_least), "only {} responses were imitated", kept);
  add(all, weights(policy));
  return all;
}

}  // namespace

TEST_CASE("learning on ranks: imitation has the bits of one rank", "[rl][sft][ranks]") {
  check_equal_on_ranks([](Comm* comm) { return sft({}, comm); });
  check_equal_on_ranks([](Comm* comm) { return sft({.micro_batches = 4, .dtype = bf16}, comm); });
  check_equal_on_ranks([](Comm* comm) { return sft({.lora_dropout = 0.2}, comm); });
}

TEST_CASE("learning on ranks: imitation with ZeRO has the bits of one rank", "[rl][sft][ranks][zero]") {
  for (const int zero : {1, 2, 3}) {
    INFO("stage " << zero);
    check_equal_on_ranks([&](Comm* comm) { return sft({.micro_batches = 6, .zero = zero}, comm); }, {2, 3});
    check_equal_on_ranks([&](Comm* comm) { return sft({.micro_batches = 6, .lora_dropout = 0.2, .zero = zero}, comm); },
                         {3});
  }
}

TEST_CASE("learning on ranks: imitation continues on another number of ranks with the same bits", "[rl][sft][ranks]") {
  const TempDir temp;
  const std::string first = temp.file("first"), second = temp.file("second");
  for (const double dropout : {-1.0, 0.2}) {
    const auto run = [&](int ranks, int64_t steps, const std::string& from, const std::string& to) {
      const SftJob job{.steps = steps, .lora_dropout = dropout, .from = from, .to = to};
      return bytes_on(ranks, [&](Comm* comm) { return sft(job, comm); })[0];
    };
    run(2, 1, "", first);
    run(3, 3, first, second);
    const std::string continued = run(1, 4, second, ""), whole = run(1, 4, "", "");
    // The continued run has the numbers of the last step only.
    REQUIRE(continued.size() + 3 * 2 * sizeof(double) == whole.size());
    REQUIRE(whole.ends_with(continued));
  }
}

TEST_CASE("learning on ranks: a reward model has the bits of one rank", "[rl][preferences][ranks]") {
  check_equal_on_ranks([](Comm* comm) { return reward_model({}, comm); });
  check_equal_on_ranks([](Comm* comm) { return reward_model({.config = {.batch = 10}}, comm); }, {3});  // one piece
  check_equal_on_ranks([](Comm* comm) { return reward_model({.config = {.batch = 2, .micro_batch = 1}}, comm); }, {3});
  check_equal_on_ranks([](Comm* comm) { return reward_model({.config = {.batch = 1, .micro_batch = 5}}, comm); }, {2});
  check_equal_on_ranks([](Comm* comm) { return reward_model({.dtype = bf16}, comm); });
  // Dropout draws from streams of micro-batches.
  check_equal_on_ranks([](Comm* comm) { return reward_model({.lora_dropout = 0.2}, comm); });
}

TEST_CASE("learning on ranks: DPO has the bits of one rank", "[rl][preferences][ranks]") {
  for (const DpoKind kind : {DpoKind::sigmoid, DpoKind::robust, DpoKind::hinge, DpoKind::ipo}) {
    PairJob job;
    job.config.dpo = {.kind = kind, .label_smoothing = kind == DpoKind::robust ? 0.1 : 0};
    check_equal_on_ranks([&](Comm* comm) { return dpo(job, comm); });
  }
  check_equal_on_ranks([](Comm* comm) { return dpo({.dtype = bf16}, comm); });
  check_equal_on_ranks([](Comm* comm) { return dpo({.lora_dropout = 0}, comm); });
  check_equal_on_ranks([](Comm* comm) { return dpo({.config = {.batch = 2, .micro_batch = 1}, .pairs = 1}, comm); },
                       {3});
}

TEST_CASE("learning on ranks: expert iteration has the bits of one rank", "[rl][preferences][ranks]") {
  check_equal_on_ranks([](Comm* comm) { return expert({}, comm); });
  // Steps with fewer responses than micro-batches, and iterations with fewer problems than ranks.
  const ExpertJob few{.at_least = 1, .config = {.problems = 2, .samples = 64, .batch = 64, .micro_batch = 4}};
  check_equal_on_ranks([&](Comm* comm) { return expert(few, comm); });
}

TEST_CASE("learning on ranks: micro-batches add up to their batch", "[rl][preferences]") {
  // In f64, where the order of a sum changes little. The first steps: AdamW's division enlarges differences later.
  const auto differ = [](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]) / (1 + std::abs(a[i])));
    return most;
  };
  for (const int64_t size : {1, 3, 7, 9, 10, 64}) {
    INFO("micro-batches of " << size);
    const PairJob whole{.config = {.batch = 10}, .dtype = f64},
        parts{.config = {.batch = 10, .micro_batch = size}, .dtype = f64};
    CHECK(differ(reward_model(whole, nullptr), reward_model(parts, nullptr)) < 1e-9);
    CHECK(differ(dpo(whole, nullptr), dpo(parts, nullptr)) < 1e-9);
    const ExpertJob expert_whole{.config = {.problems = 61, .samples = 4, .batch = 5}, .dtype = f64};
    ExpertJob expert_parts = expert_whole;
    expert_parts.config.micro_batch = size;
    CHECK(differ(expert(expert_whole, nullptr), expert(expert_parts, nullptr)) < 1e-9);
  }
}

TEST_CASE("learning on ranks: other pairs or weights on a rank are an error", "[rl][preferences][ranks]") {
  const auto error_if_differs = [](size_t pairs, int64_t imitated, double lr) {
    std::string sentences;
    const int status = run_ranks(
        3,
        [&](Comm& comm) {
          const auto task = sorting();
          const bool differs = comm.rank() == 2;
          Transformer policy = small_policy(*task);
          warm_up(policy, *task, differs ? imitated : 0, 16);
          PreferenceConfig config{.batch = 6, .micro_batch = 2};
          if (differs) config.schedule.lr = lr;
          DpoTrainer trainer(policy, pairs_of(*task, differs ? pairs : 9), config, &comm);
          trainer.step();
          return 0;
        },
        {.timeout = 60}, &sentences);
    return fmt::format("{}: {}", status, sentences);
  };
  const double lr = PreferenceConfig{}.schedule.lr;
  CHECK(error_if_differs(9, 0, lr) == "0: ");
  CHECK(contains(error_if_differs(9, 1, lr), "the ranks have different weights: rank 2 differs"));
  CHECK(contains(error_if_differs(8, 0, lr), "the ranks have different preferences: rank 2 differs"));
  CHECK(contains(error_if_differs(9, 0, 2 * lr), "the ranks have different preferences: rank 2 differs"));
}

TEST_CASE("learning on ranks: responses that no rank can have written are an error", "[rl][preferences][ranks]") {
  const auto error_of_rank_0 = [](const std::vector<double>& sent) {
    std::string sentences;
    run_ranks(
        2,
        [&](Comm& comm) {
          const auto task = sorting();
          Transformer policy = small_policy(*task);
          if (comm.rank() == 0) {
            rollout_on_ranks(comm, policy, *task, task->held_out(2), {.samples = 1, .greedy = true});
          } else {
            gather_values(comm, sent);
          }
          return 0;
        },
        {.timeout = 60}, &sentences);
    return sentences;
  };
  const double nan = std::nan("");
  CHECK(contains(error_of_rank_0({}), "another rank sent responses that end too early, after 0 numbers"));
  CHECK(contains(error_of_rank_0({1, 2, 0}), "another rank sent responses that end too early, after 3 numbers"));
  CHECK(contains(error_of_rank_0({nan, 1}), "another rank sent nan in its responses, expected a whole number from 0"));
  CHECK(contains(error_of_rank_0({1e300, 1}), "another rank sent 1e+300 in its responses"));
  CHECK(contains(error_of_rank_0({-1, 1}), "another rank sent -1 in its responses"));
  CHECK(contains(error_of_rank_0({2, 1}), "another rank sent 2 in its responses, expected a whole number from 0 to 1"));
  CHECK(contains(error_of_rank_0({1, 1e12}), "expected a whole number from -2147483648 to 2147483647"));
  CHECK(contains(error_of_rank_0({1, 2, 1, 256}), "expected a whole number from 0 to 255"));
}
