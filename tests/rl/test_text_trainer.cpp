// The reinforcement learning loop on language: exactness, invariances, resuming, refused inputs, and that it learns.
#include <cmath>
#include <functional>
#include <limits>

#include "nn/variants/lora.h"
#include "rl/text/imitation.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using pg::testing::error_of;
using namespace pg::rl;
using pg::testing::four_steps;
using pg::testing::read_bytes;
using pg::testing::relative_distance;
using pg::testing::TempDir;
using pg::testing::warm_up;
using pg::testing::weights;
using pg::testing::wide_policy;

namespace {

// The weights after `steps` steps from a warmed-up policy.
std::vector<double> run(const RlConfig& config, int64_t steps, DType dtype = f32, int threads = 2) {
  const testing::Threads guard(threads);
  const auto task = make_text_task("sort", {{"length", "3"}});
  Transformer policy = wide_policy(*task, dtype);
  warm_up(policy, *task, 20);
  RlTrainer trainer(policy, *task, config);
  for (int64_t i = 0; i < steps; ++i) trainer.step();
  return weights(policy);
}

}  // namespace

TEST_CASE("rl trainer: every row of the table takes steps, its first ratio is exactly 1 and its KL exactly 0",
          "[rl][rl_trainer]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  for (const Algorithm& a : algorithms()) {
    INFO(a.name);
    Transformer policy = wide_policy(*task);
    warm_up(policy, *task, 20);
    const auto before = weights(policy);
    RlConfig config = four_steps(a.name.c_str());
    config.batch.mini_batches = 2;
    config.algorithm.epochs = 2;
    RlTrainer trainer(policy, *task, config);
    const Metrics first = trainer.step();
    CHECK(first.at("check/first_ratio_error") == 0);
    CHECK(first.at("check/parameters_without_gradient") == 0);
    CHECK(first.at("sampler/max_log_prob_difference") == 0);
    CHECK(first.at("check/max_log_prob") <= 0);
    if (a.reference.is("frozen")) {
      CHECK(first.at("ref_kl/k1") == 0);
      CHECK(first.at("ref_kl/k3") == 0);
    }
    const Metrics second = trainer.step();
    CHECK(second.at("check/first_ratio_error") == 0);
    if (a.reference.is("frozen")) CHECK(second.at("ref_kl/k3") > 0);
    for (const auto& [name, value] : second.values()) {
      INFO(name);
      CHECK((std::isfinite(value) || name == "value/explained_variance"));
    }
    CHECK(weights(policy) != before);
  }
}

TEST_CASE("rl trainer: micro-batches of any size give the gradient of the whole", "[rl][rl_trainer]") {
  for (const char* name : {"grpo", "dr_grpo", "dapo", "gspo", "rloo", "ppo", "sapo", "gmpo", "grpo_two_sided", "icepop",
                           "decoupled_ppo", "pass_at_k", "pkpo", "gdpo", "clip_cov", "kl_cov", "high_entropy"}) {
    INFO(name);
    RlConfig config = four_steps(name);
    config.algorithm.token_share = 0.3;
    config.algorithm.covariance_low = 0;
    config.algorithm.entropy_bonus = 0.01;
    config.adamw.eps = 1e-3;  // with a small eps, Adam turns gradients that are zero up to rounding into ±1
    const auto whole = run(config, 2, f64);
    for (const int64_t size : {1, 5, 24}) {
      config.batch.micro_batch = size;
      CHECK(relative_distance(run(config, 2, f64), whole) < 1e-12);
    }
  }
}

TEST_CASE("rl trainer: the same bits for any number of threads, and from one run to the next", "[rl][rl_trainer]") {
  RlConfig config = four_steps("ppo");
  config.batch.mini_batches = 2;
  const auto once = run(config, 3, f32, 1);
  CHECK(run(config, 3, f32, 2) == once);
  CHECK(run(config, 3, f32, 3) == once);
  config.max_rows = 5;  // the number of rows sampled at a time does not matter either
  CHECK(run(config, 3, f32, 2) == once);
  config.seed = 2;
  CHECK(run(config, 3, f32, 2) != once);
}

