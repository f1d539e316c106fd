// Reinforcement learning on several ranks: weights, rewards and losses have the bits of one rank, for every algorithm.
#include <signal.h>

#include <chrono>

#include "rl/text/imitation.h"
#include "rl/text/trainer.h"
#include "tests/rl/on_ranks.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::TempDir;

namespace {

// A task with a policy that has learned a little, so that rewards differ.
struct Setting {
  std::unique_ptr<TextTask> task;
  std::unique_ptr<Transformer> policy;

  explicit Setting(const std::string& name, const std::map<std::string, std::string>& options = {})
      : task(make_text_task(name, options)) {
    policy = std::make_unique<Transformer>(pg::testing::small_policy(*task, {.in_proj_std = 0.18}));
    pg::testing::warm_up(*policy, *task, 20, 16);
  }
};

const Setting& sorting() {
  static const Setting setting("sort", {{"length", "3"}});
  return setting;
}

// Mini-batches of 10 rows and micro-batches of 4, so that no number of ranks divides what is shared out.
RlConfig small(const Algorithm& algorithm) {
  RlConfig config;
  config.algorithm = algorithm;
  config.batch = {.prompts = 5, .samples = 4, .mini_batches = 2, .micro_batch = 4};
  config.schedule.lr = 3e-3;
  config.eval_problems = 7;
  return config;
}

struct Job {
  const Setting& setting;
  RlConfig config;
  Judge judge = {};
  int64_t steps = 2;
  std::string from = {}, to = {};  // checkpoints
  bool leave = false;              // the last rank asks to stop while it samples, before all others
};

// All numbers of some steps: metrics but the clock's, losses of updates, the weights after them.
std::vector<double> numbers(const Job& job, Comm* comm) {
  Transformer& policy = *job.setting.policy;
  Transformer other(policy.config, *std::make_unique<Generator>(8));
  const bool given = job.config.algorithm.reference.is_given;
  RlTrainer trainer(policy, *job.setting.task, job.config, job.judge, given ? &other : nullptr, comm);
  if (!job.from.empty()) trainer.resume(load_checkpoint(job.from));
  std::vector<double> all;
  const auto add = [&](const Metrics& metrics) {
    for (const auto& [name, value] : metrics.values()) {
      if (!name.starts_with("time/")) all.push_back(value);
    }
  };
  RlHooks hooks;
  hooks.on_update = [&](const UpdateReport& r) { all.insert(all.end(), {r.loss, r.grad_norm, r.ratio_error}); };
  hooks.on_samples = [&](int64_t, const Experience& experience, const Batch&) {
    for (const Response& r : experience.responses) {
      all.insert(all.end(), r.tokens.begin(), r.tokens.end());
      all.insert(all.end(), r.sampler_log_probs.begin(), r.sampler_log_probs.end());
      all.push_back(r.score.reward);
    }
  };
  if (job.leave) {
    bool stopped = false;
    RlHooks leaving;
    leaving.should_stop_here = [&] { return stopped = comm->rank() + 1 == comm->size(); };
    leaving.should_stop = [&] {
      std::vector<std::vector<double>> of_ranks = gather_values(*comm, {static_cast<double>(stopped)});
      return of_ranks.back()[0] != 0;
    };
    check(trainer.step(leaving).values().empty() && trainer.steps() == 0, "the step was done");
  }
  while (trainer.steps() < job.steps) add(trainer.step(hooks));
  add(trainer.evaluate());
  const std::vector<double> after = pg::testing::weights(policy);
  all.insert(all.end(), after.begin(), after.end());
  if (!job.to.empty() && (!comm || comm->rank() == 0 || job.config.zero > 0)) trainer.save(job.to);
  return all;
}

std::vector<std::string> bytes_on(int ranks, const Job& job) {
  return pg::testing::bytes_on(ranks, [&](Comm* comm) { return numbers(job, comm); });
}

void check_equal(const Job& job, std::initializer_list<int> numbers_of_ranks = {1, 2, 3}) {
  pg::testing::check_equal_on_ranks([&](Comm* comm) { return numbers(job, comm); }, numbers_of_ranks);
}

}  // namespace

TEST_CASE("rl ranks: a step that is left on all ranks leaves nothing behind", "[rl][rl_trainer][ranks]") {
  const Job job{sorting(), small(algorithm("ppo"))};
  pg::testing::check_equal_on_ranks(
      [&](Comm* comm) {
        Job of_rank = job;
        of_rank.leave = comm && comm->size() > 1;
        return numbers(of_rank, comm);
      },
      {2, 3});
}

TEST_CASE("rl ranks: every algorithm has the bits of one rank", "[rl][rl_trainer][ranks]") {
  for (const Algorithm& a : algorithms()) {
    INFO(a.name);
    RlConfig config = small(a);
    config.algorithm.epochs = 2;
    check_equal({sorting(), config});
  }
}

