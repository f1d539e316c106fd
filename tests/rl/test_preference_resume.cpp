// Reward models and DPO: a run that is saved and continued.
#include "nn/files/checkpoint.h"
#include "nn/variants/lora.h"
#include "rl/text/preferences.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::small_policy;
using pg::testing::TempDir;
using pg::testing::weights;

namespace {

// Pairs of random responses to one prompt. A pass over 10 of them ends within a batch of 4.
std::vector<Preference> random_pairs(uint64_t seed) {
  Generator g(seed);
  std::vector<Preference> pairs(10);
  for (Preference& p : pairs) {
    p.prompt = {0};
    for (auto* response : {&p.chosen, &p.rejected}) {
      for (int i = 0; i < 3; ++i) response->push_back(static_cast<int32_t>(g.integer(5)));
    }
  }
  return pairs;
}

const PreferenceConfig kConfig = {
    .batch = 4, .micro_batch = 3, .schedule = {.kind = Schedule::Kind::constant, .lr = 1e-2}};

// The model's weights after 7 steps of a trainer, which `with_trainer(pairs, f)` makes for f(trainer, model). With
// `stop`, another trainer continues after so many steps from a checkpoint.
template <class WithTrainer>
std::vector<double> after_seven_steps(const WithTrainer& with_trainer, int stop) {
  const TempDir dir;
  const std::string path = dir.file("checkpoint.safetensors");
  std::vector<double> result;
  with_trainer(random_pairs(1), [&](auto& trainer, Module& model) {
    for (int step = 0; step < (stop > 0 ? stop : 7); ++step) trainer.step();
    if (stop > 0) trainer.state().save(path, {{"kind", "test"}});
    result = weights(model);
  });
  if (stop == 0) return result;
  with_trainer(random_pairs(2), [&](auto& trainer, Module&) {
    const std::string error = error_of([&] { trainer.state().resume(load_checkpoint(path)); });
    CHECK(contains(error, "learned from other pairs"));
  });
  with_trainer(random_pairs(1), [&](auto& trainer, Module& model) {
    trainer.state().resume(load_checkpoint(path));
    CHECK(trainer.state().steps() == stop);
    while (trainer.state().steps() < 7) trainer.step();
    result = weights(model);
  });
  return result;
}

const auto with_dpo = [](std::vector<Preference> pairs, const auto& f) {
  const auto task = make_text_task("keyword");
  Transformer policy = small_policy(*task);
  DpoTrainer trainer(policy, std::move(pairs), kConfig);
  f(trainer, policy);
};
// Its adapters have dropout, which is drawn from a stream for each step.
const auto with_reward_model = [](std::vector<Preference> pairs, const auto& f) {
  const auto task = make_text_task("keyword");
  Transformer trunk = small_policy(*task);
  Generator head(7);
  add_lora(trunk, {.rank = 2, .dropout = 0.3}, head);
  ScalarModel model(trunk, 0.2, head);
  RewardModelTrainer trainer(model, std::move(pairs), kConfig);
  f(trainer, model);
};

}  // namespace

TEST_CASE("preferences: a run of DPO that is continued has the bits of one that was left alone",
          "[rl][preferences][resume]") {
  const auto alone = after_seven_steps(with_dpo, 0);
  for (const int stop : {1, 3, 5}) CHECK(after_seven_steps(with_dpo, stop) == alone);
  CHECK(after_seven_steps(with_dpo, 7) == alone);
}

TEST_CASE("preferences: a reward model that is continued has the bits of one that was left alone",
          "[rl][preferences][resume]") {
  const auto alone = after_seven_steps(with_reward_model, 0);
  for (const int stop : {1, 3, 5}) CHECK(after_seven_steps(with_reward_model, stop) == alone);
}

TEST_CASE("preferences: a checkpoint of weights alone is no state to continue from", "[rl][preferences][resume]") {
  const TempDir dir;
  const std::string path = dir.file("checkpoint.safetensors");
  with_dpo(random_pairs(1), [&](auto& trainer, Module& model) {
    save_checkpoint(path, model, nullptr, {3, {}, {}});
    const std::string error = error_of([&] { trainer.state().resume(load_checkpoint(path)); });
    CHECK(contains(error, "an earlier version saved the weights only"));
    CHECK(trainer.state().steps() == 0);
  });
}
