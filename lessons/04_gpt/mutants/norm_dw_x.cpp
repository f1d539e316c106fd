// check: 04.3  says: dy is multiplied by x
#define MUTANT_layer_norm_backward
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
  const Tensor xhat = (x - mean(x, {-1}, true)) * rstd;
  const Tensor dxhat = dy * w;
  const Tensor dx = (dxhat - mean(dxhat, {-1}, true) - xhat * mean(dxhat * xhat, {-1}, true)) * rstd;
  return {dx, sum(dy * x, {0}), sum(dy, {0})};
}

}  // namespace pg::lesson04
