// Wrong answers to lesson 13. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/13_variations/wrong_attention.h"

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
  nothing
};
template <New mistake>
void wrong_add(Linear& layer, const LoraConfig& config, Generator& generator) {
  if (mistake == New::nothing) return;
  const int64_t out = layer.weight.size(0), in = layer.weight.size(1), rank = config.rank;
  const DType dtype = mistake == New::in_float ? f32 : layer.weight.dtype();
  const double bound = 1 / std::sqrt(static_cast<double>(mistake == New::by_rank ? rank : in));
  if (mistake != New::trainable) layer.weight.set_requires_grad(false);
  if (mistake != New::bias_left && layer.bias.defined()) layer.bias.set_requires_grad(false);
  const auto random = [&](const Shape& shape) {
    return mistake == New::normal ? Tensor::normal(shape, 0, bound, generator, dtype)
                                  : Tensor::uniform(shape, -bound, bound, generator, dtype);
  };
  const Shape a = {rank, in}, b = {out, rank};
  LoraAdapter one;
  one.end = out;
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

enum class Merge { no_scale, twice, again, no_flag, replaces, first_only, row_0, transposed, minus, no_adapter, copy };
template <Merge mistake>
void wrong_merge(Linear& layer) {
  if (mistake != Merge::no_adapter) check(!layer.lora.empty(), "merge_lora: no adapter");
  if (mistake != Merge::again) check(!layer.lora_merged, "merge_lora: merged already");
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
    rows.copy_from(rows + term);
    if (mistake == Merge::first_only) break;
  }
  if (mistake == Merge::replaces) layer.weight = copied;
  if (mistake != Merge::no_flag) layer.lora_merged = true;
}

enum class Mask {
  everywhere,
  inverted,
  mask_target,
  weight_t,
  weight_1,
  weight_masked,
  frac,
  one_time,
  own_times,
  whole_row,
  shared,
  visible,
  columns,
  first_tokens,
  bert,
  in_place,
  only_masked_draw,
  float_weights,
  nothing
};
template <Mask mistake>
MaskedTokens wrong_mask(const Tensor& ids, int32_t mask_id, Generator& generator) {
  const int64_t rows = ids.size(0), length = ids.size(1);
  const Tensor seen = mistake == Mask::in_place ? ids : ids.clone();
  const Tensor given = ids.clone(), targets = Tensor::full(ids.shape(), -100, i32);
  const Tensor weights = Tensor::zeros(ids.shape(), f64);
  const double u = generator.uniform();
  std::vector<double> times, numbers, column(static_cast<size_t>(rows * length));
  for (int64_t b = 0; b < rows; ++b) {
    const double x = u + static_cast<double>(b) / static_cast<double>(rows), frac = x - std::floor(x);
    double t = mistake == Mask::frac ? frac : mistake == Mask::one_time ? 1 - u : 1 - frac;
    if (mistake == Mask::own_times) t = b == 0 ? 1 - u : 1 - generator.uniform();
    times.push_back(t);
  }
  if (mistake == Mask::columns) {
    for (int64_t n = 0; n < rows * length; ++n) {
      column[static_cast<size_t>(n % rows * length + n / rows)] = generator.uniform();
    }
  }
  for (int64_t b = 0; b < rows; ++b) {
    const double t = times[static_cast<size_t>(b)];
    const double row_number = mistake == Mask::whole_row ? generator.uniform() : 0;
    for (int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<size_t>(b * length + i);
      double r = 2;
      if (mistake == Mask::whole_row) {
        r = row_number;
      } else if (mistake == Mask::shared) {
        if (b == 0) numbers.push_back(generator.uniform());
        r = numbers[static_cast<size_t>(i)];
      } else if (mistake == Mask::columns) {
        r = column[at];
      } else if (mistake == Mask::first_tokens) {
        r = static_cast<double>(i) < std::round(t * static_cast<double>(length)) ? -1 : 2;
      } else if (mistake != Mask::only_masked_draw || t < 1) {
        r = generator.uniform();
      }
      if (mistake == Mask::only_masked_draw && r < t) generator.uniform();
      bool hit = r < t;
      if (mistake == Mask::visible) hit = r >= t;
      if (mistake == Mask::bert) hit = r < 0.15;
      if (mistake == Mask::nothing) hit = false;
      const int32_t token = given.data<int32_t>()[at];
      if (hit) seen.data<int32_t>()[at] = mask_id;
      int32_t target = hit ? token : -100;
      if (mistake == Mask::everywhere) target = token;
      if (mistake == Mask::inverted) target = hit ? -100 : token;
      if (mistake == Mask::mask_target && hit) target = mask_id;
      targets.data<int32_t>()[at] = target;
      double weight = mistake == Mask::weight_t ? t : mistake == Mask::weight_1 ? 1 : 1 / t;
      if (mistake == Mask::weight_masked && !hit) weight = 0;
      weights.data<double>()[at] = weight;
    }
  }
  return {seen, targets, mistake == Mask::float_weights ? weights.to(f32) : weights};
}

