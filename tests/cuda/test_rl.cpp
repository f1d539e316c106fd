// The reinforcement learning loop with its models on a CUDA device.
#include <cmath>

#include "rl/text/trainer.h"
#include "tasks/text/text_task.h"
#include "tensor/backend.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::rl;

TEST_CASE("the RL loop takes the CPU's steps on CUDA", "[cuda][rl][slow]") {
  if (backend(Device::Kind::cuda).device_count() == 0) SKIP_TEST("cuda: " + backend(Device::Kind::cuda).why_none());
  const auto task = imitate_task({.length = 3, .context = 3});
  const auto judge = [](std::vector<Response>& responses) {  // gives the responses different rewards
    for (Response& r : responses) {
      r.score.per_token.clear();
      r.score.reward = r.tokens[0] % 5 + 0.1 * r.tokens[1];
    }
  };
  const auto first_step = [&](const Algorithm& a, bool on_cuda) {
    Generator g(5);
    Transformer policy({.vocab_size = task->vocab_size(),
                        .block_size = block_size_for(*task),
                        .n_layer = 1,
                        .n_head = 2,
                        .n_embd = 16},
                       g);
    if (on_cuda) policy.to(Device{Device::Kind::cuda, 0});
    RlConfig config;
    config.algorithm = a;
    config.shared_critic = a.name == "ppo, shared critic";
    config.batch = {.prompts = 2, .samples = 4, .mini_batches = 2, .micro_batch = 2};
    return RlTrainer(policy, *task, config, judge).step();
  };
  Algorithm ppo = algorithm("ppo"), shared = ppo, grpo = algorithm("grpo"), gspo = algorithm("gspo");
  shared.name = "ppo, shared critic";
  grpo.reference = gspo.reference = "bigram";
  gspo.kl = "loss";
  gspo.kl_estimator = "full";
  for (const Algorithm& a : {ppo, shared, grpo, gspo}) {
    INFO(a.name);
    const Metrics want = first_step(a, false), got = first_step(a, true);
    for (const char* key : {"reward/mean", "loss", "entropy", "grad_norm", "ref_kl/k1"}) {
      INFO(key);
      CHECK(std::abs(got.at(key) - want.at(key)) <= 1e-4 * std::abs(want.at(key)) + 1e-6);
    }
    CHECK(want.at("grad_norm") > 1e-2);
    if (a.baseline.needs.critic) CHECK(got.at("value/loss") == Approx(want.at("value/loss")).epsilon(1e-4));
  }
}
