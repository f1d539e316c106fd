// The norm of a residual sum and its product with a matrix, as two kernels.
#include "tensor/cpu/kernels_cpu.h"

namespace pg::cpu {

void norm_matmul(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                 const NormMatmulArgs& args) {
  if (args.rms) {
    rms_norm(args.normed, args.rstd, sum, x, residual, args.norm_weight, args.eps);
  } else {
    layer_norm(args.normed, args.mean, args.rstd, sum, x, residual, args.norm_weight, args.norm_bias, args.eps);
  }
  matmul(c, args.normed, b, {.bias = args.bias, .activation = args.activation});
}

}  // namespace pg::cpu
