// check: 03.1  says: exp overflows
#define MUTANT_softmax
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

Tensor softmax(const Tensor& x) {
  const Tensor e = exp(x);
  return e / sum(e, {-1}, true);
}

}  // namespace pg::lesson03
