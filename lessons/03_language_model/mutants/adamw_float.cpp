// check: 03.3  says: computed in float
#define MUTANT_adamw
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

void adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
           const AdamWArgs& a) {
  for (size_t i = 0; i < p.size(); ++i) {
    const float gradient = a.grad_scale * g[i];
    p[i] -= a.lr * a.weight_decay * p[i];
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
    const float step = (m[i] / a.bias_correction1) / (std::sqrt(v[i] / a.bias_correction2) + a.eps);
    p[i] -= a.lr * step;
  }
}

}  // namespace pg::lesson03
