// check: 04.2  says: the scale 1/√D is missing
#define MUTANT_attention_backward
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const Tensor p = attention_weights(q, k);
  const Tensor dp = matmul(dout, transpose(v));
  const Tensor ds = p * (dp - sum(dp * p, {-1}, true)) * (scale / scale);
  return {matmul(ds, k), matmul(transpose(ds), q), matmul(transpose(p), dout)};
}

}  // namespace pg::lesson04
