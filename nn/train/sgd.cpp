// SGD with momentum, weight decay and the step of Nesterov.
#include "nn/train/sgd.h"

#include "autograd/ops.h"
#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {

Sgd::Sgd(ParamSlab& slab, const SgdOptions& options) : Optimizer(slab), options_(options) {
  check(options.momentum >= 0 && options.momentum < 1, "Sgd: momentum must be in [0, 1), got {}", options.momentum);
  check(!options.nesterov || options.momentum > 0, "Sgd: nesterov needs a momentum");
  if (options.momentum > 0) momentum_ = slab.zeros();
}

NamedTensors Sgd::own_state() const {
  return momentum_.defined() ? NamedTensors{{"momentum.", momentum_}} : NamedTensors{};
}

void Sgd::update(double lr, double grad_scale) {
  const Kernels& k = kernels(slab_.params().device());
  for (const Shard& own : slab_.own()) {
    const auto part = [&](const Tensor& slab) { return slab.view_slice(0, own.begin, own.end); };
    Tensor g = affine(part(slab_.grads()), grad_scale, 0);
    if (options_.weight_decay != 0) g = g + part(slab_.params()) * options_.weight_decay;
    if (momentum_.defined()) {
      k.accumulate(part(momentum_), g, options_.momentum);
      g = options_.nesterov ? g + part(momentum_) * options_.momentum : part(momentum_);
    }
    k.accumulate(part(slab_.params()), g * -lr, 1);
  }
  slab_.round_params();
}

}  // namespace pg