TEST_CASE("rl trainer: a resumed run has the bits of one that never stopped", "[rl][rl_trainer]") {
  TempDir dir;
  for (const char* name : {"ppo", "ppo, shared critic", "ppo, bf16", "ppo, shared critic, bf16", "dapo",
                           "reinforce_baseline", "grpo", "grpo_two_sided, ema", "clip_cov", "decoupled_ppo",
                           "ppo, lora", "ppo, shared critic, bf16, lora", "grpo_two_sided, ema, lora"}) {
    INFO(name);
    const std::string words = name;
    const bool shared = words.find("shared") != std::string::npos;
    const DType dtype = words.find("bf16") != std::string::npos ? bf16 : f32;
    RlConfig config = four_steps(words.substr(0, words.find(',')).c_str());
    config.shared_critic = shared;
    config.batch.mini_batches = 2;
    config.adaptive_temperature.target_std = 0.4;
    if (!config.algorithm.kl.is("none")) config.algorithm.kl_control.schedule = "adaptive";
    if (words.find("ema") != std::string::npos) config.algorithm.reference = "ema";
    config.algorithm.token_share = 0.3;
    config.algorithm.covariance_low = 0;  // clip_cov draws tokens
    if (std::string(name) == "grpo") {
      config.algorithm.kl_control.schedule = "stepped";
      config.algorithm.reference = "moving";
      config.algorithm.reference_interval = 3;
    }
    const auto task = make_text_task("sort", {{"length", "3"}});
    Transformer alone = wide_policy(*task, dtype);
    warm_up(alone, *task, 20);
    const bool lora = words.find("lora") != std::string::npos;
    const auto add_adapters = [&](Transformer& model, uint64_t seed) {
      Generator generator(seed);
      if (lora) add_lora(model, {.rank = 2, .alpha = 4, .targets = "q_proj,v_proj,c_fc"}, generator);
    };
    add_adapters(alone, 1);
    std::map<std::string, std::vector<double>> frozen;
    for (const auto& [n, p] : named_parameters(alone)) {
      if (!p.requires_grad()) frozen[n] = p.to_vector();
    }
    CHECK(frozen.empty() == !lora);
    RlTrainer trainer(alone, *task, config);
    for (int i = 0; i < 2; ++i) {
      const Metrics metrics = trainer.step();
      CHECK(metrics.at("check/first_ratio_error") == 0);
      CHECK(metrics.at("check/parameters_without_gradient") == 0);
    }
    trainer.save(dir.file("c.safetensors"), {{"task", "sort"}});
    for (int i = 0; i < 3; ++i) trainer.step();

    for (const auto& [n, p] : named_parameters(alone)) {
      if (frozen.contains(n)) CHECK((p.to_vector() == frozen.at(n)));
    }

    Transformer resumed = wide_policy(*task, dtype);
    add_adapters(resumed, 2);
    RlTrainer other(resumed, *task, config);
    other.resume(load_checkpoint(dir.file("c.safetensors")));
    CHECK(other.steps() == 2);
    for (int i = 0; i < 3; ++i) other.step();
    CHECK(weights(resumed) == weights(alone));
    trainer.save(dir.file("a.safetensors"));
    other.save(dir.file("b.safetensors"));
    CHECK(read_bytes(dir.file("a.safetensors")) == read_bytes(dir.file("b.safetensors")));
  }
}

