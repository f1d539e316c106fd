#pragma once
// Wrong answers to lesson 13 on attention: rotations, the cache, shared heads, latents. mutants.cpp has the table.
#include "lessons/13_variations/answers.h"

namespace pg::lesson13 {

enum class Turn {
  neighbours,
  mixed,
  sign,
  size,
  both,
  growing,
  alike,
  fixed_base,
  from_1,
  full_circle,
  position_1,
  head,
  exchanged,
  in_place,
  first_half,
  restarts,
  row_0,
  no_step,
  in_float,
  in_dtype,
  in_f64,
  overwrites,
  untaped,
  flat,
  nothing,
  not_a_number,
  whole_numbers,
  positions_needed
};
template <Turn mistake>
Tensor wrong_rope(const Tensor& x, const Rope& options, const Tensor& positions) {
  if (mistake == Turn::nothing) return x;
  const int64_t rows = x.size(0), heads = x.size(1), steps = x.size(2), half = x.size(3) / 2;
  const double base = mistake == Turn::fixed_base ? 10000 : options.base;
  std::vector<double> cosines, sines;
  for (int64_t b = 0; b < rows; ++b) {
    const bool undefined = !positions.defined() && mistake != Turn::positions_needed;
    const bool ignored = undefined || mistake == Turn::restarts;
    const int64_t first = ignored ? 0 : positions.data<const int32_t>()[mistake == Turn::row_0 ? 0 : b];
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < steps; ++t) {
        for (int64_t i = 0; i < half; ++i) {
          int64_t p = first + t + (mistake == Turn::position_1);
          if (mistake == Turn::no_step) p = first;
          if (mistake == Turn::head) p = first + h;
          double exponent = -static_cast<double>(i + (mistake == Turn::from_1)) / static_cast<double>(half);
          if (mistake == Turn::size) exponent /= 2;
          if (mistake == Turn::both) exponent *= 2;
          if (mistake == Turn::growing) exponent = -exponent;
          if (mistake == Turn::alike) exponent = 0;
          if (mistake == Turn::whole_numbers) exponent = static_cast<double>(-(i / half));
          double angle = static_cast<double>(p) * std::pow(base, exponent);
          const bool narrow = mistake == Turn::in_float || (mistake == Turn::in_dtype && x.dtype() == f32);
          if (narrow) angle = static_cast<float>(p) * static_cast<float>(std::pow(base, exponent));
          if (mistake == Turn::sign) angle = -angle;
          if (mistake == Turn::full_circle) angle *= 2 * M_PI;
          if (mistake == Turn::not_a_number) angle /= 0.0;
          cosines.push_back(mistake == Turn::exchanged ? std::sin(angle) : std::cos(angle));
          sines.push_back(mistake == Turn::exchanged ? std::cos(angle) : std::sin(angle));
        }
      }
    }
  }
  const DType dtype = mistake == Turn::in_f64 ? f64 : x.dtype();
  const Tensor given = mistake == Turn::untaped ? x.detach().to(dtype) : cast(x, dtype);
  const Shape shape = {rows, heads, steps, half};
  const Tensor c = Tensor::from(cosines, shape).to(dtype), s = Tensor::from(sines, shape).to(dtype);
  const bool pairs = mistake == Turn::neighbours || mistake == Turn::mixed;
  const Tensor u = pairs ? slice(given, 3, 0, 2 * half, 2) : slice(given, 3, 0, half);
  const Tensor w = pairs ? slice(given, 3, 1, 2 * half, 2) : slice(given, 3, half, 2 * half);
  const Tensor low = u * c - w * s;
  const Tensor high = mistake == Turn::first_half ? w : (mistake == Turn::in_place ? low : u) * s + w * c;
  if (mistake == Turn::neighbours) return reshape(stack({low, high}, 4), x.shape());
  const Tensor y = cat({low, high}, 3);
  if (mistake == Turn::overwrites) {
    x.copy_from(y);
    return y;
  }
  return mistake == Turn::flat ? reshape(y, {rows * heads, steps, 2 * half}) : y;
}

