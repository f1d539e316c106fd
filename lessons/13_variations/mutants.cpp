// Wrong answers to lesson 13. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/13_variations/wrong_attention.h"
#include "lessons/13_variations/wrong_masks.h"

namespace pg::lesson13 {
namespace {

enum class New {
  both_zero,
  both_random,
  exchanged,
  normal,
  by_rank,
  alpha_only,
  twice,
  rank_only,
  trainable,
  bias_left,
  no_gradient,
  in_float,
  shapes,
  merged,
  nothing,
  by_out,
  no_root,
  positive,
  end_in,
  bias_needed,
  rank_3
};
template <New mistake>
void wrong_add(Linear& layer, const LoraConfig& config, Generator& generator) {
  if (mistake == New::nothing) return;
  const int64_t out = layer.weight.size(0), in = layer.weight.size(1), rank = mistake == New::rank_3 ? 3 : config.rank;
  const DType dtype = mistake == New::in_float ? f32 : layer.weight.dtype();
  double bound = 1 / std::sqrt(static_cast<double>(mistake == New::by_rank ? rank : in));
  if (mistake == New::by_out) bound = 1 / std::sqrt(static_cast<double>(out));
  if (mistake == New::no_root) bound = 1 / static_cast<double>(in);
  if (mistake != New::trainable) layer.weight.set_requires_grad(false);
  if (mistake != New::bias_left && (layer.bias.defined() || mistake == New::bias_needed))
    layer.bias.set_requires_grad(false);
  const auto random = [&](const Shape& shape) {
    return mistake == New::normal
               ? Tensor::normal(shape, 0, bound, generator, dtype)
               : Tensor::uniform(shape, mistake == New::positive ? 0 : -bound, bound, generator, dtype);
  };
  const Shape a = {rank, in}, b = {out, rank};
  LoraAdapter one;
  one.end = mistake == New::end_in ? in : out;
  one.scale = config.alpha / static_cast<double>(rank);
  if (mistake == New::alpha_only) one.scale = config.alpha;
  if (mistake == New::twice) one.scale /= static_cast<double>(rank);
  if (mistake == New::rank_only) one.scale = 1 / static_cast<double>(rank);
  const bool a_zero = mistake == New::both_zero || mistake == New::exchanged;
  const bool b_random = mistake == New::both_random || mistake == New::exchanged;
  one.a = a_zero ? Tensor::zeros(a, dtype) : random(a);
  one.b = b_random ? random(b) : Tensor::zeros(b, dtype);
  if (mistake == New::shapes) std::swap(one.a, one.b);
  if (mistake != New::no_gradient) one.a.set_requires_grad(), one.b.set_requires_grad();
  layer.lora.push_back(one);
  if (mistake == New::merged) layer.lora_merged = true;
}

enum class Merge {
  no_scale,
  twice,
  again,
  no_flag,
  replaces,
  first_only,
  row_0,
  transposed,
  minus,
  no_adapter,
  copy,
  term_only,
  clears,
  late_check
};
template <Merge mistake>
void wrong_merge(Linear& layer) {
  if (mistake != Merge::no_adapter) check(!layer.lora.empty(), "merge_lora: no adapter");
  if (mistake != Merge::again && mistake != Merge::late_check) check(!layer.lora_merged, "merge_lora: merged already");
  NoGrad no_grad;
  const Tensor copied = layer.weight.detach().clone();
  for (const LoraAdapter& adapter : layer.lora) {
    double scale = adapter.scale;
    if (mistake == Merge::no_scale) scale = 1;
    if (mistake == Merge::twice) scale *= adapter.scale;
    if (mistake == Merge::minus) scale = -scale;
    Tensor term = matmul(adapter.b, adapter.a) * scale;
    if (mistake == Merge::transposed && term.size(0) == term.size(1)) term = transpose(term);
    const int64_t begin = mistake == Merge::row_0 ? 0 : adapter.begin;
    const bool elsewhere = mistake == Merge::replaces || mistake == Merge::copy;
    const Tensor into = elsewhere ? copied : layer.weight.detach();
    const Tensor rows = into.view_slice(0, begin, begin + adapter.end - adapter.begin);
    rows.copy_from(mistake == Merge::term_only ? term : rows + term);
    if (mistake == Merge::first_only) break;
  }
  if (mistake == Merge::replaces) layer.weight = copied;
  if (mistake == Merge::late_check) check(!layer.lora_merged, "merge_lora: merged already");
  if (mistake == Merge::clears) layer.lora.clear();
  if (mistake != Merge::no_flag) layer.lora_merged = true;
}

#define ROW(piece, name, check, says, wrong)            \
  {                                                     \
    name, check, says, [](Impl& m) { m.piece = wrong; } \
  }

const kit::Mutants<Impl> kTable = {
    ROW(rope, "rope_neighbours", "13.1", "channels 2i and 2i + 1 are paired", wrong_rope<Turn::neighbours>),
    ROW(rope, "rope_mixed_layout", "13.1", "written as halves", wrong_rope<Turn::mixed>),
    ROW(rope, "rope_sign", "13.1", "the angle has the other sign", wrong_rope<Turn::sign>),
    ROW(rope, "rope_d_for_half", "13.1", "base^(-i/D)", wrong_rope<Turn::size>),
    ROW(rope, "rope_two_twos", "13.1", "base^(-4i/D)", wrong_rope<Turn::both>),
    ROW(rope, "rope_growing", "13.1", "the exponent has the other sign", wrong_rope<Turn::growing>),
    ROW(rope, "rope_one_speed", "13.1", "all pairs turn equally fast", wrong_rope<Turn::alike>),
    ROW(rope, "rope_fixed_base", "13.1", "10000 is written in", wrong_rope<Turn::fixed_base>),
    ROW(rope, "rope_pairs_from_1", "13.1", "i counts from 0", wrong_rope<Turn::from_1>),
    ROW(rope, "rope_full_circle", "13.1", "in radians already", wrong_rope<Turn::full_circle>),
    ROW(rope, "rope_positions_from_1", "13.1", "positions count from 0", wrong_rope<Turn::position_1>),
    ROW(rope, "rope_by_head", "13.1", "the angle grows with the head", wrong_rope<Turn::head>),
    ROW(rope, "rope_cos_sin", "13.1", "cos and sin are exchanged", wrong_rope<Turn::exchanged>),
    ROW(rope, "rope_in_place", "13.1", "was rotated already", wrong_rope<Turn::in_place>),
    ROW(rope, "rope_first_half", "13.1", "only the first half", wrong_rope<Turn::first_half>),
    ROW(rope, "rope_restarts", "13.1", "every row begins at position 0", wrong_rope<Turn::restarts>),
    ROW(rope, "rope_row_0", "13.1", "all rows begin where row 0 does", wrong_rope<Turn::row_0>),
    ROW(rope, "rope_no_step", "13.1", "every angle is 0", wrong_rope<Turn::no_step>),
    ROW(rope, "rope_float_angle", "13.1", "computed in float", wrong_rope<Turn::in_float>),
    ROW(rope, "rope_angle_of_dtype", "13.1", "the angle is computed in float", wrong_rope<Turn::in_dtype>),
    ROW(rope, "rope_f64_result", "13.1", "x's dtype", wrong_rope<Turn::in_f64>),
    ROW(rope, "rope_overwrites", "13.1", "an input was written to", wrong_rope<Turn::overwrites>),
    ROW(rope, "rope_untaped", "13.1", "the tape is cut", wrong_rope<Turn::untaped>),
    ROW(rope, "rope_flat", "13.1", "only the shape is not", wrong_rope<Turn::flat>),
    ROW(rope, "rope_identity", "13.1", "this is x itself", wrong_rope<Turn::nothing>),
    ROW(rope, "rope_nan", "13.1", "inf or nan", wrong_rope<Turn::not_a_number>),
    ROW(rope, "rope_whole_numbers", "13.1", "whole numbers", wrong_rope<Turn::whole_numbers>),
    ROW(rope, "rope_positions_needed", "13.1", "positions may be undefined", wrong_rope<Turn::positions_needed>),

    ROW(decode, "decode_restarts", "13.2", "positions begin at 0 again", wrong_decode<Cache::restarts>),
    ROW(decode, "decode_q_restarts", "13.2", "q begins at position 0 again", wrong_decode<Cache::q_restarts>),
    ROW(decode, "decode_k_restarts", "13.2", "k begins at position 0 again", wrong_decode<Cache::k_restarts>),
    ROW(decode, "decode_rotates_v", "13.2", "v is rotated too", wrong_decode<Cache::v_too>),
    ROW(decode, "decode_plain_keys", "13.2", "stored without its rotation", wrong_decode<Cache::k_plain>),
    ROW(decode, "decode_plain_queries", "13.2", "q is not rotated", wrong_decode<Cache::q_plain>),
    ROW(decode, "decode_no_rotation", "13.2", "nothing is rotated", wrong_decode<Cache::plain>),
    ROW(decode, "decode_by_after", "13.2", "slot.after: the first new", wrong_decode<Cache::after>),
    ROW(decode, "decode_row_0", "13.2", "rotated as row 0 is", wrong_decode<Cache::row_0>),
    ROW(decode, "decode_whole_room", "13.2", "the unused room", wrong_decode<Cache::room>),
    ROW(decode, "decode_not_stored", "13.2", "not in the cache", wrong_decode<Cache::not_stored>),
    ROW(decode, "decode_stores_late", "13.2", "before attention", wrong_decode<Cache::stores_late>),
    ROW(decode, "decode_new_only", "13.2", "only the new", wrong_decode<Cache::new_only>),
    ROW(decode, "decode_default_base", "13.2", "options", wrong_decode<Cache::default_base>),
    ROW(decode, "decode_lengths_before", "13.2", "slot.after", wrong_decode<Cache::lengths_before>),
    ROW(decode, "decode_k_for_v", "13.2", "are exchanged", wrong_decode<Cache::k_for_v>),
    ROW(decode, "decode_future", "13.2", "causal", wrong_decode<Cache::future>),
    ROW(decode, "decode_rotates_twice", "13.2", "rotated twice", wrong_decode<Cache::rotates_twice>),

    ROW(repeat_heads, "repeat_tiles", "13.3", "tiled", wrong_repeat<Share::tile>),
    ROW(repeat_heads, "repeat_by_count", "13.3", "h / Hkv", wrong_repeat<Share::by_count>),
    ROW(repeat_heads, "repeat_one", "13.3", "all read the first head", wrong_repeat<Share::one>),
    ROW(repeat_heads, "repeat_positions", "13.3", "the positions are repeated", wrong_repeat<Share::steps>),
    ROW(repeat_heads, "repeat_mean", "13.3", "divided by the size of the group", wrong_repeat<Share::mean>),
    ROW(repeat_heads, "repeat_untaped", "13.3", "the tape is cut", wrong_repeat<Share::untaped>),
    ROW(repeat_heads, "repeat_unchecked", "13.3", "refuse what cannot be right", wrong_repeat<Share::unchecked>),
    ROW(repeat_heads, "repeat_identity", "13.3", "this is x itself", wrong_repeat<Share::same>),
    ROW(repeat_heads, "repeat_in_float", "13.3", "another dtype", wrong_repeat<Share::in_float>),
    ROW(repeat_heads, "repeat_reversed", "13.3", "reversed order", wrong_repeat<Share::reversed>),
    ROW(repeat_heads, "repeat_batch", "13.3", "rows of the batch", wrong_repeat<Share::batch>),
    ROW(repeat_heads, "repeat_copies", "13.3", "the number of heads of the result", wrong_repeat<Share::copies>),

    ROW(absorbed_attention, "mla_wide_scale", "13.4", "√(d_c + d_r)", wrong_absorbed<Absorb::wide_scale>),
    ROW(absorbed_attention, "mla_latent_scale", "13.4", "divided by √d_c", wrong_absorbed<Absorb::latent_scale>),
    ROW(absorbed_attention, "mla_nope_scale", "13.4", "divided by √d_n", wrong_absorbed<Absorb::nope_scale>),
    ROW(absorbed_attention, "mla_no_scale", "13.4", "is missing", wrong_absorbed<Absorb::no_scale>),
    ROW(absorbed_attention, "mla_future", "13.4", "the future is not masked", wrong_absorbed<Absorb::future>),
    ROW(absorbed_attention, "mla_no_rope", "13.4", "the rotated parts are missing", wrong_absorbed<Absorb::no_rope>),
    ROW(absorbed_attention, "mla_wrong_side", "13.4", "on the wrong side", wrong_absorbed<Absorb::wrong_side>),
    ROW(absorbed_attention, "mla_k_misread", "13.4", "k_up is read as", wrong_absorbed<Absorb::k_misread>),
    ROW(absorbed_attention, "mla_v_misread", "13.4", "v_up is read as", wrong_absorbed<Absorb::v_misread>),
    ROW(absorbed_attention, "mla_k_interleaved", "13.4", "k_up is divided", wrong_absorbed<Absorb::k_interleaved>),
    ROW(absorbed_attention, "mla_v_interleaved", "13.4", "v_up is divided", wrong_absorbed<Absorb::v_interleaved>),
    ROW(absorbed_attention, "mla_v_of_next_head", "13.4", "of another head", wrong_absorbed<Absorb::next_head>),
    ROW(absorbed_attention, "mla_head_last", "13.4", "channel by channel", wrong_absorbed<Absorb::head_last>),
    ROW(absorbed_attention, "mla_last_channels", "13.4", "the last d_c channels",
        wrong_absorbed<Absorb::last_channels>),
    ROW(absorbed_attention, "mla_plain_form", "13.4", "this is the plain form", wrong_absorbed<Absorb::plain>),
    ROW(absorbed_attention, "mla_expanded", "13.4", "copied for each head", wrong_absorbed<Absorb::expanded>),
    ROW(absorbed_attention, "mla_untaped", "13.4", "the tape is cut", wrong_absorbed<Absorb::untaped>),
    ROW(absorbed_attention, "mla_no_root", "13.4", "the root is missing", wrong_absorbed<Absorb::no_root>),
    ROW(absorbed_attention, "mla_head_0", "13.4", "the matrices of head 0", wrong_absorbed<Absorb::head_0>),
    ROW(absorbed_attention, "mla_not_joined", "13.4", "not joined", wrong_absorbed<Absorb::not_joined>),
    ROW(absorbed_attention, "mla_unordered", "13.4", "without a transpose", wrong_absorbed<Absorb::unordered>),
    ROW(absorbed_attention, "mla_late", "13.4", "the last T of S", wrong_absorbed<Absorb::late>),

    ROW(add_lora, "lora_both_zero", "13.5", "A and B are both zero", wrong_add<New::both_zero>),
    ROW(add_lora, "lora_both_random", "13.5", "A and B are both random", wrong_add<New::both_random>),
    ROW(add_lora, "lora_exchanged", "13.5", "A and B are exchanged", wrong_add<New::exchanged>),
    ROW(add_lora, "lora_normal", "13.5", "normal, not uniform", wrong_add<New::normal>),
    ROW(add_lora, "lora_by_rank", "13.5", "±1/√rank", wrong_add<New::by_rank>),
    ROW(add_lora, "lora_alpha_only", "13.5", "not divided by the rank", wrong_add<New::alpha_only>),
    ROW(add_lora, "lora_rank_twice", "13.5", "by the rank twice", wrong_add<New::twice>),
    ROW(add_lora, "lora_no_alpha", "13.5", "alpha is missing", wrong_add<New::rank_only>),
    ROW(add_lora, "lora_trains_weight", "13.5", "set_requires_grad(false)", wrong_add<New::trainable>),
    ROW(add_lora, "lora_trains_bias", "13.5", "set_requires_grad(false)", wrong_add<New::bias_left>),
    ROW(add_lora, "lora_no_gradient", "13.5", "without a gradient", wrong_add<New::no_gradient>),
    ROW(add_lora, "lora_float", "13.5", "weight's dtype", wrong_add<New::in_float>),
    ROW(add_lora, "lora_shapes", "13.5", "A [rank, in] reads x", wrong_add<New::shapes>),
    ROW(add_lora, "lora_marked_merged", "13.5", "does not contain the term yet", wrong_add<New::merged>),
    ROW(add_lora, "lora_nothing", "13.5", "nothing was appended", wrong_add<New::nothing>),
    ROW(add_lora, "lora_by_out", "13.5", "±1/√out", wrong_add<New::by_out>),
    ROW(add_lora, "lora_no_root", "13.5", "the root is missing", wrong_add<New::no_root>),
    ROW(add_lora, "lora_positive", "13.5", "both signs", wrong_add<New::positive>),
    ROW(add_lora, "lora_end_in", "13.5", ".end = out", wrong_add<New::end_in>),
    ROW(add_lora, "lora_bias_needed", "13.5", "it may be undefined", wrong_add<New::bias_needed>),
    ROW(add_lora, "lora_rank_3", "13.5", "config.rank", wrong_add<New::rank_3>),

    ROW(merge_lora, "merge_no_scale", "13.6", "the scale is missing", wrong_merge<Merge::no_scale>),
    ROW(merge_lora, "merge_scale_twice", "13.6", "the scale is applied twice", wrong_merge<Merge::twice>),
    ROW(merge_lora, "merge_twice", "13.6", "refuse what cannot be right", wrong_merge<Merge::again>),
    ROW(merge_lora, "merge_no_flag", "13.6", "does not know that it is merged", wrong_merge<Merge::no_flag>),
    ROW(merge_lora, "merge_replaces", "13.6", "point elsewhere", wrong_merge<Merge::replaces>),
    ROW(merge_lora, "merge_copy", "13.6", "into a copy", wrong_merge<Merge::copy>),
    ROW(merge_lora, "merge_first_only", "13.6", "only the first adapter", wrong_merge<Merge::first_only>),
    ROW(merge_lora, "merge_row_0", "13.6", "from row 0 on", wrong_merge<Merge::row_0>),
    ROW(merge_lora, "merge_transposed", "13.6", "the term is transposed", wrong_merge<Merge::transposed>),
    ROW(merge_lora, "merge_minus", "13.6", "subtracted", wrong_merge<Merge::minus>),
    ROW(merge_lora, "merge_without", "13.6", "refuse what cannot be right", wrong_merge<Merge::no_adapter>),
    ROW(merge_lora, "merge_term_only", "13.6", "replaced by the term", wrong_merge<Merge::term_only>),
    ROW(merge_lora, "merge_clears", "13.6", "the adapters stay", wrong_merge<Merge::clears>),
    ROW(merge_lora, "merge_late_check", "13.6", "check before you add", wrong_merge<Merge::late_check>),

    ROW(mask_tokens, "mask_targets_all", "13.7", "hold the visible tokens too", wrong_mask<Mask::everywhere>),
    ROW(mask_tokens, "mask_inverted", "13.7", "the targets are inverted", wrong_mask<Mask::inverted>),
    ROW(mask_tokens, "mask_is_target", "13.7", "the target is the mask itself", wrong_mask<Mask::mask_target>),
    ROW(mask_tokens, "mask_weight_t", "13.7", "the weight is t", wrong_mask<Mask::weight_t>),
    ROW(mask_tokens, "mask_weight_1", "13.7", "the weights are 1", wrong_mask<Mask::weight_1>),
    ROW(mask_tokens, "mask_weight_0", "13.7", "the weights are 0 at visible", wrong_mask<Mask::weight_masked>),
    ROW(mask_tokens, "mask_time_0", "13.7", "can be 0", wrong_mask<Mask::frac>),
    ROW(mask_tokens, "mask_one_time", "13.7", "all rows have the time of row 0", wrong_mask<Mask::one_time>),
    ROW(mask_tokens, "mask_own_times", "13.7", "each row draws a time", wrong_mask<Mask::own_times>),
    ROW(mask_tokens, "mask_whole_row", "13.7", "one random number for a whole row", wrong_mask<Mask::whole_row>),
    ROW(mask_tokens, "mask_shared", "13.7", "all rows have the same random", wrong_mask<Mask::shared>),
    ROW(mask_tokens, "mask_above_t", "13.7", "masked where the number is above t", wrong_mask<Mask::visible>),
    ROW(mask_tokens, "mask_columns", "13.7", "column after column", wrong_mask<Mask::columns>),
    ROW(mask_tokens, "mask_first_tokens", "13.7", "always the first tokens", wrong_mask<Mask::first_tokens>),
    ROW(mask_tokens, "mask_bert", "13.7", "that is BERT", wrong_mask<Mask::bert>),
    ROW(mask_tokens, "mask_in_place", "13.7", "an input was written to", wrong_mask<Mask::in_place>),
    ROW(mask_tokens, "mask_float_weights", "13.7", "weights f64", wrong_mask<Mask::float_weights>),
    ROW(mask_tokens, "mask_nothing", "13.7", "nothing is masked", wrong_mask<Mask::nothing>),
    ROW(mask_tokens, "mask_whole_numbers", "13.7", "whole numbers", wrong_mask<Mask::whole_numbers>),
    ROW(mask_tokens, "mask_no_frac", "13.7", "frac is missing", wrong_mask<Mask::no_frac>),
    ROW(mask_tokens, "mask_target_1", "13.7", "in place of -1", wrong_mask<Mask::target_1>),
    ROW(mask_tokens, "mask_zero_id", "13.7", "0 is written", wrong_mask<Mask::zero_id>),
    ROW(mask_tokens, "mask_one_more", "13.7", "one number for u", wrong_mask<Mask::one_more>),
    ROW(mask_tokens, "mask_share", "13.7", "the masks of the row", wrong_mask<Mask::share>),

    ROW(denoising_loss, "loss_mask_logit", "13.8", "the mask's logit is counted", wrong_loss<Loss::mask_logit>),
    ROW(denoising_loss, "loss_first_cut", "13.8", "the first logit was cut off", wrong_loss<Loss::first_cut>),
    ROW(denoising_loss, "loss_no_weight", "13.8", "the weights are missing", wrong_loss<Loss::no_weight>),
    ROW(denoising_loss, "loss_divides", "13.8", "divided by the weights", wrong_loss<Loss::divides>),
    ROW(denoising_loss, "loss_squares", "13.8", "squared", wrong_loss<Loss::squares>),
    ROW(denoising_loss, "loss_per_mask", "13.8", "divided by the number of masks", wrong_loss<Loss::per_mask>),
    ROW(denoising_loss, "loss_plain_mean", "13.8", "a mean over the masked tokens", wrong_loss<Loss::plain_mean>),
    ROW(denoising_loss, "loss_per_weight", "13.8", "the sum of the weights", wrong_loss<Loss::per_weight>),
    ROW(denoising_loss, "loss_per_row", "13.8", "divided by B only", wrong_loss<Loss::per_row>),
    ROW(denoising_loss, "loss_total", "13.8", "this is the sum", wrong_loss<Loss::total>),
    ROW(denoising_loss, "loss_bits", "13.8", "in bits", wrong_loss<Loss::bits>),
    ROW(denoising_loss, "loss_visible_too", "13.8", "on visible tokens too", wrong_loss<Loss::visible_too>),
    ROW(denoising_loss, "loss_detached", "13.8", "the tape is cut", wrong_loss<Loss::detached>),
    ROW(denoising_loss, "loss_in_float", "13.8", "another dtype", wrong_loss<Loss::in_float>),
    ROW(denoising_loss, "loss_none_masked", "13.8", "inf or nan", wrong_loss<Loss::mean_of_none>),
    ROW(denoising_loss, "loss_not_summed", "13.8", "sum it up", wrong_loss<Loss::per_token>),
    ROW(denoising_loss, "loss_per_length", "13.8", "divided by L only", wrong_loss<Loss::per_length>),
    ROW(denoising_loss, "loss_apart", "13.8", "before you sum", wrong_loss<Loss::apart>),
};

#undef ROW

}  // namespace
}  // namespace pg::lesson13