TEST_CASE("rl ranks: every reference and a shared critic have the bits of one rank", "[rl][rl_trainer][ranks]") {
  const Setting imitation("imitate");
  for (const ReferenceKind& kind : ReferenceKind::table()) {
    INFO(kind.name);
    RlConfig config = small(algorithm("grpo"));
    config.algorithm.reference = kind;
    config.algorithm.reference_interval = 1;
    config.algorithm.kl.in_loss = config.algorithm.kl.in_loss && bool(kind.make);
    if (!kind.make) config.algorithm = small(algorithm("dr_grpo")).algorithm;
    config.batch = {.prompts = 2, .samples = 4, .mini_batches = 1, .micro_batch = 3};
    check_equal({imitation, config, {}, 2}, {2});
  }
  RlConfig config = small(algorithm("ppo"));
  config.shared_critic = true;
  check_equal({sorting(), config});
}

TEST_CASE("rl ranks: judges, turns and exhaustive samples have the bits of one rank", "[rl][rl_trainer][ranks]") {
  RlConfig config = small(algorithm("grpo"));
  // A judge whose parts have names of different lengths.
  const Judge judge = [](std::vector<Response>& responses) {
    for (Response& r : responses) {
      r.score.parts = {{"", 0.25 * static_cast<double>(r.tokens.size())}, {"a longer name", r.tokens[0] / 3.0}};
      r.score.reward = r.score.parts[0].second + r.score.parts[1].second;
    }
  };
  check_equal({sorting(), config, judge});
  config.adaptive_temperature.target_std = 0.4;
  config.shuffle_rewards = true;
  config.max_rows = 4;
  check_equal({sorting(), config}, {3});
  check_equal({Setting("guess"), small(algorithm("grpo"))}, {2, 3});
  RlConfig exhaustive = small(algorithm("grpo"));
  exhaustive.exhaustive = true;
  exhaustive.batch.samples = sorting().task->vocab_size();
  check_equal({sorting(), exhaustive}, {3});
  RlConfig tiny = small(algorithm("grpo"));  // ranks without problems and without micro-batches
  tiny.batch = {.prompts = 1, .samples = 4, .micro_batch = 4};
  tiny.eval_problems = 2;
  check_equal({sorting(), tiny}, {3});
}

TEST_CASE("rl ranks: a run continues on another number of ranks with the same bits", "[rl][rl_trainer][ranks]") {
  const TempDir temp;
  const std::string first = (temp.path / "first").string(), second = (temp.path / "second").string();
  const RlConfig config = small(algorithm("ppo"));
  bytes_on(2, {sorting(), config, {}, 1, "", first});
  bytes_on(3, {sorting(), config, {}, 2, first, second});
  const std::string continued = bytes_on(1, {sorting(), config, {}, 3, second})[0];
  const std::string whole = bytes_on(1, {sorting(), config, {}, 3})[0];
  // The continued run has the numbers of the last step only.
  REQUIRE(continued.size() < whole.size());
  REQUIRE(whole.ends_with(continued));
}

TEST_CASE("rl ranks: ZeRO has the bits of one rank and its shards continue on any number", "[rl][rl_trainer][zero]") {
  const TempDir temp;
  const auto file = [&](const char* name) { return (temp.path / name).string(); };
  for (const int zero : {1, 2}) {
    RlConfig config = small(algorithm("ppo"));  // two slabs: policy and critic
    const std::string whole = bytes_on(1, {sorting(), config, {}, 3})[0];
    config.zero = zero;
    CHECK(bytes_on(3, {sorting(), config, {}, 3})[2] == whole);
    bytes_on(2, {sorting(), config, {}, 1, "", file("first")});
    config.zero = 3 - zero;
    bytes_on(3, {sorting(), config, {}, 2, file("first"), file("second")});
    config.zero = 0;
    const std::string continued = bytes_on(1, {sorting(), config, {}, 3, file("second")})[0];
    REQUIRE(continued.size() < whole.size());
    CHECK(whole.ends_with(continued));
  }
  RlConfig config = small(algorithm("ppo"));
  config.zero = 3;
  CHECK(testing::contains(testing::error_of([&] { check_config(config); }), "rollouts need whole weights"));
}

TEST_CASE("rl ranks: a rank that dies in a rollout ends the others", "[rl][rl_trainer][ranks]") {
  const auto start = std::chrono::steady_clock::now();
  std::string sentences;
  const int status = run_ranks(
      3,
      [&](Comm& comm) {
        int calls = 0;
        const Judge judge = [&](std::vector<Response>&) {
          if (++calls == 2 && comm.rank() == 1) raise(SIGKILL);
        };
        numbers({sorting(), small(algorithm("grpo")), judge, 50}, &comm);
        return 0;
      },
      {.timeout = 20}, &sentences);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  INFO(sentences);
  REQUIRE(status == 128 + SIGKILL);
  REQUIRE(sentences.starts_with("rank 1: was ended by signal 9"));
  REQUIRE(took.count() < 20);
}
