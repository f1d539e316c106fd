#pragma once
// Wrong answers to 09.1 to 09.4: advantages and signals of groups with one mistake of many.
#include <algorithm>

#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {

enum class Mean { of_batch, of_others, rounded, sign, transposed, sum, of_three, threshold };
template <Mean mistake>
Tensor wrong_mean(const Tensor& rewards) {
  const Tensor d = rewards - rewards.view_slice(1, 0, 1), zero = Tensor::scalar(0, rewards.dtype());
  const double g = static_cast<double>(rewards.size(1));
  if (mistake == Mean::of_batch) return rewards - mean(rewards, {0, 1}, true);
  if (mistake == Mean::of_others) return g > 1 ? (d - mean(d, {1}, true)) * (g / (g - 1)) : d;
  if (mistake == Mean::rounded) return rewards - mean(rewards, {1}, true);
  if (mistake == Mean::sign) return mean(d, {1}, true) - d;
  if (mistake == Mean::transposed) return rewards - mean(rewards, {0}, true);
  if (mistake == Mean::sum) return rewards - sum(rewards, {1}, true);
  if (mistake == Mean::of_three) return d - sum(d, {1}, true) / 3.0;
  const Tensor off = rewards - mean(rewards, {1}, true);
  return where(gt(abs(off), Tensor::scalar(1e-6, rewards.dtype())), off, zero);
}

enum class Std {
  eps_inside,
  noise,
  not_centred,
  of_batch,
  population,
  rewards,
  sample,
  singleton,
  transposed,
  variance,
  absolute,
  larger,
  no_eps,
  threshold,
  of_three
};
template <Std mistake>
Tensor wrong_std(const Tensor& rewards, double eps, int ddof) {
  std::vector<int> dims = {1};
  if (mistake == Std::of_batch) dims = {0, 1};
  if (mistake == Std::transposed) dims = {0};
  const bool plain =
      mistake == Std::of_batch || mistake == Std::transposed || mistake == Std::noise || mistake == Std::threshold;
  const Tensor d = plain ? rewards : rewards - rewards.view_slice(1, 0, 1);
  const Tensor off = d - mean(d, dims, true), squared = mistake == Std::not_centred ? rewards * rewards : off * off;
  int64_t size = mistake == Std::of_batch ? rewards.numel() : rewards.size(mistake == Std::transposed ? 0 : 1);
  if (mistake == Std::of_three) size = 3;
  if (mistake == Std::population) ddof = 0;
  if (mistake == Std::sample) ddof = 1;
  const double count = static_cast<double>(mistake == Std::singleton ? size - ddof : std::max<int64_t>(size - ddof, 1));
  const Tensor variance = sum(squared, dims, true) / count;
  if (mistake == Std::eps_inside) return off / sqrt(variance + eps);
  if (mistake == Std::variance) return off / (variance + eps);
  if (mistake == Std::absolute) return off / (mean(abs(off), dims, true) + eps);
  if (mistake == Std::larger) return off / maximum(sqrt(variance), Tensor::scalar(eps, rewards.dtype()));
  if (mistake == Std::no_eps) return off / sqrt(variance);
  if (mistake == Std::rewards) return rewards / (sqrt(variance) + eps);
  const Tensor scaled = off / (sqrt(variance) + eps), zero = Tensor::scalar(0, rewards.dtype());
  if (mistake != Std::threshold) return scaled;
  return where(gt(abs(off), Tensor::scalar(1e-6, rewards.dtype())), scaled, zero);
}

enum class Others { by_group, rounded, self, singleton, singleton_reward, sum, transposed, inverse, of_two };
template <Others mistake>
Tensor wrong_others(const Tensor& rewards) {
  const double g = static_cast<double>(rewards.size(1)), n = static_cast<double>(rewards.size(0));
  if (g == 1 && mistake == Others::singleton_reward) return rewards.clone();
  if (g == 1 && mistake != Others::singleton) return zeros_like(rewards);
  if (mistake == Others::transposed) return rewards - (sum(rewards, {0}, true) - rewards) / (n - 1);
  const bool plain = mistake == Others::by_group || mistake == Others::rounded || mistake == Others::sum;
  const Tensor d = plain ? rewards : rewards - rewards.view_slice(1, 0, 1), all = sum(d, {1}, true);
  if (mistake == Others::by_group) return d - (all - d) / g;
  if (mistake == Others::self) return d - all / g;
  if (mistake == Others::sum) return d - (all - d);
  if (mistake == Others::inverse) return (d - all / g) * ((g - 1) / g);
  return d - (all - d) / (mistake == Others::of_two ? 2 : g - 1);
}

enum class Signal { first_two, inverted, threshold, unsolved, zero_or_one, first_and_last, variance, columns, kept };
template <Signal mistake>
Tensor wrong_signal(const Tensor& rewards) {
  const Tensor zero = Tensor::scalar(0, rewards.dtype());
  const int64_t last = rewards.size(1) - 1;
  const Tensor distance = abs(rewards - rewards.view_slice(1, 0, 1));
  if (mistake == Signal::first_two)
    return ne(rewards.view_select(1, 0), rewards.view_select(1, static_cast<int>(std::min<int64_t>(last, 1))));
  if (mistake == Signal::first_and_last)
    return ne(rewards.view_select(1, 0), rewards.view_select(1, static_cast<int>(last)));
  if (mistake == Signal::inverted) return eq(amax(distance, {1}), zero);
  if (mistake == Signal::threshold) return gt(amax(distance, {1}), Tensor::scalar(1e-6, rewards.dtype()));
  if (mistake == Signal::unsolved) return ne(amax(abs(rewards), {1}), zero);
  if (mistake == Signal::columns) return ne(amax(abs(rewards - rewards.view_slice(0, 0, 1)), {0}), zero);
  if (mistake == Signal::kept) return ne(amax(distance, {1}, true), zero);
  const Tensor usual = mean(rewards, {1}), off = rewards - mean(rewards, {1}, true);
  return mistake == Signal::variance ? gt(sum(off * off, {1}), zero) : ne(usual * (usual - 1.0), zero);
}

}  // namespace pg::lesson09
