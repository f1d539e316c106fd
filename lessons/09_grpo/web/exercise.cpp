// The pieces of lesson 9 in a browser: each calls the learner's JavaScript.
#include "lessons/09_grpo/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
using rl::Denominators;
template <>
inline constexpr auto kFields<Denominators> =
    std::tuple{field("tokens", &Denominators::tokens), field("sequences", &Denominators::sequences),
               field("max_length", &Denominators::max_length)};
template <>
inline constexpr auto kNames<lesson09::Aggregation> =
    std::array{"token_mean", "sequence_mean", "constant", "sequence_sum"};
}  // namespace pg::web

namespace pg::lesson09 {
using web::call;

Tensor group_mean_advantage(const Tensor& rewards) { return call<Tensor>("group_mean_advantage", rewards); }
Tensor group_std_advantage(const Tensor& rewards, double eps, int ddof) {
  return call<Tensor>("group_std_advantage", rewards, eps, ddof);
}
Tensor leave_one_out_advantage(const Tensor& rewards) { return call<Tensor>("leave_one_out_advantage", rewards); }
Tensor groups_with_signal(const Tensor& rewards) { return call<Tensor>("groups_with_signal", rewards); }
Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  return call<Tensor>("token_ratio", log_prob, old_log_prob, mask);
}
Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  return call<Tensor>("sequence_ratio", log_prob, old_log_prob, mask);
}
Tensor aggregate(const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) {
  return call<Tensor>("aggregate", loss, mask, how, total);
}

}  // namespace pg::lesson09
