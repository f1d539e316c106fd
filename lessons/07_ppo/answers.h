// Lesson 7: PPO. This is your file: replace each TODO(...), then:
//   make lesson7 && ./lesson7 check
//
// B episodes or environments, T steps; N actions of k numbers. Useful:
// numbers(x, count, otherwise) from lesson.h, x.to_vector(),
// Tensor::from(vector, shape).to(dtype), where(condition, a, b), le(a, b),
// ge(a, b), clamp(x, min, max), exp(x), log(x), neg(x), sum(x, {dim}),
// expand(x, shape), Tensor::scalar(0, dtype), x.detach(),
// 2 * std::numbers::pi. Results have the dtype of the inputs. All ops are in
// autograd/ops.h, tensors in tensor/tensor.h.
//
// Names: rl::gae is the engine's, yours is lesson07::gae. Where a call is
// ambiguous, write the one that you mean; a parameter mean hides pg::mean.
#include <cmath>
#include <numbers>

#include "lessons/07_ppo/lesson.h"

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

// The loss of PPO at each step [B, T], to be minimised:
//   -min(ratio·A, clip(ratio, 1 - low, 1 + high)·A)
// ratio [B, T] is π(action) now / π(action) when it was taken, a finite number;
// the advantage A [B, T], or [B, 1] for a whole row, is a constant.
Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  // [answer 07.5 clip_loss]
  const Tensor a = advantage.detach();
  const Tensor free = ratio * a, clipped = clamp(ratio, 1 - low, 1 + high) * a;
  return neg(where(le(free, clipped), free, clipped));
  // [end]
}

// What the critic minimises at each step: (v - R)² / 2; with clip > 0 the
// larger of that and (near - R)² / 2, where near = old + (v - old, clipped to
// ±clip). All have one shape, of any rank. returns R and old_values are
// constants; old_values may be undefined where clip is 0. Where mask is 0 the
// inputs may be anything, even infinity and nan: the result and the gradient
// there are 0. An undefined mask is all 1.
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask) {
  // [answer 07.6 value_loss]
  const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
  const auto half_square = [&](const Tensor& v) {
    const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
    return error * error * 0.5;
  };
  const Tensor free = half_square(values);
  if (clip == 0) return free;
  const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
  return where(ge(free, bounded), free, bounded);
  // [end]
}

// For a policy whose k numbers are independent and normal, with std =
// exp(log_std): {log-probability density of each action [N], entropy [N]}.
// mean, actions [N, k]; log_std [k], the same for all N.
//   07.7: log p = -Σ_i ((a_i - mean_i)² / (2 std_i²) + log_std_i + log(2π)/2)
//   07.8: H     =  Σ_i (log_std_i + log(2πe)/2)
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  // [answer 07.7 gaussian_log_prob]
  const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
  const Tensor z = (actions - mean) / exp(log_std);
  const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
  const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
  return {log_prob, expand(entropy, {mean.size(0)})};
  // [end]
}

}  // namespace pg::lesson07
