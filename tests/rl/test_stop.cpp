// A request to stop within a step of reinforcement learning: the step is left out, as if it had not begun.
#include <functional>

#include "rl/text/imitation.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::four_steps;
using pg::testing::TempDir;
using pg::testing::warm_up;
using pg::testing::weights;
using pg::testing::wide_policy;

namespace {}  // namespace

TEST_CASE("rl trainer: a stop waited for the end of the step", "[rl][rl_trainer]") {
  TempDir dir;
  const auto task = make_text_task("sort", {{"length", "3"}});
  for (const char* name : {"ppo", "reinforce_baseline", "dapo"}) {
    RlConfig config = four_steps(name);
    config.batch.micro_batch = 4;
    config.batch.mini_batches = 2;
    config.adaptive_temperature.target_std = 0.3;
    config.eval_interval = 0;
    config.steps = 3;
    const auto make = [&] {
      Transformer policy = wide_policy(*task);
      warm_up(policy, *task, 20);
      return policy;
    };
    Transformer whole = make();
    RlTrainer uninterrupted(whole, *task, config);
    uninterrupted.run({});
    for (const int stop_at : {1, 2, 3, 4, 5}) {
      // In the second step: before it, after sampling, after scoring, before two micro-batches of the first update.
      INFO(name << ", question " << stop_at);
      Transformer policy = make();
      RlTrainer trainer(policy, *task, config);
      int asked = 0, updates = 0;
      RlHooks hooks;
      hooks.on_update = [&](const UpdateReport&) { ++updates; };
      hooks.should_stop = [&] { return trainer.steps() == 1 && ++asked == stop_at; };
      CHECK_FALSE(trainer.run(hooks));
      CHECK(trainer.steps() == 1);
      CHECK(asked == stop_at);
      CHECK(updates == 2 * config.algorithm.epochs);
      trainer.save(dir.file("c.safetensors"));
      CHECK(trainer.run({}));  // goes on
      CHECK(weights(policy) == weights(whole));

      Transformer again = wide_policy(*task);
      RlTrainer resumed(again, *task, config);
      resumed.resume(load_checkpoint(dir.file("c.safetensors")));
      CHECK(resumed.run({}));
      CHECK(weights(again) == weights(whole));
    }
  }
}

TEST_CASE("rl trainer: a stop waited for the end of the sampling", "[rl][rl_trainer]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  for (const int64_t max_rows : {0, 2}) {
    Transformer policy = wide_policy(*task);
    RlConfig config = four_steps("grpo");
    config.max_rows = max_rows;
    RlTrainer trainer(policy, *task, config);
    int asked = 0, stop_at = 3;
    RlHooks hooks;
    hooks.should_stop_here = [&] { return ++asked >= stop_at; };
    hooks.should_stop = [&] { return asked >= stop_at; };
    hooks.on_samples = [](int64_t, const Experience&, const Batch&) { FAIL("the responses are used"); };
    CHECK(trainer.step(hooks).values().empty());
    CHECK(trainer.steps() == 0);
    CHECK(asked < 8);
    const int early = asked;
    stop_at = 1 << 30;
    asked = 0;
    hooks.on_samples = {};
    trainer.step(hooks);
    CHECK(asked > early);  // a whole step asks for each token of each row

    Transformer other = wide_policy(*task);
    RlTrainer expected(other, *task, config);
    expected.step();
    CHECK(weights(policy) == weights(other));
  }
}
