// check: 03.1  says: the columns sum to 1
#define MUTANT_softmax
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

Tensor softmax(const Tensor& x) {
  const Tensor e = exp(x - amax(x));
  return e / sum(e, {0}, true);
}

}  // namespace pg::lesson03
