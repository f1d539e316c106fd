// Lesson 7b: PPO. This is your file: replace each TODO(...), then:
//   make lesson7b && ./lesson7b check
//
// B episodes or environments, T steps; N actions of k numbers. Useful:
// where(condition, a, b), le(a, b), ge(a, b), clamp(x, min, max), exp(x),
// log(x), neg(x), sum(x, {dim}), expand(x, shape), Tensor::scalar(0, dtype),
// x.detach(), 2 * std::numbers::pi. Results have the dtype of the inputs. All
// ops are in autograd/ops.h, tensors in tensor/tensor.h.
//
// Names: rl::clip_loss is the engine's, yours is lesson07b::clip_loss. Where a
// call is ambiguous, write the one that you mean; a parameter mean hides
// pg::mean.
#include <cmath>
#include <numbers>

#include "lessons/07b_ppo/lesson.h"

namespace pg::lesson07b {

// The loss of PPO at each step [B, T], to be minimised:
//   -min(ratio·A, clip(ratio, 1 - low, 1 + high)·A)
// ratio [B, T] is π(action) now / π(action) when it was taken, a finite number;
// the advantage A [B, T], or [B, 1] for a whole row, is a constant.
Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  // Yours, in place of the next line.
  TODO("07.5 clip_loss");
}

// What the critic minimises at each step: (v - R)² / 2; with clip > 0 the
// larger of that and (near - R)² / 2, where near = old + (v - old, clipped to
// ±clip). All have one shape, of any rank. returns R and old_values are
// constants; old_values may be undefined where clip is 0. Where mask is 0 the
// inputs may be anything, even infinity and nan: the result and the gradient
// there are 0. An undefined mask is all 1.
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask) {
  // Yours, in place of the next line.
  TODO("07.6 value_loss");
}

// For a policy whose k numbers are independent and normal, with std =
// exp(log_std): {log-probability density of each action [N], entropy [N]}.
// mean, actions [N, k]; log_std [k], the same for all N.
//   07.7: log p = -Σ_i ((a_i - mean_i)² / (2 std_i²) + log_std_i + log(2π)/2)
//   07.8: H     =  Σ_i (log_std_i + log(2πe)/2)
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  // Yours, in place of the next line.
  TODO("07.7 gaussian_log_prob");
}

}  // namespace pg::lesson07b
