#pragma once
// Lesson 13: the functions that you write, and what they work on.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "nn/decode/kv_cache.h"
#include "nn/layers.h"
#include "nn/variants/denoiser.h"
#include "nn/variants/lora.h"

namespace pg::lesson13 {

// What latent attention works on: H heads of queries at the last T of S positions, and the latents of all S, which all
// heads share. The parts "_rope" are rotated already. LatentAttention has the same (nn/variants/latent_attention.h).
struct LatentInputs {
  Tensor q_nope, q_rope;  // [B, H, T, d_n], [B, H, T, d_r]
  Tensor latent, k_rope;  // [B, 1, S, d_c], [B, 1, S, d_r]
};

Tensor rope(const Tensor& x, const Rope& options, const Tensor& positions);
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options);
Tensor repeat_heads(const Tensor& x, int64_t heads);
Tensor absorbed_attention(const LatentInputs& in, const Tensor& k_up, const Tensor& v_up);
void add_lora(Linear& layer, const LoraConfig& config, Generator& generator);
void merge_lora(Linear& layer);
MaskedTokens mask_tokens(const Tensor& ids, int32_t mask_id, Generator& generator);
Tensor denoising_loss(const Tensor& logits, const MaskedTokens& tokens);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson13::rope)* rope = lesson13::rope;
  decltype(lesson13::decode)* decode = lesson13::decode;
  decltype(lesson13::repeat_heads)* repeat_heads = lesson13::repeat_heads;
  decltype(lesson13::absorbed_attention)* absorbed_attention = lesson13::absorbed_attention;
  decltype(lesson13::add_lora)* add_lora = lesson13::add_lora;
  decltype(lesson13::merge_lora)* merge_lora = lesson13::merge_lora;
  decltype(lesson13::mask_tokens)* mask_tokens = lesson13::mask_tokens;
  decltype(lesson13::denoising_loss)* denoising_loss = lesson13::denoising_loss;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson13