enum class Cache {
  restarts,
  q_restarts,
  k_restarts,
  v_too,
  k_plain,
  q_plain,
  plain,
  after,
  row_0,
  room,
  not_stored,
  stores_late,
  new_only,
  default_base,
  lengths_before,
  k_for_v,
  future,
  rotates_twice
};
template <Cache mistake>
Tensor wrong_decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& given) {
  const Rope options = mistake == Cache::default_base ? Rope{} : given;
  const Tensor zero = Tensor::zeros(slot.before.shape(), i32), before = slot.before;
  const Tensor row_0 = Tensor::full(slot.before.shape(), slot.before.data<const int32_t>()[0], i32);
  const bool first = mistake == Cache::restarts;
  Tensor q_at = first || mistake == Cache::q_restarts ? zero : before;
  Tensor k_at = first || mistake == Cache::k_restarts ? zero : before;
  if (mistake == Cache::after) q_at = slot.after;
  if (mistake == Cache::row_0) q_at = k_at = row_0;
  const bool plain = mistake == Cache::plain;
  Tensor keys = plain || mistake == Cache::k_plain ? k : pg::rope(k, options, k_at);
  if (mistake == Cache::rotates_twice) keys = pg::rope(keys, options, k_at);
  const Tensor values = mistake == Cache::v_too ? pg::rope(v, options, k_at) : v;
  const KvSlot copy{slot.k.clone(), slot.v.clone(), slot.before, slot.after};
  const KvSlot& used = mistake == Cache::not_stored ? copy : slot;
  AttentionOptions attend;
  if (mistake == Cache::new_only) {
    used.store(keys, values);
    return pg::attention(pg::rope(q, options, q_at), keys, values, attend);
  }
  attend.kv_len = mistake == Cache::lengths_before ? before : slot.after;
  attend.causal = mistake != Cache::future;
  if (mistake == Cache::stores_late) {
    const Tensor y = pg::attention(pg::rope(q, options, q_at), used.k, used.v, attend);
    used.store(keys, values);
    return y;
  }
  used.store(mistake == Cache::k_for_v ? values : keys, mistake == Cache::k_for_v ? keys : values);
  if (mistake == Cache::room) attend.kv_len = Tensor::full(before.shape(), static_cast<double>(slot.k.size(2)), i32);
  const Tensor queries = plain || mistake == Cache::q_plain ? q : pg::rope(q, options, q_at);
  return pg::attention(queries, used.k, used.v, attend);
}

enum class Share { tile, by_count, one, steps, mean, untaped, unchecked, same, in_float, reversed, batch, copies };
template <Share mistake>
Tensor wrong_repeat(const Tensor& x, int64_t heads) {
  const int64_t shared = x.size(1), groups = heads / shared;
  if (mistake == Share::same) return x;
  if (mistake == Share::steps) {
    return reshape(expand(unsqueeze(x, 3), {-1, -1, -1, groups, -1}), {x.size(0), heads, x.size(2), x.size(3)});
  }
  if (mistake == Share::copies) {
    return reshape(expand(unsqueeze(x, 2), {-1, -1, heads, -1, -1}), {x.size(0), shared * heads, x.size(2), x.size(3)});
  }
  if (mistake == Share::batch) {
    check(heads % shared == 0, "repeat_heads: {} and {}", shared, heads);
    return reshape(expand(unsqueeze(x, 0), {groups, -1, -1, -1, -1}), {x.size(0), heads, x.size(2), x.size(3)});
  }
  if (mistake != Share::unchecked) check(heads % shared == 0, "repeat_heads: {} and {}", shared, heads);
  std::vector<int32_t> of;
  for (int64_t h = 0; h < heads; ++h) {
    int64_t from = std::min(h / groups, shared - 1);
    if (mistake == Share::tile) from = h % shared;
    if (mistake == Share::by_count) from = std::min(h / shared, shared - 1);
    if (mistake == Share::one) from = 0;
    if (mistake == Share::reversed) from = shared - 1 - from;
    of.push_back(static_cast<int32_t>(from));
  }
  const Tensor source = mistake == Share::untaped ? x.detach() : mistake == Share::in_float ? cast(x, f32) : x;
  const Tensor y = index_select(source, 1, Tensor::from(of, {heads}));
  return mistake == Share::mean ? y / static_cast<double>(groups) : y;
}

