// The logits of an update, [tokens, vocabulary], need the most memory: they are never stored as a whole.
#include <algorithm>
#include <numeric>

#include "nn/variants/lora.h"
#include "rl/methods/kl.h"
#include "rl/text/trainer.h"
#include "tasks/data/tokenizer.h"
#include "tensor/storage.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::rl;

namespace {

constexpr int64_t kVocab = 65536;  // 512 rows of logits are a chunk

// Responses of 128 tokens from a large vocabulary. The reward grows with the first token's id.
struct LongResponses : TextTask {
  std::string name() const override { return "long responses"; }
  std::string about() const override { return ""; }
  const Tokenizer& tokenizer() const override { return tokens; }
  int64_t max_prompt() const override { return 1; }
  int64_t max_response() const override { return 128; }
  Problem sample(Generator& g) const override { return {{static_cast<int32_t>(g.integer(kVocab))}, {}}; }
  std::vector<Problem> held_out(int64_t) const override { return {{{1}, {}}}; }
  Score score(const Problem&, std::span<const int32_t> response) const override {
    return {.reward = response[0] / static_cast<double>(kVocab)};
  }
  TokenList tokens = [] {
    std::vector<std::string> names;
    for (int64_t i = 0; i < kVocab; ++i) names.push_back(std::to_string(i));
    return TokenList(names, /*words=*/true, -1);
  }();
};

Transformer make_policy(DType dtype, int64_t vocab = kVocab) {
  Generator g(3);
  return Transformer({.vocab_size = vocab,
                      .block_size = 129,
                      .n_layer = 1,
                      .n_head = 1,
                      .n_embd = 8,
                      .in_proj_std = 0.3,
                      .dtype = dtype},
                     g);
}

struct Case {
  const char* estimator;
  double temperature;
};

}  // namespace

TEST_CASE("rl memory: the logits of an update are never in memory twice, nor as a whole", "[rl][rl_memory]") {
  for (const Case& c : {Case{"k3", 0.7}, Case{"full", 1}}) {
    INFO(c.estimator);
    const LongResponses task;
    Transformer policy = make_policy(f32);
    RlConfig config;
    config.algorithm = algorithm("grpo");
    config.algorithm.kl_estimator = c.estimator;
    config.algorithm.entropy_bonus = 0.01;
    config.batch = {.prompts = 4, .samples = 4, .mini_batches = 1, .micro_batch = 0};
    config.temperature = c.temperature;
    RlTrainer trainer(policy, task, config);
    empty_cache();
    const Metrics m = trainer.step();
    const RlMemory memory = trainer.memory();
    const double copy = 4.0 * 4 * 128 * kVocab * 4;  // bytes of the logits: 16 responses, f32
    const double peak = static_cast<double>(std::max(memory.rollout, memory.step.activations)) / copy;
    INFO("peak " << peak << " copies");
    CHECK(peak < 0.75);
    // An update has at least one chunk of logits, a rollout the keys and values of its 16 rows.
    CHECK(memory.step.activations > 4.0 * static_cast<double>(logit_rows(kVocab) * kVocab));
    CHECK(static_cast<double>(memory.rollout) > 16 * 128 * cache_bytes_per_token(policy.config));
    CHECK(m.at("check/first_ratio_error") == 0);  // equals the sampler's bit for bit, also in chunks
    CHECK(m.at("check/probability_sum_error") < 1e-4);
    CHECK(m.at("ref_kl/k3") == 0);
  }
}

