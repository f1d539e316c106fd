#pragma once
// What the state of training takes on each rank (Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training
// Trillion Parameter Models"): the model without its activations.
#include <string>

#include "tensor/base/error.h"

namespace pg {

// Bytes per parameter. The defaults are those of bf16 training with this engine's ParamSlab: bf16 weights, f32
// gradients, and for AdamW f32 masters and two f32 moments: 18 in all. The paper counts 16, with gradients of 2 bytes.
struct StateBytes {
  double weights = 2, gradients = 4, optimizer = 12;
};

// Bytes on each rank. Stage 0: every rank has everything. 1: each has its shard of the optimizer's state. 2: of the
// gradients too. 3: of the weights too, which are gathered for each layer when it is computed.
inline double zero_bytes(double parameters, int ranks, int stage, const StateBytes& bytes = {}) {
  check(stage >= 0 && stage <= 3, "zero_bytes: expected a stage from 0 to 3, got {}", stage);
  check(ranks >= 1, "zero_bytes: expected at least 1 rank, got {}", ranks);
  const auto n = static_cast<double>(ranks);
  return parameters *
         ((stage >= 3 ? bytes.weights / n : bytes.weights) + (stage >= 2 ? bytes.gradients / n : bytes.gradients) +
          (stage >= 1 ? bytes.optimizer / n : bytes.optimizer));
}

}  // namespace pg
