// The piece of lesson 7 in a browser: it calls the learner's JavaScript.
#include "lessons/07_gae/lesson.h"
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

}  // namespace pg::lesson07