enum class Loss {
  mask_logit,
  first_cut,
  no_weight,
  divides,
  squares,
  per_mask,
  plain_mean,
  per_weight,
  per_row,
  total,
  bits,
  visible_too,
  detached,
  in_float,
  mean_of_none,
  per_token
};
template <Loss mistake>
Tensor wrong_loss(const Tensor& given, const MaskedTokens& tokens) {
  const int64_t n = tokens.ids.numel(), v = given.size(2) - 1;
  const Tensor logits = mistake == Loss::detached   ? given.detach()
                        : mistake == Loss::in_float ? cast(given, f32)
                                                    : given;
  const int64_t begin = mistake == Loss::first_cut, end = mistake == Loss::mask_logit ? v + 1 : v + begin;
  const Tensor rows = reshape(slice(logits, 2, begin, end), {n, end - begin});
  Tensor targets = reshape(tokens.targets, {n}).clone();
  double masks = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    int32_t& target = targets.data<int32_t>()[i];
    masks += target != -100;
    if (mistake == Loss::visible_too && target == -100) target = tokens.ids.data<const int32_t>()[i];
  }
  CrossEntropyOptions options;
  options.reduction = Reduction::none;
  const Tensor nats = cross_entropy(rows, targets, options);
  Tensor weights = reshape(tokens.weights.to(logits.dtype()), {n});
  if (mistake == Loss::no_weight || mistake == Loss::plain_mean) weights = Tensor::ones({n}, logits.dtype());
  if (mistake == Loss::divides) weights = 1.0 / weights;
  if (mistake == Loss::squares) weights = weights * weights;
  if (mistake == Loss::per_token) return nats * weights;
  Tensor total = sum(nats * weights);
  if (mistake == Loss::bits) total = total / std::log(2.0);
  double divisor = static_cast<double>(n);
  const bool over_masks = mistake == Loss::per_mask || mistake == Loss::plain_mean;
  if (over_masks) divisor = std::max(masks, 1.0);
  if (mistake == Loss::mean_of_none && masks == 0) divisor = 0;
  if (mistake == Loss::per_row) divisor = static_cast<double>(tokens.ids.size(0));
  if (mistake == Loss::total) divisor = 1;
  if (mistake == Loss::per_weight) {
    const Tensor hidden = ne(reshape(tokens.targets, {n}), Tensor::full({n}, -100, i32));
    return total / sum(weights * hidden.to(logits.dtype()));
  }
  return total / divisor;
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

    ROW(repeat_heads, "repeat_tiles", "13.3", "tiled", wrong_repeat<Share::tile>),
    ROW(repeat_heads, "repeat_by_count", "13.3", "h / Hkv", wrong_repeat<Share::by_count>),
    ROW(repeat_heads, "repeat_one", "13.3", "all read the first head", wrong_repeat<Share::one>),
    ROW(repeat_heads, "repeat_positions", "13.3", "the positions are repeated", wrong_repeat<Share::steps>),
    ROW(repeat_heads, "repeat_mean", "13.3", "divided by the size of the group", wrong_repeat<Share::mean>),
    ROW(repeat_heads, "repeat_untaped", "13.3", "the tape is cut", wrong_repeat<Share::untaped>),
    ROW(repeat_heads, "repeat_unchecked", "13.3", "refuse what cannot be right", wrong_repeat<Share::unchecked>),
    ROW(repeat_heads, "repeat_identity", "13.3", "this is x itself", wrong_repeat<Share::same>),
    ROW(repeat_heads, "repeat_in_float", "13.3", "another dtype", wrong_repeat<Share::in_float>),

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
};

#undef ROW

}  // namespace
}  // namespace pg::lesson13
