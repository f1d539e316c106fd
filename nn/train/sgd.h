#pragma once
// Stochastic gradient descent over a slab of parameters.
#include "nn/optim.h"

namespace pg {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient; applies to all parameters as in PyTorch
};

// Stochastic gradient descent, PyTorch's formula: b = momentum·b + g, then p -= lr·b (nesterov: lr·(g + momentum·b)).
class Sgd final : public Optimizer {
 public:
  explicit Sgd(ParamSlab& slab, const SgdOptions& options = {});

 protected:
  NamedTensors own_state() const override;
  void update(double lr, double grad_scale) override;

 private:
  SgdOptions options_;
  Tensor momentum_;  // undefined without momentum
};

}  // namespace pg
