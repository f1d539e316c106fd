#pragma once
// A masked denoiser: masked diffusion language modelling (Sahoo et al. 2024, "Simple and Effective Masked Diffusion
// Language Models", MDLM, arXiv:2406.07524; Nie et al. 2025, "Large Language Diffusion Models", LLaDA,
// arXiv:2502.09992). Tokens are replaced by a mask token, and a Transformer with bidirectional attention predicts all
// masked tokens at once from the visible ones. nn/variants/unmask.h samples from it.
//
// The vocabulary has V tokens, 0 … V - 1. The mask token is V, so the model has vocab_size V + 1. The mask is an input
// only: its logit is left out of every probability.
//
// At time t in (0, 1] the share alpha_t = 1 - t of the tokens is visible (the linear schedule): each token is masked
// independently with probability t. With L tokens x and their masked version x_t, the loss
//   E over t ~ U(0, 1] and the masks of  1/L · 1/t · Σ over masked i of -log p(x_i | x_t)
// is an upper bound on -log p(x)/L in nats per token, where p(x) is the probability that tokens filled in one at a time
// in random order are x (MDLM, section 3: with this alpha its weight -alpha'_t/(1 - alpha_t) is 1/t).
#include <cstdint>
#include <functional>

#include "nn/transformer.h"
#include "tensor/base/random.h"

namespace pg {

// A denoiser as a function, which a Transformer or any other computation provides.
struct MaskedDenoiser {
  int64_t vocab_size = 0;  // V, the mask not counted
  // ids i32 [B, L], masks included, and the row-major indices i32 [N] of some of the positions → logits [N, V] of the
  // tokens there. Undefined indices: all B·L positions.
  std::function<Tensor(const Tensor& ids, const Tensor& indices)> logits;

  int32_t mask_id() const { return static_cast<int32_t>(vocab_size); }
};
// The model as a denoiser of V = vocab_size - 1 tokens. It must outlive the result. Error if the model is causal.
MaskedDenoiser masked_denoiser(const Transformer& model);

// Sequences with masks, and what a denoiser learns from them.
struct MaskedTokens {
  Tensor ids;      // i32 [B, L]: mask_id where a token is masked
  Tensor targets;  // i32 [B, L]: the token where it is masked, -100 where it is visible
  Tensor weights;  // f64 [B, L]: the factor of -log p(target), the same at every position of a row
};
// Masks each token of row b of ids i32 [B, L] with probability t_b; the weight is 1/t_b. t_b = 1 - frac(u + b/B) with
// one uniform u for the batch: each t_b is uniform in (0, 1], and together they are spread evenly, which reduces the
// variance of the loss (Kingma et al. 2021, "Variational Diffusion Models", arXiv:2107.00630, appendix I.1). The
// result depends on the generator's state alone, which advances by 1 + B·L numbers. Error if an id is not in
// 0 … mask_id - 1.
MaskedTokens mask_tokens(const Tensor& ids, int32_t mask_id, Generator& generator);
// Masks exactly k_b tokens of row b, all sets of k_b positions equally likely, where k_b is uniform in 1 … L and spread
// as t_b above; the weight is L/k_b. The expected loss is that of mask_tokens(), because t is integrated out; its
// variance is smaller, because the weight is never above L (LLaDA, section 2.4). For evaluation.
MaskedTokens mask_counts(const Tensor& ids, int32_t mask_id, Generator& generator);

// Σ weights · -log p(targets) over the batch, a scalar of the sum type of the logits; divided by B·L it is the loss
// above, in nats per token.
Tensor summed_denoising_loss(const MaskedDenoiser& model, const MaskedTokens& tokens);

}  // namespace pg
