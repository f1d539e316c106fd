// check: 01.4  says: start from 0
#define MUTANT_matmul
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

void matmul(View c, View a, View b) {
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
  float* pc = c.as<float>();
  const float *pa = a.as<float>(), *pb = b.as<float>();
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t j = 0; j < N; ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
    }
  }
}

}  // namespace pg::lesson01
