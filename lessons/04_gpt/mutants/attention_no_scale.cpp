// check: 04.1  says: the scale 1/√D is missing
#define MUTANT_attention
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t t = q.size(2);
  const Tensor scores = matmul(q, transpose(k)) * 1.0;
  const Tensor position = Tensor::arange(t, q.dtype());
  const Tensor past = le(position, unsqueeze(position, 1));
  const Tensor masked = where(past, scores, Tensor::scalar(-INFINITY, q.dtype()));
  return matmul(softmax(masked), v);
}

}  // namespace pg::lesson04
