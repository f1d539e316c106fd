// check: 03.1  says: nothing is divided
#define MUTANT_softmax
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

Tensor softmax(const Tensor& x) { return exp(x); }

}  // namespace pg::lesson03
