// check: 06.5  says: policy minus reference
#define MUTANT_k
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) { return ref_log_prob - log_prob; }
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = log_prob - ref_log_prob;
  return d * d * 0.5;
}
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = ref_log_prob - log_prob;
  return expm1(d) - d;
}

}  // namespace pg::lesson06