enum class Absorb {
  wide_scale,
  latent_scale,
  nope_scale,
  no_scale,
  future,
  no_rope,
  wrong_side,
  k_misread,
  v_misread,
  v_interleaved,
  k_interleaved,
  next_head,
  head_last,
  last_channels,
  plain,
  expanded,
  untaped,
  no_root,
  head_0,
  not_joined,
  unordered,
  late
};
template <Absorb mistake>
Tensor wrong_absorbed(const LatentInputs& in, const Tensor& k_up, const Tensor& v_up) {
  const int64_t rows = in.q_nope.size(0), heads = in.q_nope.size(1), steps = in.q_nope.size(2);
  const int64_t d_n = in.q_nope.size(3), d_r = in.q_rope.size(3), d_c = in.latent.size(3), d_v = v_up.size(0) / heads;
  AttentionOptions options;
  double width = static_cast<double>(d_n + d_r);
  if (mistake == Absorb::wide_scale) width = static_cast<double>(d_c + d_r);
  if (mistake == Absorb::latent_scale) width = static_cast<double>(d_c);
  if (mistake == Absorb::nope_scale) width = static_cast<double>(d_n);
  if (mistake == Absorb::no_scale) width = 1;
  if (mistake == Absorb::no_root) width *= width;
  options.scale = 1 / std::sqrt(width);
  options.causal = mistake != Absorb::future;
  Tensor w_k = reshape(k_up, {heads, d_n, d_c}), w_v = transpose(reshape(v_up, {heads, d_v, d_c}));
  if (mistake == Absorb::plain || mistake == Absorb::late) {
    const Tensor k = matmul(in.latent, transpose(w_k)), v = matmul(in.latent, w_v);
    const Tensor keys = cat({k, expand(in.k_rope, {-1, heads, -1, -1})}, 3);
    const Tensor scores = matmul(cat({in.q_nope, in.q_rope}, 3), transpose(keys)) * *options.scale;
    const Tensor at = Tensor::arange(in.latent.size(2), f64);
    const int64_t before = mistake == Absorb::late ? 0 : in.latent.size(2) - steps;
    const Tensor query_at = Tensor::arange(steps, f64) + static_cast<double>(before);
    const Tensor seen = where(le(at, unsqueeze(query_at, 1)), scores, Tensor::scalar(-INFINITY, scores.dtype()));
    return reshape(transpose(matmul(softmax(seen), v), 1, 2), {rows, steps, heads * d_v});
  }
  if (mistake == Absorb::wrong_side && d_n == d_c) w_k = transpose(w_k);
  if (mistake == Absorb::k_misread) w_k = transpose(reshape(k_up, {heads, d_c, d_n}));
  if (mistake == Absorb::v_misread) w_v = reshape(v_up, {heads, d_c, d_v});
  if (mistake == Absorb::v_interleaved) w_v = permute(reshape(v_up, {d_v, heads, d_c}), {1, 2, 0});
  if (mistake == Absorb::k_interleaved) w_k = transpose(reshape(k_up, {d_n, heads, d_c}), 0, 1);
  if (mistake == Absorb::head_0) w_k = slice(w_k, 0, 0, 1), w_v = slice(w_v, 0, 0, 1);
  if (mistake == Absorb::next_head) w_v = cat({slice(w_v, 0, 1, heads), slice(w_v, 0, 0, 1)}, 0);
  Tensor q = cat({matmul(in.q_nope, w_k), in.q_rope}, 3), key = cat({in.latent, in.k_rope}, 3);
  if (mistake == Absorb::no_rope) {
    q = matmul(in.q_nope, w_k);
    key = in.latent;
  }
  if (mistake == Absorb::untaped) key = key.detach();
  if (mistake == Absorb::expanded) key = contiguous(expand(key, {-1, heads, -1, -1}));
  const Tensor all = pg::attention(q, key, key, options);
  const int64_t skip = mistake == Absorb::last_channels ? d_r : 0;
  const Tensor values = matmul(slice(all, 3, skip, skip + d_c), w_v);
  if (mistake == Absorb::not_joined) return values;
  if (mistake == Absorb::unordered) return reshape(values, {rows, steps, heads * d_v});
  if (mistake == Absorb::head_last) return reshape(permute(values, {0, 2, 3, 1}), {rows, steps, heads * d_v});
  return reshape(transpose(values, 1, 2), {rows, steps, heads * d_v});
}

}  // namespace pg::lesson13
