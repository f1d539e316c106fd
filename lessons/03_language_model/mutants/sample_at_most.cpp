// check: 03.5  says: compare with <
#define MUTANT_sample_token
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

int32_t sample_token(std::span<const double> probs, double u) {
  double sum_so_far = 0;
  int32_t last = 0;
  for (size_t i = 0; i < probs.size(); ++i) {
    if (probs[i] == 0) continue;
    sum_so_far += probs[i];
    last = static_cast<int32_t>(i);
    if (u <= sum_so_far) break;
  }
  return last;
}

}  // namespace pg::lesson03
