// The pieces of lesson 3 in a browser: each calls the learner's JavaScript.
#include "lessons/03_language_model/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
template <>
inline constexpr auto kFields<AdamWArgs> = std::tuple{field("lr", &AdamWArgs::lr),
                                                      field("beta1", &AdamWArgs::beta1),
                                                      field("beta2", &AdamWArgs::beta2),
                                                      field("eps", &AdamWArgs::eps),
                                                      field("weight_decay", &AdamWArgs::weight_decay),
                                                      field("bias_correction1", &AdamWArgs::bias_correction1),
                                                      field("bias_correction2", &AdamWArgs::bias_correction2),
                                                      field("grad_scale", &AdamWArgs::grad_scale)};
template <>
inline constexpr auto kFields<SampleOptions> =
    std::tuple{field("temperature", &SampleOptions::temperature), field("top_k", &SampleOptions::top_k),
               field("top_p", &SampleOptions::top_p)};
}  // namespace pg::web

namespace pg::lesson03 {
using web::call;

Tensor softmax(const Tensor& x) { return call<Tensor>("softmax", x); }
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& targets) {
  return call<Tensor>("cross_entropy_backward", logits, targets);
}
void adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
           const AdamWArgs& args) {
  call<void>("adamw", p, g, m, v, args);
}
std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& options) {
  return call<std::vector<double>>("filtered_probs", logits, options);
}
int32_t sample_token(std::span<const double> probs, double u) { return call<int32_t>("sample_token", probs, u); }

}  // namespace pg::lesson03
