// check: 07.6  says: the minimum in place of the maximum
#define MUTANT_value_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask) {
  const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
  const auto half_square = [&](const Tensor& v) {
    const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
    return error * error * 0.5;
  };
  const Tensor free = half_square(values);
  if (clip == 0) return free;
  const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
  return where(le(free, bounded), free, bounded);
}

}  // namespace pg::lesson07
