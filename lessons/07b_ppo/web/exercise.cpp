// The pieces of lesson 7b in a browser: each calls the learner's JavaScript.
#include "lessons/07b_ppo/lesson.h"
#include "tools/web/engine.h"

namespace pg::lesson07b {
using web::call;

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  return call<Tensor>("clip_loss", ratio, advantage, low, high);
}
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask) {
  return call<Tensor>("value_loss", values, returns, old_values, clip, mask);
}
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  return call<std::pair<Tensor, Tensor>>("gaussian_log_prob", mean, log_std, actions);
}

}  // namespace pg::lesson07b
