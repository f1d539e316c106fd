// check: 08.6  says: the reference is not used
#define MUTANT_dpo_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, [[maybe_unused]] const Tensor& ref_chosen,
                 [[maybe_unused]] const Tensor& ref_rejected, const DpoOptions& options) {
  const Tensor c = options.beta * chosen, r = options.beta * rejected;
  return {softplus(neg(c - r)), c.detach(), r.detach()};
}

}  // namespace pg::lesson08
