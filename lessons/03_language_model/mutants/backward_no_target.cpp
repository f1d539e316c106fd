// check: 03.2  says: is not subtracted
#define MUTANT_cross_entropy_backward
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

Tensor cross_entropy_backward(const Tensor& logits, [[maybe_unused]] const Tensor& targets) {
  const double rows = static_cast<double>(logits.size(0));
  return pg::softmax(logits) / rows;
}

}  // namespace pg::lesson03
