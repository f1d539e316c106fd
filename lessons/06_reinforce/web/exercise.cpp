// The pieces of lesson 6 in a browser: each calls the learner's JavaScript.
#include "lessons/06_reinforce/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
using lesson06::Baseline;
template <>
inline constexpr auto kFields<Baseline> =
    std::tuple{field("decay", &Baseline::decay), field("sum", &Baseline::sum), field("weight", &Baseline::weight)};
}  // namespace pg::web

namespace pg::lesson06 {
using web::call;

Tensor token_log_prob(const Tensor& logits, const Tensor& ids) { return call<Tensor>("token_log_prob", logits, ids); }
Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  return call<Tensor>("reinforce_loss", log_prob, advantage, mask);
}
Tensor return_to_go(const Tensor& rewards, double gamma) { return call<Tensor>("return_to_go", rewards, gamma); }
Tensor advantage(Baseline& baseline, const Tensor& returns) { return call<Tensor>("advantage", baseline, returns); }
Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) { return call<Tensor>("k1", log_prob, ref_log_prob); }
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) { return call<Tensor>("k2", log_prob, ref_log_prob); }
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) { return call<Tensor>("k3", log_prob, ref_log_prob); }

}  // namespace pg::lesson06
