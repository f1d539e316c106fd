// check: 08.6  says: in the implicit rewards
#define MUTANT_dpo_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options) {
  const Tensor c = chosen - ref_chosen.detach(), r = rejected - ref_rejected.detach();
  return {softplus(neg(options.beta * (c - r))), c.detach(), r.detach()};
}

}  // namespace pg::lesson08