TEST_CASE("rl trainer: a bf16 policy learns with a critic, whose values are f32", "[rl][rl_trainer]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  for (const bool shared : {false, true}) {
    INFO("shared " << shared);
    Transformer policy = wide_policy(*task, bf16);
    warm_up(policy, *task, 30);
    RlConfig config = four_steps("ppo");
    config.shared_critic = shared;
    config.batch = {.prompts = 16, .samples = 4};
    config.schedule.lr = 1e-3;
    RlTrainer trainer(policy, *task, config);
    const Metrics first = trainer.step();
    CHECK(first.at("check/first_ratio_error") == 0);
    for (int i = 0; i < 15; ++i) trainer.step();
    const Metrics last = trainer.step();
    INFO(first.at("reward/mean") << " -> " << last.at("reward/mean"));
    CHECK(last.at("reward/mean") > first.at("reward/mean") + 0.2);
    CHECK(last.at("value/explained_variance") > 0);
    CHECK(last.at("value/clip") >= 0);
    CHECK(last.at("value/clip") <= 1);
  }
  // The full KL with bf16 logits.
  Transformer policy = wide_policy(*task, bf16);
  RlConfig config = four_steps("grpo");
  config.algorithm.kl_estimator = "full";
  config.temperature = 0.9;
  RlTrainer trainer(policy, *task, config);
  for (int i = 0; i < 2; ++i) {
    const Metrics m = trainer.step();
    CHECK(m.at("check/first_ratio_error") == 0);
    CHECK(m.at("check/probability_sum_error") < 1e-5);
    CHECK((i == 0 ? m.at("kl_loss") == 0 : m.at("kl_loss") > 0));
  }
  // Neither the value 1 + 2^-11 nor the gradient 1.001 is a bf16 number: both must be computed in f32.
  Linear head(2, 1, true, Init::zeros(bf16));
  head.weight.detach().copy_from(Tensor::from(std::vector<float>{1, 0.5F}, {1, 2}).to(bf16));
  Tensor hidden = Tensor::from(std::vector<float>{1, 0.0009765625F}, {1, 1, 2}).to(bf16);
  const Tensor value = scalar_at_positions(head, hidden);
  CHECK(value.dtype() == f32);
  CHECK(value.item() == 1 + 0.0009765625 / 2);
  backward(sum(value * 1.001));
  CHECK(head.bias.grad().dtype() == f32);
  CHECK(head.bias.grad().item() == 1.001F);  // in bf16 it would be 1
}

TEST_CASE("rl trainer: the reference may be a given model, which a resumed run must have again", "[rl][rl_trainer]") {
  TempDir dir;
  const auto task = make_text_task("sort", {{"length", "3"}});
  Transformer given = wide_policy(*task);
  warm_up(given, *task, 10);
  RlConfig config = four_steps("grpo");
  config.algorithm.reference = "given";
  Transformer policy = wide_policy(*task);
  warm_up(policy, *task, 20);
  CHECK(error_of([&] { RlTrainer(policy, *task, config); }).find("needs a model (--reference-model RUN)") !=
        std::string::npos);
  CHECK(error_of([&] {
          RlTrainer(policy, *task, four_steps("grpo"), {}, &given);
        }).find("\"frozen\", which takes none") != std::string::npos);

  RlTrainer trainer(policy, *task, config, {}, &given);
  // Recomputes the reference's log-probabilities with one forward pass per token.
  RlHooks hooks;
  hooks.should_stop = [&] { return trainer.steps() == 1; };
  hooks.on_samples = [&](int64_t, const Experience& experience, const Batch& batch) {
    const std::vector<double> ref_log_probs = of_response(batch.ref_log_prob, batch, 0);
    const Response& r = experience.responses[0];
    std::vector<int32_t> ids = r.prompt;
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      NoGrad no_grad;
      const Tensor all = log_softmax(given(Tensor::from(ids, {1, static_cast<int64_t>(ids.size())})));
      const std::vector<double> row = select(select(all, 0, 0), 0, -1).to_vector();
      CHECK(std::abs(ref_log_probs[t] - row[static_cast<size_t>(r.tokens[t])]) < 1e-5);
      ids.push_back(r.tokens[t]);
    }
  };
  trainer.run(hooks);
  trainer.save(dir.file("c.safetensors"));
  trainer.step();
  trainer.save(dir.file("a.safetensors"));

  Transformer again = wide_policy(*task);
  RlTrainer same(again, *task, config, {}, &given);
  same.resume(load_checkpoint(dir.file("c.safetensors")));
  same.step();
  same.save(dir.file("b.safetensors"));
  CHECK(read_bytes(dir.file("a.safetensors")) == read_bytes(dir.file("b.safetensors")));
  Transformer stranger = wide_policy(*task);
  RlTrainer other(again, *task, config, {}, &stranger);
  CHECK(error_of([&] { other.resume(load_checkpoint(dir.file("c.safetensors"))); }).find("another reference") !=
        std::string::npos);
}

