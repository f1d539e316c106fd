// Lesson 7: advantages. This is your file: replace TODO(...), then:
//   make lesson7 && ./lesson7 check
//
// B episodes or environments, T steps. Useful: numbers(x, count, otherwise)
// from lesson.h, x.to_vector(), Tensor::from(vector, shape).to(dtype). Results
// have the dtype of the inputs. Tensors are in tensor/tensor.h.
//
// Names: rl::gae is the engine's, yours is lesson07::gae.
#include "lessons/07_gae/lesson.h"

namespace pg::lesson07 {

// Generalised advantage estimation, from the last step of each row backwards:
//   delta[t] = r[t] + gamma·next - V[t]
//   A[t] = delta[t] + gamma·lambda·A[t+1]      returns[t] = A[t] + V[t]
// rewards, values and the tensors of the options [B, T].
// Each check grades its own part: without the other three, 07.1 can be ok.
// 07.1: `next` is V[t+1], and next_values [B] after the last step.
// 07.2: where terminated is 1, the episode ended with this step: next is 0, and
//       A[t+1] is not used.
// 07.3: where truncated is 1, a time limit cut the episode after this step:
//       next is final_values, and A[t+1] is not used. Where both are 1, the
//       episode has terminated.
// 07.4: a slot whose mask is 0 is skipped with its flags, as if it did not
//       exist; its results are 0, whatever it holds, even infinity and nan.
// Tensors of the options may be undefined: mask then means all 1, the others
// all 0.
Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
  // [answer 07.1 gae]
  const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
  const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
  const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
  const auto terminated = numbers(options.terminated, count, 0), truncated = numbers(options.truncated, count, 0);
  std::vector<double> advantages(r.size()), returns(r.size());
  for (int64_t b = 0; b < rows; ++b) {
    double next = last[static_cast<size_t>(b)], after = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      const size_t i = static_cast<size_t>(b * steps + t);
      if (mask[i] == 0) continue;
      if (truncated[i] != 0) next = final_values[i], after = 0;
      if (terminated[i] != 0) next = after = 0;
      advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
      returns[i] = advantages[i] + v[i];
      next = v[i];
    }
  }
  const auto tensor = [&](const std::vector<double>& x) {
    return Tensor::from(x, rewards.shape()).to(rewards.dtype());
  };
  return {tensor(advantages), tensor(returns)};
  // [end]
}

}  // namespace pg::lesson07
