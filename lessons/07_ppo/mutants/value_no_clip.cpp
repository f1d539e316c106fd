// check: 07.6  says: clip and old_values are not used
#define MUTANT_value_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor value_loss(const Tensor& values, const Tensor& returns, [[maybe_unused]] const Tensor& old_values,
                  [[maybe_unused]] double clip, const Tensor& mask) {
  const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
  const auto half_square = [&](const Tensor& v) {
    const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
    return error * error * 0.5;
  };
  const Tensor free = half_square(values);
  return free;
}

}  // namespace pg::lesson07
