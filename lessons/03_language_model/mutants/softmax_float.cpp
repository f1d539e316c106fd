// check: 03.1  says: computed in float
#define MUTANT_softmax
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

Tensor softmax(const Tensor& x) {
  const Tensor e = exp((x - amax(x, {-1}, true)).to(f32));
  return (e / sum(e, {-1}, true)).to(f64);
}

}  // namespace pg::lesson03
