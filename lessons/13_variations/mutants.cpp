// Wrong answers to lesson 13. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/13_variations/answers.h"
#include "lessons/13_variations/checks.h"

namespace pg::lesson13 {
namespace {

using T = const Tensor&;

Tensor rope_positions_needed(T x, const Rope& options, T positions) {
  positions.data<const int32_t>();
  return lesson13::rope(x, options, positions);
}
Tensor decode_lengths_before(const KvSlot& slot, T q, T k, T v, const Rope& options) {
  slot.store(pg::rope(k, options, slot.before), v);
  AttentionOptions attend;
  attend.kv_len = slot.before;
  return pg::attention(pg::rope(q, options, slot.before), slot.k, slot.v, attend);
}
Tensor decode_not_stored(const KvSlot& slot, T q, T k, T v, const Rope& options) {
  return lesson13::decode({slot.k.clone(), slot.v.clone(), slot.before, slot.after}, q, k, v, options);
}
Tensor repeat_unchecked(T x, int64_t heads) {
  return lesson13::repeat_heads(heads % x.size(1) == 0 ? x : slice(x, 1, 0, 1), heads);
}

// The right adapter, and then `change`.
template <void (*change)(Linear& layer, LoraAdapter& adapter)>
void add_lora_and(Linear& layer, const LoraConfig& config, Generator& generator) {
  lesson13::add_lora(layer, config, generator);
  change(layer, layer.lora[0]);
}
void a_zero(Linear&, LoraAdapter& one) { one.a.detach().fill(0); }
void b_random(Linear&, LoraAdapter& one) { one.b.detach().copy_from(random_tensor(one.b.shape(), 1, one.b.dtype())); }
void exchange(Linear& layer, LoraAdapter& one) { a_zero(layer, one), b_random(layer, one); }
void train_weight(Linear& layer, LoraAdapter&) { layer.weight.set_requires_grad(true); }
void train_bias(Linear& layer, LoraAdapter&) {
  if (layer.bias.defined()) layer.bias.set_requires_grad(true);
}
void cut(Linear&, LoraAdapter& one) { one.a = one.a.detach(), one.b = one.b.detach(); }
void narrow(Linear&, LoraAdapter& one) {
  for (Tensor* x : {&one.a, &one.b}) *x = x->detach().to(f32).set_requires_grad();
}
void swap_shapes(Linear&, LoraAdapter& one) { std::swap(one.a, one.b); }
void mark_merged(Linear& layer, LoraAdapter&) { layer.lora_merged = true; }
void end_at_in(Linear& layer, LoraAdapter& one) { one.end = layer.weight.size(1); }
void drop(Linear& layer, LoraAdapter&) { layer.lora.clear(); }
void lora_bias_needed(Linear& layer, const LoraConfig& config, Generator& generator) {
  layer.bias.set_requires_grad(false);
  lesson13::add_lora(layer, config, generator);
}
void lora_rank_3(Linear& layer, const LoraConfig& config, Generator& generator) {
  lesson13::add_lora(layer, {.rank = 3, .alpha = config.alpha}, generator);
}

void merge_twice(Linear& layer) {
  layer.lora_merged = false;
  lesson13::merge_lora(layer);
}
void merge_no_flag(Linear& layer) {
  lesson13::merge_lora(layer);
  layer.lora_merged = false;
}
void merge_replaces(Linear& layer) {
  layer.weight = layer.weight.detach().clone();
  lesson13::merge_lora(layer);
}
void merge_without(Linear& layer) {
  if (layer.lora.empty()) return;
  lesson13::merge_lora(layer);
}
void merge_clears(Linear& layer) {
  lesson13::merge_lora(layer);
  layer.lora.clear();
}
void merge_late_check(Linear& layer) {
  const bool merged = layer.lora_merged;
  merge_twice(layer);
  check(!merged, "merge_lora: merged already");
}

MaskedTokens mask_in_place(T ids, int32_t mask_id, Generator& random) {
  const MaskedTokens result = lesson13::mask_tokens(ids, mask_id, random);
  ids.copy_from(result.ids);
  return result;
}
MaskedTokens mask_float_weights(T ids, int32_t mask_id, Generator& random) {
  const MaskedTokens result = lesson13::mask_tokens(ids, mask_id, random);
  return {result.ids, result.targets, result.weights.to(f32)};
}
MaskedTokens mask_one_more(T ids, int32_t mask_id, Generator& random) {
  const MaskedTokens result = lesson13::mask_tokens(ids, mask_id, random);
  random.uniform();
  return result;
}
Tensor loss_none_masked(T logits, const MaskedTokens& tokens) {
  const bool none = amax(tokens.targets.to(f64)).item() < 0;
  return lesson13::denoising_loss(logits, tokens) / (none ? 0 : 1);
}
Tensor loss_not_summed(T logits, const MaskedTokens& tokens) {
  return lesson13::denoising_loss(logits, tokens) * tokens.weights.to(logits.dtype());
}

}  // namespace

const kit::Mutants<Impl> of_rope(
    &Impl::rope, rope_mistakes(),
    {{"rope_f64_result", "13.1", "x's dtype",
      [](T x, const Rope& o, T at) { return cast(lesson13::rope(x, o, at), f64); }},
     {"rope_flat", "13.1", "only the shape is not",
      [](T x, const Rope& o, T at) {
        return reshape(lesson13::rope(x, o, at), {-1, x.size(2), x.size(3)});
      }},
     {"rope_nan", "13.1", "inf or nan", [](T x, const Rope& o, T at) { return lesson13::rope(x, o, at) / 0.0; }},
     {"rope_positions_needed", "13.1", "positions may be undefined", rope_positions_needed}});
const kit::Mutants<Impl> of_decode(&Impl::decode, decode_mistakes(),
                                   {{"decode_not_stored", "13.2", "not in the cache", decode_not_stored},
                                    {"decode_lengths_before", "13.2", "slot.after", decode_lengths_before}});
const kit::Mutants<Impl> of_repeat(&Impl::repeat_heads, repeat_mistakes(),
                                   {{"repeat_unchecked", "13.3", "refuse what cannot be right", repeat_unchecked},
                                    {"repeat_in_float", "13.3", "another dtype",
                                     [](T x, int64_t heads) { return lesson13::repeat_heads(cast(x, f32), heads); }}});
const kit::Mutants<Impl> of_latents(&Impl::absorbed_attention, latent_mistakes());
const kit::Mutants<Impl> of_add(&Impl::add_lora, add_mistakes(),
                                {{"lora_both_zero", "13.5", "A and B are both zero", add_lora_and<a_zero>},
                                 {"lora_both_random", "13.5", "A and B are both random", add_lora_and<b_random>},
                                 {"lora_exchanged", "13.5", "A and B are exchanged", add_lora_and<exchange>},
                                 {"lora_trains_weight", "13.5", "set_requires_grad(false)", add_lora_and<train_weight>},
                                 {"lora_trains_bias", "13.5", "set_requires_grad(false)", add_lora_and<train_bias>},
                                 {"lora_no_gradient", "13.5", "without a gradient", add_lora_and<cut>},
                                 {"lora_float", "13.5", "weight's dtype", add_lora_and<narrow>},
                                 {"lora_shapes", "13.5", "A [rank, in] reads x", add_lora_and<swap_shapes>},
                                 {"lora_marked_merged", "13.5", "does not contain the term yet",
                                  add_lora_and<mark_merged>},
                                 {"lora_nothing", "13.5", "nothing was appended", add_lora_and<drop>},
                                 {"lora_end_in", "13.5", ".end = out", add_lora_and<end_at_in>},
                                 {"lora_bias_needed", "13.5", "it may be undefined", lora_bias_needed},
                                 {"lora_rank_3", "13.5", "config.rank", lora_rank_3}});
const kit::Mutants<Impl> of_merge(&Impl::merge_lora, merge_mistakes(),
                                  {{"merge_twice", "13.6", "refuse what cannot be right", merge_twice},
                                   {"merge_no_flag", "13.6", "does not know that it is merged", merge_no_flag},
                                   {"merge_replaces", "13.6", "point elsewhere", merge_replaces},
                                   {"merge_without", "13.6", "refuse what cannot be right", merge_without},
                                   {"merge_clears", "13.6", "the adapters stay", merge_clears},
                                   {"merge_late_check", "13.6", "check before you add", merge_late_check}});
const kit::Mutants<Impl> of_masks(&Impl::mask_tokens, mask_mistakes(),
                                  {{"mask_in_place", "13.7", "an input was written to", mask_in_place},
                                   {"mask_float_weights", "13.7", "weights f64", mask_float_weights},
                                   {"mask_one_more", "13.7", "one number for u", mask_one_more}});
const kit::Mutants<Impl> of_loss(&Impl::denoising_loss, loss_mistakes(),
                                 {{"loss_detached", "13.8", "the tape is cut",
                                   [](T x, const MaskedTokens& t) { return lesson13::denoising_loss(x.detach(), t); }},
                                  {"loss_none_masked", "13.8", "inf or nan", loss_none_masked},
                                  {"loss_not_summed", "13.8", "sum it up", loss_not_summed}});

}  // namespace pg::lesson13
