// A GPT-2 learns characters, and another one learns from rewards to copy digits, by REINFORCE, PPO, RLOO, GRPO, Dr.
// GRPO or DAPO. All of it runs on the core, pg_core (docs/ARCHITECTURE.md), whose kernels are plain loops:
//   make core_demo && ./core_demo           characters, then copying by GRPO
//   ./core_demo dapo                        copying by another method
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

// Returns ids [B, T] and, after them, `count` sampled tokens: [B, T + count]. The scores of the last position choose
// each token.
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

// Trains the model to predict the next character: targets[i] is the character after ids[i]. The id of a character is
// its index in `letters`.
void learn_characters() {
  const std::string text = "a rose is a rose is a rose. she sells sea shells by the sea shore. ",
                    letters = " .abehilorsty";
  constexpr int64_t rows = 8, length = 16;
  Generator random(1);
  Transformer model = new_model(std::ssize(letters), length, random);
  ParamSlab slab(model);
  AdamW optimizer(slab);
  const auto id = [&](size_t i) { return static_cast<int32_t>(letters.find(text[i % text.size()])); };
  for (int step = 0; step <= 200; ++step) {
    std::vector<int32_t> ids, targets;
    for (int64_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<size_t>(random.integer(std::ssize(text)));
      for (size_t i = begin; i < begin + length; ++i) ids.push_back(id(i)), targets.push_back(id(i + 1));
    }
    slab.zero_grad();
    const Tensor loss = model.loss(Tensor::from(ids, {rows, length}), Tensor::from(targets, {rows, length}));
    backward(loss);
    // All gradients are multiplied by one factor, so that their norm is at most 1.
    optimizer.step(/*lr=*/3e-3, clip_scale(grad_norm(slab), 1));
    if (step % 50 == 0) fmt::print("characters, step {:3}: loss {:.3f}\n", step, loss.item());
  }
  std::string written;
  const Tensor first = Tensor::from(std::vector<int32_t>{id(0)}, {1, 1});
  const std::vector<double> ids = sampled(model, first, length - 1, random).to_vector();
  for (const double x : ids) written += letters[static_cast<size_t>(x)];
  fmt::print("characters: \"{}\"\n", written);
}

// A method of policy gradients: what a response's advantage A is, which loss a token has, and how the losses add up.
struct Method {
  const char* name;
  const char* source;
  Tensor (*advantage)(const Tensor& rewards);  // [N, G] → [N, G], N prompts with G responses each
  double low, high;                            // -min(ratio·A, clip(ratio, 1 - low, 1 + high)·A); both 0: -A·log π
  Tensor (*add_up)(const Tensor& loss, const Tensor& mask, const rl::Denominators& total);
  int epochs;  // updates from the same responses
  int steps;
  double lr;                // lower where no clip bounds an update: at 3e-3 the policy soon gives one answer only
  bool only_mixed = false;  // groups whose rewards are all equal are left out
};
Tensor unchanged(const Tensor& r) { return r; }
Tensor whitened(const Tensor& r) { return rl::whiten(r); }
Tensor over_mean(const Tensor& r) { return rl::group_mean_advantage(r); }
Tensor over_others(const Tensor& r) { return rl::leave_one_out_advantage(r); }
Tensor standardised(const Tensor& r) { return rl::group_std_advantage(r); }
constexpr Method kMethods[] = {
    {"reinforce", "Williams 1992", unchanged, 0, 0, rl::sequence_sum, 1, 480, 1e-3},
    {"ppo", "Schulman et al. 2017, without a critic", whitened, 0.2, 0.2, rl::token_mean, 4, 60, 3e-3},
    {"rloo", "Ahmadian et al. 2024", over_others, 0, 0, rl::sequence_sum, 1, 300, 1e-3},
    {"grpo", "Shao et al. 2024", standardised, 0.2, 0.2, rl::sequence_mean, 2, 80, 3e-3},
    {"dr_grpo", "Liu et al. 2025", over_mean, 0.2, 0.2, rl::constant_length_mean, 2, 80, 3e-3},
    {"dapo", "Yu et al. 2025", standardised, 0.2, 0.28, rl::token_mean, 2, 80, 3e-3, true}};

