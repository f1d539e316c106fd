// The bounds that rollouts and updates are compared with, by hand, and the metrics of a step.
#include "rl/text/speed.h"
#include "rl/text/trainer.h"
#include "tasks/data/tiny_language.h"
#include "tensor/measure/profile.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::rl;

namespace {

Transformer small(TransformerConfig config) {
  Generator g(5);
  return Transformer(config, g);
}

}  // namespace

TEST_CASE("speed: the weights of the products are those of the blocks and the head", "[rl][speed]") {
  // GPT-2: queries, keys, values 3·8·8, projection 8·8, MLP 2·8·32 in each of 2 blocks; the tied head 11·8.
  Transformer gpt = small({.vocab_size = 11, .block_size = 16, .n_layer = 2, .n_head = 2, .n_embd = 8});
  CHECK(multiplied_weights(gpt) == 2 * (3 * 64 + 64 + 2 * 8 * 32) + 11 * 8);
  // A Llama with a head of its own: one head of keys and values of 4, a gate; the embedding multiplies nothing.
  TransformerConfig llama{.vocab_size = 11, .block_size = 16, .n_layer = 1, .n_head = 2, .n_embd = 8};
  llama.n_kv_head = 1;
  llama.mlp = MlpKind::swiglu;
  llama.n_hidden = 24;
  llama.bias = false;
  llama.tied = false;
  Transformer other = small(llama);
  CHECK(multiplied_weights(other) == (8 + 4 + 4) * 8 + 8 * 8 + 3 * 8 * 24 + 11 * 8);
}

TEST_CASE("speed: a pass takes at least the time of its weights or of its arithmetic", "[rl][speed]") {
  Transformer model = small({.vocab_size = 11, .block_size = 16, .n_layer = 2, .n_head = 2, .n_embd = 8});
  const double head = 88, weights = static_cast<double>(multiplied_weights(model));
  const MachineRates rates{.flops = 100, .bytes = 1000};
  // f32: reading takes 4 w / 1000 s, each row 2 w / 100 s, so that a pass of any number of rows is bound by arithmetic.
  const std::vector<GenerateStats> some = {{.prompt_tokens = 7, .rows_of_pass = {3, 1}}, {.rows_of_pass = {2}}};
  CHECK(rollout_bound(model, some, rates) == Approx(6 * 2 * weights / 100 + 7 * 2 * (weights - head) / 100));
  // With slow memory a pass takes the time of reading the weights, whatever its rows.
  CHECK(rollout_bound(model, {{{.rows_of_pass = {3, 1}}, {.rows_of_pass = {2}}}}, {.flops = 100, .bytes = 1}) ==
        Approx(3 * 4 * weights));
  CHECK(rollout_bound(model, {}, rates) == 0);

  CHECK(slots_busy({}) == 1);
  CHECK(slots_busy({{{.crowded_passes = 1, .slots_busy = 0.5}, {.crowded_passes = 3, .slots_busy = 0.9}, {}}}) ==
        Approx((0.5 + 3 * 0.9) / 4));
}

TEST_CASE("speed: a step logs its speed, and its shares of measured rates", "[rl][speed]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  Transformer policy = small(
      {.vocab_size = task->vocab_size(), .block_size = block_size_for(*task), .n_layer = 1, .n_head = 2, .n_embd = 16});
  RlConfig config;
  config.algorithm = algorithm("grpo");
  config.batch = {.prompts = 4, .samples = 4};
  config.steps = 1;
  RlTrainer plain(policy, *task, config);
  const Metrics without = plain.step();
  CHECK(without.at("time/rollout_tokens_per_s") * without.at("time/rollout_s") ==
        Approx(16 * without.at("length/mean")));
  CHECK(without.at("time/update_tokens_per_s") > 0);
  CHECK_FALSE(without.has("time/slots_busy"));
  CHECK_FALSE(without.has("time/update_peak_share"));

  config.max_rows = 6;
  config.rates = {.flops = 1e9, .bytes = 1e9};
  const Profile profile;
  RlTrainer compared(policy, *task, config);
  const Metrics with = compared.step();
  CHECK(with.at("time/slots_busy") == 1);
  CHECK(with.at("time/rollout_bound_share") > 0);
  // Each position is multiplied with each weight at least three times, forward and backward, by a multiply and an add;
  // the head only where there is a target.
  const double blocks = static_cast<double>(multiplied_weights(policy) - task->vocab_size() * 16);
  const double positions = with.at("time/update_tokens_per_s") * with.at("time/update_s");
  CHECK(with.at("time/update_peak_share") * with.at("time/update_s") * 1e9 > 6 * blocks * positions);
}
