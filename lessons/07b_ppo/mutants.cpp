// Wrong answers to lesson 7b. The checks must call each WRONG and say why; everything else must stay ok. The last rows
// are right answers.
#include "lessons/kit/mutants.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "lessons/07b_ppo/answers.h"
#include "lessons/07b_ppo/checks.h"

namespace pg::lesson07b {
namespace {

using T = const Tensor&;

// A gradient flows into what is a constant.
Tensor value_old_not_detached(T values, T returns, T old, double clip, T mask) {
  const Tensor loss = value_loss(values, returns, old, clip, mask);
  return old.defined() && clip > 0 ? loss + (old - old.detach()) * 0.5 : loss;
}
Tensor value_returns_not_detached(T values, T returns, T old, double clip, T mask) {
  const Tensor error = returns - returns.detach();
  return value_loss(values, returns, old, clip, mask) +
         (mask.defined() ? where(mask, error, zeros_like(error)) : error);
}

// Right but unusual answers.

// The clip by the sign of A: above where A is positive, below where it is negative.
Tensor right_by_sign(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = advantage.detach(), zero = Tensor::scalar(0, a.dtype());
  return neg(where(gt(a, zero), clamp(ratio, -inf, 1 + high), clamp(ratio, 1 - low, inf)) * a);
}

// The maximum of the losses, as in the paper's code.
Tensor right_maximum_of_losses(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = neg(advantage.detach());
  return maximum(a * ratio, a * clamp(ratio, 1 - low, 1 + high));
}

// near as a constant: where the clipped error is the larger one, it does not move with v anyway.
Tensor right_near_constant(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                           const Tensor& mask) {
  const Tensor all = mask.defined() ? mask : Tensor::ones(values.shape(), u8);
  const Tensor zero = Tensor::scalar(0, values.dtype());
  const auto known = [&](const Tensor& x) { return where(all, x, zero); };
  const Tensor v = known(values), target = known(returns).detach(), error = v - target;
  const Tensor free = error * error * 0.5;
  if (clip == 0) return free;
  const Tensor old = known(old_values).detach(), miss = old + clamp(v.detach() - old, -clip, clip) - target;
  return where(gt(abs(miss), abs(error)), miss * miss * 0.5, free);
}

// The variance, and sums of the parts one by one.
std::pair<Tensor, Tensor> right_by_variance(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  const auto k = static_cast<double>(log_std.size(0));
  const double log_2pi = std::log(2 * std::numbers::pi);
  const Tensor d = mean - actions, squares = sum(d * d / exp(log_std + log_std), {1});
  const Tensor width = sum(log_std);
  const Tensor none = Tensor::zeros({mean.size(0)}, mean.dtype());
  return {(squares + k * log_2pi) * -0.5 - width, none + (width + 0.5 * k * (log_2pi + 1))};
}

}  // namespace

const kit::Mutants<Impl> of_clip(&Impl::clip_loss, clip_mistakes(),
                                 {{"right_by_sign", "07.5", "ok", right_by_sign},
                                  {"right_maximum_of_losses", "07.5", "ok", right_maximum_of_losses}});
const kit::Mutants<Impl> of_value(
    &Impl::value_loss, value_mistakes(),
    {{"value_old_not_detached", "07.6", "flows into what is a constant", value_old_not_detached},
     {"value_returns_not_detached", "07.6", "flows into what is a constant", value_returns_not_detached},
     {"right_near_constant", "07.6", "ok", right_near_constant}});
const kit::Mutants<Impl> of_gauss(&Impl::gaussian_log_prob, gaussian_mistakes(),
                                  {{"right_by_variance", "07.7", "ok", right_by_variance}});

}  // namespace pg::lesson07b
