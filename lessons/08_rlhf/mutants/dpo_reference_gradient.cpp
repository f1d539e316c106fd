// check: 08.6  says: into the reference
#define MUTANT_dpo_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options) {
  const Tensor c = options.beta * (chosen - ref_chosen), r = options.beta * (rejected - ref_rejected);
  return {softplus(neg(c - r)), c.detach(), r.detach()};
}

}  // namespace pg::lesson08
