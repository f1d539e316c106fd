// The pieces of lesson 7 in a browser: each calls the learner's JavaScript.
#include "lessons/07_ppo/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
using rl::Gae, rl::GaeOptions;
template <>
inline constexpr auto kFields<GaeOptions> =
    std::tuple{field("gamma", &GaeOptions::gamma),         field("lambda", &GaeOptions::lambda),
               field("mask", &GaeOptions::mask),           field("terminated", &GaeOptions::terminated),
               field("truncated", &GaeOptions::truncated), field("final_values", &GaeOptions::final_values)};
template <>
inline constexpr auto kFields<Gae> = std::tuple{field("advantages", &Gae::advantages), field("returns", &Gae::returns)};
}  // namespace pg::web

namespace pg::lesson07 {
using web::call;

Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
  return call<Gae>("gae", rewards, values, next_values, options);
}
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

}  // namespace pg::lesson07
