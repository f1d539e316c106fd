// GRPO (Shao et al. 2024, arXiv:2402.03300) on one page: a GPT-2 learns from rewards to copy four digits. Sampling,
// rewards, advantages, loss and step, with functions of the engine and nothing between them. Five seconds:
//   make grpo && ./grpo
#include <fmt/core.h>

#include "nn/decode/generate.h"
#include "nn/optim.h"
#include "rl/advantages.h"
#include "rl/policy_loss.h"

using namespace pg;

constexpr int64_t kDigits = 4, kPrompts = 16, kSamples = 8, kSteps = 150;
constexpr int32_t kCopy = 10;  // the token after the prompt's digits

int main() {
  Generator random(1);
  Transformer policy(
      {.vocab_size = 11, .block_size = 2 * kDigits + 1, .n_layer = 2, .n_head = 4, .n_embd = 64, .in_proj_std = 0.125},
      random);
  ParamSlab slab(policy);
  AdamW optimizer(slab, {.weight_decay = 0});
  Sampler sampler(policy);
  for (int64_t step = 0; step <= kSteps; ++step) {
    // Prompts [P], and G responses to each.
    std::vector<std::vector<int32_t>> prompts(kPrompts);
    for (std::vector<int32_t>& prompt : prompts) {
      for (int64_t i = 0; i < kDigits; ++i) prompt.push_back(static_cast<int32_t>(random.integer(10)));
      prompt.push_back(kCopy);
    }
    const std::vector<Generated> responses = sampler.generate(
        prompts, {.max_new_tokens = kDigits, .samples = kSamples, .seed = static_cast<uint64_t>(step)});

    // The reward of a response is the share of its digits that are right. Its advantage compares it with its group.
    std::vector<double> rewards;
    std::vector<int32_t> ids, targets;
    for (size_t i = 0; i < responses.size(); ++i) {
      const std::vector<int32_t>&prompt = prompts[i / kSamples], &response = responses[i].tokens;
      double right = 0;
      for (size_t t = 0; t < kDigits; ++t) right += response[t] == prompt[t] ? 1 : 0;
      rewards.push_back(right / kDigits);
      ids.insert(ids.end(), prompt.begin(), prompt.end());
      ids.insert(ids.end(), response.begin(), response.end() - 1);
      targets.insert(targets.end(), response.begin(), response.end());
    }
    const Tensor reward = Tensor::from(rewards, {kPrompts, kSamples});
    if (step % 25 == 0) fmt::print("step {:3}: mean reward {:.2f}\n", step, mean(reward).item());
    const int64_t rows = kPrompts * kSamples;
    const Tensor advantage = reshape(rl::group_std_advantage(reward), {rows, 1}).to(f32);

    // Two steps on the clipped ratio of the policy to the one that sampled.
    const Tensor input = Tensor::from(ids, {rows, 2 * kDigits}), output = Tensor::from(targets, {rows, kDigits});
    Tensor old;
    for (int epoch = 0; epoch < 2; ++epoch) {
      slab.zero_grad();
      const Tensor logits = slice(policy(input), 1, kDigits, 2 * kDigits);  // those that predict the response
      const Tensor log_prob = token_log_prob(logits, output).first;
      if (epoch == 0) old = log_prob.detach();
      backward(mean(rl::clip_loss(rl::token_ratio(log_prob, old), advantage)));
      optimizer.step(/*lr=*/1e-3, clip_scale(grad_norm(slab), 1));
    }
  }
}
