// A GPT-2 learns characters, and another one learns by GRPO (Shao et al. 2024, arXiv:2402.03300) to copy digits. All of
// it runs on the core, pg_core (docs/ARCHITECTURE.md), whose kernels are plain loops:
//   make core_demo && ./core_demo
#include <fmt/core.h>

#include "nn/optim.h"
#include "nn/transformer.h"
#include "rl/advantages.h"
#include "rl/policy_loss.h"
#include "tensor/sample.h"

using namespace pg;

Transformer new_model(int64_t vocab_size, int64_t block_size, Generator& random) {
  return Transformer(
      {.vocab_size = vocab_size, .block_size = block_size, .n_layer = 1, .n_head = 2, .n_embd = 32, .in_proj_std = 0.2},
      random);
}

// ids [B, T] and `count` sampled tokens more, [B, T + count].
Tensor sampled(const Transformer& model, Tensor ids, int64_t count, Generator& random) {
  const NoGrad guard;
  for (; count > 0; --count) {
    const std::vector<double> probs = softmax(select(model(ids), 1, ids.size(1) - 1)).to_vector();  // [B, V]
    std::vector<int32_t> next;
    const auto v = static_cast<size_t>(model.config.vocab_size);
    for (size_t at = 0; at < probs.size(); at += v) {
      next.push_back(sample_token(std::span(probs).subspan(at, v), random.uniform()));
    }
    ids = cat({ids, Tensor::from(next, {ids.size(0), 1})}, 1);
  }
  return ids;
}

void learn_characters() {
  const std::string text = "a rose is a rose is a rose. she sells sea shells by the sea shore. ",
                    letters = " .abehilorsty";
  constexpr int64_t kRows = 8, kLength = 16;
  Generator random(1);
  Transformer model = new_model(std::ssize(letters), kLength, random);
  ParamSlab slab(model);
  AdamW optimizer(slab);
  const auto id = [&](size_t i) { return static_cast<int32_t>(letters.find(text[i % text.size()])); };
  for (int step = 0; step <= 200; ++step) {
    std::vector<int32_t> ids, targets;
    for (int64_t row = 0; row < kRows; ++row) {
      const auto begin = static_cast<size_t>(random.integer(std::ssize(text)));
      for (size_t i = begin; i < begin + kLength; ++i) ids.push_back(id(i)), targets.push_back(id(i + 1));
    }
    slab.zero_grad();
    const Tensor loss = model.loss(Tensor::from(ids, {kRows, kLength}), Tensor::from(targets, {kRows, kLength}));
    backward(loss);
    optimizer.step(/*lr=*/3e-3, clip_scale(grad_norm(slab), 1));
    if (step % 50 == 0) fmt::print("characters, step {:3}: loss {:.3f}\n", step, loss.item());
  }
  std::string written;
  const Tensor first = Tensor::from(std::vector<int32_t>{id(0)}, {1, 1});
  const std::vector<double> ids = sampled(model, first, kLength - 1, random).to_vector();
  for (const double x : ids) written += letters[static_cast<size_t>(x)];
  fmt::print("characters: \"{}\"\n", written);
}

void learn_to_copy() {
  constexpr int64_t kDigits = 2, kPrompts = 16, kSamples = 8, kRows = kPrompts * kSamples;
  constexpr int32_t kCopy = 10;  // the token after the digits
  Generator random(2);
  Transformer policy = new_model(11, 2 * kDigits + 1, random);
  ParamSlab slab(policy);
  AdamW optimizer(slab, {.weight_decay = 0});
  for (int step = 0; step <= 120; ++step) {
    std::vector<int32_t> prompts;  // each one kSamples times: a group
    for (int64_t i = 0; i < kPrompts; ++i) {
      std::vector<int32_t> prompt;
      for (int64_t t = 0; t < kDigits; ++t) prompt.push_back(static_cast<int32_t>(random.integer(10)));
      prompt.push_back(kCopy);
      for (int64_t k = 0; k < kSamples; ++k) prompts.insert(prompts.end(), prompt.begin(), prompt.end());
    }
    const Tensor ids = sampled(policy, Tensor::from(prompts, {kRows, kDigits + 1}), kDigits, random);
    const Tensor response = slice(ids, 1, kDigits + 1, 2 * kDigits + 1);
    // The reward is the share of the digits that are right. GRPO: the advantage A of a response is
    // (reward - mean of its group) / standard deviation of its group. The ratio is e^(log_prob - old), 1 in the first
    // epoch. The loss of a token is -min(ratio·A, clip(ratio, 0.8, 1.2)·A): tokens of good responses become likelier.
    const Tensor reward = mean(cast(eq(response, slice(ids, 1, 0, kDigits)), f32), {1});
    const Tensor advantage = rl::group_std_advantage(reshape(reward, {kPrompts, kSamples}));
    if (step % 20 == 0) fmt::print("copy, step {:3}: mean reward {:.2f}\n", step, mean(reward).item());
    Tensor old;  // log-probabilities under the policy that sampled
    for (int epoch = 0; epoch < 2; ++epoch) {
      slab.zero_grad();
      // Row t of the logits scores token t + 1, so rows kDigits … 2·kDigits - 1 are those of the response.
      const Tensor logits = slice(policy(slice(ids, 1, 0, 2 * kDigits)), 1, kDigits, 2 * kDigits);
      const Tensor log_prob = token_log_prob(logits, response).first;
      if (epoch == 0) old = log_prob.detach();
      backward(mean(rl::clip_loss(rl::token_ratio(log_prob, old), reshape(advantage, {kRows, 1}))));
      optimizer.step(/*lr=*/3e-3, clip_scale(grad_norm(slab), 1));
    }
  }
}

int main() {
  learn_characters();
  learn_to_copy();
}
