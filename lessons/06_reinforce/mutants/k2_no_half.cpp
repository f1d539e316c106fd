// check: 06.5  says: 1/2 is missing
#define MUTANT_k
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) { return log_prob - ref_log_prob; }
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = log_prob - ref_log_prob;
  return d * d;
}
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = ref_log_prob - log_prob;
  return expm1(d) - d;
}

}  // namespace pg::lesson06
