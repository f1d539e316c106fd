#pragma once
// Wrong answers to lesson 13 on the masked denoiser: masks and losses. mutants.cpp has the table.
#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/13_variations/lesson.h"

namespace pg::lesson13 {

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
  nothing,
  whole_numbers,
  no_frac,
  target_1,
  zero_id,
  one_more,
  share
};
template <Mask mistake>
MaskedTokens wrong_mask(const Tensor& ids, int32_t mask_id, Generator& generator) {
  const int64_t rows = ids.size(0), length = ids.size(1);
  const Tensor seen = mistake == Mask::in_place ? ids : ids.clone();
  const Tensor given = ids.clone(), targets = Tensor::full(ids.shape(), -100, i32);
  const Tensor weights = Tensor::zeros(ids.shape(), f64);
  const double u = generator.uniform();
  std::vector<double> hits(static_cast<size_t>(rows)), times, numbers, column(static_cast<size_t>(rows * length));
  for (int64_t b = 0; b < rows; ++b) {
    const double x = u + static_cast<double>(b) / static_cast<double>(rows), frac = x - std::floor(x);
    const bool whole = mistake == Mask::whole_numbers;  // b / B is 0
    double t = whole                       ? 1 - u
               : mistake == Mask::no_frac  ? 1 - x
               : mistake == Mask::frac     ? frac
               : mistake == Mask::one_time ? 1 - u
                                           : 1 - frac;
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
      if (hit) seen.data<int32_t>()[at] = mistake == Mask::zero_id ? 0 : mask_id;
      int32_t target = hit ? token : mistake == Mask::target_1 ? -1 : -100;
      if (mistake == Mask::everywhere) target = token;
      if (mistake == Mask::inverted) target = hit ? -100 : token;
      if (mistake == Mask::mask_target && hit) target = mask_id;
      targets.data<int32_t>()[at] = target;
      double weight = mistake == Mask::weight_t ? t : mistake == Mask::weight_1 ? 1 : 1 / t;
      if (mistake == Mask::weight_masked && !hit) weight = 0;
      if (mistake == Mask::share) hits[static_cast<size_t>(b)] += hit;
      weights.data<double>()[at] = weight;
    }
  }
  for (int64_t n = 0; mistake == Mask::share && n < rows * length; ++n) {
    const double masked = std::max(hits[static_cast<size_t>(n / length)], 1.0);
    weights.data<double>()[static_cast<size_t>(n)] = static_cast<double>(length) / masked;
  }
  if (mistake == Mask::one_more) generator.uniform();
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
  per_token,
  per_length,
  apart
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
  if (mistake == Loss::per_length) divisor = static_cast<double>(tokens.ids.size(1));
  if (mistake == Loss::apart) return mean(nats) * mean(weights);
  if (mistake == Loss::per_weight) {
    const Tensor hidden = ne(reshape(tokens.targets, {n}), Tensor::full({n}, -100, i32));
    return total / sum(weights * hidden.to(logits.dtype()));
  }
  return total / divisor;
}

}  // namespace pg::lesson13