constexpr int64_t kDigits = 2, kLength = kDigits + 1, kPrompts = 16, kSamples = 8, kRows = kPrompts * kSamples;
constexpr int32_t kCopy = 10, kEnd = 11;  // the tokens after the digits and after the answer

// Prompts [kRows, kLength] of digits and kCopy, each one kSamples times: a group.
Tensor draw_prompts(Generator& random) {
  std::vector<int32_t> prompts;
  for (int64_t i = 0; i < kPrompts; ++i) {
    std::vector<int32_t> prompt;
    for (int64_t t = 0; t < kDigits; ++t) prompt.push_back(static_cast<int32_t>(random.integer(10)));
    prompt.push_back(kCopy);
    for (int64_t k = 0; k < kSamples; ++k) prompts.insert(prompts.end(), prompt.begin(), prompt.end());
  }
  return Tensor::from(prompts, {kRows, kLength});
}

// The action mask of responses [B, T]: 1 up to the first kEnd, 0 after it.
Tensor up_to_end(const Tensor& response) {
  std::vector<double> mask = response.to_vector();
  for (size_t row = 0; row < mask.size(); row += kLength) {
    bool ended = false;
    for (size_t t = row; t < row + kLength; ++t) {
      const bool ends = mask[t] == kEnd;
      mask[t] = ended ? 0 : 1;
      ended = ended || ends;
    }
  }
  return Tensor::from(mask, response.shape()).to(u8);
}

void learn_to_copy(const Method& method) {
  Generator random(2);
  Transformer policy = new_model(12, 2 * kLength, random);
  ParamSlab slab(policy);
  AdamW optimizer(slab, {.weight_decay = 0});
  for (int step = 0; step <= method.steps; ++step) {
    const Tensor prompts = draw_prompts(random), ids = sampled(policy, prompts, kLength, random);
    const Tensor response = slice(ids, 1, kLength, 2 * kLength);
    Tensor mask = up_to_end(response);
    // The reward is the share of the answer, the digits and kEnd, that is right.
    const Tensor answer = cat({slice(prompts, 1, 0, kDigits), Tensor::full({kRows, 1}, kEnd, i32)}, 1);
    const Tensor reward = mean(cast(eq(response, answer), f32), {1});
    if (step % 20 == 0) fmt::print("{}, step {:3}: mean reward {:.2f}\n", method.name, step, mean(reward).item());
    const Tensor groups = reshape(reward, {kPrompts, kSamples});
    const Tensor advantage = reshape(method.advantage(groups), {kRows, 1});
    if (method.only_mixed) {
      const Tensor mixed = reshape(cast(rl::groups_with_signal(groups), f32), {kPrompts, 1});
      mask = cast(cast(mask, f32) * reshape(expand(mixed, {kPrompts, kSamples}), {kRows, 1}), u8);
    }
    if (sum(cast(mask, f32)).item() == 0) continue;  // no group has anything to learn from
    const rl::Denominators total = rl::denominators(mask, /*max_length=*/kLength);
    Tensor old;  // log π of the policy that sampled
    for (int epoch = 0; epoch < method.epochs; ++epoch) {
      slab.zero_grad();
      // Row t of the logits scores token t + 1, so rows kLength - 1 … 2·kLength - 2 are those of the response.
      const Tensor logits = slice(policy(slice(ids, 1, 0, 2 * kLength - 1)), 1, kLength - 1, 2 * kLength - 1);
      const Tensor log_prob = token_log_prob(logits, response).first;
      if (epoch == 0) old = log_prob.detach();
      const Tensor ratio = rl::token_ratio(log_prob, old, mask);  // π / old, 1 in the first epoch
      const Tensor loss = method.high == 0 ? rl::log_prob_loss(log_prob, advantage, mask)
                                           : rl::clip_loss(ratio, advantage, method.low, method.high);
      backward(method.add_up(loss, mask, total));
      optimizer.step(method.lr, clip_scale(grad_norm(slab), 1));
    }
  }
}

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "grpo";
  for (const Method& method : kMethods) {
    if (method.name != name) continue;
    if (argc == 1) learn_characters();
    learn_to_copy(method);
    return 0;
  }
  fmt::print(stderr, "core_demo: there is no method '{}'; the methods are:\n", name);
  for (const Method& method : kMethods) fmt::print(stderr, "  {:<10} {}\n", method.name, method.source);
  return 1;
}
