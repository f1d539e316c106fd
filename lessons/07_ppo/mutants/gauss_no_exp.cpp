// check: 07.7  says: exp() is missing
#define MUTANT_gaussian_log_prob
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
  const Tensor z = (actions - mean) / log_std;
  const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
  const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
  return {log_prob, expand(entropy, {mean.size(0)})};
}

}  // namespace pg::lesson07