TEST_CASE("rl trainer: a gradient that is not finite refuses the step and names the tensor", "[rl][rl_trainer]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  Transformer policy = wide_policy(*task);
  RlTrainer trainer(policy, *task, four_steps("reinforce"), [](std::vector<Response>& responses) {
    for (Response& r : responses) {
      r.score.per_token.clear();
      r.score.reward = 1e300;  // a finite reward, but the loss is not finite
    }
  });
  const auto before = weights(policy);
  const std::string error = error_of([&] { trainer.step(); });
  INFO(error);
  CHECK(error.find("gradient of 'wte.weight'") != std::string::npos);
  CHECK(weights(policy) == before);
  CHECK(trainer.steps() == 0);
}

TEST_CASE("rl trainer: it learns to copy, and not from rewards that went to others", "[rl][rl_trainer]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  for (const bool shuffled : {false, true}) {
    Transformer policy = wide_policy(*task);
    warm_up(policy, *task, 30);
    RlConfig config = four_steps("reinforce");
    config.batch = {.prompts = 16, .samples = 8};
    config.shuffle_rewards = shuffled;
    RlTrainer trainer(policy, *task, config);
    const double before = trainer.step().at("reward/mean");
    for (int i = 0; i < 60; ++i) trainer.step();
    const double after = trainer.step().at("reward/mean");
    INFO(before << " -> " << after);
    if (shuffled) CHECK(after < before);
    if (!shuffled) CHECK(after > 0.9);
    CHECK(before < 0.4);
  }
}

TEST_CASE("rl trainer: the entropy bonus raises entropy", "[rl][rl_trainer]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  const auto entropy_after = [&](double bonus) {
    Transformer policy = wide_policy(*task);
    warm_up(policy, *task, 60);
    RlConfig config = four_steps("reinforce");
    config.algorithm.entropy_bonus = bonus;
    RlTrainer trainer(policy, *task, config, [](std::vector<Response>& responses) {
      for (Response& r : responses) r.score = {};
    });
    for (int i = 0; i < 10; ++i) trainer.step();
    return trainer.step().at("entropy");
  };
  const double none = entropy_after(0);
  CHECK(entropy_after(0.1) > none + 0.1);
  CHECK(entropy_after(-0.1) < none - 0.1);
}

TEST_CASE("rl trainer: what does not go together is refused with a sentence", "[rl][rl_trainer]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  const auto refused = [&](const std::function<void(RlConfig&)>& change, double dropout = 0) {
    Transformer policy = wide_policy(*task, f32, dropout);
    RlConfig config = four_steps("grpo");
    change(config);
    return error_of([&] { RlTrainer(policy, *task, config); });
  };
  CHECK(refused([](RlConfig&) {}, 0.1).find("dropout") != std::string::npos);
  CHECK(refused([](RlConfig& c) { c.algorithm.reference = "none"; }).find("needs a reference") != std::string::npos);
  CHECK(refused([](RlConfig& c) { c.algorithm.reference = "bigram"; }).find("no text to count") != std::string::npos);
  CHECK(refused([](RlConfig& c) { c.algorithm.ratio = "none"; }).find("do not go together") != std::string::npos);
  CHECK(refused([](RlConfig& c) { c.batch.mini_batches = 100; }).find("100 mini-batches") != std::string::npos);
  CHECK(error_of([] { algorithm("ppo2"); }).find("algorithm: expected reinforce, ") != std::string::npos);
}