TEST_CASE("rl memory: logits in pieces give the log-probabilities and gradients of the whole", "[rl][rl_memory]") {
  // 5 responses of 120 tokens: 600 rows in chunks of 512, or of 128 with the full KL.
  constexpr int64_t vocab = 1000, chunk = 512;
  Generator g(7);
  std::vector<Response> all(5);
  for (Response& r : all) {
    r.prompt = {static_cast<int32_t>(g.integer(vocab))};
    for (int i = 0; i < 120; ++i) r.tokens.push_back(static_cast<int32_t>(g.integer(vocab)));
    r.action_mask.assign(120, 1);
  }
  std::vector<const Response*> view;
  for (const Response& r : all) view.push_back(&r);
  const TokenRows rows = token_rows(view);
  REQUIRE(rows.indices.size(0) == 600);
  Transformer policy = make_policy(f64, vocab);
  Transformer other = make_policy(f64, vocab);
  for (const auto& [name, parameter] : named_parameters(other)) {
    parameter.detach().copy_from(parameter.detach() + Tensor::normal(parameter.shape(), 0, 0.1, g, f64));
  }
  const ModelReference reference(other);
  const Tensor hidden = policy.hidden(rows.packed).detach();
  const Shape shape = rows.ids.shape();
  const Tensor weight_l = Tensor::normal(shape, 0, 1, g, f64), weight_h = Tensor::normal(shape, 0, 1, g, f64),
               weight_k = Tensor::normal(shape, 0, 1, g, f64);
  const double temperature = 0.8;
  for (const bool full : {false, true}) {
    const auto gradients = [&](bool pieces) {
      Tensor leaf = hidden.clone();
      leaf.set_requires_grad();
      policy.wte.weight.zero_grad();
      Tensor log_prob, entropy, kl;
      if (pieces) {
        const TokenScores s = score_hidden(policy, leaf, rows, temperature, full ? &reference : nullptr, chunk);
        log_prob = s.log_prob;
        entropy = s.entropy;
        kl = s.full_kl;
      } else {
        const Tensor picked = index_select(reshape(leaf, {-1, 8}), 0, rows.indices);
        const Tensor logits = policy.head(picked) / temperature;
        const auto [l, h] = token_log_prob(logits, rows.tokens);
        log_prob = spread(l, rows);
        entropy = spread(h, rows);
        if (full) kl = spread(full_kl(logits, reference.logits(rows, temperature)(0, rows.indices.size(0))), rows);
      }
      Tensor loss = sum(log_prob * weight_l) + sum(entropy * weight_h);
      if (full) loss = loss + sum(kl * weight_k);
      backward(loss);
      std::vector<Tensor> found = {log_prob.detach(), entropy.detach()};
      if (full) found.push_back(kl.detach());
      found.push_back(leaf.grad().clone());
      found.push_back(policy.wte.weight.grad().clone());
      return found;
    };
    const auto whole = gradients(false), parts = gradients(true);
    CHECK(parts[0].to_vector() == whole[0].to_vector());
    CHECK(parts[1].to_vector() == whole[1].to_vector());
    for (size_t i = 2; i < whole.size(); ++i) {
      INFO(full << " " << i);
      CHECK(testing::relative_distance(parts[i], whole[i]) < 1e-13);
    }
  }
}

namespace {

// Elements of a slab of tensors of these sizes, each of which begins at a multiple of 256.
size_t in_slab(const std::vector<int64_t>& sizes) {
  int64_t end = 0;
  for (const int64_t size : sizes) end = (end + 255) / 256 * 256 + size;
  return static_cast<size_t>(end);
}

size_t count(const std::vector<int64_t>& sizes) {
  return static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
}

std::vector<int64_t> trained_sizes(Transformer& model) {
  std::vector<int64_t> sizes;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (parameter.requires_grad()) sizes.push_back(parameter.numel());
  }
  return sizes;
}

RlMemory memory_of(const char* name, Transformer& policy) {
  const LongResponses task;
  RlConfig config;
  config.algorithm = algorithm(name);
  return RlTrainer(policy, task, config).memory();
}

}  // namespace

TEST_CASE("rl memory: weights, gradients, optimizer and reference of each model are counted once", "[rl][rl_memory]") {
  for (const DType dtype : {f32, bf16}) {
    INFO(name_of(dtype));
    Transformer policy = make_policy(dtype);
    const size_t n = in_slab(trained_sizes(policy));
    const RlMemory m = memory_of("grpo", policy);
    CHECK(m.step.weights == (dtype == bf16 ? n * (4 + 2) : n * 4));  // bf16 has f32 masters
    CHECK(m.step.gradients == n * 4);
    CHECK(m.step.optimizer == 8 * count(trained_sizes(policy)));
    CHECK(m.reference == static_cast<size_t>(count_parameters(policy)) * size_of(dtype));
    CHECK(m.step.activations + m.rollout == 0);  // before the first step
  }
  Transformer plain = make_policy(f32);
  CHECK(memory_of("reinforce", plain).reference == 0);
  // The critic has a head of 8 weights and a bias. The policy's own head is its embedding.
  Transformer with_critic = make_policy(f32);
  std::vector<int64_t> critic = trained_sizes(with_critic);
  critic.insert(critic.end(), {8, 1});
  const size_t both = in_slab(trained_sizes(with_critic)) + in_slab(critic);
  const RlMemory ppo = memory_of("ppo", with_critic);
  CHECK(ppo.step.weights == 4 * both);
  CHECK(ppo.step.gradients == 4 * both);
  CHECK(ppo.step.optimizer == 8 * (count(trained_sizes(with_critic)) + count(critic)));
  // With adapters the weights of the model are there, but have no gradients.
  Transformer adapted = make_policy(f32);
  const auto whole = static_cast<size_t>(count_parameters(adapted));
  Generator g(1);
  add_lora(adapted, {.rank = 2}, g);
  const size_t adapters = in_slab(trained_sizes(adapted));
  const RlMemory m = memory_of("grpo", adapted);
  CHECK(m.step.weights == 4 * (whole + adapters));
  CHECK(m.step.gradients == 4 * adapters);
  CHECK(m.step.optimizer == 8 * count(trained_sizes(adapted)));
  CHECK(m.reference == 4 * static_cast<size_t>(count_parameters(adapted)));
}
